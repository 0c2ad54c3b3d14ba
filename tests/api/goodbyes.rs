//! How both sockets close: a client's goodbye is answered, and a client that breaks the protocol learns which rule.

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use waypost::clock::new_id;

use crate::harness::{App, with_app};
use crate::sockets::{Socket, opened};
use crate::sockets_end::{closed, tracker_token};

/// One signed-in socket of each kind; where a client may sign in later, one that is not signed in, too.
async fn sockets(app: &App) -> [(&'static str, Socket); 3] {
    let org = app.org(&format!("polite-{}", new_id())).await;
    let token = tracker_token(app, &org).await;
    [
        ("tracker", opened(app, "/v1/ws/tracker", &token).await.unwrap()),
        ("live", opened(app, "/v1/ws/live", &org.viewer).await.unwrap()),
        ("live, not signed in", opened(app, "/v1/ws/live", "").await.unwrap()),
    ]
}

/// Everything that still arrives, up to the end of the connection.
async fn last(socket: &mut Socket) -> Vec<Message> {
    let mut said = Vec::new();
    while let Some(message) = socket.next().await {
        said.push(message.unwrap());
    }
    said
}

#[test]
fn a_goodbye_is_answered_by_its_own_code() {
    with_app(async |app| {
        let bye = CloseFrame { code: CloseCode::Normal, reason: "bye".into() };
        for (kind, mut socket) in sockets(&app).await {
            socket.send(Message::Close(Some(bye.clone()))).await.unwrap();
            let answer = CloseFrame { code: CloseCode::Normal, reason: "".into() };
            assert_eq!(last(&mut socket).await, [Message::Close(Some(answer))], "{kind}");
        }
        app
    });
}

#[test]
fn a_goodbye_without_a_code_is_answered_by_one_without() {
    with_app(async |app| {
        for (kind, mut socket) in sockets(&app).await {
            socket.send(Message::Close(None)).await.unwrap();
            assert_eq!(last(&mut socket).await, [Message::Close(None)], "{kind}");
        }
        app
    });
}

#[test]
fn who_breaks_the_protocol_hears_which_rule() {
    with_app(async |app| {
        let frame = |bytes: &[u8], opcode, is_final| {
            let header = FrameHeader { opcode, is_final, ..FrameHeader::default() };
            Frame::from_payload(header, bytes.to_vec().into())
        };
        let text = OpCode::Data(Data::Text);
        let mut reserved = frame(b"{}", text, true);
        reserved.header_mut().rsv1 = true;
        for (broken, code, word) in [
            (reserved, 1002, "protocolError"),
            (frame(b"{}", OpCode::Data(Data::Continue), true), 1002, "protocolError"),
            (frame(b"", OpCode::Control(Control::Ping), false), 1002, "protocolError"),
            (frame(b"\x03", OpCode::Control(Control::Close), true), 1002, "protocolError"),
            (frame(b"\xff", text, true), 1007, "invalidText"),
            (frame(b"{\"type\":\"\xff", text, false), 1007, "invalidText"),
        ] {
            for (kind, mut socket) in sockets(&app).await {
                socket.send(Message::Frame(broken.clone())).await.unwrap();
                assert_eq!(closed(&mut socket).await, (code, word.to_owned()), "{kind}: {broken}");
            }
        }
        app
    });
}
