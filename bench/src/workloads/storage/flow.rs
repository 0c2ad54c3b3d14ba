//! Fixes that flow in commits of a wanted size, and what they cost the log and the processors meanwhile.

use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use waypost::store::open::Location;

use super::database::{Logged, ask_database, checkpoint, written_bytes};
use super::site::commits;
use crate::load::Slice;
use crate::run::{Measured, run_in_turn};
use crate::systems::{Packing, Session, Subscription, Waypost};
use crate::world::{Drive, World};

/// Fixes of one frame while the log is filled, the most that it may have, and frames under way.
const FILLING: usize = 500;
const FILLING_UNDER_WAY: usize = 4;
/// Fixes that are made ready at a time.
const MADE_READY: u64 = 200_000;
/// Commits that warm up.
const WARM_UP: u64 = 10;

/// A fleet that reports.
pub(super) struct Flow {
    drive: Drive,
    /// The first vehicle that reports.
    first: u32,
    vehicles: u32,
    /// Fixes that were sent.
    pub(super) sent: u64,
}

/// What fixes cost in commits of a size.
pub(super) struct Steady {
    pub(super) batch: usize,
    /// Fixes of a commit, as they were.
    pub(super) met: f64,
    /// Bytes of the log for each fix.
    pub(super) log: f64,
    /// Of PostgreSQL, bytes of the log behind a checkpoint; of SQLite, bytes written to the disk with those of checkpoints.
    pub(super) with_checkpoint: f64,
    pub(super) server_micros: f64,
    pub(super) database_micros: f64,
}

impl Flow {
    /// Of all vehicles of a world from one on.
    pub(super) fn new(world: &World, first: u32) -> Self {
        Self { drive: Drive::new(world), first, vehicles: world.vehicles - first, sent: 0 }
    }

    /// The next fixes, of as many vehicles as they are, or of all again and again.
    fn next(&mut self, fixes: u64) -> Arc<Slice> {
        let (stride, rounds) = rounds(self.vehicles, fixes);
        let first = self.first;
        let reports =
            |vehicle: u32, round: u32| vehicle >= first && (vehicle - first) % stride == round % stride;
        let slice = Slice::next_of(&mut self.drive, rounds, reports);
        self.sent += slice.fixes.len() as u64;
        slice
    }

    /// Sends fixes as fast as they are acknowledged.
    pub(super) fn fill(&mut self, waypost: Waypost, fixes: u64) -> Result<Waypost> {
        let mut session = open(waypost, FILLING)?;
        let end = self.sent + fixes;
        while self.sent < end {
            let slice = self.next((end - self.sent).min(MADE_READY));
            run_in_turn(&mut session, &slice, FILLING_UNDER_WAY)?;
            eprintln!("{} fixes are acknowledged", self.sent);
        }
        close(session)
    }

    /// Sends so many fixes behind a checkpoint, and as many again. A frame goes out once the one before is acknowledged, so each
    /// is a commit.
    pub(super) fn steady(
        &mut self,
        waypost: Waypost,
        location: &Location,
        batch: usize,
        fixes: u64,
    ) -> Result<(Waypost, Steady)> {
        let (ready, server) = (waypost.child.ready.clone(), waypost.child.pid());
        let written = || Ok::<_, anyhow::Error>(written_bytes(server)? + written_bytes(std::process::id())?);
        let mut session = open(waypost, batch)?;
        let warm_up = self.next(WARM_UP * batch as u64);
        run_in_turn(&mut session, &warm_up, 1)?;
        ask_database(location, checkpoint)?;
        let (written_before, commits_before) = (written()?, commits(&ready)?);
        let (behind, logged_behind) = self.logged(&mut session, location, fixes)?;
        let (after, logged_after) = self.logged(&mut session, location, fixes)?;
        let commits = commits(&ready)? - commits_before;
        // What is only in the log has to be written once more.
        ask_database(location, checkpoint)?;
        let written = written()? - written_before;
        let both = (behind.positions + after.positions) as f64;
        let steady = Steady {
            batch,
            met: both / commits.max(1) as f64,
            log: logged_after as f64 / after.positions as f64,
            with_checkpoint: match location {
                Location::Postgres(_) => logged_behind as f64 / behind.positions as f64,
                Location::Embedded(_) => written as f64 / both,
            },
            server_micros: (behind.server_cpu + after.server_cpu) * 1e6 / both,
            database_micros: (behind.database_cpu + after.database_cpu) * 1e6 / both,
        };
        Ok((close(session)?, steady))
    }

    /// Sends fixes; with the bytes that went into the log meanwhile.
    fn logged(&mut self, session: &mut Session, location: &Location, fixes: u64) -> Result<(Measured, u64)> {
        let slice = self.next(fixes);
        let logged = Logged::begin(location)?;
        let measured = run_in_turn(session, &slice, 1)?;
        Ok((measured, logged.bytes()?))
    }
}

/// Of how many vehicles one reports in a round, and how many rounds make so many fixes.
fn rounds(vehicles: u32, fixes: u64) -> (u32, u32) {
    let vehicles = u64::from(vehicles);
    let stride = (vehicles / fixes.max(1)).max(1);
    let rounds = (fixes * stride).div_ceil(vehicles).max(1);
    (stride as u32, rounds as u32)
}

fn open(mut waypost: Waypost, fixes: usize) -> Result<Session> {
    waypost.options.packing = Packing::Fleet { connections: 1, fixes };
    waypost.open(&[Subscription::AllEvents])
}

fn close(mut session: Session) -> Result<Waypost> {
    let kept = session.take::<(Waypost, Vec<TcpStream>)>();
    Ok(kept.context("the session has no server")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Mix, Motion};

    #[test]
    fn fixes_are_of_all_vehicles_in_turn_and_never_of_the_first() {
        let world =
            World { seed: 1, vehicles: 42, fences: 0, vertices: 3, mix: Mix::Poly, motion: Motion::Roam };
        let mut flow = Flow::new(&world, 2);
        let mut sent = vec![0; 42];
        for (asked, made) in [(80, 80), (10, 10), (10, 10), (10, 10), (10, 10), (60, 80)] {
            let slice = flow.next(asked);
            assert_eq!(slice.fixes.len(), made, "{asked}");
            slice.fixes.iter().for_each(|fix| sent[fix.vehicle as usize] += 1);
        }
        assert_eq!((flow.sent, &sent[..2]), (200, &[0, 0][..]));
        assert!(sent[2..].iter().all(|fixes| *fixes == 5), "{sent:?}");
    }

    #[test]
    fn so_many_fixes_take_so_many_rounds() {
        assert_eq!(rounds(1_000, 50_000), (1, 50));
        assert_eq!(rounds(100_000, 50_000), (2, 1));
        assert_eq!(rounds(100_000, 10_000), (10, 1));
        assert_eq!(rounds(200, 500), (1, 3));
    }
}
