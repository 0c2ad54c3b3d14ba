-- Lists that would go through history for a rare filter or an instant (src/store/stay.rs says the same in the same words).
-- Stays by the class of how long they lasted: those that went on at an instant began, by class, not long before it.
create index visit_lasting_idx on visit (organization_id, (case when exited_at - entered_at < interval '64 s' then 0
        when exited_at - entered_at < interval '512 s' then 1
        when exited_at - entered_at < interval '4096 s' then 2
        when exited_at - entered_at < interval '32768 s' then 3
        when exited_at - entered_at < interval '262144 s' then 4
        when exited_at - entered_at < interval '2097152 s' then 5
        when exited_at - entered_at < interval '16777216 s' then 6 else 7 end), entered_at, exited_at, geofence_id)
    where exited_at is not null;
-- Stays that lasted long, of an organization and of a geofence.
create index visit_duration_idx on visit (organization_id, (cast(extract(epoch from exited_at - entered_at) as double precision))) where exited_at is not null;
create index visit_geofence_duration_idx on visit (geofence_id, (cast(extract(epoch from exited_at - entered_at) as double precision))) where exited_at is not null;
create index visit_open_idx on visit (organization_id, entered_at, id) where exited_at is null;

-- Readings of sensors that failed; refuels and drains as they were numbered.
create index fuel_log_quality_idx on fuel_log (organization_id, quality, recorded_at, id) where quality <> 'ok';
create index fuel_log_vehicle_quality_idx on fuel_log (vehicle_id, quality, recorded_at, id) where quality <> 'ok';
create index records_fuel_feed_idx on records (organization_id, shard, sequence) where kind in ('refuel', 'drain');

-- The audit of a time, of a thing, of somebody, and of what was done to what.
create index audit_time_idx on audit (organization_id, occurred_at, id);
create index audit_resource_idx on audit (organization_id, resource_id, id);
create index audit_actor_idx on audit (organization_id, actor_id, id);
create index audit_action_idx on audit (organization_id, resource, action, id);
