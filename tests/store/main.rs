//! The store's mechanism on both engines: one suite, run once per engine.

mod assignment;
mod cache;
mod corrections;
mod drove;
mod fleet;
mod merging;
mod opening;
mod poison;
mod schema;
mod slices;
mod statements;
mod track;
mod transactions;
mod upgrade;
mod values;
