//! A request with an Idempotency-Key takes effect once: a repetition gets the first one's answer.
//!
//! A change keeps its answer in its own transaction (`change`), so that a crash leaves either nothing or both.
//! Requests under way are tracked in memory, because only one server at a time holds a store; even with two, the
//! table's key would hold.

use serde::Serialize;
use serde_json::json;

use super::error::OpError;
use super::idempotency_key::{IdempotencyKey, KeptAnswer};
use super::request_context;
use crate::auth::cipher;
use crate::context::Context;
use crate::locks::HeldKey;
use crate::store::idempotency;
use crate::store::sql::{Tx, is_conflict};

/// What to do with a request that carries a key.
#[derive(Debug)]
pub enum Found {
    /// It is the first: handle it, holding its key meanwhile.
    First(IdempotencyKey, HeldKey),
    /// It is a repetition, with this answer.
    Again(KeptAnswer),
}

/// Looks up whether a request came before. `whose` scopes the key; `request` holds the parts that must be equal:
/// method, path, body.
pub async fn look_up(
    context: &Context,
    whose: &[u8],
    key: String,
    request: &[&[u8]],
) -> Result<Found, OpError> {
    let key = IdempotencyKey {
        key_hash: cipher::code_of(&key, &[whose]),
        fingerprint: cipher::code_of(&key, request),
        clock: context.clock.clone(),
        key,
    };
    let held = context.idempotency_keys.hold(&key.key_hash).ok_or(OpError::KeyUnderWay)?;
    match idempotency::find(context.db.read(), &key.key_hash, context.clock.now().into()).await? {
        None => {
            request_context::set_idempotency_key(key.clone());
            Ok(Found::First(key, held))
        }
        Some(kept) if kept.fingerprint != key.fingerprint => Err(OpError::KeyReused),
        Some(kept) => {
            let plain = cipher::decrypt(&key.key, &kept.answer);
            let answer = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
            answer.map(Found::Again).ok_or_else(|| OpError::Internal("a kept answer does not open".into()))
        }
    }
}

/// Keeps the answer of a transaction, if its request carries a key.
pub(super) async fn keep(tx: &mut Tx, status: u16, body: &impl Serialize) -> Result<(), OpError> {
    let Some(key) = request_context::idempotency_key() else { return Ok(()) };
    let body = json!(body).to_string();
    let kept = key.stored(&KeptAnswer { status, headers: Vec::new(), body, is_bare: true });
    idempotency::forget(tx.on(), kept.created_at).await?;
    idempotency::insert(tx.on(), &kept)
        .await
        .map_err(|error| if is_conflict(&error) { OpError::KeyUnderWay } else { error.into() })
}
