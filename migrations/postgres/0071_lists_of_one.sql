-- Lists of a vehicle's or a geofence's stays, and of a geofence's records as they were numbered: the index gives their order.
drop index visit_geofence_idx;
drop index visit_vehicle_idx;
create index visit_geofence_idx on visit (geofence_id, entered_at, id);
create index visit_vehicle_idx on visit (vehicle_id, entered_at, id);
create index records_geofence_feed_idx on records (geofence_id, shard, sequence) where geofence_id is not null;
