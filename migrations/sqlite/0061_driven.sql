-- For a change of an assignment: the vehicle, and the time in which another driver may have driven it than its records say.
-- Written with the change; the writer puts the records right a week at a time, and moves driven_from up to driven_to, then null.
alter table change add column vehicle_id blob;
alter table change add column driven_from integer;
alter table change add column driven_to integer;
create index change_driven_idx on change (id) where driven_from is not null;
