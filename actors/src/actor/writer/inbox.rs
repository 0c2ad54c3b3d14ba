//! What vehicles hand to the writer. Kept beside its mailbox, so that the writer's thread is woken once for a
//! batch and not for each write. Owns when the bell is rung; commits nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::prelude::*;
use tokio::time::Instant;

use crate::actor::vehicle::report_batch::Part;
use crate::actor::vehicle::write_chain::Place;
use crate::error::LiveError;
use crate::model::{OrganizationId, VehicleId};
use crate::tracking::{Effects, VehicleState};

/// The writer, as others see it.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) inbox: Inbox,
    pub(crate) wake: Recipient<Ring>,
    pub(crate) barrier: Recipient<Barrier>,
}

impl Writer {
    /// Hands over a write; back again when the writer is gone. Writes of one sender keep their order.
    pub(crate) fn take(&self, write: Write) -> Result<(), Box<Write>> {
        let is_to_ring = self.inbox.push(write)?;
        if is_to_ring {
            // A full mailbox is fine: the writer looks after each message.
            self.wake.try_send(Ring).ok();
        }
        Ok(())
    }

    /// Waits until what was handed over before is committed.
    pub(crate) async fn barrier(&self) -> Result<(), LiveError> {
        self.barrier.send(Barrier).await.map_err(|_| LiveError::Stopped)?
    }
}

/// One vehicle's effects, to be committed. From a vehicle; never more on the way than there are permits.
pub(crate) struct Write {
    pub(crate) vehicle_id: VehicleId,
    pub(crate) organization_id: OrganizationId,
    pub(crate) effects: Effects,
    pub(crate) state: Arc<VehicleState>,
    /// What it answers.
    pub(crate) part: Part,
    pub(crate) place: Place,
    /// How long its oldest fix was here when it was handed over. Seconds.
    pub(crate) age_seconds: f64,
}

/// There is something to take. From whoever handed over a write that the writer wants to hear of.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Ring;

/// Answered once everything written before is committed and known to readers; with an error when
/// it was refused instead, or while the store is away.
#[derive(Message)]
#[rtype(result = "Result<(), LiveError>")]
pub(crate) struct Barrier;

/// Writes that the writer has not taken yet; never more than there are permits.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    writes: Vec<(Write, Instant)>,
    weight: usize,
    bell: Bell,
}

/// When the writer wants to hear of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Bell {
    /// As soon as what is held weighs so much: rows and records.
    At(usize),
    /// Not at all: it looks by itself, or has been told.
    #[default]
    Still,
    /// Never again: it is gone.
    Gone,
}

impl Inbox {
    /// Keeps a write. Whether to ring.
    fn push(&self, write: Write) -> Result<bool, Box<Write>> {
        let mut held = self.lock();
        if matches!(held.bell, Bell::Gone) {
            return Err(Box::new(write));
        }
        held.weight += write.effects.weight();
        held.writes.push((write, Instant::now()));
        let is_to_ring = matches!(held.bell, Bell::At(weight) if held.weight >= weight);
        if is_to_ring {
            held.bell = Bell::Still;
        }
        Ok(is_to_ring)
    }

    /// Takes all that is there, in its order.
    pub(crate) fn take(&self) -> Vec<(Write, Instant)> {
        let mut held = self.lock();
        held.weight = 0;
        // The next batch will have about as many.
        let many = held.writes.len();
        std::mem::replace(&mut held.writes, Vec::with_capacity(many))
    }

    /// Says when to ring from now on. Whether that is due already.
    pub(crate) fn set(&self, bell: Bell) -> bool {
        let mut held = self.lock();
        held.bell = bell;
        !held.writes.is_empty() && matches!(bell, Bell::At(weight) if held.weight >= weight)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
