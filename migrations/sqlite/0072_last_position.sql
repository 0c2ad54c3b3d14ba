-- When each tracker last sent a position that was taken, beside when it was last heard. Written with that, about once a minute
-- (src/store/tracker_report.rs); null until it sends one.
alter table tracker_contact add column last_position_at integer;
