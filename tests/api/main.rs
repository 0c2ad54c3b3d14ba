//! The interface, by what its users do: the real server in this process, one data directory per test.

#![expect(clippy::unwrap_used, reason = "tests")]

mod assignments;
mod audit;
mod auth;
mod contract;
mod conventions;
mod description;
mod driver_lock;
mod driver_tenancy;
mod drivers;
mod feed_rights;
mod fleet;
mod fuel;
mod fuel_reported;
mod generators;
mod geofence_events;
mod geofence_import;
mod geofences;
mod goodbyes;
mod harness;
mod inside;
mod letters;
mod limits;
mod matrix;
mod metrics;
mod mistakes;
mod once;
mod organization_life;
mod organizations;
mod plan_limits;
mod positions_history;
mod post;
mod protocol;
mod publishing;
mod sockets_end;
mod stale_sign_up;
mod system_users;
mod tracker_socket;
mod trackers;
mod user_changes;
mod users;
mod vehicle_fuel;
mod vehicles;
mod visits;
mod watch;
