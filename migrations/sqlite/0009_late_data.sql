-- The engine's whole state at instants of a vehicle's timeline: where a correction of late data can
-- begin. Written by the track writer only.
create table checkpoint (
    vehicle_id blob not null,
    at integer not null,
    state text not null,
    constraint checkpoint_pkey primary key (vehicle_id, at)
) strict, without rowid;

-- Beside `dirty_from`, the earliest instant that awaits a correction: the latest one, and why.
alter table vehicle_state add column dirty_until integer;
alter table vehicle_state add column dirty_origin text;
update vehicle_state set dirty_until = dirty_from, dirty_origin = 'backfill' where dirty_from is not null;

-- The instant on the vehicle's timeline that made a record: of the fix that confirmed it, or of the change.
alter table geofence_event add column confirmed_at integer not null default 0;
update geofence_event set confirmed_at = case when occurred_at > fix_recorded_at then occurred_at
    else fix_recorded_at end;
-- Corrections find the records of a part by `occurred_at`, which is hardly earlier; these are the others.
create index geofence_event_lagging_idx on geofence_event (vehicle_id, confirmed_at)
    where confirmed_at - occurred_at > 3600000000;

-- When a vehicle was out of service (deleted, inactive or decommissioned); without an end, it still is.
-- Written by ops/vehicles in the transaction of the edit.
create table out_of_service (
    vehicle_id blob not null,
    began_at integer not null,
    ended_at integer,
    constraint out_of_service_pkey primary key (vehicle_id, began_at),
    constraint out_of_service_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
) strict;
-- What was tracked until now stays as it was judged.
insert into out_of_service (vehicle_id, began_at)
    select id, coalesce(deleted_at, cast(unixepoch('subsec') * 1000 as integer) * 1000) from vehicle
    where deleted_at is not null or status in ('inactive', 'decommissioned');
