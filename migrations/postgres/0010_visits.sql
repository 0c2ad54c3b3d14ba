-- What a vehicle did inside, on exits.
alter table geofence_event add column analytics jsonb;

-- Lists of visits by entry.
create index visit_organization_idx on visit (organization_id, entered_at, id);
