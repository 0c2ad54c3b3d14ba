//! What a vehicle is asked and told, and how it answers.

use std::sync::Arc;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::permits::Permit;
use crate::live::LiveError;
use crate::model::{Fix, Timestamp, Vehicle};
use crate::ports::Counts;

/// What became of what was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// Whether the vehicle awaits a correction that what was asked for brought about, or left.
    pub(crate) is_dirty: bool,
    /// The store will never take it, and why: nothing of it is stored.
    pub(crate) refused: Option<Arc<str>>,
}

/// Told once what was asked for is committed or refused.
pub(crate) type Done = oneshot::Sender<Result<Outcome, LiveError>>;

/// Fixes of one report, in their order. From a reporter; one in flight per reporter and vehicle.
/// Answered once applied, with those that were left out because the engine panics on them; `done` once
/// the others are committed or refused.
#[derive(Message)]
#[rtype(result = "Vec<Fix>")]
pub(crate) struct Report {
    pub(crate) fixes: Vec<Fix>,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// The timeline changed from an instant on: a fence's version takes effect, or the vehicle goes out of
/// service. From the edge of an edit; `done` once the records are committed, or owed by a dirty mark.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Settle {
    pub(crate) from: Timestamp,
    /// The vehicle is out of service for ever and takes no fixes from here on.
    pub(crate) retire: bool,
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// One step of a correction. From the coordinator of corrections, one at a time; `done` once it is
/// committed, with whether the vehicle is still dirty.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Correct {
    pub(crate) permit: Permit,
    pub(crate) done: Done,
}

/// The vehicle was taken out of use: the actor stops. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

/// The vehicle's fixes come in on another thread than it lives on: the actor gives itself back unless something is on
/// its way. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Leave;

/// The vehicle's name or limits changed. From the directory.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Rename(pub(crate) Arc<Vehicle>);
