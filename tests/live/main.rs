//! The live side as trackers and dispatchers see it: the real server behind real sockets, on each engine.

#![expect(clippy::unwrap_used, reason = "tests")]

mod absent_owners;
mod ahead;
mod all_organizations;
mod answers;
mod away;
mod backup;
mod bad_input;
mod clock;
mod connections;
mod descriptors;
mod devices;
mod doctor;
mod events;
mod export;
mod failover;
mod feed;
mod flood;
mod followers;
mod fuel;
mod fuel_days;
mod fuel_log;
#[path = "../../actors/examples/fuel_benchmark/input.rs"]
mod input;
mod inputs;
mod kills;
mod late;
mod master_key;
mod mqtt;
mod mqtt_out;
mod nodes;
mod orders;
mod organization_end;
mod poison;
mod proxy;
mod purge;
mod raw_data;
mod receiver;
mod released;
mod resume;
mod retention;
#[expect(dead_code, reason = "the server detects here")]
#[path = "../../actors/examples/fuel_benchmark/score.rs"]
mod score;
mod secrets;
mod server;
mod slice;
mod stand_in;
#[expect(dead_code, reason = "the detector's own tests use the rest")]
#[path = "../../actors/tests/fuel/tank.rs"]
mod tank;
mod tracker;
mod transfer;
mod webhook_drills;
mod webhook_load;
mod webhooks;
mod wire;
mod writer;
