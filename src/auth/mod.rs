//! Identity and rights: credentials, tokens, sessions, permissions, scopes.
//!
//! Knows the store, not HTTP. The only maker of [`OrgScope`] and [`Operator`].

mod access_token;
mod accounts;
mod api_keys;
mod attempts;
mod cache;
mod caller;
pub mod cipher;
mod entry;
mod error;
mod fleet;
mod holder;
mod jwt_crypto;
pub mod keys;
pub mod link;
mod password;
pub mod permission;
mod principal;
mod redeem;
pub mod scope;
pub mod secret;
mod sees;
mod service;
mod session;
mod setup;
mod signed_cursor;
mod stream_pass;
mod system_users;
mod ticket;
mod tracker;

pub use access_token::claimed_holder;
pub use accounts::{forgotten_organization, linked_organization, new_organization, writing};
pub use api_keys::PREFIX as API_KEY_PREFIX;
pub use caller::{Caller, Credential, Grant};
pub use entry::Peer;
pub use error::AuthError;
pub use fleet::{Configured, Fleet, Named, Reports};
pub use keys::{KeyError, MasterKey};
pub use password::Hasher;
pub use permission::{Action, Program};
pub use principal::{PersonPrincipal, Principal, SystemPrincipal, SystemRole};
pub use scope::{AccountScope, Operator, OrgScope, SystemUserScope};
pub use sees::Sees;
pub use service::Auth;
pub use session::SignedIn;
pub use setup::{FirstStart, SetupError};
pub use signed_cursor::CursorSigner;
pub use ticket::{LIFETIME_SECONDS as TICKET_SECONDS, Tickets, ticket_organization};
pub use tracker::{Installation, TrackerCredential, TrackerRefused, find_tracker};
