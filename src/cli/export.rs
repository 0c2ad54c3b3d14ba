//! `waypost export`: what is stored, as CSV.

use std::io::{self, BufWriter, Write};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};

use super::setting_flags::{ELSEWHERE, MigrateArgs};
use waypost::domain::position::{AfterFix, HistoryRequest, StoredPosition};
use waypost::store::export::Export as Stored;
use waypost::store::open::{Location, embedded_file, open};

/// Positions that are read at once.
const PAGE: usize = 10_000;

/// What `export` takes.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    command: ExportCommand,
}

/// What can be exported.
#[derive(Debug, Subcommand)]
enum ExportCommand {
    /// Every position as it is stored, vehicle by vehicle, oldest first; those that are not evaluated say why.
    #[command(after_help = ELSEWHERE)]
    Positions(Positions),
}

#[derive(Debug, Args)]
struct Positions {
    /// Of this vehicle only; may be given several times.
    #[arg(long, value_name = "ID")]
    vehicle: Vec<Uuid>,
    /// Recorded at or after, such as 2026-01-31T00:00:00Z.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<Timestamp>,
    /// Recorded before.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    to: Option<Timestamp>,
    #[command(flatten)]
    settings: MigrateArgs,
}

/// The members of [`Line`], also of an export without lines.
const HEADER: [&str; 17] = [
    "vehicleId",
    "recordedAt",
    "receivedAt",
    "latitude",
    "longitude",
    "speedKmh",
    "headingDegrees",
    "altitudeMeters",
    "accuracyMeters",
    "odometerKm",
    "ignition",
    "fuelPercent",
    "fuelLiters",
    "fuelRaw",
    "fuelCumulative",
    "quarantine",
    "attributes",
];

/// A line of the export.
#[derive(Serialize)]
struct Line {
    vehicle_id: Uuid,
    recorded_at: Timestamp,
    received_at: Timestamp,
    latitude: f64,
    longitude: f64,
    speed_kmh: Option<f64>,
    heading_degrees: Option<f64>,
    altitude_meters: Option<f64>,
    accuracy_meters: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    fuel_percent: Option<f64>,
    fuel_liters: Option<f64>,
    fuel_raw: Option<f64>,
    fuel_cumulative: Option<f64>,
    quarantine: Option<&'static str>,
    /// An object of JSON.
    attributes: Option<String>,
}

impl Line {
    fn new(VehicleId(vehicle_id): VehicleId, position: StoredPosition) -> Self {
        let fuel = position.fuel.unwrap_or_default();
        Self {
            vehicle_id,
            recorded_at: position.recorded_at,
            received_at: position.received_at,
            latitude: position.latitude,
            longitude: position.longitude,
            speed_kmh: position.speed_kmh,
            heading_degrees: position.heading_degrees,
            altitude_meters: position.altitude_meters,
            accuracy_meters: position.accuracy_meters,
            odometer_km: position.odometer_km,
            ignition: position.ignition,
            fuel_percent: fuel.percent,
            fuel_liters: fuel.liters,
            fuel_raw: fuel.raw,
            fuel_cumulative: fuel.cumulative,
            quarantine: position.quarantine.map(|why| why.as_str()),
            attributes: position.attributes.map(|attributes| attributes.as_json().to_owned()),
        }
    }
}

fn instant(text: &str) -> anyhow::Result<Timestamp> {
    Timestamp::parse(text).map_err(|_| anyhow!("not an instant such as 2026-01-31T00:00:00Z"))
}

pub(super) async fn run(export: Export) -> anyhow::Result<()> {
    let ExportCommand::Positions(Positions { vehicle, from, to, settings }) = export.command;
    let options = settings.settings()?.store();
    if let Location::Embedded(directory) = &options.location
        && !embedded_file(directory).exists()
    {
        bail!("there is no store in {} (another directory: --data-dir)", directory.display());
    }
    let request = HistoryRequest { from, to, with_quarantined: true, is_newest_first: false };
    let db = open(&options).await?;
    let stored = Stored::open(&db).await?;
    let mut vehicles = stored.vehicles().await?;
    if !vehicle.is_empty() {
        vehicles.retain(|known| vehicle.contains(&known.0));
    }
    let out = BufWriter::new(io::stdout().lock());
    let mut lines = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    let printed = print(&stored, &vehicles, &request, &mut lines).await;
    db.close().await;
    match printed {
        // The reader has seen enough, as with `head`.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        printed => printed,
    }
}

async fn print<W: Write>(
    stored: &Stored,
    vehicles: &[VehicleId],
    request: &HistoryRequest,
    lines: &mut csv::Writer<W>,
) -> anyhow::Result<()> {
    lines.write_record(HEADER)?;
    for vehicle in vehicles {
        let mut after = None;
        loop {
            let page = stored.positions(*vehicle, request, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            for position in page {
                let StoredPosition { recorded_at, latitude, longitude, .. } = position;
                after = Some(AfterFix { recorded_at, latitude, longitude });
                lines.serialize(Line::new(*vehicle, position))?;
            }
            if is_last {
                break;
            }
        }
    }
    Ok(lines.flush()?)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    let in_csv = |error: &csv::Error| matches!(error.kind(), csv::ErrorKind::Io(error) if is_broken(error));
    error.downcast_ref().is_some_and(is_broken) || error.downcast_ref().is_some_and(in_csv)
}
