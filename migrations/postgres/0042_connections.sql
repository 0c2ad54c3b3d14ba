-- Whether a vehicle is heard of, by the server's clock: records beside those of the timeline. Written by the track writer only.
alter table records drop constraint records_kind_check;
alter table records add constraint records_kind_check
    check (kind in ('entry', 'exit', 'dwell', 'refuel', 'drain', 'overspeed', 'online', 'stale', 'offline'));
create index records_connection_idx on records (organization_id, occurred_at, id)
    where kind in ('online', 'stale', 'offline');
-- A start asks for the newest one of each vehicle.
create index records_vehicle_connection_idx on records (vehicle_id, sequence) where kind in ('online', 'stale', 'offline');
