-- What is deleted with all that was recorded of it: since when that was asked for, and when nothing of it was left. Written by
-- store/purge: the first with the deletion, the second by upkeep, which goes on with a deletion until then. Both stay.
alter table vehicle add column purge_asked_at integer;
alter table vehicle add column purged_at integer;
create index vehicle_purge_idx on vehicle (purge_asked_at) where purge_asked_at is not null and purged_at is null;

-- Of an organization: once nothing of its vehicles is left, its geofences go.
alter table organization add column purge_asked_at integer;
alter table organization add column purged_at integer;
create index organization_purge_idx on organization (purge_asked_at) where purge_asked_at is not null and purged_at is null;
