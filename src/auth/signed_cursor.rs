//! Cursors: opaque texts that cannot be changed by clients.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::RwLock;
use sha2::Sha256;

use crate::store::signing_key::SigningKey;

/// Bytes of the authentication code: 128 bits cannot be guessed.
const CODE_BYTES: usize = 16;

/// Signs and opens cursors.
pub struct CursorSigner {
    /// One per key, newest first; replaced as a whole when keys are rotated.
    codes: RwLock<Arc<[Hmac<Sha256>]>>,
}

impl CursorSigner {
    /// Signs with the newest key and opens with all of them. Uses derived keys, because the bare ones sign tokens.
    #[must_use]
    pub fn new(keys: &[SigningKey]) -> Self {
        Self { codes: RwLock::new(codes_of(keys)) }
    }

    /// Replaces the keys.
    pub(super) fn renew(&self, keys: &[SigningKey]) {
        *self.codes.write() = codes_of(keys);
    }

    fn codes(&self) -> Arc<[Hmac<Sha256>]> {
        Arc::clone(&self.codes.read())
    }

    /// Signs a payload for one purpose, such as a list and its organization.
    #[must_use]
    pub fn sign(&self, purpose: &str, payload: &[u8]) -> String {
        let code = self.codes().first().map(|key| code(key, purpose, payload)).unwrap_or_default();
        let mut signed = payload.to_vec();
        signed.extend_from_slice(&code[..CODE_BYTES]);
        BASE64.encode(signed)
    }

    /// The payload, if the text was signed here for this purpose.
    #[must_use]
    pub fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let signed = BASE64.decode(text).ok()?;
        let (payload, given) = signed.split_at_checked(signed.len().checked_sub(CODE_BYTES)?)?;
        let fits =
            |key: &Hmac<Sha256>| keyed_with(key, purpose, payload).verify_truncated_left(given).is_ok();
        self.codes().iter().any(fits).then(|| payload.to_vec())
    }
}

fn codes_of(keys: &[SigningKey]) -> Arc<[Hmac<Sha256>]> {
    let mut keys: Vec<&SigningKey> = keys.iter().collect();
    keys.sort_by_key(|key| std::cmp::Reverse((key.retired_at.is_none(), key.created_at)));
    let keyed =
        |secret: &[u8]| Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of every length");
    let derived = |key: &SigningKey| keyed(&key.secret).chain_update(b"cursor").finalize().into_bytes();
    keys.into_iter().map(|key| keyed(&derived(key))).collect()
}

fn keyed_with(key: &Hmac<Sha256>, purpose: &str, payload: &[u8]) -> Hmac<Sha256> {
    // The length separates purpose and payload.
    key.clone().chain_update((purpose.len() as u64).to_be_bytes()).chain_update(purpose).chain_update(payload)
}

fn code(key: &Hmac<Sha256>, purpose: &str, payload: &[u8]) -> [u8; 32] {
    keyed_with(key, purpose, payload).finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::Timestamp;

    use super::*;
    use crate::store::time::Time;

    #[test]
    fn a_text_opens_only_unchanged_and_for_its_purpose() {
        let (secret, created_at) = (vec![7; 32], Time(Timestamp::default()));
        let key = SigningKey { kid: "a".into(), secret, wrapped: false, created_at, retired_at: None };
        let cursor_signer = CursorSigner::new(&[key]);
        let signed = cursor_signer.sign("events of x", b"payload");
        assert_eq!(cursor_signer.open("events of x", &signed).as_deref(), Some(&b"payload"[..]));
        assert_eq!(cursor_signer.open("events of y", &signed), None);
        for at in 0..signed.len() {
            let mut broken = signed.clone().into_bytes();
            broken[at] = if broken[at] == b'A' { b'B' } else { b'A' };
            let broken = String::from_utf8(broken).unwrap();
            assert_ne!(
                cursor_signer.open("events of x", &broken).as_deref(),
                Some(&b"payload"[..]),
                "byte {at}"
            );
        }
        for nonsense in ["", "AAAA", "%%%"] {
            assert_eq!(cursor_signer.open("events of x", nonsense), None);
        }
    }
}
