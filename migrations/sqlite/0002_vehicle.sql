-- Vehicles. Written by ops/vehicles.
create table vehicle (
    id blob not null,
    organization_id blob not null,
    name text not null,
    search_key text not null default '',
    plate_number text,
    plate_country text,
    plate_key text,
    vin text,
    make text,
    model text,
    year integer,
    color text,
    category text not null,
    status text not null,
    fuel text not null,
    tracking text not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint vehicle_pkey primary key (id),
    constraint vehicle_organization_fkey foreign key (organization_id) references organization (id),
    constraint vehicle_status_check check (status in ('active', 'inactive', 'maintenance', 'decommissioned'))
) strict;
create index vehicle_organization_idx on vehicle (organization_id, created_at);
create unique index vehicle_plate_key on vehicle (organization_id, plate_key) where deleted_at is null;
create unique index vehicle_vin_key on vehicle (organization_id, vin) where deleted_at is null;

-- Device credentials; the token is kept as its SHA-256. Written by ops/trackers.
create table tracker (
    id blob not null,
    organization_id blob not null,
    unique_id text not null,
    search_key text not null default '',
    model text,
    status text not null,
    token_hash blob,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint tracker_pkey primary key (id),
    constraint tracker_organization_fkey foreign key (organization_id) references organization (id),
    constraint tracker_status_check check (status in ('active', 'disabled'))
) strict;
create index tracker_organization_idx on tracker (organization_id, created_at);
create unique index tracker_unique_id_key on tracker (unique_id) where deleted_at is null;
create unique index tracker_token_key on tracker (token_hash);

-- Which tracker sat in which vehicle when; a null start or end is open. Written by ops/trackers.
create table installation (
    id blob not null,
    tracker_id blob not null,
    vehicle_id blob not null,
    installed_from integer,
    installed_to integer,
    constraint installation_pkey primary key (id),
    constraint installation_tracker_fkey foreign key (tracker_id) references tracker (id),
    constraint installation_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
) strict;
create index installation_tracker_idx on installation (tracker_id);
create index installation_vehicle_idx on installation (vehicle_id);
