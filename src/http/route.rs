//! What is known of a route before its request is handled: who may call it, and how large its body may be.

use actix_web::Resource;

use crate::auth::Action;

/// The largest body of most routes, unpacked.
pub const SMALL_BYTES: usize = 64 * 1024;
/// The largest body of a geofence, unpacked.
pub const GEOFENCE_BYTES: usize = 4 * 1024 * 1024;
/// The largest body of an import, unpacked.
pub const IMPORT_BYTES: usize = 16 * 1024 * 1024;

/// Who may call a route: asked before anything of its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Anybody; whoever carries an access token is known by it, and refused when it is not in force.
    Either,
    /// Whoever carries an access token in force; what else it takes depends on the object, and the operation asks.
    SignedIn,
    /// Of those only who may do this.
    May(Action),
    /// A tracker, by its own token; the handler looks at it.
    Tracker,
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with `{names}`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The largest body, as it comes and unpacked.
    pub body_bytes: usize,
    pub(super) mount: fn(Resource) -> Resource,
}
