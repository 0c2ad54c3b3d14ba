-- The engine's states are text here already.
-- Tells a batch at once whether any vehicle awaits a correction.
create index vehicle_state_dirty_idx on vehicle_state (dirty_from) where dirty_from is not null;
