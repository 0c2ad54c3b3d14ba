-- Fixes that came in order, many of one vehicle in a row, packed (docs/store.md). A vehicle's chunks do not overlap; a
-- fix that `position` has too is as it is there. Written by the track writer only.
create table position_chunk (
    vehicle_id blob not null,
    -- Of its oldest fix, and of its newest.
    recorded_at integer not null,
    ended_at integer not null,
    fixes blob not null,
    constraint position_chunk_pkey primary key (vehicle_id, recorded_at)
) strict, without rowid;
