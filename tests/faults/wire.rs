//! Client sockets as the runs record them: a short word for how they end.

use std::time::Duration;

use serde_json::Value;
use waypost_client::socket::{Ended, Request, Socket, Unopened, hear, open};

/// A server that does not answer the handshake for this long is given up.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Opens a socket; or returns why not: an HTTP status, `unreachable`, `silent`.
pub(crate) async fn connect(request: Request) -> Result<Socket, String> {
    open(request, ANSWER_WITHIN).await.map_err(|why| match why {
        Unopened::Refused { status, .. } => status.as_u16().to_string(),
        Unopened::Unreachable(_) => "unreachable".to_owned(),
        Unopened::Silent => "silent".to_owned(),
    })
}

/// The next text message; or how the socket ended: a close code, or `broken`.
pub(crate) async fn next(socket: &mut Socket) -> Result<Value, String> {
    match hear(socket).await {
        Ok(text) => Ok(serde_json::from_str(&text).unwrap()),
        Err(Ended::Closed { code, .. }) => Err(code.to_string()),
        Err(Ended::Unsaid) => Err("0".to_owned()),
        Err(Ended::Broken(_)) => Err("broken".to_owned()),
    }
}
