//! A test's store reached through a port that the test can hold up or cut.

use waypost_test_support::{Proxy, TestStore};

/// Opens a way to a test's store.
pub(crate) async fn way_to(store: &TestStore, port: u16) -> Proxy {
    Proxy::start(port, &address_of(store)).await
}

/// The URL of a test's store through a port of this machine.
pub(crate) fn url_by(store: &TestStore, port: u16) -> String {
    url_at(store, "127.0.0.1", port)
}

/// The URL of a test's store at a host and port that lead to it.
pub(crate) fn url_at(store: &TestStore, host: &str, port: u16) -> String {
    let (before, after, _) = parts(store);
    format!("{before}{host}:{port}{after}")
}

/// The address of a test's store.
pub(crate) fn address_of(store: &TestStore) -> String {
    parts(store).2
}

/// What comes before and after the address in the URL of a test's store, and the address.
fn parts(store: &TestStore) -> (String, String, String) {
    let (before, rest) = store.url().split_once('@').unwrap();
    let (address, database) = rest.split_once('/').unwrap();
    (format!("{before}@"), format!("/{database}"), address.to_owned())
}
