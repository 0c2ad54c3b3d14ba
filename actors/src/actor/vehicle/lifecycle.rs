//! When a vehicle's actor ends, and what it is told of its vehicle.

use actix::prelude::*;

use super::actor::VehicleActor;
use super::messages::{Leave, PassivateIfIdle, Passivated, Rename, Retire};

impl VehicleActor {
    /// Stops the actor, unless something is on its way.
    fn give_back(&self, ctx: &mut Context<Self>) {
        if self.correcting.is_none() && self.chain.is_empty() {
            let gone = Passivated { vehicle: self.id(), incarnation: self.parts.incarnation };
            if self.parts.passivated.try_send(gone).is_ok() {
                ctx.stop();
            }
        }
    }
}

impl Handler<Retire> for VehicleActor {
    type Result = ();

    fn handle(&mut self, _: Retire, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

impl Handler<Leave> for VehicleActor {
    type Result = ();

    fn handle(&mut self, _: Leave, ctx: &mut Context<Self>) {
        // Two connections that both want it would else take it from each other for ever, and neither be served.
        if !self.is_new {
            self.give_back(ctx);
        }
    }
}

impl Handler<PassivateIfIdle> for VehicleActor {
    type Result = ();

    fn handle(&mut self, _: PassivateIfIdle, ctx: &mut Context<Self>) {
        if self.last_used.elapsed() >= self.parts.idle_after {
            self.give_back(ctx);
        }
    }
}

impl Handler<Rename> for VehicleActor {
    type Result = ();

    fn handle(&mut self, Rename(vehicle): Rename, _: &mut Context<Self>) {
        self.parts.vehicle = vehicle;
    }
}
