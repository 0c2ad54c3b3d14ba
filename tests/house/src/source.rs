//! Source files as the rules see them: their module, their code without its tests, the paths it names.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Item;

use crate::{Violation, style};

/// Folders that are not ours or not under version control.
const NOT_OURS: [&str; 5] = ["target", ".git", "node_modules", "dist", "waypost-data"];

/// The folders with the code of the product, each a crate.
const CRATES: [(&str, &str); 3] =
    [("src/", "waypost"), ("actors/src/", "waypost_actors"), ("client/src/", "waypost_client")];

/// A parsed file.
pub(crate) struct Source {
    /// Relative to the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// `["waypost", "store", "sql"]`; none outside the `src` of [`CRATES`].
    pub(crate) module: Option<Vec<String>>,
    /// What breaks a rule of style.
    pub(crate) style: Vec<Violation>,
    /// Every path the code names outside its tests, from a crate's name on, with its line.
    pub(crate) references: Vec<(Vec<String>, usize)>,
}

impl Source {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path} does not parse: {error}"));
        let module = module_of(path);
        let style = style::violations(path, text, &file);
        let mut shipped = file;
        strip_tests(&mut shipped.items);
        let children = child_modules(&shipped.items);
        let mut named = Vec::new();
        collect_paths(shipped.into_token_stream(), &[], &mut named);
        let references = module.as_deref().map_or_else(Vec::new, |module| {
            named.into_iter().map(|(path, line)| (resolve(path, module, &children), line)).collect()
        });
        Self { path: path.to_owned(), text: text.to_owned(), module, style, references }
    }

    /// Its module as a path: `waypost::store::sql`.
    pub(crate) fn module_path(&self) -> String {
        self.module.as_ref().map(|module| module.join("::")).unwrap_or_default()
    }
}

/// Every text file of the repository, with its path relative to `root`.
pub(crate) fn files_below(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the repository can be read").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("an entry has a type");
            // In a second worktree `.git` is a file.
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(&path)
            {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                files.push((relative.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    files.sort();
    files
}

fn module_of(path: &str) -> Option<Vec<String>> {
    let inside_of = |(folder, name)| Some((name, path.strip_prefix(folder)?));
    let (name, inside): (&str, &str) = CRATES.into_iter().find_map(inside_of)?;
    let parts = inside.strip_suffix(".rs")?.split('/').map(str::to_owned);
    let mut module: Vec<String> = [name.to_owned()].into_iter().chain(parts).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "mod")) {
        module.pop();
    }
    Some(module)
}

fn strip_tests(items: &mut Vec<Item>) {
    items.retain(|item| !attributes(item).iter().any(is_cfg_test));
    for item in items {
        if let Item::Mod(syn::ItemMod { content: Some((_, inner)), .. }) = item {
            strip_tests(inner);
        }
    }
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

fn child_modules(items: &[Item]) -> Vec<String> {
    let modules = items.iter().filter_map(|item| match item {
        Item::Mod(item) => Some(item.ident.to_string()),
        _ => None,
    });
    modules.collect()
}

/// Walks tokens rather than syntax, so that macros and attributes are read too: `a::b::c` wherever it
/// stands, and `use` trees with their groups taken apart.
fn collect_paths(tokens: TokenStream, prefix: &[String], found: &mut Vec<(Vec<String>, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(first) => {
                let imported = !prefix.is_empty() || at > 0 && is_ident(&tokens[at - 1], "use");
                let line = first.span().start().line;
                let mut path = prefix.to_vec();
                path.push(first.to_string());
                at += 1;
                let mut has_group = false;
                while is_path_separator(&tokens, at) {
                    match tokens.get(at + 2) {
                        Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                        // `use a::{b, c}` names `a::b` and `a::c`, and nothing of `a` itself.
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            collect_paths(group.stream(), &path, found);
                            (has_group, at) = (true, at + 3);
                            break;
                        }
                        _ => {
                            at += 2;
                            break;
                        }
                    }
                    at += 3;
                }
                if !has_group && (imported || path.len() > 1) {
                    found.push((path, line));
                }
            }
            TokenTree::Group(group) => {
                collect_paths(group.stream(), &[], found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |index| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// From a crate's name on: `crate`, `self`, `super` and the file's own child modules are spelt out.
fn resolve(path: Vec<String>, module: &[String], children: &[String]) -> Vec<String> {
    let (first, rest) = (path[0].as_str(), &path[1..]);
    match first {
        "crate" => [&module[..1], rest].concat(),
        "self" => resolve_in(module, rest),
        "super" => resolve_in(&module[..module.len().saturating_sub(1)], rest),
        child if children.iter().any(|name| name == child) => [module, &path].concat(),
        _ => path,
    }
}

fn resolve_in(module: &[String], rest: &[String]) -> Vec<String> {
    match rest.split_first() {
        Some((first, rest)) if first == "super" => {
            resolve_in(&module[..module.len().saturating_sub(1)], rest)
        }
        _ => [module, rest].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(path: &str, text: &str) -> Vec<String> {
        Source::parse(path, text).references.iter().map(|(path, _)| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let text = "use crate::{store::{sql::Db, time}, ops};
            #[derive(sqlx::FromRow)] struct A;
            fn a() { let x: super::x::Y = tracing::info!(\"{}\", redis::cmd(\"a\")); }";
        let expected = [
            "waypost::store::sql::Db",
            "waypost::store::time",
            "waypost::ops",
            "sqlx::FromRow",
            "waypost::http::x::Y",
            "tracing::info",
            "redis::cmd",
        ];
        assert_eq!(references("src/http/users.rs", text), expected);
    }

    #[test]
    fn tests_inside_a_file_may_know_more() {
        let text = "use std::fmt; #[cfg(test)] mod tests { use sqlx::Row; }";
        assert_eq!(references("src/http/mod.rs", text), ["std::fmt"]);
    }

    #[test]
    fn modules_are_named_by_their_files() {
        assert_eq!(Source::parse("src/store/mod.rs", "").module_path(), "waypost::store");
        assert_eq!(
            Source::parse("actors/src/actor/vehicle.rs", "").module_path(),
            "waypost_actors::actor::vehicle"
        );
        assert_eq!(Source::parse("client/src/api.rs", "").module_path(), "waypost_client::api");
        assert_eq!(Source::parse("tests/house/src/main.rs", "").module, None);
    }
}
