//! Tile38: fences as channels, positions as `SET`, transitions as messages to a subscriber. RESP over TCP.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Packing;
use super::session::{Answer, Encode, Opening, Processes, Session};
use crate::load::{Awaited, Ear, SharedLog, Slice};
use crate::wire::resp::{Reply, first_reply, push_command};
use crate::world::{Transition, World, make_fences};

/// Commands under way while fences are made.
const TOGETHER: usize = 64;

/// Empties it, makes the world's fences and opens sockets.
pub(crate) fn open_tile38(world: &World, packing: Packing, address: &str) -> Result<Session> {
    let pid = make_channels(world, address)?;
    let processes = Processes { server: Some(pid), database: None };
    let mut session = Session::new("Tile38", processes, packing, world.vehicles, encoder())?;
    let mut subscribe = Vec::new();
    push_command(&["PSUBSCRIBE", "f*"], &mut subscribe);
    let listening = session.listen(vec![opening(address, subscribe, Box::new(MessageEar))])?;
    session.keep(Box::new(listening));
    let (connections, _) = packing.of(world.vehicles);
    let openings = (0..connections).map(|_| opening(address, Vec::new(), Box::<ReplyEar>::default()));
    session.open(openings.collect())?;
    Ok(session)
}

fn opening(address: &str, then: Vec<u8>, ear: Box<dyn Ear>) -> Opening {
    Opening { address: address.to_owned(), request: Vec::new(), answer: Answer::Nothing, then, ear }
}

/// Makes a channel of each fence; returns the server's process.
fn make_channels(world: &World, address: &str) -> Result<u32> {
    let mut client = Client::connect(address)?;
    client.ask(&["FLUSHDB"])?;
    client.ask(&["PDELCHAN", "*"])?;
    let outlines = make_fences(world);
    for (some, first) in outlines.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
        let mut bytes = Vec::new();
        for (outline, number) in some.iter().zip(first..) {
            let rings = outline.coordinates().context("Tile38 has circles of 64 corners only")?;
            let object = serde_json::json!({ "type": "Polygon", "coordinates": rings }).to_string();
            push_command(&channel_command(&format!("f{number}"), &object), &mut bytes);
        }
        client.send(&bytes, some.len())?;
    }
    let server = client.ask(&["SERVER"])?;
    process_of(&server).with_context(|| format!("no pid in {server:?}"))
}

fn channel_command<'a>(name: &'a str, object: &'a str) -> [&'a str; 9] {
    ["SETCHAN", name, "WITHIN", "fleet", "FENCE", "DETECT", "enter,exit", "OBJECT", object]
}

fn process_of(server: &Reply) -> Option<u32> {
    let Reply::List(parts) = server else { return None };
    let pair = parts.chunks(2).find(|pair| pair[0] == Reply::Text("pid".to_owned()))?;
    if let Reply::Text(pid) = pair.get(1)? { pid.parse().ok() } else { None }
}

fn encoder() -> Encode {
    Box::new(|slice: &Slice, _, fixes, bytes| {
        for fix in fixes {
            let fix = &slice.fixes[*fix as usize];
            let (id, round) = (format!("v{}", fix.vehicle), fix.round.to_string());
            let (latitude, longitude) = (fix.place.y.to_string(), fix.place.x.to_string());
            let set = ["SET", "fleet", &id, "FIELD", "round", &round, "POINT", &latitude, &longitude];
            push_command(&set, bytes);
        }
    })
}

/// One answer after the other.
struct Client {
    socket: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    fn connect(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address).with_context(|| format!("{address}: no connection"))?;
        socket.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { socket, bytes: Vec::new() })
    }

    fn ask(&mut self, parts: &[&str]) -> Result<Reply> {
        let mut bytes = Vec::new();
        push_command(parts, &mut bytes);
        self.send(&bytes, 1)?.pop().context("no answer")
    }

    fn send(&mut self, commands: &[u8], replies: usize) -> Result<Vec<Reply>> {
        self.socket.write_all(commands)?;
        let mut found = Vec::new();
        let mut some = vec![0; 1 << 16];
        while found.len() < replies {
            match first_reply(&self.bytes) {
                Some((Reply::Error(error), _)) => bail!("Tile38: {error}"),
                Some((reply, length)) => {
                    found.push(reply);
                    self.bytes.drain(..length);
                }
                None => match self.socket.read(&mut some)? {
                    0 => bail!("Tile38 hung up"),
                    read => self.bytes.extend_from_slice(&some[..read]),
                },
            }
        }
        Ok(found)
    }
}

/// Reads an `OK` for each `SET`.
#[derive(Default)]
struct ReplyEar {
    /// Frames, with how many answers each still has to come.
    awaited: VecDeque<Awaited>,
}

impl Ear for ReplyEar {
    fn expect(&mut self, frames: Vec<Awaited>) {
        self.awaited.extend(frames);
    }

    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let mut heard = 0;
        while let Some((reply, length)) = first_reply(&bytes[heard..]) {
            heard += length;
            let Some(first) = self.awaited.front_mut() else { continue };
            first.fixes -= 1;
            if let Reply::Error(error) = reply {
                log.lock().fail(error);
            } else if first.fixes == 0 {
                log.lock().acknowledge(first.frame as usize, at);
                self.awaited.pop_front();
            }
        }
        heard
    }
}

