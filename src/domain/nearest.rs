//! "Did you mean …": the known name most similar to an unknown one.

/// A longer word is not treated as a typo.
const LONGEST_BYTES: usize = 64;

/// The candidate most similar to `given`, if any is similar enough.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if given.len() > LONGEST_BYTES {
        return None;
    }
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&given, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let names = ["vehicleId", "geofenceId", "limit"];
        assert_eq!(nearest("vehicle_id", names), Some("vehicleId"));
        assert_eq!(nearest("limti", names), Some("limit"));
        assert_eq!(nearest("qqq", names), None);
    }
}
