-- Fixes that are not among the positions, for a reason that will not go away: the database refuses their row,
-- or the engine fails on them. Told to their tracker as refused. Written by the live core, looked into by
-- operators (docs/operations.md).
create table refused_fix (
    vehicle_id uuid not null,
    recorded_at timestamptz not null,
    latitude double precision not null,
    longitude double precision not null,
    received_at timestamptz not null,
    reason text not null,
    fix jsonb not null,
    constraint refused_fix_pkey primary key (vehicle_id, recorded_at, latitude, longitude)
);
