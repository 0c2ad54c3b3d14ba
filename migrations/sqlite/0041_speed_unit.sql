-- The unit in which a tracker's app says speeds, where its words leave that open. Written with the tracker (src/store/tracker.rs).
alter table tracker add column speed_unit text;
