//! The equality gate, which stands before every figure, on small worlds.

use std::process::Command;

#[test]
fn the_server_and_the_floor_tell_what_the_oracle_does() {
    let told = Command::new(env!("CARGO_BIN_EXE_waypost-bench")).arg("gate").output().expect("it can be run");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}
