//! Folding of texts for search and comparison, done here because the two engines fold differently.

/// Lower case, with spaces collapsed.
#[must_use]
pub fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A `like` pattern that finds a folded text anywhere; `\` escapes.
#[must_use]
pub fn anywhere(searched: &str) -> String {
    let folded = folded(searched).replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{folded}%")
}

/// Upper case, letters and digits only: the form in which plates and licence numbers are compared.
#[must_use]
pub fn compact(text: &str) -> String {
    text.to_uppercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Makes a slug from a name: lower-case letters, digits and single hyphens; may be empty.
#[must_use]
pub fn slug(name: &str) -> String {
    let words = name.to_lowercase();
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug: String = words.collect::<Vec<_>>().join("-").chars().take(63).collect();
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fold() {
        assert_eq!(folded("  Große   ÉCOLE "), "große école");
        assert_eq!(anywhere("50%_a\\"), "%50\\%\\_a\\\\%");
        assert_eq!(compact("m-ab 12 é"), "MAB12É");
        assert_eq!(slug("Stadtwerke München GmbH & Co."), "stadtwerke-m-nchen-gmbh-co");
    }
}
