//! Sockets of the server under test: opened, written and read as JSON.

use serde_json::{Value, json};
use waypost_client::socket::{self, Ended, Unopened};

use crate::harness::{ANSWER_WITHIN, App};

pub(crate) use waypost_client::socket::Socket;

/// Opens a socket; or returns the status that refuses it. With an empty token, no account is signed in.
pub(crate) async fn opened(app: &App, path: &str, token: &str) -> Result<Socket, u16> {
    let request = match path {
        "/v1/ws/tracker" => socket::tracker(&app.url, token),
        _ => socket::feed(&app.url, token),
    };
    socket::open(request, ANSWER_WITHIN).await.map_err(|why| match why {
        Unopened::Refused { status, .. } => status.as_u16(),
        why => panic!("{why}"),
    })
}

pub(crate) async fn say(socket: &mut Socket, frame: &Value) {
    socket::say(socket, frame.to_string()).await.unwrap();
}

/// The next frame; a close is returned with its code.
pub(crate) async fn hear(socket: &mut Socket) -> Value {
    match socket::hear(socket).await {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(Ended::Closed { code, .. }) => json!({ "closed": code }),
        Err(how) => panic!("{how}"),
    }
}
