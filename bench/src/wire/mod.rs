//! Bytes on the wire, both ways: what is sent is made before the clock starts, what comes is cut into messages.
//!
//! Pure: knows no socket and no server.

pub(crate) mod http;
pub(crate) mod resp;
pub(crate) mod ws;
