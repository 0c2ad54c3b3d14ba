//! The operations, one file per resource: permission, transaction, and after the commit the live core.
//!
//! Takes bodies as `domain::body` types them; knows nothing of HTTP.

pub mod activation;
pub mod assignment_history;
pub mod assignments;
pub mod audit;
mod audited;
mod change;
pub mod driver_lock;
pub mod drivers;
pub mod error;
pub mod etag;
pub mod events;
pub mod fuel;
pub mod fuel_chart;
pub mod fuel_consumption;
pub mod fuel_pages;
pub mod fuel_raw;
pub mod geofence_events;
pub mod geofence_import;
mod geofence_shape;
pub mod geofences;
pub mod idempotency;
pub mod idempotency_key;
pub mod inside;
mod letters;
mod listing;
pub mod live_view;
mod organization_lifecycle;
pub mod organizations;
mod own_organization;
pub mod position_history;
mod publish;
pub mod request_context;
pub mod retention;
pub mod scoped;
pub mod sign_in;
mod stale_sign_up;
pub mod system_users;
pub mod trackers;
pub mod users;
pub mod vehicles;
pub mod visits;
