//! Signatures of Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use waypost_actors::model::Timestamp;

/// The beginning of a secret as it is shown, by which libraries and leak scanners know it.
pub const SECRET_PREFIX: &str = "whsec_";

/// The value of the header `webhook-signature`: one signature per secret, the newest first.
pub(super) fn header(secrets: &[Vec<u8>], id: &str, at: Timestamp, body: &str) -> String {
    let signed = secrets.iter().map(|secret| format!("v1,{}", signature(secret, id, seconds(at), body)));
    signed.collect::<Vec<_>>().join(" ")
}

/// The value of the header `webhook-timestamp`.
pub(super) fn seconds(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1_000)
}

fn signature(secret: &[u8], id: &str, seconds: i64, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of every length");
    let mac = mac.chain_update(format!("{id}.{seconds}.")).chain_update(body);
    BASE64.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_the_one_of_the_specification() {
        let secret = BASE64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_sign_one_after_the_other() {
        let at = Timestamp::from_millis(1_614_265_330_999).unwrap();
        let both = header(&[b"new".to_vec(), b"old".to_vec()], "a", at, "{}");
        let (new, old) = both.split_once(' ').unwrap();
        assert_eq!(new, header(&[b"new".to_vec()], "a", at, "{}"));
        assert_eq!(old, header(&[b"old".to_vec()], "a", at, "{}"));
    }
}
