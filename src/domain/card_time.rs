//! Who is assigned to a vehicle by cards: what its reader said, whose the cards were, and what dispatchers said, which goes
//! before. Pure; `None` as an end is no end.

use std::collections::HashMap;

use waypost_actors::model::{DriverId, Timestamp};

/// From when on a reader said a card; an empty one: none.
pub type Run = (Timestamp, String);

/// A time.
pub type Span = (Timestamp, Option<Timestamp>);

/// For whom a card assigned, and when.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The card.
    pub key: String,
    /// Whose.
    pub driver: DriverId,
    /// When.
    pub span: Span,
}

/// A driver's time in a vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driven {
    /// Who.
    pub driver: DriverId,
    /// When.
    pub span: Span,
}

/// Whether a time is none.
fn is_empty((from, to): Span) -> bool {
    to.is_some_and(|to| to <= from)
}

/// The earlier end.
fn sooner(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// Who was assigned by cards within a time, in order. `runs`, `holdings` and `by_hand` are in order of time, and reach into the
/// time or lie in it.
#[must_use]
pub fn driven(runs: &[Run], holdings: &[Holding], by_hand: &[Span], within: Span) -> Vec<Driven> {
    let mut of_card: HashMap<&str, Vec<&Holding>> = HashMap::new();
    holdings.iter().for_each(|holding| of_card.entry(&holding.key).or_default().push(holding));
    let mut found: Vec<Driven> = Vec::new();
    for (i, (at, key)) in runs.iter().enumerate() {
        let end = sooner(runs.get(i + 1).map(|(next, _)| *next), within.1);
        for holding in of_card.get(key.as_str()).into_iter().flatten() {
            let mut span = ((*at).max(within.0).max(holding.span.0), sooner(end, holding.span.1));
            let Some(last) = found.last_mut() else {
                found.extend((!is_empty(span)).then_some(Driven { driver: holding.driver, span }));
                continue;
            };
            // Of two that had the card at once the first one counts.
            let Some(behind) = last.span.1 else { continue };
            span.0 = span.0.max(behind);
            match (is_empty(span), last.driver == holding.driver && behind == span.0) {
                (true, _) => {}
                (false, true) => last.span.1 = span.1,
                (false, false) => found.push(Driven { driver: holding.driver, span }),
            }
        }
    }
    found.into_iter().flat_map(|driven| left_of(driven, by_hand)).collect()
}

/// What is left of a time beside what dispatchers said.
fn left_of(driven: Driven, by_hand: &[Span]) -> Vec<Driven> {
    let (mut left, mut rest) = (Vec::new(), driven.span);
    for taken in by_hand.iter().filter(|taken| !is_empty(**taken)) {
        let is_behind = rest.1.is_some_and(|end| end <= taken.0);
        let is_before = taken.1.is_some_and(|end| end <= rest.0);
        if is_behind || is_before {
            continue;
        }
        let before = (rest.0, Some(taken.0));
        if !is_empty(before) {
            left.push(Driven { span: before, ..driven });
        }
        let Some(end) = taken.1 else { return left };
        rest.0 = end;
        if is_empty(rest) {
            return left;
        }
    }
    left.push(Driven { span: rest, ..driven });
    left
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn span(from: i64, to: Option<i64>) -> Span {
        (at(from), to.map(at))
    }

    fn held(key: &str, driver: u128, from: i64, to: Option<i64>) -> Holding {
        Holding { key: key.to_owned(), driver: DriverId(Uuid::from_u128(driver)), span: span(from, to) }
    }

    fn told(
        runs: &[(i64, &str)],
        holdings: &[Holding],
        by_hand: &[Span],
        within: Span,
    ) -> Vec<(u128, i64, Option<i64>)> {
        let runs: Vec<Run> = runs.iter().map(|(from, key)| (at(*from), (*key).to_owned())).collect();
        let seconds = |at: Timestamp| at.as_micros() / 1_000_000;
        let found = driven(&runs, holdings, by_hand, within);
        found.iter().map(|d| (d.driver.0.as_u128(), seconds(d.span.0), d.span.1.map(seconds))).collect()
    }

    #[test]
    fn a_card_assigns_while_it_is_reported_and_held_and_nobody_says_otherwise() {
        let holdings = [held("A", 1, 0, None), held("B", 2, 15, Some(40)), held("C", 1, 0, None)];
        let all = span(0, None);
        assert_eq!(told(&[(10, "A")], &holdings, &[], all), [(1, 10, None)]);
        assert_eq!(
            told(&[(10, "A"), (20, ""), (30, "A")], &holdings, &[], all),
            [(1, 10, Some(20)), (1, 30, None)]
        );
        assert_eq!(told(&[(10, "B")], &holdings, &[], all), [(2, 15, Some(40))], "while it is held");
        assert_eq!(
            told(&[(10, "A"), (20, "C")], &holdings, &[], all),
            [(1, 10, None)],
            "two cards of one driver"
        );
        assert_eq!(told(&[(10, "X")], &holdings, &[], all), [], "an unknown card");
        let by_hand = [span(5, Some(12)), span(20, Some(20)), span(25, Some(30)), span(50, None)];
        let expected = [(1, 12, Some(25)), (1, 30, Some(50))];
        assert_eq!(told(&[(10, "A")], &holdings, &by_hand, all), expected);
        assert_eq!(told(&[(10, "A")], &holdings, &by_hand, span(26, Some(40))), [(1, 30, Some(40))]);
        let twice = [held("A", 1, 0, Some(30)), held("A", 2, 20, None)];
        assert_eq!(told(&[(10, "A")], &twice, &[], all), [(1, 10, Some(30)), (2, 30, None)]);
    }
}
