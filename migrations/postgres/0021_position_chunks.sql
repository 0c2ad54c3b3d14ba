-- Fixes that came in order, many of one vehicle in a row, packed (docs/store.md). A vehicle's chunks do not overlap; a
-- fix that `position` has too is as it is there. Written by the track writer only. Partitioned as `position` is: no chunk
-- is in two weeks.
create table position_chunk (
    vehicle_id uuid not null,
    -- Of its oldest fix, and of its newest.
    recorded_at timestamptz not null,
    ended_at timestamptz not null,
    fixes bytea not null,
    constraint position_chunk_pkey primary key (vehicle_id, recorded_at)
) partition by range (recorded_at);
-- Packed already.
alter table position_chunk alter column fixes set storage external;
create table position_chunk_default partition of position_chunk default;
