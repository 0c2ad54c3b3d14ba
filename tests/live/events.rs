//! Server-Sent Events, as a client reads them.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::DEADLINE;

/// A stream of events.
pub(crate) struct Events(Lines<BufReader<TcpStream>>);

/// An event.
pub(crate) struct Event {
    pub(crate) name: String,
    /// Empty without one.
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Events {
    /// Asks a server (`http://…`) for a stream, going on after an id unless that is empty. Its status is not looked at.
    pub(crate) async fn open(server: &str, query: &str, token: &str, last_id: &str) -> io::Result<Self> {
        let address = server.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).await?;
        let request = format!(
            "GET /v1/events/stream?{query} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             last-event-id: {last_id}\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).await?;
        Ok(Self(BufReader::new(connection).lines()))
    }

    /// The next event; `None` once the connection has ended.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Event>> {
        let (mut name, mut id) = (String::new(), String::new());
        while let Some(line) = self.0.next_line().await? {
            match line.split_once(": ") {
                Some(("event", value)) => (name, id) = (value.to_owned(), String::new()),
                Some(("id", value)) => id = value.to_owned(),
                Some(("data", value)) => {
                    return Ok(Some(Event { name, id, data: serde_json::from_str(value)? }));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The data of the next event of a name.
    pub(crate) async fn hear(&mut self, name: &str) -> Value {
        let heard = async {
            loop {
                let event = self.next().await.unwrap().expect("the stream goes on");
                if event.name == name {
                    return event.data;
                }
            }
        };
        timeout(DEADLINE, heard).await.unwrap_or_else(|_| panic!("no {name}"))
    }
}
