//! Idempotency keys whose requests are being handled. They are kept in memory, because only one server at a time
//! holds a store.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Keys whose requests are under way.
#[derive(Clone, Debug, Default)]
pub struct IdempotencyKeys(Arc<Mutex<HashSet<Vec<u8>>>>);

/// Holds a key while its request is under way.
#[derive(Debug)]
pub struct HeldKey {
    keys: IdempotencyKeys,
    key_hash: Vec<u8>,
}

impl Drop for HeldKey {
    fn drop(&mut self) {
        self.keys.0.lock().remove(&self.key_hash);
    }
}

impl IdempotencyKeys {
    /// Holds a key, unless a request with it is under way.
    #[must_use]
    pub fn hold(&self, key_hash: &[u8]) -> Option<HeldKey> {
        let is_first = self.0.lock().insert(key_hash.to_vec());
        is_first.then(|| HeldKey { keys: self.clone(), key_hash: key_hash.to_vec() })
    }
}
