//! A year behind the present: fixes, stays, fuel, drivers and an audit trail, written by the product itself on a clock that is set
//! back, so that rows, partitions and chunks are what they would have become with time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use geo::Coord;
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use uuid::Uuid;
use waypost::clock::Clock;
use waypost::context::Context;
use waypost::store::partitions::make_partitions;
use waypost::store::sql::Engine;
use waypost_actors::model::{AttributesByFix, Fix, FuelReading, Place, Timestamp, VehicleId};
use waypost_actors::report::{Pending, Reporter};

use super::child::Ready;
use crate::world::{Outline, SOUTH, WEST, WIDTH, World, make_fences, rounded};

const DAY_SECONDS: f64 = 86_400.0;
/// Seconds from one fix of a vehicle to the next, while it drives.
const FIX_SECONDS: u32 = 20;
/// Fixes from the beginning of one stop to that of the next; it stands in a fence for the last two of them.
const FIXES_PER_STOP: u32 = 14;
/// Fixes that are committed together.
const FIXES_TOGETHER: usize = 1_000;
/// Such commits under way.
const UNDER_WAY: usize = 12;
/// The first fences are depots, where vehicles stay overnight.
const DEPOTS: u32 = 10;
/// One vehicle of so many has a fuel sensor.
pub(crate) const FUEL_EVERY: u32 = 10;

/// How much history there is.
#[derive(Clone, Copy, Debug, Default, Args, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    /// Days before today on which the vehicles drove
    #[arg(long, default_value_t = 0)]
    pub(crate) history_days: u32,
    /// Fixes of each vehicle on each of them
    #[arg(long, default_value_t = 75)]
    pub(crate) fixes_a_day: u32,
    /// Days from one on which they drove to the next
    #[arg(long, default_value_t = 1)]
    pub(crate) every_days: u32,
}

/// The machine's clock, set back.
#[derive(Clone, Debug, Default)]
pub(super) struct SetBack(Arc<AtomicI64>);

impl SetBack {
    pub(super) fn clock(&self) -> Clock {
        let behind = Arc::clone(&self.0);
        Clock::from_fn(move || {
            let millis = waypost_actors::clock::now().as_millis() - behind.load(Ordering::Relaxed);
            Timestamp::from_millis(millis).unwrap_or(Timestamp::MAX)
        })
    }

    /// Sets the clock, which goes on from there.
    fn set(&self, at: Timestamp) {
        let behind = waypost_actors::clock::now().as_millis() - at.as_millis();
        self.0.store(behind.max(0), Ordering::Relaxed);
    }
}

/// The first day of a history, at midnight.
pub(super) fn first_day(history: &History) -> Timestamp {
    let today = waypost_actors::clock::now().as_millis().div_euclid(86_400_000) * 86_400_000;
    Timestamp::from_millis(today - i64::from(history.history_days) * 86_400_000).unwrap_or(Timestamp::MIN)
}

impl History {
    /// Sets the clock back to its first day, before anything is made.
    pub(super) fn begin(&self, clock: &SetBack) {
        if self.history_days > 0 {
            clock.set(first_day(self));
        }
    }

    /// Lets the vehicles drive, all but the last, to all fences but the last. The clock is the machine's in the end.
    pub(super) async fn fill(
        &self,
        context: &Context,
        ready: &Ready,
        world: &World,
        clock: &SetBack,
    ) -> Result<()> {
        let ids = ready.vehicles.iter().take(ready.vehicles.len().saturating_sub(1));
        let vehicles = ids.map(|id| Ok(id.parse::<Uuid>()?.into())).collect::<Result<Vec<VehicleId>>>()?;
        let fences = make_fences(world);
        ensure!(fences.len() as u32 > DEPOTS + 1, "a history needs more than {} fences", DEPOTS + 1);
        let mut reports = Reports { reporter: context.live.reporter(), under_way: VecDeque::new() };
        let every = self.every();
        for day in (0..self.history_days).step_by(every as usize) {
            let midnight = first_day(self).plus_seconds(f64::from(day) * DAY_SECONDS);
            clock.set(midnight.plus_seconds(8.0 * 3600.0));
            if context.db.engine() == Engine::Postgres && day % 7 < every {
                make_partitions(&context.db, context.clock.now()).await?;
            }
            for number in 0..self.fixes_a_day {
                let at = midnight.plus_seconds(f64::from(8 * 3600 + number * FIX_SECONDS));
                clock.set(at.plus_seconds(1.0));
                for (some, first) in vehicles.chunks(FIXES_TOGETHER).zip((0..).step_by(FIXES_TOGETHER)) {
                    let fix = |(vehicle, of): (u32, &VehicleId)| {
                        let trip = Trip { vehicle, day, number, last: number + 1 == self.fixes_a_day };
                        (*of, trip.fix(at, &fences))
                    };
                    let report = (first as u32..).zip(some).map(fix).collect();
                    reports.report(report).await?;
                }
            }
            reports.all_committed().await?;
            // Once an hour otherwise.
            context.track.save_states().await?;
            if day % 10 < every {
                eprintln!("{} of {} days are written", day + 1, self.history_days);
            }
        }
        clock.set(waypost_actors::clock::now());
        self.audit(context, ready).await
    }

