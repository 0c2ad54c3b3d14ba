-- Links that show where some vehicles are to whoever has one, without an account. Of the token only its hash is here. Revoked ones
-- are gone; the audit remembers them. Written by ops/shares; retention deletes those that ended a while ago.
create table share (
    id uuid not null,
    organization_id uuid not null,
    name text,
    token_hash bytea not null,
    ends_at timestamptz not null,
    geofence_id uuid,
    created_by uuid not null,
    created_at timestamptz not null,
    constraint share_pkey primary key (id),
    constraint share_organization_fkey foreign key (organization_id) references organization (id),
    constraint share_geofence_fkey foreign key (geofence_id) references geofence (id)
);
create unique index share_token_hash_key on share (token_hash);
create index share_organization_idx on share (organization_id, ends_at);
create index share_end_idx on share (ends_at);

-- Their vehicles; those that have entered the link's geofence are not shown any more. Written with the above, and hourly by
-- retention, which notes arrivals before it takes the entries.
create table share_vehicle (
    share_id uuid not null,
    vehicle_id uuid not null,
    arrived_at timestamptz,
    constraint share_vehicle_pkey primary key (share_id, vehicle_id),
    constraint share_vehicle_share_fkey foreign key (share_id) references share (id) on delete cascade,
    constraint share_vehicle_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
);
create index share_vehicle_vehicle_idx on share_vehicle (vehicle_id);
