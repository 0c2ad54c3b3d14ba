//! A request's Idempotency-Key, and the answer kept under it.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::OpError;
use crate::auth::cipher;
use crate::clock::Clock;
use crate::context::Context;
use crate::store::idempotency::{self, StoredAnswer};

/// How long an answer is kept, in seconds.
const KEPT_SECONDS: f64 = 24.0 * 3600.0;

/// A request that carries a key.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub(super) key: String,
    pub(super) key_hash: Vec<u8>,
    pub(super) fingerprint: Vec<u8>,
    pub(super) clock: Clock,
}

/// A kept answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Headers that a repetition needs.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// Whether this is what the transaction kept of an answer that was never finished, without its headers and
    /// derived members.
    pub is_bare: bool,
}

impl IdempotencyKey {
    /// Keeps the complete answer, once it is known.
    pub async fn answered(&self, context: &Context, answer: &KeptAnswer) -> Result<(), OpError> {
        Ok(idempotency::put(context.db.write(), &self.stored(answer)).await?)
    }

    pub(super) fn stored(&self, answer: &KeptAnswer) -> StoredAnswer {
        let now = self.clock.now();
        StoredAnswer {
            key_hash: self.key_hash.clone(),
            fingerprint: self.fingerprint.clone(),
            answer: cipher::encrypt(&self.key, json!(answer).to_string().as_bytes()),
            created_at: now.into(),
            expires_at: now.plus_seconds(KEPT_SECONDS).into(),
        }
    }
}
