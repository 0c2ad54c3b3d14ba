//! Access tokens: short-lived JWTs that identify the caller, but grant nothing.
//!
//! Role, organization and revocation are looked up for each request, so that a change takes effect at once.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::jwt_crypto;
use crate::clock;
use crate::store::session::HolderId;
use crate::store::signing_key::SigningKey;

/// How long an access token is valid, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 15 * 60;
/// How far two clocks may be apart, in seconds.
const LEEWAY_SECONDS: i64 = 10;
/// Seconds a running server may take to notice a new key, signing with the old one until then.
const NOTICED_WITHIN_SECONDS: f64 = 60.0;
const ISSUER: &str = "waypost";
const AUDIENCE: &str = "waypost-api";
/// The media type of an access token (RFC 9068); a token of any other kind is refused.
const TYPE: &str = "at+jwt";

/// The claims of an access token; all are required.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: Uuid,
    /// The kind of holder that `sub` identifies.
    kind: Kind,
    /// The session: the family of refresh tokens.
    sid: Uuid,
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: Uuid,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Account,
    System,
}

/// The subject of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// The account or system user.
    pub holder: HolderId,
    /// The session: the family of refresh tokens.
    pub session_id: Uuid,
}

/// Signs and checks access tokens.
pub(super) struct AccessTokens {
    newest: (String, EncodingKey),
    keys: HashMap<String, (DecodingKey, Option<Timestamp>)>,
    validation: Validation,
}

impl AccessTokens {
    /// Signs with the newest key and accepts tokens of the others; of a retired one until its tokens have expired.
    #[must_use]
    pub(super) fn new(keys: &[SigningKey]) -> Option<Self> {
        jwt_crypto::install();
        let newest = keys.iter().max_by_key(|key| (key.retired_at.is_none(), key.created_at))?;
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp", "nbf"]);
        // Times are checked below, by the server's clock instead of the library's.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let decoding =
            |key: &SigningKey| (key.kid.clone(), (DecodingKey::from_secret(&key.secret), good_until(key)));
        Some(Self {
            newest: (newest.kid.clone(), EncodingKey::from_secret(&newest.secret)),
            keys: keys.iter().map(decoding).collect(),
            validation,
        })
    }

    /// Signs a new token.
    pub(super) fn issue(
        &self,
        subject: Subject,
        now: Timestamp,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let now = now.as_millis().div_euclid(1000);
        let (kind, sub) = match subject.holder {
            HolderId::Account(id) => (Kind::Account, id),
            HolderId::System(id) => (Kind::System, id),
        };
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub,
            kind,
            sid: subject.session_id,
            iat: now,
            nbf: now,
            exp: now + LIFETIME_SECONDS,
            jti: clock::new_id(),
        };
        let header = Header {
            typ: Some(TYPE.to_owned()),
            kid: Some(self.newest.0.clone()),
            ..Header::new(Algorithm::HS256)
        };
        jsonwebtoken::encode(&header, &claims, &self.newest.1)
    }

    /// The subject of a token, if the token is ours and valid.
    #[must_use]
    pub(super) fn check(&self, token: &str, now: Timestamp) -> Option<Subject> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        if header.typ.as_deref() != Some(TYPE) {
            return None;
        }
        let (key, good_until) = self.keys.get(&header.kid?)?;
        if good_until.is_some_and(|until| until <= now) {
            return None;
        }
        let claims = jsonwebtoken::decode::<Claims>(token, key, &self.validation).ok()?.claims;
        let now = now.as_millis().div_euclid(1000);
        let in_force = claims.nbf <= now + LEEWAY_SECONDS && now < claims.exp + LEEWAY_SECONDS;
        in_force.then_some(Subject { holder: claims.holder(), session_id: claims.sid })
    }
}

impl Claims {
    const fn holder(&self) -> HolderId {
        match self.kind {
            Kind::Account => HolderId::Account(self.sub),
            Kind::System => HolderId::System(self.sub),
        }
    }
}

