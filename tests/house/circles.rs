//! No two folders know each other, however long the way round.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;
use crate::arrows::{OPEN, is_below};
use crate::source::Source;

/// The handle, the connections' way in and the actors behind them: one piece, cut into files.
const SHELL: [&str; 3] = ["actor", "live", "report"];

/// Folders of one crate that know each other, however long the way round.
pub(crate) fn circles<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Vec<Violation> {
    let mut knows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let Some(from) = source.module.as_deref().and_then(piece) else { continue };
        let inside =
            source.references.iter().filter(|(path, _)| path[0] == from.split("::").next().unwrap_or(""));
        let known: Vec<String> =
            inside.filter_map(|(path, _)| piece(path)).filter(|to| *to != from).collect();
        knows.entry(from).or_default().extend(known);
    }
    let folders: Vec<&String> = knows.keys().collect();
    let circles = folders.iter().filter_map(|folder| way_back(&knows, folder));
    circles
        .map(|way| Violation {
            path: way[0].clone(),
            line: 0,
            what: format!("a circle: {}", way.join(" → ")),
        })
        .collect()
}

/// What a module belongs to as far as circles go: its folder, but for what is open and what is one piece.
fn piece(path: &[String]) -> Option<String> {
    let (name, folder) = (path.first()?, path.get(1)?);
    let whole = path.join("::");
    let open = OPEN.iter().find(|open| is_below(&whole, open)).map(|open| (*open).to_owned());
    let shell = name == "waypost_actors" && SHELL.contains(&folder.as_str());
    Some(open.unwrap_or_else(|| if shell { format!("{name}::shell") } else { format!("{name}::{folder}") }))
}

/// The way from a folder back to itself, if there is one that starts with the folder first by name.
fn way_back(knows: &BTreeMap<String, BTreeSet<String>>, start: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let here = &way[way.len() - 1];
        for next in knows.get(here).into_iter().flatten().filter(|next| knows.contains_key(*next)) {
            let longer = || [way.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer());
            }
            // A circle is told once, by the first of its folders.
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

    #[test]
    fn circles_are_found_however_long() {
        let file = |path: &str, text: &str| Source::parse(path, text);
        let (a, b) = (file("src/a.rs", "use crate::b::B;"), file("src/b/mod.rs", "use crate::c::C;"));
        let straight = file("src/c.rs", "use crate::c::own; use std::fmt;");
        assert_eq!(circles(&[a, b, straight]), []);
        let (a, b) = (file("src/a.rs", "use crate::b::B;"), file("src/b/mod.rs", "use crate::c::C;"));
        let told = circles(&[a, b, file("src/c.rs", "use crate::a::A;")]);
        let told: Vec<&str> = told.iter().map(|violation| violation.what.as_str()).collect();
        assert_eq!(told, ["a circle: waypost::a → waypost::b → waypost::c → waypost::a"]);
    }
    #[test]
    fn a_scope_and_the_shell_make_no_circle() {
        let (scope, store) = (
            "use waypost_actors::model::OrganizationId;",
            "use crate::auth::scope::OrgScope; use sqlx::Row;",
        );
        let sources = [
            Source::parse("src/auth/scope.rs", scope),
            Source::parse("src/auth/login.rs", "use crate::store::users; use super::scope::OrgScope;"),
            Source::parse("src/store/users.rs", store),
            Source::parse("actors/src/live.rs", "use crate::actor::Directory;"),
            Source::parse("actors/src/actor/mod.rs", "use crate::live::LiveError;"),
        ];
        assert_eq!(circles(&sources), []);
        let back = Source::parse("src/store/accounts.rs", "use crate::auth::login::Login;");
        assert_eq!(circles([&sources[1], &sources[2], &back]).len(), 1);
    }
}
