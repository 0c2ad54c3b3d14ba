//! To which organization a request belongs. Judges nothing: a credential that is not good any more leads to the node that
//! says so.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::claim::{Claim, claim, named, named_holder};
use crate::auth::{AuthError, secret};
use crate::connections::Peer;
use crate::http::problem::Problem;
use crate::store::session::HolderId;
use crate::store::shard::Shard;
use crate::store::sql::{Db, SqlError};
use crate::store::whose::{Found, Kind, of_holder, of_secret};

/// Credentials whose organization is known, at some 100 bytes each; beyond that, they are forgotten.
const MOST_KNOWN: usize = 100_000;
/// Lookups at the same time: a client that makes credentials up waits with the others, and the store does not.
const LOOKUPS_AT_ONCE: usize = 8;
/// A lookup that takes longer, with the wait for its turn, is given up, so that others have it.
const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of an operator's body that are looked at.
const BODY_BYTES: usize = 64 * 1024;
/// Characters of an id.
const UUID_CHARS: usize = 36;
/// Bytes of a body with a refresh token that are looked at.
const REFRESH_BYTES: usize = 4 * 1024;
/// A body has this long to come, to be looked at.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// Whom a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An organization.
    Organization(OrganizationId),
    /// No organization: its node is the one with what belongs to nobody.
    Nobody,
    /// Every node answers it alike.
    Here,
    /// Its first message says so: [`super::relay::Relay::socket_by_ticket`].
    FirstMessage,
}

impl Whose {
    /// The shard whose owner it is for.
    #[must_use]
    pub const fn shard(self) -> Shard {
        match self {
            Self::Organization(organization) => Shard::of(organization),
            Self::Nobody | Self::Here | Self::FirstMessage => Shard::FIRST,
        }
    }
}

/// Finds out whom requests belong to. One for all threads.
pub struct Finder {
    db: Db,
    known: Mutex<HashMap<Key, OrganizationId>>,
    lookups: Semaphore,
}

/// What something's organization is looked up by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Secret(Kind, secret::Hash),
    Holder(HolderId),
}

/// The member of a body by which an operator names an organization.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    organization_id: Uuid,
}

/// The member of a body by which a session is refreshed or ended.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refreshing {
    refresh_token: String,
}

impl Finder {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(db: Db) -> Self {
        Self { db, known: Mutex::default(), lookups: Semaphore::new(LOOKUPS_AT_ONCE) }
    }

    /// Whom a request belongs to. Fails only if the store does. Its body may be looked at, and is as it was afterwards.
    pub async fn organization_of(&self, request: &mut ServiceRequest) -> Result<Whose, Problem> {
        let found = match claim(request.request()) {
            Claim::Here => return Ok(Whose::Here),
            Claim::FirstMessage => return Ok(Whose::FirstMessage),
            Claim::Nobody => None,
            Claim::Organization(id) => Some(id),
            Claim::Secret(Kind::Key, hash) => self.of_caller(request, Key::Secret(Kind::Key, hash)).await?,
            Claim::Secret(kind, hash) => self.find(Key::Secret(kind, hash)).await?.flatten(),
            Claim::Holder(holder) => self.of_caller(request, Key::Holder(holder)).await?,
            Claim::RefreshToken => match peek::<Refreshing>(request, REFRESH_BYTES).await {
                Some(body) => {
                    self.find(Key::Secret(Kind::Session, secret::hash(&body.refresh_token))).await?.flatten()
                }
                None => None,
            },
        };
        Ok(found.map_or(Whose::Nobody, Whose::Organization))
    }

    /// The organization of the caller; of an operator, the one that the request names.
    async fn of_caller(
        &self,
        request: &mut ServiceRequest,
        key: Key,
    ) -> Result<Option<OrganizationId>, Problem> {
        let Some(own) = self.find(key).await? else { return Ok(None) };
        if let Some(found) = own.or_else(|| named(request.request())) {
            return Ok(Some(found));
        }
        if let Some(holder) = named_holder(request.request()) {
            return Ok(self.find(Key::Holder(holder)).await?.flatten());
        }
        let begins = begins(request, BODY_BYTES).await;
        Ok(begins.and_then(|(text, is_whole)| named_in(&text, is_whole)).map(OrganizationId))
    }

    /// What is known, or stored. What has an organization never gets another one, so it is known from then on. What has none may
    /// get one, and what does not exist may be made up without end, so neither is remembered.
    async fn find(&self, key: Key) -> Result<Found, Problem> {
        if let Some(known) = self.known.lock().get(&key) {
            return Ok(Some(Some(*known)));
        }
        let found = timeout(FOUND_WITHIN, self.look_up(&key)).await;
        let found = found.unwrap_or_else(|_| Err(SqlError::Io(ErrorKind::TimedOut.into())));
        let found = found.map_err(|error| Problem::from(AuthError::Store(error)))?;
        if let Some(Some(organization)) = found {
            let mut known = self.known.lock();
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(key, organization);
        }
        Ok(found)
    }

