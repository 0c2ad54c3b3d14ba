-- The engine's states are written with every position and read whole: as text, which the database does not take
-- apart. As `jsonb` that was a third of its work.
alter table vehicle_state alter column state type text;
alter table checkpoint alter column state type text;
-- Tells a batch at once whether any vehicle awaits a correction.
create index vehicle_state_dirty_idx on vehicle_state (dirty_from) where dirty_from is not null;
