//! `waypost export`: what is stored, as CSV or GeoJSON.

use std::io::{self, BufWriter, Write};

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};

use super::setting_flags::{ELSEWHERE, MigrateArgs};
use waypost::domain::position::{AfterFix, HistoryRequest, StoredPosition};
use waypost::store::export::Export as Stored;
use waypost::store::open::{Location, embedded_file, open_whole};

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
    /// Of this organization's vehicles only; may be given several times.
    #[arg(long, value_name = "ID")]
    organization: Vec<Uuid>,
    /// Of this vehicle only; may be given several times.
    #[arg(long, value_name = "ID")]
    vehicle: Vec<Uuid>,
    /// Recorded at or after, such as 2026-01-31T00:00:00Z.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<Timestamp>,
    /// Recorded before.
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    to: Option<Timestamp>,
    /// How they are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    settings: MigrateArgs,
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A line for each, with a head.
    #[default]
    Csv,
    /// A GeoJSON feature on each line, without what a position does not have.
    Geojsonl,
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
#[serde(rename_all = "camelCase")]
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

/// A GeoJSON feature of a line.
fn feature(line: &Line) -> anyhow::Result<Value> {
    let mut properties = json!(line);
    if let Some(members) = properties.as_object_mut() {
        members.retain(|name, value| !(value.is_null() || matches!(name.as_str(), "latitude" | "longitude")));
    }
    if let Some(attributes) = &line.attributes {
        properties["attributes"] = serde_json::from_str(attributes)?;
    }
    let place = json!({ "type": "Point", "coordinates": [line.longitude, line.latitude] });
    Ok(json!({ "type": "Feature", "geometry": place, "properties": properties }))
}

/// Where lines go.
enum Lines<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Geojsonl(W),
}

impl<W: Write> Lines<W> {
    fn begin(format: Format, out: W) -> anyhow::Result<Self> {
        Ok(match format {
            Format::Csv => {
                let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
                csv.write_record(HEADER)?;
                Self::Csv(Box::new(csv))
            }
            Format::Geojsonl => Self::Geojsonl(out),
        })
    }

    fn print(&mut self, line: &Line) -> anyhow::Result<()> {
        match self {
            Self::Csv(csv) => csv.serialize(line)?,
            Self::Geojsonl(out) => writeln!(out, "{}", feature(line)?)?,
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Csv(csv) => csv.flush(),
            Self::Geojsonl(out) => out.flush(),
        }
    }
}

fn instant(text: &str) -> anyhow::Result<Timestamp> {
    Timestamp::parse(text).map_err(|_| anyhow!("not an instant such as 2026-01-31T00:00:00Z"))
}

pub(super) async fn run(export: Export) -> anyhow::Result<()> {
    let ExportCommand::Positions(Positions { organization, vehicle, from, to, format, settings }) =
        export.command;
    let options = settings.settings()?.store();
    if let Location::Embedded(directory) = &options.location
        && !embedded_file(directory).exists()
    {
        bail!("there is no store in {} (another directory: --data-dir)", directory.display());
    }
    let request = HistoryRequest { from, to, with_quarantined: true, is_newest_first: false };
    let db = open_whole(&options).await?;
    let stored = Stored::open(&db).await?;
    if let Some(unknown) = stored.unknown(&organization, &vehicle).await? {
        bail!("there is no {unknown}");
    }
    let organizations: Vec<_> = organization.into_iter().map(OrganizationId).collect();
    let mut vehicles = stored.vehicles(&organizations).await?;
    if !vehicle.is_empty() {
        vehicles.retain(|known| vehicle.contains(&known.0));
    }
    let out = BufWriter::new(io::stdout().lock());
    let printed = print(&stored, &vehicles, &request, format, out).await;
    db.close().await;
    match printed {
        // The reader has seen enough, as with `head`.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        printed => printed,
    }
}

async fn print(
    stored: &Stored,
    vehicles: &[VehicleId],
    request: &HistoryRequest,
    format: Format,
    out: impl Write,
) -> anyhow::Result<()> {
    let mut lines = Lines::begin(format, out)?;
    for vehicle in vehicles {
        let mut after = None;
        loop {
            let page = stored.positions(*vehicle, request, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            for position in page {
                let StoredPosition { recorded_at, latitude, longitude, .. } = position;
                after = Some(AfterFix { recorded_at, latitude, longitude });
                lines.print(&Line::new(*vehicle, position))?;
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
