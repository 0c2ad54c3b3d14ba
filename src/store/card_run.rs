//! What the readers in the vehicles said: from when on which card, as the stored fixes say. Written by the track writer.

use sqlx::types::Json;
use sqlx::{Postgres, Sqlite};
use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};

use super::rows::{Column, Insert};
use super::sql::{Connection, Result, Tx};
use super::time::Time;
use crate::domain::card_time::Run;

type Row = (Time, String);

fn run((Time(at), key): Row) -> Run {
    (at, key)
}

/// The card that a vehicle's reader said last by an instant, in one index lookup.
macro_rules! run_at {
    ($vehicle:literal, $at:literal) => {
        concat!(
            "(select r.card_key from card_run r where r.vehicle_id = ",
            $vehicle,
            " and r.reported_at <= ",
            $at,
            " order by r.reported_at desc limit 1)",
        )
    };
}

const RUNS_AT_POSTGRES: &str = concat!(
    "select ",
    run_at!("asked.vehicle_id", "asked.at"),
    " from unnest($1::uuid[], $2::timestamptz[]) with ordinality as asked (vehicle_id, at, place) \
     order by asked.place",
);

/// SQLite accepts no array as a parameter, but JSON.
const RUNS_AT_SQLITE: &str = concat!(
    "select ",
    run_at!("unhex(asked.value ->> 0)", "asked.value ->> 1"),
    " from json_each($1) asked order by asked.key",
);

/// What the readers of some vehicles said at some instants, in the order of the questions; empty: no card.
pub(super) async fn runs_at(tx: &mut Tx, asked: &[(VehicleId, Timestamp)]) -> Result<Vec<String>> {
    let found: Vec<Option<String>> = match tx.connection() {
        Connection::Postgres(tx) => {
            let (vehicles, instants): (Vec<Uuid>, Vec<Time>) =
                asked.iter().map(|(vehicle, at)| (vehicle.0, Time(*at))).unzip();
            let query = sqlx::query_scalar::<Postgres, _>(RUNS_AT_POSTGRES);
            query.bind(vehicles).bind(instants).fetch_all(tx).await?
        }
        Connection::Sqlite(tx) => {
            let asked: Vec<(String, i64)> =
                asked.iter().map(|(vehicle, at)| (vehicle.0.simple().to_string(), at.as_micros())).collect();
            sqlx::query_scalar::<Sqlite, _>(RUNS_AT_SQLITE).bind(Json(asked)).fetch_all(tx).await?
        }
    };
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}

/// A vehicle's last run that began by an instant, if there is one.
pub(super) async fn run_before(tx: &mut Tx, vehicle: VehicleId, at: Timestamp) -> Result<Option<Run>> {
    let select = "select reported_at, card_key from card_run where vehicle_id = $1 and reported_at <= $2 \
        order by reported_at desc limit 1";
    let row: Option<Row> = tx.on().sql(select).bind(vehicle.0).bind(Time(at)).optional().await?;
    Ok(row.map(run))
}

/// A vehicle's runs that began from an instant on, before another, in order; at most so many.
pub(super) async fn runs_from(
    tx: &mut Tx,
    vehicle: VehicleId,
    (from, to): (Timestamp, Option<Timestamp>),
    limit: i64,
) -> Result<Vec<Run>> {
    let stmt =
        tx.on().sql("select reported_at, card_key from card_run where vehicle_id = ").push_bind(vehicle.0);
    let mut stmt = stmt.push(" and reported_at >= ").push_bind(Time(from));
    if let Some(to) = to {
        stmt = stmt.push(" and reported_at < ").push_bind(Time(to));
    }
    let rows: Vec<Row> = stmt.push(" order by reported_at limit ").push_bind(limit).all().await?;
    Ok(rows.into_iter().map(run).collect())
}

/// Puts runs of vehicles, each in place of one of the same instant.
pub(super) async fn put(tx: &mut Tx, runs: &[(VehicleId, Run)]) -> Result<()> {
    let rows = Insert {
        into: "insert into card_run (vehicle_id, reported_at, card_key)",
        columns: vec![
            Column::Uuid(runs.iter().map(|(vehicle, _)| vehicle.0).collect()),
            Column::Time(runs.iter().map(|(_, (at, _))| Time(*at)).collect()),
            Column::Text(runs.iter().map(|(_, (_, key))| key.as_str()).collect()),
        ],
        after: "on conflict (vehicle_id, reported_at) do update set card_key = excluded.card_key",
    };
    rows.run(tx).await?;
    Ok(())
}

/// Deletes a vehicle's runs that began at some instants.
pub(super) async fn delete(tx: &mut Tx, vehicle: VehicleId, instants: &[Timestamp]) -> Result<()> {
    for at in instants {
        let delete = "delete from card_run where vehicle_id = $1 and reported_at = $2";
        tx.on().sql(delete).bind(vehicle.0).bind(Time(*at)).run().await?;
    }
    Ok(())
}
