//! The properties of a route that matter before a request is handled: who may call it, and how large its body may be.

use actix_web::Resource;

use crate::auth::Action;

/// The largest body of most routes, unpacked.
pub const SMALL_BYTES: usize = 64 * 1024;
/// The largest body of a geofence, unpacked.
pub const GEOFENCE_BYTES: usize = 4 * 1024 * 1024;
/// The largest file of a document, unpacked.
pub const FILE_BYTES: usize = 10 * 1024 * 1024;
/// The largest body of an import, unpacked.
pub const IMPORT_BYTES: usize = 16 * 1024 * 1024;

/// Who may call a route; checked before any of its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Whoever may sign up, or do this for others. A caller who sends an access token is identified by it, and refused if it is invalid.
    Either(Action),
    /// A caller with a valid access token. Further rights depend on the object, and the operation checks them.
    SignedIn,
    /// A caller with a valid access token who may do this.
    May(Action),
    /// A caller with a valid access token whom the path names, or who may do this.
    OneselfOr(Action),
    /// A tracker with its own token, which the handler checks.
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
    /// The largest body, both as received and unpacked.
    pub body_bytes: usize,
    pub(super) mount: fn(Resource) -> Resource,
}
