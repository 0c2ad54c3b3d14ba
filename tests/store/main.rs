//! The store's mechanism on both engines: one suite, run once per engine.

mod assignment;
mod backup;
mod cache;
mod changes;
mod chunks;
mod connections;
mod corrections;
mod driven;
mod driver_at;
mod fix_log;
mod fleet;
mod fuel;
mod merging;
mod opening;
mod overspeed;
mod poison;
mod retention;
mod schema;
mod slices;
mod statements;
mod track;
mod transactions;
mod transfer;
mod trips;
mod upgrade;
mod values;
