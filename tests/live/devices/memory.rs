//! What a device costs that is connected and says nothing.

use std::net::SocketAddr;

use futures_util::stream::{self, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waypost_test_support::{Engine, Program, TestStore, port_for_restarts, run};

use super::stand_in::{greeting, teltonika};
use crate::server::{Server, launch};

/// What a device may take, in bytes, and what the process may take beside them, whatever their number.
const EACH: u64 = 14_000;
const BESIDE: u64 = 4_000_000;

/// Devices: `WAYPOST_TEST_DEVICES`, or 300.
fn count() -> usize {
    std::env::var("WAYPOST_TEST_DEVICES").map_or(300, |text| text.parse().expect("it is a number"))
}

fn name(number: usize) -> String {
    format!("3563070{number:08}")
}

async fn furnish(store: &TestStore, count: usize) -> String {
    let server = Server::start(store).await;
    let fleet = server.fleet("org").await;
    for number in 0..count {
        let body =
            json!({ "name": name(number), "category": "bus", "tracker": { "uniqueId": name(number) } });
        server.post("/v1/vehicles", &fleet.admin, body).await.ok(201);
    }
    let organization = fleet.id.clone();
    server.stop().await;
    organization
}

async fn connected(to: SocketAddr, number: usize, at: i64) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(&[greeting(&name(number)), teltonika(&[at])].concat()).await.unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, [1, 0, 0, 0, 1]);
    stream
}

#[test]
fn a_device_that_says_nothing_takes_little_memory() {
    run(Engine::Sqlite, async |store: TestStore| {
        let count = count();
        let organization = furnish(&store, count).await;
        let mut launch = launch(&store);
        let to = SocketAddr::from(([127, 0, 0, 1], port_for_restarts()));
        launch
            .settings
            .push(("WAYPOST_DEVICE_LISTENERS".to_owned(), format!("teltonika://{to}/{organization}")));
        let mut server = Program::start(&launch).await;
        let at = (waypost::clock::Clock::system().now().as_millis() / 1_000 - 3_600) * 1_000;
        // Vehicles, trackers and what is known of them are there whether a device is connected or not. One after the
        // other, or what these connections leave behind would be used again by those that are measured.
        for number in 0..count {
            drop(connected(to, number, at).await);
        }
        let before = server.resident_bytes();
        let again = stream::iter(0..count).map(|number| connected(to, number, at)).buffer_unordered(100);
        let open: Vec<TcpStream> = again.collect().await;
        let grown = server.resident_bytes().saturating_sub(before);
        println!("{} idle devices take {:.1} kB each", open.len(), grown as f64 / 1e3 / open.len() as f64);
        assert!(grown < EACH * open.len() as u64 + BESIDE, "memory grew by {grown} bytes");
        drop(open);
        server.stop().await;
    });
}
