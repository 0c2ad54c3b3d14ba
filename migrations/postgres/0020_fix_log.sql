-- What commits applied to vehicles whose states are not stored yet: one row per commit, its fixes packed
-- (docs/store.md). `shard`: whose commits `number` counts; there is one. Written by the track writer only.
create table fix_log (
    shard smallint not null default 0,
    number bigint not null,
    fixes bytea not null,
    constraint fix_log_pkey primary key (shard, number)
);
-- Packed already.
alter table fix_log alter column fixes set storage external;

-- The number of the newest commit.
alter table writer add column log_number bigint not null default 0;

-- A state is stored from time to time: every commit up to `log_number` is in it.
alter table vehicle_state add column log_number bigint not null default 0;
alter table vehicle_state drop column recorded_at;
alter table vehicle_state drop column latitude;
alter table vehicle_state drop column longitude;
