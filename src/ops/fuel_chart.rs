//! A tank's level over a period, thinned for a chart.

use waypost_actors::fuel::Downsampler;

use super::error::OpError;
use super::fuel_pages::PeriodRequest;
use super::scoped::Scoped;
use crate::context::Context;
use crate::domain::fuel_chart::{Chart, Mark};
use crate::store::fuel_levels::{Level, Reader};

/// The longest period of one chart, in days.
const MAX_DAYS: usize = 366;
/// A longer time without a reading breaks the line, in seconds: twice the reporting interval of trackers at rest, and
/// the detector's limit for a silence.
const GAP_SECONDS: f64 = 600.0;

/// The chart of a vehicle with at most `points` points, not counting a null for each gap.
pub async fn fuel_chart(
    context: &Context,
    by: &Scoped,
    asked: PeriodRequest,
    points: usize,
) -> Result<Chart, OpError> {
    let period = asked.check(context, by, MAX_DAYS).await?;
    let calibration = match period.vehicle_ids[..] {
        [vehicle] => period.calibration_of(&context.db, vehicle).await?,
        _ => None,
    };
    let sensor = calibration.and_then(|known| known.sensor);
    let tank_capacity_liters = sensor.map(|sensor| sensor.tank_capacity_liters);
    let events = period.events(&context.db, period.from).await?;
    let edges = events.iter().flat_map(|event| [event.started_at, event.ended_at]);
    let mut sampler = Downsampler::new(period.from, period.to, points, GAP_SECONDS, edges);
    for vehicle in &period.vehicle_ids {
        let mut levels = period.levels(&context.db, Reader::Chart, *vehicle, None);
        while let Some(some) = levels.next().await? {
            for Level { measured, raw_liters } in some {
                if let Some(liters) = raw_liters {
                    sampler.push(measured.at, liters, measured.level_liters);
                }
            }
        }
    }
    Ok(Chart {
        points: sampler.finish(),
        marks: events.iter().map(Mark::from).collect(),
        tank_capacity_liters,
    })
}
