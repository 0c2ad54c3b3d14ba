//! No two files know each other, however long the way round.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;
use crate::source::Source;

/// Files of the product that name each other, directly or by way of others.
pub(crate) fn circles(sources: &[Source]) -> Vec<Violation> {
    let sources = || sources.iter().filter(|source| source.module.is_some());
    let files: BTreeSet<String> = sources().map(Source::module_path).collect();
    let named = |source: &Source| -> BTreeSet<String> {
        let files = source.references.iter().filter_map(|(path, _)| file_of(path, &files));
        files.filter(|file| *file != source.module_path()).collect()
    };
    let knows: BTreeMap<String, BTreeSet<String>> =
        sources().map(|source| (source.module_path(), named(source))).collect();
    let circles = knows.keys().filter_map(|file| way_back(&knows, file));
    circles
        .map(|way| Violation {
            path: way[0].clone(),
            line: 0,
            what: format!("a circle: {}", way.join(" → ")),
        })
        .collect()
}

/// The file that defines or exports what a path names.
fn file_of(path: &[String], files: &BTreeSet<String>) -> Option<String> {
    (1..=path.len()).rev().map(|length| path[..length].join("::")).find(|module| files.contains(module))
}

/// The way from a file back to itself, if there is one of which that file is the first by name.
fn way_back(knows: &BTreeMap<String, BTreeSet<String>>, start: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let here = &way[way.len() - 1];
        for next in knows.get(here).into_iter().flatten() {
            let longer = || [way.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer());
            }
            // A circle is reported once, by the first of its files.
            if next.as_str() > start && seen.insert(next.clone()) {
                ways.push(longer());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::parse(path, text)).collect();
        circles(&sources).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn circles_are_found_however_long() {
        let (a, b) = (("src/a.rs", "use crate::b::B;"), ("src/b/mod.rs", "use crate::c::C;"));
        assert_eq!(told(&[a, b, ("src/c.rs", "use crate::c::own; use std::fmt;")]), [""; 0]);
        let circle = ["a circle: waypost::a → waypost::b → waypost::c → waypost::a"];
        assert_eq!(told(&[a, b, ("src/c.rs", "use crate::a::A;")]), circle);
    }

    #[test]
    fn a_circle_within_a_folder_is_one_and_one_between_folders_may_be_none() {
        let parent = ("src/a/mod.rs", "mod b; pub use b::B; pub struct A;");
        assert_eq!(
            told(&[parent, ("src/a/b.rs", "use super::A;")]),
            ["a circle: waypost::a → waypost::a::b → waypost::a"]
        );
        assert_eq!(told(&[parent, ("src/a/b.rs", "use super::c::C;"), ("src/a/c.rs", "")]), [""; 0]);
        // Each folder names a file of the other, and no file leads back to itself.
        let (scope, login) = (("src/auth/scope.rs", ""), ("src/auth/login.rs", "use crate::store::users;"));
        assert_eq!(
            told(&[scope, login, ("src/store/users.rs", "use crate::auth::scope::OrgScope;")]),
            [""; 0]
        );
    }

    #[test]
    fn tests_may_know_what_is_above() {
        let (a, b) = ("use crate::b::B;", "#[cfg(test)] mod tests { use crate::a::A; }");
        assert_eq!(told(&[("src/a.rs", a), ("src/b.rs", b)]), [""; 0]);
    }
}
