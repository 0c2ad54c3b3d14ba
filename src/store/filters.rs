//! Conditions and lists of ids that several queries share.

use waypost_actors::model::{Timestamp, VehicleId};

use super::sql::{Engine, Param, Stmt};
use super::time::Time;

/// `condition` up to its opening parenthesis, then the values; nothing for no values.
pub(super) fn one_of<'c, T: Copy + for<'q> Param<'q>>(
    stmt: Stmt<'c>,
    condition: &'static str,
    values: &[T],
) -> Stmt<'c> {
    if values.is_empty() {
        return stmt;
    }
    stmt.push(condition).push_each(values, |stmt, value| stmt.push_bind(*value)).push(")")
}

/// Ends a subquery over vehicles: its table has a row for each of them, with the id in `column1`.
pub(super) fn each_of<'c>(stmt: Stmt<'c>, vehicles: &[VehicleId]) -> Stmt<'c> {
    let one = |stmt: Stmt<'c>, vehicle: &VehicleId| stmt.push("(").push_bind(vehicle.0).push(")");
    stmt.push("(values ").push_each(vehicles, one).push(") as wanted)")
}

/// Restricts a query to rows changed after an instant; `and_column`: ` and ` with the column that says when they were.
pub(super) fn updated_after<'c>(
    stmt: Stmt<'c>,
    and_column: &'static str,
    after: Option<Timestamp>,
) -> Stmt<'c> {
    match after {
        Some(after) => stmt.push(and_column).push(" > ").push_bind(Time(after)),
        None => stmt,
    }
}

/// Restricts a query to rows with at least `seconds` between two columns, or until `now` where the later one is null.
/// The engines express the time between two instants differently.
pub(super) fn lasted<'c>(
    stmt: Stmt<'c>,
    began: &'static str,
    (ended, now): (&'static str, Timestamp),
    seconds: f64,
    engine: Engine,
) -> Stmt<'c> {
    let (before, after) = match engine {
        Engine::Postgres => ("cast(extract(epoch from coalesce(", ") as double precision) >= "),
        Engine::Sqlite => ("((coalesce(", ") / 1000000.0) >= "),
    };
    let stmt = stmt.push(before).push(ended).push(", ").push_bind(Time(now)).push(") - ").push(began);
    stmt.push(after).push_bind(seconds)
}
