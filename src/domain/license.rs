//! Driving licences: their content, their comparison, and their status on a day.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::day::{Day, day};
use super::fold::compact;
use super::members::{Members, Read, country, text};
use super::words::words;

/// A licence that ends within this many days counts as expiring.
pub const EXPIRING_DAYS: i32 = 30;
/// Categories on one licence at most.
const MAX_CATEGORIES: usize = 30;

words!(
    /// How a licence stands today, by the organization's date.
    LicenseStatus {
        /// In force.
        Valid = "valid",
        /// In force for no more than 30 days.
        Expiring = "expiring",
        /// Its last day is over.
        Expired = "expired",
        /// None is known.
        Missing = "missing",
    }
);

/// A driving licence. Its number is unique in its country among drivers not deleted, compared in
/// capitals without separators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct License {
    /// As it is written, 1 to 32 characters, one of them a letter or digit.
    #[schema(min_length = 1, max_length = 32)]
    pub number: String,
    /// ISO 3166-1 alpha-2 of the country that issued it, such as `DE`.
    #[schema(pattern = "^[A-Z]{2}$")]
    pub country: String,
    /// What it allows to drive, such as `B`, `CE` or a national class; at most 30.
    #[serde(default)]
    #[schema(required = false, max_items = 30)]
    pub categories: Vec<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Day>,
    /// Its last day; absent = it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Day>,
    /// Who issued it, 1 to 120 characters.
    #[schema(min_length = 1, max_length = 120)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuing_authority: Option<String>,
}

impl License {
    /// The number in the form used for comparison.
    #[must_use]
    pub fn key(&self) -> String {
        compact(&self.number)
    }

    /// Its status on a day; it is still valid on its last day.
    #[must_use]
    pub fn status(&self, today: Day) -> LicenseStatus {
        match self.expires_at {
            Some(last) if last < today => LicenseStatus::Expired,
            Some(last) if last <= today.plus_days(EXPIRING_DAYS) => LicenseStatus::Expiring,
            _ => LicenseStatus::Valid,
        }
    }
}

/// Reads a licence's number, which must have something to compare.
pub fn license_number(value: &Value) -> Read<String> {
    let number = text(1..=32)(value)?;
    if compact(&number).is_empty() {
        return Err(("format", "a number with at least one letter or digit".to_owned()));
    }
    Ok(number)
}

pub(super) fn read_license(license: &mut Members<'_>) -> Option<License> {
    let number = license.required("number", license_number);
    let country = license.required("country", country);
    let categories = license.any("categories").map_or_else(Vec::new, |given| read_categories(given, license));
    let issued_at = license.optional("issuedAt", day);
    let expires_at = license.optional("expiresAt", day);
    if matches!((issued_at, expires_at), (Some(issued), Some(expires)) if expires < issued) {
        license.problem("expiresAt", "range", "must not be before issuedAt");
    }
    let issuing_authority = license.optional("issuingAuthority", text(1..=120));
    Some(License { number: number?, country: country?, categories, issued_at, expires_at, issuing_authority })
}

fn read_categories(given: &Value, license: &mut Members<'_>) -> Vec<String> {
    let Some(items) = given.as_array().filter(|items| items.len() <= MAX_CATEGORIES) else {
        if !given.is_null() {
            license.problem(
                "categories",
                "type",
                format!("must be a list of at most {MAX_CATEGORIES} texts"),
            );
        }
        return Vec::new();
    };
    let mut categories: Vec<String> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let place = format!("categories/{i}");
        match text(1..=10)(item) {
            Ok(category) if categories.contains(&category) => {
                license.problem(&place, "value", "is there already")
            }
            Ok(category) => categories.push(category),
            Err((code, must)) => license.problem(&place, code, format!("must be {must}")),
        }
    }
    categories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_counts_and_thirty_days_before_it_warn() {
        let today = Day::parse("2026-05-01").unwrap();
        for (last, status) in [
            (None, LicenseStatus::Valid),
            (Some("2026-04-30"), LicenseStatus::Expired),
            (Some("2026-05-01"), LicenseStatus::Expiring),
            (Some("2026-05-31"), LicenseStatus::Expiring),
            (Some("2026-06-01"), LicenseStatus::Valid),
        ] {
            let license = License {
                number: "1".into(),
                country: "DE".into(),
                categories: Vec::new(),
                issued_at: None,
                expires_at: last.and_then(Day::parse),
                issuing_authority: None,
            };
            assert_eq!(license.status(today), status, "{last:?}");
        }
    }
}
