//! ETags: a resource as it is, in one short text. Derived members are no part of it.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::error::OpError;

/// What a client thinks the resource is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    /// It does not say.
    #[default]
    Unsaid,
    /// Whatever it is, as long as it is there.
    Any,
    /// One of these.
    OneOf(Vec<String>),
}

/// The ETag of a resource, with its quotes.
pub fn of(resource: &impl Serialize) -> String {
    let json = serde_json::to_vec(resource).expect("resources are texts, numbers, lists and objects");
    format!("\"{}\"", BASE64.encode(&Sha256::digest(json)[..12]))
}

impl IfMatch {
    /// Refuses a resource that is not as the client thinks.
    pub fn check(&self, resource: &impl Serialize) -> Result<(), OpError> {
        match self {
            Self::Unsaid | Self::Any => Ok(()),
            Self::OneOf(tags) if tags.contains(&of(resource)) => Ok(()),
            Self::OneOf(_) => Err(OpError::Precondition),
        }
    }
}
