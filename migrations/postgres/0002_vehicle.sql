-- Vehicles. Written by ops/vehicles.
create table vehicle (
    id uuid not null,
    organization_id uuid not null,
    name text collate "C" not null,
    search_key text not null default '',
    plate_number text,
    plate_country text,
    plate_key text,
    vin text,
    make text,
    model text,
    year bigint,
    color text,
    category text not null,
    status text not null,
    fuel jsonb not null,
    tracking jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint vehicle_pkey primary key (id),
    constraint vehicle_organization_fkey foreign key (organization_id) references organization (id),
    constraint vehicle_status_check check (status in ('active', 'inactive', 'maintenance', 'decommissioned'))
);
create index vehicle_organization_idx on vehicle (organization_id, created_at);
create unique index vehicle_plate_key on vehicle (organization_id, plate_key) where deleted_at is null;
create unique index vehicle_vin_key on vehicle (organization_id, vin) where deleted_at is null;

-- Device credentials; the token is kept as its SHA-256. Written by ops/trackers.
create table tracker (
    id uuid not null,
    organization_id uuid not null,
    unique_id text collate "C" not null,
    search_key text not null default '',
    model text,
    status text not null,
    token_hash bytea,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint tracker_pkey primary key (id),
    constraint tracker_organization_fkey foreign key (organization_id) references organization (id),
    constraint tracker_status_check check (status in ('active', 'disabled'))
);
create index tracker_organization_idx on tracker (organization_id, created_at);
create unique index tracker_unique_id_key on tracker (unique_id) where deleted_at is null;
create unique index tracker_token_key on tracker (token_hash);

-- Which tracker sat in which vehicle when; a null start or end is open. Written by ops/trackers.
create table installation (
    id uuid not null,
    tracker_id uuid not null,
    vehicle_id uuid not null,
    installed_from timestamptz,
    installed_to timestamptz,
    constraint installation_pkey primary key (id),
    constraint installation_tracker_fkey foreign key (tracker_id) references tracker (id),
    constraint installation_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
);
create index installation_tracker_idx on installation (tracker_id);
create index installation_vehicle_idx on installation (vehicle_id);
