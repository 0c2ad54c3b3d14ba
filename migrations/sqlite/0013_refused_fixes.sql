-- Fixes that are not among the positions, for a reason that will not go away: the database refuses their row,
-- or the engine fails on them. Told to their tracker as refused. Written by the live core, looked into by
-- operators (docs/operations.md).
create table refused_fix (
    vehicle_id blob not null,
    recorded_at integer not null,
    latitude real not null,
    longitude real not null,
    received_at integer not null,
    reason text not null,
    fix text not null,
    constraint refused_fix_pkey primary key (vehicle_id, recorded_at, latitude, longitude)
) strict;
