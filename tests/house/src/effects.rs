//! Everything that can be set has an effect: each setting of the server is read outside of `config`, and each
//! member of a request body is used where the table says.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;
use syn::{Fields, Item};

use crate::effect_table::EFFECTS;
use crate::effect_table_of_questions::OF_QUESTIONS;
use crate::source::Source;

const SERVER_SETTINGS: &str = "src/config/settings.rs";

/// What is wrong with the table, given the texts of all files by path.
pub(crate) fn without_effect(sources: &[Source], files: &[(String, String)]) -> Vec<String> {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let table = || EFFECTS.iter().chain(OF_QUESTIONS);
    let is_listed = |name: &String| table().any(|(_, listed, _)| listed == name);
    let mut wrong: Vec<String> = bodies(sources).into_iter().filter(|name| !is_listed(name)).collect();
    wrong.iter_mut().for_each(|name| name.push_str(": what reads its members?"));
    for (path, name, effects) in table() {
        let declared = members(sources, path, name);
        let named: BTreeSet<String> = effects.iter().map(|(member, ..)| (*member).to_owned()).collect();
        wrong.extend(declared.difference(&named).map(|member| format!("{name}.{member}: what reads it?")));
        wrong.extend(
            named.difference(&declared).map(|member| format!("{name}.{member} is no member any more")),
        );
        for (member, file, reads) in *effects {
            let is_read = texts.get(file).is_some_and(|text| text.contains(reads));
            let is_new = file.is_empty() && is_used(sources, path, reads);
            match file.is_empty() {
                false if !is_read => wrong.push(format!("{name}.{member}: {file} does not say {reads}")),
                true if is_new => wrong.push(format!("{name}.{member} is read: say where")),
                _ => {}
            }
        }
    }
    wrong
}

/// The settings of the server that nothing outside `config` reads.
pub(crate) fn unread_settings(sources: &[Source]) -> Vec<String> {
    let product: Vec<&Source> = sources.iter().filter(|source| source.path.starts_with("src/")).collect();
    let is_read = |name: &str| {
        product.iter().any(|source| match source.path.as_str() {
            // what makes other modules' options of them
            SERVER_SETTINGS => has_word(&source.text, &format!("self.{name}")),
            path => !path.starts_with("src/config/") && has_word(&source.text, &format!("settings.{name}")),
        })
    };
    let mut names = settings(sources);
    names.retain(|name| !is_read(name));
    names
}

/// The names in the table of settings, which `settings!` makes: each row is `name: type = default, explanation;`.
fn settings(sources: &[Source]) -> Vec<String> {
    let table = items(sources, SERVER_SETTINGS).into_iter().find_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident("settings") => Some(item.mac.tokens),
        _ => None,
    });
    let tokens: Vec<TokenTree> = table.expect("settings are declared in a table").into_iter().collect();
    let rows = tokens.split(|token| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';'));
    rows.filter_map(|row| row.first()).map(ToString::to_string).collect()
}

/// What is declared in a file.
fn items(sources: &[Source], path: &str) -> Vec<Item> {
    let declaring = sources.iter().filter(|source| source.path == path);
    let files = declaring.map(|source| syn::parse_file(&source.text).expect("it was parsed before"));
    files.flat_map(|file| file.items).collect()
}

fn members(sources: &[Source], path: &str, name: &str) -> BTreeSet<String> {
    let items = items(sources, path);
    let found = items.iter().filter_map(|item| match item {
        Item::Struct(item) if item.ident == name => Some(&item.fields),
        _ => None,
    });
    let fields = found.flat_map(Fields::iter).filter_map(|field| field.ident.as_ref());
    fields.map(ToString::to_string).chain(items.iter().flat_map(|item| members_of_body(item, name))).collect()
}

/// The names of the bodies that have members of their own.
fn bodies(sources: &[Source]) -> Vec<String> {
    let mut names = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("src/")) {
        for item in items(sources, &source.path) {
            let Item::Macro(body) = &item else { continue };
            let tokens: Vec<TokenTree> = body.mac.tokens.clone().into_iter().collect();
            let declared = tokens.windows(2).find_map(|pair| match pair {
                [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "struct" => {
                    Some(name.to_string())
                }
                _ => None,
            });
            let is_body = body.mac.path.is_ident("body");
            names.extend(declared.filter(|name| is_body && !members_of_body(&item, name).is_empty()));
        }
    }
    names
}

/// The members of a `body!` of this name: each is an identifier before its name in JSON.
fn members_of_body(item: &Item, name: &str) -> Vec<String> {
    let Item::Macro(item) = item else { return Vec::new() };
    let tokens: Vec<TokenTree> = item.mac.tokens.clone().into_iter().collect();
    let declared = tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(found), TokenTree::Group(members)] if found == name => Some(members.stream()),
        _ => None,
    });
    let members: Vec<TokenTree> = declared.into_iter().flatten().collect();
    let named =
        members.windows(2).filter(|pair| matches!(pair, [TokenTree::Ident(_), TokenTree::Literal(_)]));
    named.map(|pair| pair[0].to_string()).collect()
}

/// Whether the product has some code outside of the file that declares a member.
fn is_used(sources: &[Source], declared: &str, code: &str) -> bool {
    let product = |source: &&Source| source.module.is_some() && source.path != declared;
    sources.iter().filter(product).any(|source| has_word(&source.text, code))
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let after = text[at + word.len()..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn a_setting_that_nothing_reads_is_told() {
    let table = "settings! { log: String = \"info\", \"a; b\"; workers: Option<usize> = \"\", \"c\"; }";
    let reader = "fn a() { start(&settings.log); }";
    let sources = [Source::parse(SERVER_SETTINGS, table), Source::parse("src/app.rs", reader)];
    assert_eq!(unread_settings(&sources), ["workers"]);
}

#[test]
fn a_body_that_the_table_does_not_name_is_told() {
    let body = "body!(pub struct PutLamp { color \"color\": required String, text(1..=9); });";
    let wrong = without_effect(&[Source::parse("src/domain/lamp.rs", body)], &[]);
    assert!(wrong.contains(&"PutLamp: what reads its members?".to_owned()), "{wrong:?}");
}

#[test]
fn a_name_that_goes_on_is_another_one() {
    assert!(has_word("a(settings.log)", "settings.log") && !has_word("settings.log_format", "settings.log"));
}
