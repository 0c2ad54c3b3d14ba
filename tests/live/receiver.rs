//! A receiver of webhooks that answers as a test says, and keeps what it was sent.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// What a receiver was sent.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) signature: String,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Got {
    /// Whether one of its signatures is by a secret as it was shown.
    pub(crate) fn is_signed_by(&self, secret: &str) -> bool {
        let secret = BASE64.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let signed = hmac::sign(&key, format!("{}.{}.{}", self.id, self.timestamp, self.text).as_bytes());
        let signature = format!("v1,{}", BASE64.encode(signed));
        self.signature.split(' ').any(|one| one == signature)
    }

    pub(crate) fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap()
    }
}

/// What to answer; `None` hangs.
type Answers = Rc<RefCell<Box<dyn Fn(&Got) -> Option<String>>>>;

/// A receiver.
pub(crate) struct Receiver {
    pub(crate) url: String,
    pub(crate) got: Rc<RefCell<Vec<Got>>>,
    answers: Answers,
    /// How it answers: byte by byte with so long between two, or at once.
    pub(crate) trickles: Rc<Cell<Option<Duration>>>,
}

/// An answer without a body.
pub(crate) fn status(status: u16) -> Option<String> {
    Some(format!("HTTP/1.1 {status} As asked\r\ncontent-length: 0\r\n\r\n"))
}

impl Receiver {
    /// One that takes everything.
    pub(crate) async fn start() -> Self {
        Self::start_at(0).await
    }

    /// One that takes everything on a port of loopback; 0 is any.
    pub(crate) async fn start_at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let at: SocketAddr = listener.local_addr().unwrap();
        let (got, answers): (_, Answers) = (Rc::default(), Rc::new(RefCell::new(Box::new(|_| status(204)))));
        let trickles = Rc::default();
        let receiver = Self { url: format!("http://{at}/hook"), got, answers, trickles };
        let (got, answers) = (Rc::clone(&receiver.got), Rc::clone(&receiver.answers));
        let trickles = Rc::clone(&receiver.trickles);
        actix_rt::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (got, answers) = (Rc::clone(&got), Rc::clone(&answers));
                actix_rt::spawn(serve(socket, got, answers, Rc::clone(&trickles)));
            }
        });
        receiver
    }

    /// Answers so from now on.
    pub(crate) fn answer(&self, answer: impl Fn(&Got) -> Option<String> + 'static) {
        *self.answers.borrow_mut() = Box::new(answer);
    }

    /// What it got of a type, in order.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<Got> {
        self.got.borrow().iter().filter(|got| got.kind() == kind).cloned().collect()
    }
}

async fn serve(
    mut socket: TcpStream,
    got: Rc<RefCell<Vec<Got>>>,
    answers: Answers,
    trickles: Rc<Cell<Option<Duration>>>,
) {
    let mut bytes = Vec::new();
    loop {
        let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
            if !more(&mut socket, &mut bytes).await {
                return;
            }
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let header = |name: &str| {
            let line = head.lines().find_map(|line| {
                let (given, value) = line.split_once(':')?;
                given.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            });
            line.unwrap_or_else(|| panic!("no {name} in {head}"))
        };
        let length: usize = header("content-length").parse().unwrap();
        while bytes.len() < end + 4 + length {
            if !more(&mut socket, &mut bytes).await {
                return;
            }
        }
        let text = String::from_utf8(bytes[end + 4..end + 4 + length].to_vec()).unwrap();
        let one = Got {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            body: serde_json::from_str(&text).unwrap(),
            text,
        };
        bytes.drain(..end + 4 + length);
        got.borrow_mut().push(one.clone());
        let answer = answers.borrow()(&one);
        match answer {
            Some(answer) => match trickles.get() {
                None => socket.write_all(answer.as_bytes()).await.unwrap(),
                Some(pause) => {
                    for byte in answer.as_bytes() {
                        // The sender may have read enough.
                        if socket.write_all(&[*byte]).await.is_err() {
                            return;
                        }
                        sleep(pause).await;
                    }
                }
            },
            None => while more(&mut socket, &mut bytes).await {},
        }
    }
}

async fn more(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    let mut part = [0; 8192];
    match socket.read(&mut part).await {
        Ok(read) if read > 0 => {
            bytes.extend_from_slice(&part[..read]);
            true
        }
        _ => false,
    }
}
