//! What one node hands on to another: requests and sockets through the real relay, between small servers in this process.

#![expect(clippy::unwrap_used, reason = "tests")]

mod nodes;
mod refusals;
mod requests;
mod sockets;
mod streams;

/// Counts what everything in this process allocates.
#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;
