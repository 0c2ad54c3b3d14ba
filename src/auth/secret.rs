//! Opaque secrets: 256 random bits, shown once, kept as their SHA-256.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest, Sha256};

use crate::clock;

/// A secret as it is kept.
pub type Hash = Vec<u8>;

/// A new secret with a prefix that leak scanners can know it by.
#[must_use]
pub fn new(prefix: &str) -> String {
    format!("{prefix}{}", BASE64.encode(clock::random_bytes::<32>()))
}

/// How a secret is kept and found again. The secret has 256 random bits: no salt, no slow hash.
#[must_use]
pub fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).to_vec()
}
