-- Lists of a vehicle's or a geofence's stays: the index gives their order.
drop index visit_geofence_idx;
drop index visit_vehicle_idx;
create index visit_geofence_idx on visit (geofence_id, entered_at, id);
create index visit_vehicle_idx on visit (vehicle_id, entered_at, id);
