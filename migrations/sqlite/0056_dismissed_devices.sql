-- A device that somebody does not want as a tracker: not listed any more, and of what it sends nothing is kept. Written by
-- src/store/pending_tracker.rs.
alter table pending_tracker add column dismissed_at integer;
