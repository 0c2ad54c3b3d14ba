//! A server that may open no further file or socket goes on storing what comes over the sockets it has.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::net::TcpStream;
use waypost_client::socket;
use waypost_test_support::{Program, TestStore, eventually, for_each_engine};

use crate::server::{DEADLINE, Server, launch, stored_positions};
use crate::wire::{Wire, items};

for_each_engine!(without_descriptors_a_connected_tracker_is_acknowledged);

const START: i64 = 1_790_000_000_000;

async fn without_descriptors_a_connected_tracker_is_acknowledged(store: TestStore) {
    let server = Server::start(&store).await;
    let bus = server.fleet("org").await.bus("one").await;
    server.stop().await;
    let program = Program::start(&launch(&store)).await;
    let mut wire = Wire::open(socket::tracker(&program.url(), &bus.token)).await.unwrap();
    wire.report(items(1, 2, START)).await;
    assert_eq!(wire.hear("ack").await["seq"], 2);
    let pid = Pid::from_raw(program.id().cast_signed()).unwrap();
    // Only the standard three may be opened anew, and they are open.
    let none = Rlimit { current: Some(3), maximum: Some(3) };
    prlimit(Some(pid), Resource::Nofile, none).unwrap();
    let _refused = TcpStream::connect(program.url().trim_start_matches("http://")).await.unwrap();
    eventually(DEADLINE, async || program.log().contains("Too many open files")).await;
    for frame in 1..20 {
        wire.report(items(frame * 500 + 1, frame * 500 + 500, START)).await;
        assert_eq!(wire.hear("ack").await["seq"], frame * 500 + 500);
    }
    assert_eq!(stored_positions(&store).await, 2 + 19 * 500);
}
