//! Where a client continues in the log: opaque to clients, and only ever issued by this server.

use waypost_actors::model::Timestamp;
use waypost_actors::watch::Audience;

use crate::auth::CursorSigner;

/// A cursor older than this cannot be resumed on the feed. Seconds: 7 days.
const KEEP_SECONDS: f64 = 7.0 * 86_400.0;

/// There is only one writer now; there may be more later.
const WRITER: u8 = 1;

/// Signs the number of the next entry of the log that a client has not seen, for its audience. `known_at`: everything
/// numbered before it was told by then.
#[must_use]
pub fn sign(
    cursor_signer: &CursorSigner,
    audience: Audience,
    next_sequence: i64,
    known_at: Timestamp,
) -> String {
    let mut payload = [WRITER; 17];
    payload[1..9].copy_from_slice(&next_sequence.to_be_bytes());
    payload[9..].copy_from_slice(&known_at.as_millis().to_be_bytes());
    cursor_signer.sign(&purpose(audience), &payload)
}

/// The number in a cursor and its instant; `None` if it is not this server's or this audience's.
#[must_use]
pub fn read(cursor_signer: &CursorSigner, audience: Audience, cursor: &str) -> Option<(i64, Timestamp)> {
    let payload = cursor_signer.open(&purpose(audience), cursor)?;
    let (&[WRITER], rest) = payload.split_first_chunk::<1>()? else { return None };
    let (sequence, millis) = rest.split_first_chunk::<8>()?;
    let known_at = Timestamp::from_millis(i64::from_be_bytes(millis.try_into().ok()?)).ok()?;
    Some((i64::from_be_bytes(*sequence), known_at))
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

fn purpose(audience: Audience) -> String {
    match audience {
        Audience::Organization(organization) => format!("feed:{organization}"),
        Audience::Everyone => "feed:*".to_owned(),
    }
}
