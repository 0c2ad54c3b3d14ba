//! Waypost
fn main() {}