    fn every(&self) -> u32 {
        self.every_days.max(1)
    }

    /// As many edits as the fleet has vehicles for each day on which they drove, written as rows: they are no more than that.
    async fn audit(&self, context: &Context, ready: &Ready) -> Result<()> {
        let is_postgres = context.db.engine() == Engine::Postgres;
        let known = |id: &str| match is_postgres {
            true => format!("cast('{id}' as uuid)"),
            false => format!("unhex('{}')", id.replace('-', "")),
        };
        let day = first_day(self).as_millis();
        let step = 86_400_000 * i64::from(self.every()) / i64::try_from(ready.vehicles.len())?.max(1);
        // Ids that sort by time, as the product's (RFC 9562, version 7).
        let hex = |text: &str, digits| match is_postgres {
            true => format!("lpad(to_hex({text}), {digits}, '0')"),
            false => format!("printf('%0{digits}x', {text})"),
        };
        let millis = format!("({day} + i * {step})");
        let id = format!("{} || '7000' || '8000' || {}", hex(&millis, 12), hex("i", 12));
        let (id, at) = match is_postgres {
            true => (format!("cast({id} as uuid)"), format!("to_timestamp({millis} / 1000.0)")),
            false => (format!("unhex({id})"), format!("{millis} * 1000")),
        };
        let days = self.history_days.div_ceil(self.every());
        let rows = i64::from(days) * i64::try_from(ready.vehicles.len())?;
        let text = format!(
            "with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < {rows}) \
             insert into audit (id, organization_id, actor_id, actor_role, action, resource, resource_id, occurred_at) \
             select {id}, {}, {}, 'orgAdmin', 'update', 'vehicle', {}, {at} from n",
            known(&ready.organization),
            known(&ready.drivers[0]),
            known(&ready.vehicles[0]),
        );
        context.db.write().sql(AssertSqlSafe(text)).run().await?;
        if is_postgres {
            context.db.write().sql("analyze").run().await?;
        }
        Ok(())
    }
}

/// Reports on their way, a bounded number of them.
struct Reports {
    reporter: Reporter,
    under_way: VecDeque<Pending>,
}

impl Reports {
    async fn report(&mut self, report: Vec<(VehicleId, Fix)>) -> Result<()> {
        if self.under_way.len() >= UNDER_WAY {
            self.oldest_committed().await?;
        }
        let pending = self.reporter.report_all(report, AttributesByFix::default()).await;
        self.under_way.push_back(pending.context("a report failed")?);
        Ok(())
    }

    async fn oldest_committed(&mut self) -> Result<()> {
        let Some(pending) = self.under_way.pop_front() else { return Ok(()) };
        let outcome = pending.outcome().await.context("a commit failed")?;
        ensure!(outcome.refused.is_empty() && outcome.out_of_use.is_empty(), "fixes were refused");
        Ok(())
    }

    async fn all_committed(&mut self) -> Result<()> {
        while !self.under_way.is_empty() {
            self.oldest_committed().await?;
        }
        Ok(())
    }
}

/// One of a vehicle's fixes on a day.
struct Trip {
    vehicle: u32,
    day: u32,
    number: u32,
    /// The day's last one.
    last: bool,
}

impl Trip {
    fn fix(&self, at: Timestamp, fences: &[Outline]) -> Fix {
        let mut fix = Fix::new(at, at.plus_seconds(1.0), self.place(fences));
        fix.speed_kmh = Some(f64::from(20 + (self.vehicle * 7 + self.number * 13) % 60));
        fix.heading_degrees = Some(f64::from((self.vehicle * 31 + self.number * 17) % 360));
        if self.vehicle.is_multiple_of(FUEL_EVERY) {
            // A tank a week: a day takes a seventh of it.
            let through_week = f64::from(self.day % 7) + f64::from(self.number) / 75.0;
            fix.fuel = Some(FuelReading::Liters(380.0 - 50.0 * through_week));
        }
        fix
    }

    /// Outside of all fences, but for a stop now and then and the night.
    fn place(&self, fences: &[Outline]) -> Place {
        let is_stop = self.number % FIXES_PER_STOP >= FIXES_PER_STOP - 2;
        let fence = match () {
            () if self.last => self.vehicle % DEPOTS,
            // Its customers: a few dozen.
            () if is_stop => {
                let stop = (self.number / FIXES_PER_STOP + self.day * 5) % 30;
                DEPOTS + (self.vehicle * 31 + stop * 17) % (fences.len() as u32 - DEPOTS - 1)
            }
            // South of the region: no fence is so large.
            () => {
                let along =
                    f64::from((self.vehicle * 37 + self.day * 11 + self.number * 5) % 1_000) / 1_000.0;
                return place(Coord { x: WEST + along * WIDTH, y: SOUTH - 8.0 + along / 10.0 });
            }
        };
        place(fences[fence as usize].middle())
    }
}

fn place(point: Coord) -> Place {
    let Coord { x, y } = rounded(point);
    Place::new(y, x)
}
