//! How many letters an address gets within a day, whoever causes them and however.
//!
//! Letters that anybody can cause with somebody else's address count together, and apart from those that their readers
//! need: nobody uses up a reader's new passwords by signing up in their name.

use waypost_actors::model::Timestamp;

use crate::domain::link::{LetterKind, Notice, Purpose};
use crate::store::letter_written;
use crate::store::sql::{SqlError, Tx};

/// Of each group within a day.
const A_DAY: i64 = 5;
/// So long a written letter counts, in seconds.
pub const COUNTED_SECONDS: f64 = 86_400.0;

/// When a letter may go to an address: `None` is now.
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

/// The kinds of letters that count together; none of those that have no bound.
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
        // What somebody must hear whose address is taken away, and links that go by no letter.
        LetterKind::Notice(Notice::AddressChanged) | LetterKind::Link(Purpose::Setup | Purpose::SignIn) => {
            &[]
        }
    }
}
