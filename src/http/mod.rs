//! The HTTP interface: what a request must look like and how an answer is written.
//!
//! Owns the route table, the error-code table and the description; knows no SQL and no rule of
//! the business, which live in `ops` and `domain`.

pub mod body;
pub mod code;
pub mod edge;
pub mod problem;
