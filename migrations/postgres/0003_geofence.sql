-- Geofences as they are today. Written by ops/geofences.
create table geofence (
    id uuid not null,
    organization_id uuid not null,
    name text collate "C" not null,
    search_key text not null,
    description text,
    category text,
    color text,
    enabled boolean not null,
    effective_from timestamptz,
    shape jsonb not null,
    rules jsonb not null,
    west double precision not null,
    south double precision not null,
    east double precision not null,
    north double precision not null,
    area_square_meters double precision not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    constraint geofence_pkey primary key (id),
    constraint geofence_organization_fkey foreign key (organization_id) references organization (id)
);
create index geofence_organization_idx on geofence (organization_id, created_at);

-- Every version a geofence ever had: what a fix is judged by. Written by ops/geofences in the
-- transaction of the edit; `settled` once every vehicle's records of the change are committed.
create table geofence_version (
    geofence_id uuid not null,
    version bigint not null,
    effective_from timestamptz,
    changed_at timestamptz not null,
    active boolean not null,
    deleted boolean not null,
    shape jsonb not null,
    rules jsonb not null,
    settled boolean not null,
    constraint geofence_version_pkey primary key (geofence_id, version),
    constraint geofence_version_geofence_fkey foreign key (geofence_id) references geofence (id)
);
