//! The ways in which a dispatcher's socket ends.

use std::fmt::Display;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::outlet::{Outlet, Telling};
use super::protocol::Say;
use super::wire;
use crate::sessions::End;
use crate::socket::Broken;
use crate::socket::Frame;

/// A close code with its code word and reason.
pub(super) struct Close(pub(super) u16, pub(super) &'static str, pub(super) String);

/// Why the socket ends.
pub(super) enum Stop {
    /// The other side is gone.
    Gone,
    /// The client said goodbye, with this code if it had one.
    Goodbye(Option<u16>),
    /// The server closes.
    Close(Close),
}

/// The session is over: signed out, disabled, or with other rights than before.
pub(super) fn session_over() -> Stop {
    Stop::Close(Close(4401, "sessionEnded", "the session is not valid any more".to_owned()))
}

/// The close for a socket that must end.
pub(super) fn ended(end: End) -> Stop {
    match end {
        // The others are told to trackers only.
        End::Credential | End::Replaced | End::VehicleDeleted | End::Moved | End::Changed => session_over(),
        End::Disabled => {
            let detail = "the organization is not active";
            Stop::Close(Close(4403, "organizationInactive", detail.to_owned()))
        }
        // Reconnect after a random moment.
        End::Restarting => Stop::Close(Close(1012, "restarting", "the server restarts".to_owned())),
    }
}

/// The close when what is to be sent cannot be read; the client resumes by its cursor.
pub(super) fn store_away(error: impl Display) -> Stop {
    // The cause is for operators only, because it may quote the database.
    tracing::warn!(%error, "what a dispatcher has missed cannot be read");
    Stop::Close(Close(1013, "storeAway", "the store is away; resume by the last cursor".to_owned()))
}

/// Waits until the socket must end.
pub(super) async fn stopped(stopping: &mut watch::Receiver<Option<End>>) -> End {
    let told = stopping.wait_for(Option::is_some).await;
    told.ok().and_then(|end| *end).unwrap_or(End::Restarting)
}

/// The close for a binary frame, where only text is allowed.
pub(super) fn not_text() -> Stop {
    Stop::Close(Close(4400, "malformedFrame", "frames are JSON text, not binary".to_owned()))
}

/// The end of a socket whose frames cannot be read; a frame may have `most` bytes.
pub(super) fn broken(why: Broken, most: usize) -> Stop {
    let why = why.close(most);
    why.map_or(Stop::Gone, |(code, word, detail)| Stop::Close(Close(code, word, detail)))
}

/// Sends the reason and closes. A client that does not read does not get the reason either.
pub(super) async fn goodbye(mut out: Outlet, stop: Stop) {
    let last = match stop {
        Stop::Gone => return,
        Stop::Goodbye(code) => Frame::close_answer(code),
        Stop::Close(Close(code, word, detail)) => {
            let say = Say::Error { id: None, code: word, detail: &detail, errors: &[] };
            let (kind, cursor) = say.as_event();
            out.tell(&Telling { kind, cursor, text: &[&wire::json(&say)] });
            Frame::close(code, &detail)
        }
    };
    timeout(Duration::from_secs(1), out.close(last)).await.ok();
}