/// Whose a token says it is. Nothing is checked, so this tells where to ask and no more.
#[must_use]
pub fn claimed_holder(token: &str) -> Option<HolderId> {
    let claims = BASE64.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok().map(|claims| claims.holder())
}

/// Until when access tokens signed by a key are valid; `None` if the key is not retired.
fn good_until(key: &SigningKey) -> Option<Timestamp> {
    let lifetime = LIFETIME_SECONDS as f64;
    key.retired_at.map(|retired| Timestamp::from(retired).plus_seconds(lifetime + NOTICED_WITHIN_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn key(kid: &str, byte: u8) -> SigningKey {
        let (secret, created_at) = (vec![byte; 32], crate::store::time::Time(NOW));
        SigningKey { kid: kid.into(), secret, wrapped: false, created_at, retired_at: None }
    }

    fn subject() -> Subject {
        Subject { holder: HolderId::System(clock::new_id()), session_id: clock::new_id() }
    }

    #[test]
    fn a_token_is_good_for_fifteen_minutes_and_the_leeway() {
        let tokens = AccessTokens::new(&[key("a", 1)]).unwrap();
        let subject = subject();
        let token = tokens.issue(subject, NOW).unwrap();
        for (after, good) in [(-11.0, false), (-10.0, true), (0.0, true), (909.0, true), (910.0, false)] {
            let found = tokens.check(&token, NOW.plus_seconds(after));
            assert_eq!(found, good.then_some(subject), "after {after} s");
        }
        assert_eq!(claimed_holder(&token), Some(subject.holder));
        assert_eq!((claimed_holder("a.b.c"), claimed_holder("")), (None, None));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let tokens = AccessTokens::new(&[key("a", 1)]).unwrap();
        let others = AccessTokens::new(&[key("a", 2)]).unwrap();
        let strangers = AccessTokens::new(&[key("b", 1)]).unwrap();
        let good = tokens.issue(subject(), NOW).unwrap();
        let [header, claims, mac] = good.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
        let part = |json: &str| BASE64.encode(json);
        let forged = [
            others.issue(subject(), NOW).unwrap(),
            strangers.issue(subject(), NOW).unwrap(),
            format!("{header}.{claims}."),
            format!("{header}.{claims}.{}", &mac[..20]),
            format!("{}.{claims}.", part(r#"{"alg":"none","typ":"at+jwt","kid":"a"}"#)),
            format!("{}.{claims}.{mac}", part(r#"{"alg":"HS256","typ":"JWT","kid":"a"}"#)),
            format!("{}.{claims}.{mac}", part(r#"{"alg":"HS256","typ":"at+jwt"}"#)),
            format!("{}.{claims}.{mac}", part(r#"{"alg":"RS256","typ":"at+jwt","kid":"a"}"#)),
            format!("{header}.{}.{mac}", part(r#"{"sub":"x"}"#)),
            String::new(),
            "..".to_owned(),
        ];
        assert!(tokens.check(&good, NOW).is_some());
        for token in forged {
            assert_eq!(tokens.check(&token, NOW), None, "{token}");
        }
    }

    #[test]
    fn an_older_key_still_checks() {
        let old = key("old", 1);
        let token = AccessTokens::new(std::slice::from_ref(&old)).unwrap().issue(subject(), NOW).unwrap();
        let mut new = key("new", 2);
        new.created_at.0 = NOW.plus_seconds(1.0);
        assert!(AccessTokens::new(&[old.clone(), new.clone()]).unwrap().check(&token, NOW).is_some());
        // A retired key verifies what it signed until those tokens expire, whatever lifetime a token claims.
        let retired = SigningKey { retired_at: Some(NOW.into()), ..old.clone() };
        let tokens = AccessTokens::new(&[retired, new]).unwrap();
        assert!(tokens.check(&token, NOW.plus_seconds(899.0)).is_some());
        let later = NOW.plus_seconds(1_000.0);
        let forged = AccessTokens::new(&[old]).unwrap().issue(subject(), later).unwrap();
        assert_eq!(tokens.check(&forged, later), None, "who has a retired key makes no tokens with it");
    }
}
