-- The engine's states are compressed (docs/store.md): a quarter of the bytes. Those of before stay plain until they are
-- written again. Ordered by vehicle, so that neighbours, which are written together, share pages.
create table new_vehicle_state (
    vehicle_id blob not null,
    organization_id blob not null,
    state blob not null,
    dirty_from integer,
    dirty_until integer,
    dirty_origin text,
    kept_from integer,
    log_number integer not null default 0,
    constraint vehicle_state_pkey primary key (vehicle_id)
) strict, without rowid;
insert into new_vehicle_state (vehicle_id, organization_id, state, dirty_from, dirty_until, dirty_origin, kept_from, log_number)
    select vehicle_id, organization_id, cast(state as blob), dirty_from, dirty_until, dirty_origin, kept_from, log_number
    from vehicle_state order by vehicle_id;
drop table vehicle_state;
alter table new_vehicle_state rename to vehicle_state;
create index vehicle_state_dirty_idx on vehicle_state (dirty_from) where dirty_from is not null;

create table new_checkpoint (
    vehicle_id blob not null,
    at integer not null,
    state blob not null,
    constraint checkpoint_pkey primary key (vehicle_id, at)
) strict, without rowid;
insert into new_checkpoint (vehicle_id, at, state)
    select vehicle_id, at, cast(state as blob) from checkpoint order by vehicle_id, at;
drop table checkpoint;
alter table new_checkpoint rename to checkpoint;
