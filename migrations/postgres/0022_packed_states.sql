-- The engine's states are compressed (docs/store.md): a quarter of the bytes. Those of before stay plain until they are
-- written again. Half of a page is left free, so that a new state of a vehicle lies beside the old one.
alter table vehicle_state alter column state type bytea using convert_to(state, 'UTF8');
alter table vehicle_state alter column state set storage external;
alter table vehicle_state set (fillfactor = 50);
alter table checkpoint alter column state type bytea using convert_to(state, 'UTF8');
alter table checkpoint alter column state set storage external;
