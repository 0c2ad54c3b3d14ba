//! The connections between trackers and the server: some swallow everything, some cut frames in half.

use std::time::Duration;

use futures_util::SinkExt;
use rand::RngExt;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use waypost_client::socket::tracker;
use waypost_test_support::{Engine, Proxy, eventually};

use crate::drill::{Drill, Load};
use crate::ground::{Bus, DEADLINE, on};
use crate::seed::seed;
use crate::wire::{connect, next};

/// Connections half-open: both ends believe in them, and nothing comes through any more. The tracker
/// gives up by its own patience and comes back on a new one; the server ends the old one.
#[test]
fn lines_that_swallow_everything() {
    let seed = seed();
    on(Engine::Sqlite, async |ground| {
        let proxy = Proxy::start(0, "").await;
        let mut load = Load::every(8).with("WAYPOST_TRACKER_PING_INTERVAL", "1s");
        (load.through, load.patience) = (Some(proxy.address().to_owned()), Duration::from_secs(2));
        let mut drill = Drill::through(ground, seed, load, &proxy).await;
        for moment in drill.moments(2) {
            drill.answered(moment).await;
            proxy.swallow();
        }
        let counts = drill.finish(ground).await;
        let lost: usize = counts.ends.values().sum();
        assert!(lost > 0, "no line was cut: {:?}", counts.ends);
    });
}

/// A frame cut in half, by the end of its connection or by the next frame: only that connection is lost.
#[test]
fn frames_cut_in_half() {
    let seed = seed();
    on(Engine::Sqlite, async |ground| {
        let mut drill = Drill::begin(ground, seed, Load::every(8)).await;
        // A bus that is not of the load.
        let bus = ground.fleet.buses[1].clone();
        for moment in drill.moments(4) {
            drill.answered(moment).await;
            let bytes = drill.dice.random_range(1..200);
            cut_off(&drill, &bus, bytes).await;
            assert_eq!(interrupted(&drill, &bus).await, "1002");
        }
        let counts = drill.finish(ground).await;
        assert!(counts.ends.is_empty(), "other trackers were disturbed: {:?}", counts.ends);
    });
}

/// Sends the beginning of a frame and hangs up.
async fn cut_off(drill: &Drill, bus: &Bus, bytes: usize) {
    let socket = connect(tracker(drill.api.server(), &bus.token)).await.unwrap();
    let MaybeTlsStream::Plain(mut stream) = socket.into_inner() else { unreachable!("tests speak ws://") };
    // A masked text frame of 1,000 bytes, masked with zeros.
    let mut frame = vec![0x81, 0xfe, 0x03, 0xe8, 0, 0, 0, 0];
    frame.extend(r#"{"type":"positions","items":[{"seq":1,"#.bytes().cycle().take(bytes));
    stream.write_all(&frame).await.unwrap();
    stream.shutdown().await.unwrap();
}

/// Sends the beginning of a message and then another one; returns how the server ends it.
async fn interrupted(drill: &Drill, bus: &Bus) -> String {
    let connected = || connect(tracker(drill.api.server(), &bus.token));
    let mut socket = eventually(DEADLINE, connected).await;
    let half = Frame::message(&b"{\"type\":\"posi"[..], OpCode::Data(Data::Text), false);
    socket.send(Message::Frame(half)).await.unwrap();
    socket.send(Message::text(r#"{"type":"positions","items":[]}"#)).await.unwrap();
    loop {
        match tokio::time::timeout(Duration::from_secs(30), next(&mut socket)).await.unwrap() {
            Ok(_) => {}
            Err(end) => return end,
        }
    }
}
