//! How many letters an address gets within a day, whatever causes them.
//!
//! Letters that a stranger can cause with another person's address count together, and apart from those the reader
//! needs: signing up in someone's name does not use up their password resets.

use waypost_actors::model::Timestamp;

use crate::domain::link::{LetterKind, Notice, Purpose};
use crate::store::letter_written;
use crate::store::sql::{SqlError, Tx};

/// Letters of one group within [`COUNTED_SECONDS`].
const A_DAY: i64 = 5;
/// How long a written letter counts, in seconds.
pub const COUNTED_SECONDS: f64 = 86_400.0;

/// The earliest time a letter may go to an address: `None` is now.
pub(super) async fn not_before(
    tx: &mut Tx,
    letter: LetterKind,
    recipient: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, SqlError> {
    let group = group(letter);
    if group.is_empty() {
        return Ok(None);
    }
    let since = now.plus_seconds(-COUNTED_SECONDS).into();
    let (written, first) = letter_written::since(tx.on(), recipient, group, since).await?;
    let room = first.map(|first| first.0.plus_seconds(COUNTED_SECONDS));
    Ok(room.filter(|_| written >= A_DAY))
}

/// The kinds of letters that are counted together with this one; empty if it is not limited.
const fn group(letter: LetterKind) -> &'static [&'static str] {
    match letter {
        LetterKind::Link(Purpose::VerifySystemUser | Purpose::ActivateOrganization)
        | LetterKind::Notice(Notice::SignUpAgain) => {
            const {
                &[
                    Purpose::VerifySystemUser.as_str(),
                    Purpose::ActivateOrganization.as_str(),
                    Notice::SignUpAgain.as_str(),
                ]
            }
        }
        LetterKind::Link(Purpose::Invite) => const { &[Purpose::Invite.as_str()] },
        LetterKind::Link(Purpose::ConfirmAddress) => const { &[Purpose::ConfirmAddress.as_str()] },
        LetterKind::Link(Purpose::ResetPassword | Purpose::ResetSystemPassword) => {
            const { &[Purpose::ResetPassword.as_str(), Purpose::ResetSystemPassword.as_str()] }
        }
        // The old address must always hear that it was replaced; the links are not sent by letter.
        // A webhook is disabled at most once before somebody enables it again.
        LetterKind::Notice(Notice::AddressChanged | Notice::WebhookDisabled)
        | LetterKind::Link(Purpose::Setup | Purpose::SignIn) => &[],
    }
}
