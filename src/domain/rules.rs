//! A geofence's rules in the form clients send. `null` turns a rule off.

use waypost_actors::model::Rules;

use super::members::{Members, Patch, flag, number};

/// The longest time a rule can name: a year, in seconds.
const YEAR_SECONDS: f64 = 31_536_000.0;

/// Reads rules from complete members.
pub fn read_rules(rules: &mut Members<'_>) -> Option<Rules> {
    let exit_margin_meters = or_off(rules.change("exitMarginMeters", number(0.0..=10_000.0)), 0.0);
    let min_inside_seconds = or_off(rules.change("minInsideSeconds", number(0.0..=86_400.0)), 0.0);
    let min_outside_seconds = or_off(rules.change("minOutsideSeconds", number(0.0..=86_400.0)), 0.0);
    let infer_passages = or_off(rules.change("inferPassages", flag), false);
    let hold_while_standing = or_off(rules.change("holdWhileStanding", flag), false);
    // Off would mean "for ever"; a year is as good.
    let max_gap_seconds = or_off(rules.change("maxGapSeconds", number(0.0..=YEAR_SECONDS)), YEAR_SECONDS);
    let dwell_after_seconds = rules.optional("dwellAfterSeconds", number(1.0..=YEAR_SECONDS));
    let speed_limit_kmh = rules.optional("speedLimitKmh", number(1.0..=400.0));
    Some(Rules {
        exit_margin_meters: exit_margin_meters?,
        min_inside_seconds: min_inside_seconds?,
        min_outside_seconds: min_outside_seconds?,
        infer_passages: infer_passages?,
        hold_while_standing: hold_while_standing?,
        max_gap_seconds: max_gap_seconds?,
        dwell_after_seconds,
        speed_limit_kmh,
    })
}

/// The given value, or the one that turns the rule off. Merged members are never absent, and an unreadable one has
/// been noted as a problem, so its value does not matter.
fn or_off<T>(given: Patch<Option<T>>, off: T) -> Option<T> {
    match given {
        Patch::Set(Some(value)) => Some(value),
        Patch::Set(None) => Some(off),
        Patch::Keep => None,
    }
}
