//! A flood of sign-ins costs no more memory than a few hashes need, however large it is.

use awc::{Client, Connector};
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use waypost_test_support::{Engine, Program, TestStore, run};

use crate::server::{DEADLINE, launch};

/// Sign-ins: `WAYPOST_TEST_SIGN_INS`, or 400.
fn sign_ins() -> usize {
    std::env::var("WAYPOST_TEST_SIGN_INS")
        .map_or(400, |text| text.parse().expect("WAYPOST_TEST_SIGN_INS is a number"))
}

/// More than may wait for a slot from one address.
const TOGETHER: usize = 230;

#[test]
fn a_flood_of_sign_ins_takes_less_than_64_mb() {
    run(Engine::Sqlite, async |store: TestStore| {
        let server = Program::start(&launch(&store)).await;
        let before = server.resident_bytes();
        let connector = Connector::new().limit(TOGETHER);
        let client = Client::builder().connector(connector).timeout(DEADLINE).finish();
        let path = format!("{}/v1/auth/login", server.url());
        let statuses: Vec<u16> = stream::iter(0..sign_ins())
            .map(|number| {
                let body =
                    json!({ "email": format!("{number}@example.org"), "password": "a wrong password" });
                let asked = client.post(&path).send_json(&body);
                async move { asked.await.unwrap().status().as_u16() }
            })
            .buffer_unordered(TOGETHER)
            .collect()
            .await;
        let of = |status: u16| statuses.iter().filter(|known| **known == status).count();
        let grown = server.most_resident_bytes().saturating_sub(before);
        println!(
            "{} sign-ins, {TOGETHER} at a time: {} checked, {} told to come back; memory grew by {:.1} MB from {:.1} MB",
            statuses.len(),
            of(401),
            of(503),
            grown as f64 / 1e6,
            before as f64 / 1e6
        );
        assert_eq!(of(401) + of(503), statuses.len(), "{statuses:?}");
        assert!(of(401) > 50 && of(503) > 0, "it was no flood");
        assert!(grown < 64 << 20, "memory grew by {grown} bytes");
    });
}