    async fn look_up(&self, key: &Key) -> Result<Found, SqlError> {
        let _turn = self.lookups.acquire().await;
        match key {
            Key::Secret(kind, hash) => of_secret(&self.db, *kind, hash).await,
            Key::Holder(holder) => of_holder(&self.db, *holder).await,
        }
    }
}

/// The organization that a body names. Of a long one, of which this is the beginning, the first that is there: if that is not what
/// it means, the node that it goes to does not have what it means, and refuses it.
fn named_in(text: &[u8], is_whole: bool) -> Option<Uuid> {
    if is_whole {
        return serde_json::from_slice::<Named>(text).ok().map(|body| body.organization_id);
    }
    let name = b"\"organizationId\"";
    let id_behind = |at: usize| {
        let behind = text[at..].strip_prefix(name)?.trim_ascii_start().strip_prefix(b":")?;
        let id = behind.trim_ascii_start().strip_prefix(b"\"")?;
        Uuid::try_parse_ascii(id.get(..UUID_CHARS)?).ok()
    };
    (0..text.len()).find_map(id_behind)
}

/// Reads a small JSON body, and puts back what came of it.
async fn peek<T: DeserializeOwned>(request: &mut ServiceRequest, most: usize) -> Option<T> {
    let (text, is_whole) = begins(request, most).await?;
    is_whole.then(|| serde_json::from_slice(&text).ok())?
}

/// How an uncompressed body begins, and whether that is all of it; it is as it was afterwards.
async fn begins(request: &mut ServiceRequest, most: usize) -> Option<(BytesMut, bool)> {
    let has_body = request.headers().contains_key(header::CONTENT_LENGTH)
        || request.headers().contains_key(header::TRANSFER_ENCODING);
    if !has_body || request.headers().contains_key(header::CONTENT_ENCODING) {
        return None;
    }
    let _awaited = request.request().conn_data::<Arc<Peer>>().map(Peer::awaited);
    let mut payload = request.take_payload();
    let mut pieces = Vec::new();
    let is_whole = timeout(BODY_WITHIN, take_some(&mut payload, &mut pieces, most)).await;
    let text = gathered(&pieces);
    request.set_payload(put_back(pieces, payload));
    Some((text, is_whole == Ok(true)))
}

type Pieces = Vec<Result<Bytes, actix_web::error::PayloadError>>;

/// Takes pieces of a body until its end; whether all of it came, and has `most` bytes at most.
async fn take_some(payload: &mut Payload, pieces: &mut Pieces, most: usize) -> bool {
    let mut length = 0;
    while length <= most {
        let Some(piece) = payload.next().await else { return true };
        let is_broken = piece.is_err();
        length += piece.as_ref().map_or(0, Bytes::len);
        pieces.push(piece);
        if is_broken {
            return false;
        }
    }
    false
}

fn gathered(pieces: &Pieces) -> BytesMut {
    pieces.iter().flatten().fold(BytesMut::new(), |mut all, piece| {
        all.extend_from_slice(piece);
        all
    })
}

fn put_back(pieces: Pieces, rest: Payload) -> Payload {
    let whole = stream::iter(pieces).chain(rest);
    let whole: std::pin::Pin<Box<dyn Stream<Item = _>>> = Box::pin(whole);
    Payload::Stream { payload: whole }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn of_a_long_body_the_beginning_says_whose_it_is() {
        let id = Uuid::from_u128(7);
        let text = format!(r#"{{"name": "organizationId", "organizationId" : "{id}", "shape": [[1"#);
        assert_eq!(named_in(text.as_bytes(), false), Some(id));
        for cut in 0..text.find("shape").unwrap() - 5 {
            assert_eq!(named_in(&text.as_bytes()[..cut], false), None, "{cut}");
        }
        let whole =
            format!(r#"{{"shape": {{"organizationId": "{}"}}, "organizationId": "{id}"}}"#, Uuid::nil());
        assert_eq!(named_in(whole.as_bytes(), true), Some(id));
        assert_eq!(named_in(b"not JSON", true), None);
    }

    async fn body(request: &mut ServiceRequest) -> Vec<u8> {
        let pieces: Vec<Bytes> = request.take_payload().map(Result::unwrap).collect().await;
        pieces.concat()
    }

    #[actix_rt::test]
    async fn a_body_is_looked_at_and_stays_as_it_was() {
        let id = Uuid::from_u128(7);
        let small = format!(r#"{{"name":"a","organizationId":"{id}"}}"#);
        let large = format!(r#"{{"name":"{}","organizationId":"{id}"}}"#, "a".repeat(BODY_BYTES));
        for (sent, found) in [(small, Some(id)), (large, None), (r#"{"name":"#.to_owned(), None)] {
            let mut request = TestRequest::post().set_payload(sent.clone()).to_srv_request();
            request.headers_mut().insert(header::CONTENT_LENGTH, header::HeaderValue::from(sent.len()));
            assert_eq!(peek::<Named>(&mut request, BODY_BYTES).await.map(|body| body.organization_id), found);
            assert_eq!(body(&mut request).await, sent.as_bytes());
        }
    }
}
