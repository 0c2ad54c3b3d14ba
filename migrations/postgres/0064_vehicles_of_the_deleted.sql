-- Organizations that were deleted before their vehicles were deleted with them: no vehicle of theirs is live any more
-- (src/store/vehicle.rs). They are out of service since the organization was deleted.
insert into out_of_service (vehicle_id, began_at)
select v.id, o.updated_at from vehicle v join organization o on o.id = v.organization_id
where o.status = 'deleted' and v.deleted_at is null and not exists
    (select 1 from out_of_service s where s.vehicle_id = v.id and (s.ended_at is null or s.began_at = o.updated_at));
update vehicle set deleted_at = (select o.updated_at from organization o where o.id = vehicle.organization_id)
where deleted_at is null and organization_id in (select id from organization where status = 'deleted');
