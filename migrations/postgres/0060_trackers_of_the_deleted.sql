-- Organizations that were deleted before their trackers were deleted with them: the unique ids are free again
-- (src/store/tracker.rs).
update tracker set deleted_at = updated_at, token_hash = null
where deleted_at is null and organization_id in (select id from organization where status = 'deleted');
