-- Where a chunk's fixes are (docs/store.md): what a version of a geofence that is dated back is compared with, from an index alone.
-- Empty: not known, as of chunks from before this.
alter table position_chunk add column area bytea not null default '';
create index position_chunk_area_idx on position_chunk (vehicle_id, recorded_at, ended_at, area);
