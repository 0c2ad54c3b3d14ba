//! Where a client continues in the log: opaque to clients, and only ever issued by this server.

use waypost_actors::model::Timestamp;
use waypost_actors::watch::Audience;

use crate::auth::CursorSigner;

/// A cursor older than this cannot be resumed on the feed. Seconds: 7 days.
const KEEP_SECONDS: f64 = 7.0 * 86_400.0;

/// How a cursor begins that is a number of one track writer.
const ONE: u8 = 1;
/// How one begins that has a number of each shard, in their order.
const ALL: u8 = 2;

/// Signs the number of the next entry of the log that a client has not seen, for its audience. `known_at`: everything
/// numbered before it was told by then.
#[must_use]
pub fn sign(
    cursor_signer: &CursorSigner,
    audience: Audience,
    next_sequence: i64,
    known_at: Timestamp,
) -> String {
    sign_for(cursor_signer, &purpose(audience), next_sequence, known_at)
}

/// The same for the [`purpose`] of an audience.
pub(super) fn sign_for(
    cursor_signer: &CursorSigner,
    purpose: &str,
    next_sequence: i64,
    known_at: Timestamp,
) -> String {
    let mut payload = [ONE; 17];
    payload[1..9].copy_from_slice(&next_sequence.to_be_bytes());
    payload[9..].copy_from_slice(&known_at.as_millis().to_be_bytes());
    cursor_signer.sign(purpose, &payload)
}

/// Signs such a number for each shard of a cluster, for who follows all organizations.
pub(super) fn sign_all(cursor_signer: &CursorSigner, next_sequences: &[i64], known_at: Timestamp) -> String {
    let numbers = next_sequences.iter().copied().chain([known_at.as_millis()]);
    let payload: Vec<u8> = [ALL].into_iter().chain(numbers.flat_map(i64::to_be_bytes)).collect();
    cursor_signer.sign(&purpose(Audience::Everyone), &payload)
}

/// The number in a cursor and its instant; `None` if it is not this server's or this audience's.
#[must_use]
pub fn read(cursor_signer: &CursorSigner, audience: Audience, cursor: &str) -> Option<(i64, Timestamp)> {
    let (numbers, known_at) = unseal(cursor_signer, (ONE, audience), cursor)?;
    match numbers[..] {
        [number] => Some((number, known_at)),
        _ => None,
    }
}

fn unseal(
    cursor_signer: &CursorSigner,
    (kind, audience): (u8, Audience),
    cursor: &str,
) -> Option<(Vec<i64>, Timestamp)> {
    let payload = cursor_signer.open(&purpose(audience), cursor)?;
    let (numbers, rest) = payload.strip_prefix(&[kind])?.as_chunks::<8>();
    let mut numbers: Vec<i64> = numbers.iter().map(|bytes| i64::from_be_bytes(*bytes)).collect();
    let known_at = Timestamp::from_millis(numbers.pop()?).ok()?;
    rest.is_empty().then_some((numbers, known_at))
}

/// The number in a cursor, if the feed can be resumed from there.
pub(super) fn open(
    cursor_signer: &CursorSigner,
    audience: Audience,
    cursor: &str,
    now: Timestamp,
) -> Option<i64> {
    let (sequence, known_at) = read(cursor_signer, audience, cursor)?;
    (now.seconds_since(known_at) <= KEEP_SECONDS).then_some(sequence)
}

/// For each shard, the cursor at which its own feed can be resumed.
pub(super) fn open_all(cursor_signer: &CursorSigner, cursor: &str, now: Timestamp) -> Option<Vec<String>> {
    let (numbers, known_at) = unseal(cursor_signer, (ALL, Audience::Everyone), cursor)?;
    let of_shard = |number| sign(cursor_signer, Audience::Everyone, number, known_at);
    (now.seconds_since(known_at) <= KEEP_SECONDS).then(|| numbers.into_iter().map(of_shard).collect())
}

/// What the cursors of an audience are signed for.
pub(super) fn purpose(audience: Audience) -> String {
    match audience {
        Audience::Organization(organization) => format!("feed:{organization}"),
        Audience::Everyone => "feed:*".to_owned(),
    }
}
