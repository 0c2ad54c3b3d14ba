//! Opaque secrets: 256 random bits, shown once, stored as their SHA-256.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest, Sha256};

use crate::clock;

/// The stored form of a secret.
pub type Hash = Vec<u8>;

/// A new secret with a prefix by which leak scanners can recognize it.
#[must_use]
pub fn new(prefix: &str) -> String {
    format!("{prefix}{}", BASE64.encode(clock::random_bytes::<32>()))
}

/// Hashes a secret for storage and lookup. With 256 random bits it needs no salt and no slow hash.
#[must_use]
pub fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).to_vec()
}
