//! Encryption under a secret: of kept answers, which may hold a token shown only once, and of signing keys.
//!
//! The secret is not stored, so that neither can be read from the database alone. Answers are encrypted under the
//! client's own Idempotency-Key, and are protected as well as that key is hard to guess; signing keys under the
//! master key.

use hmac::{Hmac, KeyInit, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;

use crate::clock;

/// A MAC over some parts under a secret. Each part is prefixed with its length, so that different parts cannot give
/// the same input.
#[must_use]
pub fn code_of(secret: &str, parts: &[&[u8]]) -> Vec<u8> {
    let keyed = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of every length");
    let with = |keyed: Hmac<Sha256>, part: &&[u8]| {
        keyed.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
    };
    parts.iter().fold(keyed, with).finalize().into_bytes().to_vec()
}

/// Encrypts bytes under a secret.
#[must_use]
pub fn encrypt(secret: &str, plain: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE_LEN] = clock::random_bytes();
    let mut encrypted = plain.to_vec();
    key(secret)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut encrypted)
        .expect("an answer is far smaller than the cipher's limit");
    [&nonce[..], &encrypted].concat()
}

/// Decrypts bytes; `None` unless they were encrypted under this secret.
#[must_use]
pub fn decrypt(secret: &str, encrypted: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = encrypted.split_first_chunk::<NONCE_LEN>()?;
    let mut sealed = sealed.to_vec();
    let plain = key(secret).open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut sealed);
    plain.ok().map(|plain| plain.to_vec())
}

fn key(secret: &str) -> LessSafeKey {
    let bytes = code_of(secret, &[b"kept answer"]);
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).expect("the code has the key's 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_opens_and_only_what_is_whole() {
        let encrypted = encrypt("a key", b"wpt_token");
        assert!(!encrypted.windows(9).any(|part| part == b"wpt_token"));
        assert_ne!(encrypted, encrypt("a key", b"wpt_token"));
        assert_eq!(decrypt("a key", &encrypted).as_deref(), Some(&b"wpt_token"[..]));
        assert_eq!(decrypt("another", &encrypted), None);
        for at in 0..encrypted.len() {
            let mut broken = encrypted.clone();
            broken[at] ^= 1;
            assert_eq!(decrypt("a key", &broken), None, "byte {at}");
        }
        assert_eq!(decrypt("a key", b""), None);
        assert_ne!(code_of("k", &[b"ab", b"c"]), code_of("k", &[b"a", b"bc"]));
    }
}
