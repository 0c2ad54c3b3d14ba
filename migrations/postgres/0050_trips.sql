-- Trips and stops: records of the timeline, told when they begin and revised when they end. Written by the track writer only.
alter table records drop constraint records_kind_check;
alter table records add constraint records_kind_check check (kind in ('entry', 'exit', 'dwell', 'refuel', 'drain', 'overspeed',
    'online', 'stale', 'offline', 'trip', 'stop'));

-- Trips and stops: of an organization, of a vehicle, and those that go on.
create index records_trip_idx on records (organization_id, occurred_at, id) where kind = 'trip';
create index records_stop_idx on records (organization_id, occurred_at, id) where kind = 'stop';
create index records_vehicle_trip_idx on records (vehicle_id, occurred_at, id) where kind = 'trip';
create index records_vehicle_stop_idx on records (vehicle_id, occurred_at, id) where kind = 'stop';
create index records_open_trip_idx on records (organization_id, occurred_at, id) where kind = 'trip' and ended_at is null;
create index records_open_stop_idx on records (organization_id, occurred_at, id) where kind = 'stop' and ended_at is null;
