//! Packing of the fuel log's days that are over, from which charts and consumption of long periods are read.
//!
//! Owns the order and the pace. `store::fuel_packing` packs.

use tokio::time::{Instant, sleep};

use super::retention::Hindered;
use crate::context::Context;
use crate::store::fuel_day::day_of;
use crate::store::fuel_packing::{pack_some, vehicles};
use crate::store::retention::horizons;
use crate::store::sql::SqlError;

/// A day is packed when it has been over for this long: most of what comes late has come by then.
const OVER_SECONDS: f64 = 86_400.0;
/// Readings of one pass, about: some seconds.
const READINGS_IN_PASS: usize = 500_000;

/// Packs days of every organization until some readings are packed; returns how many days, 0 if none are left. What retention takes
/// soon stays as it is. May be cancelled at any time; the next call continues. Not to be called beside
/// [`enforce`](super::retention::enforce) or [`purge`](super::purge::purge).
pub async fn pack_days(context: &Context) -> Result<usize, SqlError> {
    let (db, now) = (&context.db, context.clock.now());
    let until = day_of(now.plus_seconds(-OVER_SECONDS));
    let (mut days, mut readings, mut hindered) = (0, 0, Hindered::default());
    for horizon in horizons(db, now).await? {
        if horizon.is_deleted || !db.shard().holds(horizon.organization) {
            continue;
        }
        for vehicle in vehicles(db, horizon.organization).await? {
            loop {
                let began = Instant::now();
                let of = (horizon.organization, vehicle);
                let step = pack_some(&context.track, of, horizon.fuel, until).await;
                let Some(step) = hindered.by(step, vehicle.0)? else { break };
                days += step.days;
                readings += step.readings;
                if step.days > 0 {
                    // Half of the time is for others.
                    sleep(began.elapsed()).await;
                }
                if readings >= READINGS_IN_PASS {
                    return Ok(days);
                }
                if step.is_done {
                    break;
                }
            }
        }
    }
    hindered.end(days)
}
