//! What pages say of the tree: their links lead somewhere, and the files of code that they name are there.
//!
//! Reads a page line by line; knows nothing of what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Violation;

/// Pages about what was or may come, which name files of other times.
const OF_OTHER_TIMES: [&str; 2] = ["docs/decisions/", "CHANGELOG.md"];

/// Links to files or headings that are not there. Files are looked for below `root`, since pictures are no text.
pub(crate) fn broken_links(files: &[(String, String)], root: &Path) -> Vec<Violation> {
    let headings: BTreeMap<&str, BTreeSet<String>> =
        pages(files).map(|(page, text)| (page, text.lines().filter_map(anchor).collect())).collect();
    let mut broken = Vec::new();
    for (page, text) in pages(files) {
        for (index, line) in text.lines().enumerate() {
            for link in links(line) {
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = if file.is_empty() { page.to_owned() } else { beside(page, file) };
                let known = headings.get(target.as_str());
                let has_heading = heading.is_empty() || known.is_none_or(|known| known.contains(heading));
                let has_file = file.is_empty() || root.join(&target).exists();
                if !has_heading || !has_file {
                    broken.push(violation(page, index, format!("{link} leads nowhere")));
                }
            }
        }
    }
    broken
}

/// Files of code that a page of today names and that are not there. A name may leave out the folders in front of it.
pub(crate) fn missing_files(files: &[(String, String)]) -> Vec<Violation> {
    let is_end_of = |path: &str, name: &str| {
        path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let is_there = |name: &str| files.iter().any(|(path, _)| is_end_of(path, name));
    let is_of_today = |page: &str| !OF_OTHER_TIMES.iter().any(|other| page.starts_with(other));
    let mut missing = Vec::new();
    for (page, text) in pages(files).filter(|(page, _)| is_of_today(page)) {
        for (index, line) in text.lines().enumerate() {
            let names = line.split('`').skip(1).step_by(2).filter(|name| is_file_of_code(name));
            let absent = names.filter(|name| !is_there(name));
            missing.extend(absent.map(|name| violation(page, index, format!("{name} is not there"))));
        }
    }
    missing
}

fn pages(files: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    let pages = files.iter().filter(|(path, _)| path.ends_with(".md"));
    pages.map(|(path, text)| (path.as_str(), text.as_str()))
}

fn violation(page: &str, index: usize, what: String) -> Violation {
    Violation { path: page.to_owned(), line: index + 1, what }
}

/// Where the links of a line lead, those to other hosts left out.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains([' ', ':'])).collect()
}

/// A link's path from the root, given the page that it stands on.
fn beside(page: &str, file: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What a link to a heading says behind `#`, as GitHub makes it of the heading.
fn anchor(line: &str) -> Option<String> {
    let text = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = text.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

fn is_file_of_code(name: &str) -> bool {
    let is_of_path = |sign: char| sign.is_ascii_alphanumeric() || "_-./".contains(sign);
    name.ends_with(".rs") && name.chars().all(is_of_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pages: &[(&str, &str)]) -> Vec<(String, String)> {
        pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn links_and_anchors_are_read_as_a_browser_reads_them() {
        assert_eq!(links("[a](b.md#c), [d](https://example.org/e) and [f](../g)"), ["b.md#c", "../g"]);
        assert_eq!(beside("docs/a.md", "../README.md"), "README.md");
        assert_eq!(beside("docs/a.md", "./b.md"), "docs/b.md");
        assert_eq!(anchor("## Who's near, *now*?"), Some("whos-near-now".to_owned()));
        assert_eq!(anchor("#[test]"), None);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = "# One\n\n[here](#one) [there](#two)\n[file](Cargo.toml) [none](none.md)";
        let broken = broken_links(&files(&[("a.md", page)]), root);
        let told: Vec<(usize, String)> =
            broken.into_iter().map(|broken| (broken.line, broken.what)).collect();
        assert_eq!(told, [(3, "#two leads nowhere".to_owned()), (4, "none.md leads nowhere".to_owned())]);
    }

    #[test]
    fn a_file_that_is_gone_is_told() {
        let page = "`src/a.rs`, `a.rs`, `<resource>.rs` and\n`src/gone.rs`, not `ba.rs`";
        let sample = files(&[("src/a.rs", ""), ("A.md", page), ("CHANGELOG.md", page)]);
        let told: Vec<(usize, String)> =
            missing_files(&sample).into_iter().map(|missing| (missing.line, missing.what)).collect();
        assert_eq!(told, [(2, "src/gone.rs is not there".to_owned()), (2, "ba.rs is not there".to_owned())]);
    }
}
