//! Conditions and lists of ids that several queries share.

use uuid::Uuid;
use waypost_actors::model::{Timestamp, VehicleId};

use super::sql::{Engine, Param, Stmt};
use super::time::Time;
use crate::domain::fold::anywhere;

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

/// As [`one_of`], for an enumeration of words.
pub(super) fn one_of_words<'c, T: Copy>(
    stmt: Stmt<'c>,
    condition: &'static str,
    values: &[T],
    word: impl Fn(T) -> &'static str,
) -> Stmt<'c> {
    let words: Vec<&'static str> = values.iter().map(|value| word(*value)).collect();
    one_of(stmt, condition, &words)
}

/// Restricts a query to rows whose search key has a text in it.
pub(super) fn searched<'c>(stmt: Stmt<'c>, text: Option<&str>) -> Stmt<'c> {
    match text {
        Some(text) => stmt.push(" and search_key like ").push_bind(anywhere(text)).push(" escape '\\'"),
        None => stmt,
    }
}

/// Ends a subquery over vehicles: its table has a row for each of them, with the id in `column1`.
pub(super) fn each_of<'c>(stmt: Stmt<'c>, vehicles: &[VehicleId]) -> Stmt<'c> {
    let one = |stmt: Stmt<'c>, vehicle: &VehicleId| stmt.push("(").push_bind(vehicle.0).push(")");
    stmt.push("(values ").push_each(vehicles, one).push(") as wanted)")
}

/// A part of a list in the order of time, then of ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeRange {
    /// From this instant on.
    pub(super) from: Option<Timestamp>,
    /// Before this instant.
    pub(super) to: Option<Timestamp>,
    /// Behind this place of the list.
    pub(super) after: Option<(Timestamp, Uuid)>,
    /// The order.
    pub(super) is_newest_first: bool,
}

impl TimeRange {
    /// The place where it begins, unless it begins at its edge: a cursor may be sent with another range than the one it is of.
    pub(super) fn place(&self) -> Option<(Timestamp, Uuid)> {
        self.after.filter(|(at, _)| {
            if self.is_newest_first {
                self.to.is_none_or(|to| *at < to)
            } else {
                self.from.is_none_or(|from| *at >= from)
            }
        })
    }

    /// Adds its conditions on the columns of the instant and of the id, one for each side: of several, SQLite seeks by the first
    /// and goes through what the others leave out.
    pub(super) fn conditions<'c>(&self, stmt: Stmt<'c>, (at, id): (&'static str, &'static str)) -> Stmt<'c> {
        let (mut stmt, mut from, mut to) = (stmt, self.from, self.to);
        if let Some((instant, key)) = self.place() {
            let behind = if self.is_newest_first { ") < (" } else { ") > (" };
            stmt = stmt.push(" and (").push(at).push(", ").push(id).push(behind).push_bind(Time(instant));
            stmt = stmt.push(", ").push_bind(key).push(")");
            if self.is_newest_first {
                to = None;
            } else {
                from = None;
            }
        }
        if let Some(from) = from {
            stmt = stmt.push(" and ").push(at).push(" >= ").push_bind(Time(from));
        }
        match to {
            Some(to) => stmt.push(" and ").push(at).push(" < ").push_bind(Time(to)),
            None => stmt,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_beyond_the_edge_leaves_the_edge() {
        let at = |second: f64| Timestamp::FIRST.plus_seconds(second);
        let range = |is_newest_first, second| TimeRange {
            from: Some(at(10.0)),
            to: Some(at(20.0)),
            after: Some((at(second), Uuid::nil())),
            is_newest_first,
        };
        let place = |is_newest_first, second| range(is_newest_first, second).place().is_some();
        assert_eq!([9.0, 10.0, 15.0, 20.0].map(|second| place(false, second)), [false, true, true, true]);
        assert_eq!([9.0, 10.0, 15.0, 20.0].map(|second| place(true, second)), [true, true, true, false]);
        let without = TimeRange { from: None, to: None, ..range(false, 0.0) };
        assert!(without.place().is_some() && TimeRange { after: None, ..without }.place().is_none());
    }
}