/// The members of a message from Tile38 about a fence.
#[derive(Deserialize)]
struct Message {
    detect: String,
    hook: String,
    id: String,
    #[serde(default)]
    fields: Fields,
}

/// Tile38 leaves a field out whose value is 0.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    round: u32,
}

/// Reads the messages of all channels.
struct MessageEar;

impl Ear for MessageEar {
    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let mut heard = 0;
        while let Some((reply, length)) = first_reply(&bytes[heard..]) {
            heard += length;
            let Some(text) = message(reply) else { continue };
            match transition(&text) {
                Some(told) => log.lock().transition(told, at),
                None => log.lock().fail(format!("no transition: {text}")),
            }
        }
        heard
    }
}

/// The text of a `pmessage`.
fn message(reply: Reply) -> Option<String> {
    let Reply::List(mut parts) = reply else { return None };
    if parts.first() != Some(&Reply::Text("pmessage".to_owned())) {
        return None;
    }
    if let Some(Reply::Text(text)) = parts.pop() { Some(text) } else { None }
}

fn transition(text: &str) -> Option<Transition> {
    let Message { detect, hook, id, fields } = serde_json::from_str(text).ok()?;
    let is_entry = match detect.as_str() {
        "enter" => true,
        "exit" => false,
        _ => return None,
    };
    let number = |name: &str| name.get(1..)?.parse().ok();
    Some(Transition { vehicle: number(&id)?, round: fields.round, is_entry, fence: number(&hook)? })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use super::*;
    use crate::systems::session::wait_until;
    use crate::world::{Fix, Mix, Motion};

    /// Answers OK to everything, SERVER with a process, and one message to a subscriber.
    fn fake(listener: TcpListener, heard: std::sync::mpsc::Sender<Vec<String>>) {
        for socket in listener.incoming() {
            let (mut socket, heard) = (socket.unwrap(), heard.clone());
            std::thread::spawn(move || {
                let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
                while let Ok(read @ 1..) = socket.read(&mut some) {
                    bytes.extend_from_slice(&some[..read]);
                    while let Some((Reply::List(parts), length)) = first_reply(&bytes) {
                        bytes.drain(..length);
                        let text =
                            |part: Reply| if let Reply::Text(text) = part { text } else { panic!("text") };
                        let parts: Vec<String> = parts.into_iter().map(text).collect();
                        let answer = match parts[0].as_str() {
                            "SERVER" => "*2\r\n$3\r\npid\r\n$2\r\n42\r\n".to_owned(),
                            "PSUBSCRIBE" => {
                                let said = r#"{"command":"set","detect":"enter","hook":"f0","id":"v1","fields":{"round":2}}"#;
                                let told = format!(
                                    "*4\r\n$8\r\npmessage\r\n$2\r\nf*\r\n$2\r\nf0\r\n${}\r\n{said}\r\n",
                                    said.len()
                                );
                                format!("*3\r\n$10\r\npsubscribe\r\n$2\r\nf*\r\n:1\r\n{told}")
                            }
                            _ => "+OK\r\n".to_owned(),
                        };
                        heard.send(parts).unwrap();
                        socket.write_all(answer.as_bytes()).unwrap();
                    }
                }
            });
        }
    }

    #[test]
    fn a_message_of_round_0_has_no_field() {
        let said = r#"{"command":"set","detect":"exit","hook":"f3","id":"v1"}"#;
        assert_eq!(transition(said), Some(Transition { vehicle: 1, round: 0, is_entry: false, fence: 3 }));
    }

    #[test]
    fn fences_positions_and_messages_are_spoken_as_documented() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (said, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || fake(listener, said));
        let world =
            World { seed: 1, vehicles: 1, fences: 1, vertices: 10, mix: Mix::Poly, motion: Motion::Roam };
        let packing = Packing::Fleet { connections: 1, fixes: 1 };
        let mut session = open_tile38(&world, packing, &address).unwrap();
        assert_eq!(session.processes.server, Some(42));
        let log = session.log().clone();
        wait_until("the message", Duration::from_secs(10), || !log.lock().transitions.is_empty()).unwrap();
        assert_eq!(log.lock().transitions, [Transition { vehicle: 1, round: 2, is_entry: true, fence: 0 }]);

        let fix = Fix { vehicle: 0, round: 7, place: geo::Coord { x: 10.5, y: 45.25 }, heading: 0 };
        let slice = Arc::new(Slice::new(vec![fix], vec![]));
        let plan = session.plan(&slice, 1_000.0).unwrap();
        crate::load::send(&plan, session.sockets(), Instant::now(), 0, || {}).unwrap();
        wait_until("the answer", Duration::from_secs(10), || log.lock().acknowledged == 1).unwrap();
        let all: Vec<Vec<String>> = heard.try_iter().collect();
        let channel = all.iter().find(|parts| parts[0] == "SETCHAN").unwrap();
        assert_eq!(channel[1..8], ["f0", "WITHIN", "fleet", "FENCE", "DETECT", "enter,exit", "OBJECT"]);
        assert!(channel[8].starts_with(r#"{"coordinates":[[[1"#), "{}", channel[8]);
        let set = all.iter().find(|parts| parts[0] == "SET").unwrap();
        assert_eq!(set[1..], ["fleet", "v0", "FIELD", "round", "7", "POINT", "45.25", "10.5"]);
    }
}
