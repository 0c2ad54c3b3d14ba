//! A row of the table of adapters.

use super::parsed::{Parsed, Request, Words};
use super::shape::Shape;
use crate::ingest::decode::BadFrame;

/// How one kind of client is read and answered.
pub struct Adapter {
    /// Its name in paths, metrics and rejected reports.
    pub name: &'static str,
    /// The largest body that it takes.
    pub body_bytes: usize,
    /// Whether a request has its client's form.
    pub(super) is_meant: fn(&Request, &Shape<'_>) -> bool,
    /// Reads a request.
    pub parse: for<'a> fn(&'a Request) -> Result<Parsed<'a>, BadFrame>,
    /// What the client is told once everything is stored or refused for good.
    pub kept: fn(&Request) -> Words,
}
