-- What stands up to this instant on the vehicle's timeline is not evaluated any more, for it is past the
-- organization's retention: a checkpoint holds the state as of then. Written by retention.
alter table vehicle_state add column kept_from timestamptz;
