//! The HTTP interface: how requests are read and answers written.
//!
//! Owns the route table, the error-code table and the description; knows no SQL and no business rule, which live in
//! `ops` and `domain`.

mod access;
pub mod admin;
pub mod alerts;
pub mod answer;
pub mod api_keys;
pub mod assignments;
pub mod audit;
pub mod auth;
pub mod background;
pub mod body;
pub mod changes;
pub mod code;
mod collection;
mod cors;
pub mod credentials;
pub mod driver_files;
pub mod drivers;
pub mod edge;
mod event_filter;
pub mod event_stream;
pub mod events;
mod fallback;
pub(crate) mod foreign_pages;
pub mod fuel;
mod fuel_lines;
pub mod fuel_periods;
pub mod geofence_events;
pub mod geofence_import;
pub mod geofences;
pub mod geojson;
pub mod health;
mod idempotency;
pub mod inputs;
pub mod json;
pub(crate) mod limit;
pub mod links;
pub mod openapi;
pub mod organizations;
pub mod pages;
pub mod pending_trackers;
pub mod position_history;
pub mod positions;
pub mod problem;
pub mod query;
pub mod receive;
mod refusal;
pub(crate) mod report_token;
pub mod request;
pub mod route;
pub mod routes;
pub mod shares;
pub mod sockets;
pub mod system_users;
pub mod trackers;
pub mod trips;
pub mod users;
pub mod vehicles;
pub mod visits;
pub mod waiting;
pub mod web_page;
pub mod webhooks;

pub use edge::{RequestId, edge, small_as_it_is};

use std::rc::Rc;
use std::sync::Arc;

use actix_web::web::{self, Data, ServiceConfig};

use crate::cluster::router::Router;
use crate::context::Context;
use crate::feed::ShowChange;
use crate::feed::shard_feed::ShardFeeds;

/// What callers may see of changes of master data.
#[must_use]
pub fn show_change(context: Context) -> ShowChange {
    changes::shown_to_callers(&Data::new(context))
}

/// Whose requests an application answers.
#[derive(Clone)]
pub enum Front {
    /// Those of a single server.
    Single(Data<Context>),
    /// Those of a node of a cluster: each has the context of its organization's shard, or is handed on.
    Cluster(Rc<Router>),
}

/// Makes what a thread answers with, on that thread.
pub type MakeFront = Arc<dyn Fn() -> Front + Send + Sync>;

impl Front {
    /// Lets the vehicles of the calling thread's connections live on it; on a node of a cluster, those of each shard once it is
    /// asked for.
    pub fn lend_thread(&self) {
        match self {
            Self::Single(context) => context.live.lend_thread(),
            Self::Cluster(_) => {}
        }
    }

    /// Completes once the server stops.
    pub async fn stopping(&self) {
        match self {
            Self::Single(context) => drop(context.sessions.stopping().wait_for(Option::is_some).await),
            Self::Cluster(router) => router.stopping().await,
        }
    }

    /// Whether requests are handed on.
    #[must_use]
    pub const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

/// Mounts everything on an application. The application wraps itself in [`crate::application!`]'s layers.
pub fn configure(config: &mut ServiceConfig, front: Front) {
    match front {
        Front::Single(context) => {
            config.app_data(Data::from(Arc::clone(&context.settings))).app_data(context)
        }
        Front::Cluster(router) => config
            .app_data(Data::from(router.settings()))
            .app_data(Rc::clone(&router) as Rc<dyn ShardFeeds>)
            .app_data(router),
    };
    routes::mount(config);
    config.default_service(web::to(fallback::unrouted));
}

/// An actix application with all routes and layers, outermost last: the problem and request-id
/// layer, compression, trailing slashes. A macro because its type cannot be written.
#[macro_export]
macro_rules! application {
    ($front:expr) => {{
        let front: $crate::http::Front = $front;
        let is_cluster = front.is_cluster();
        actix_web::App::new()
            .configure(move |config| $crate::http::configure(config, front))
            .wrap(actix_web::middleware::NormalizePath::trim())
            .wrap(actix_web::middleware::from_fn($crate::http::small_as_it_is))
            .wrap(actix_web::middleware::Compress::default())
            .wrap(actix_web::middleware::from_fn($crate::http::edge))
            .wrap(actix_web::middleware::Condition::new(
                is_cluster,
                actix_web::middleware::from_fn($crate::cluster::router::to_owner),
            ))
    }};
}
