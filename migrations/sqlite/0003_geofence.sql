-- Geofences as they are today. Written by ops/geofences.
create table geofence (
    id blob not null,
    organization_id blob not null,
    name text not null,
    search_key text not null,
    description text,
    category text,
    color text,
    enabled integer not null,
    effective_from integer,
    shape text not null,
    rules text not null,
    west real not null,
    south real not null,
    east real not null,
    north real not null,
    area_square_meters real not null,
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    constraint geofence_pkey primary key (id),
    constraint geofence_organization_fkey foreign key (organization_id) references organization (id)
) strict;
create index geofence_organization_idx on geofence (organization_id, created_at);

-- Every version a geofence ever had: what a fix is judged by. Written by ops/geofences in the
-- transaction of the edit; `settled` once every vehicle's records of the change are committed.
create table geofence_version (
    geofence_id blob not null,
    version integer not null,
    effective_from integer,
    changed_at integer not null,
    active integer not null,
    deleted integer not null,
    shape text not null,
    rules text not null,
    settled integer not null,
    constraint geofence_version_pkey primary key (geofence_id, version),
    constraint geofence_version_geofence_fkey foreign key (geofence_id) references geofence (id)
) strict;
