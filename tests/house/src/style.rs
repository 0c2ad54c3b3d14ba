//! How code looks here: lengths, names, module heads, and what is never left in it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Violation;
use crate::source::Source;

const MAX_FILE_LINES: usize = 400;
const MAX_FUNCTION_LINES: usize = 80;
/// Names that say nothing about the contents.
const EMPTY_NAMES: [&str; 9] =
    ["utils", "util", "helpers", "helper", "common", "manager", "managers", "misc", "shared"];
/// Macros that stand for something missing or forgotten.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];
/// Folders that only one machine has. In two parts, so that this file does not name one.
const MACHINE_FOLDERS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];

/// Everything in a file that breaks a rule of style.
pub(crate) fn violations(path: &str, text: &str, file: &syn::File) -> Vec<Violation> {
    let mut found = Found { path, text, violations: Vec::new() };
    found.whole_file();
    found.visit_file(file);
    found.tokens(file.to_token_stream());
    found.violations
}

/// Files beside the folder of their children: a folder's module belongs in its `mod.rs`.
pub(crate) fn beside_their_folder(sources: &[Source]) -> Vec<Violation> {
    let has_folder = |source: &&Source| {
        let folder = source.path.trim_end_matches("rs").replace('.', "/");
        sources.iter().any(|other| other.path.starts_with(&folder))
    };
    let violation = |source: &Source| Violation {
        path: source.path.clone(),
        line: 0,
        what: "stands beside its folder: make it the folder's mod.rs".to_owned(),
    };
    sources.iter().filter(has_folder).map(violation).collect()
}

/// Lines that name a folder of a developer's machine.
pub(crate) fn machine_paths(path: &str, text: &str) -> Vec<Violation> {
    let names_one = |line: &str| {
        MACHINE_FOLDERS.iter().any(|folder| {
            // At the start of a path, not in the middle of one: `https://host/home/` is no folder of ours.
            line.match_indices(folder).any(|(at, _)| {
                !line[..at].ends_with(|before: char| before.is_alphanumeric() || "/._-~}".contains(before))
            })
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| names_one(line));
    lines
        .map(|(index, _)| Violation {
            path: path.to_owned(),
            line: index + 1,
            what: "a path of one machine".to_owned(),
        })
        .collect()
}

struct Found<'s> {
    path: &'s str,
    text: &'s str,
    violations: Vec<Violation>,
}

impl Found<'_> {
    fn tell(&mut self, line: usize, what: String) {
        self.violations.push(Violation { path: self.path.to_owned(), line, what });
    }

    fn whole_file(&mut self) {
        let lines = self.text.lines().count();
        if lines > MAX_FILE_LINES {
            self.tell(lines, format!("{lines} lines; {MAX_FILE_LINES} at most"));
        }
        if !self.text.starts_with("//!") {
            self.tell(1, "no module head: say what it owns and what it must not know".to_owned());
        }
        let path = self.path.to_owned();
        for part in path.trim_end_matches(".rs").split('/') {
            self.name(part, 1);
        }
    }

    fn name(&mut self, name: &str, line: usize) {
        if name.split('_').any(|word| EMPTY_NAMES.contains(&word)) {
            self.tell(line, format!("{name} says nothing of what is inside"));
        }
    }

    fn function(&mut self, name: &syn::Ident, whole: proc_macro2::Span) {
        let (first, last) = (whole.start().line, whole.end().line);
        let lines = last + 1 - first;
        if lines > MAX_FUNCTION_LINES {
            self.tell(first, format!("{name} has {lines} lines; {MAX_FUNCTION_LINES} at most"));
        }
    }

    /// What syntax does not show: attributes on anything, macros inside macros.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(name)
                    if is_punct(tokens.get(index + 1), '!')
                        && UNFINISHED.iter().any(|unfinished| name == unfinished) =>
                {
                    self.tell(name.span().start().line, format!("{name}! is left in it"));
                }
                TokenTree::Group(group) => {
                    if index > 0 && is_attribute(&tokens[..index]) && allows(group.stream()) {
                        let what = "allow: say `#[expect(…, reason = \"…\")]`".to_owned();
                        self.tell(group.span_open().start().line, what);
                    }
                    self.tokens(group.stream());
                }
                _ => {}
            }
        }
    }
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// Whether `#` or `#!` stands right before.
fn is_attribute(before: &[TokenTree]) -> bool {
    let last = before.len() - 1;
    is_punct(before.last(), '#')
        || is_punct(before.last(), '!') && last > 0 && is_punct(before.get(last - 1), '#')
}

/// `allow(…)`, also inside `cfg_attr(…, allow(…))`.
fn allows(attribute: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    tokens.iter().enumerate().any(|(index, token)| match token {
        TokenTree::Ident(name) if name == "allow" => {
            matches!(tokens.get(index + 1), Some(TokenTree::Group(_)))
        }
        TokenTree::Group(group) => allows(group.stream()),
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.name(&item.ident.to_string(), item.ident.span().start().line);
        visit::visit_item_mod(self, item);
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, item.sig.span().join(item.block.span()).unwrap_or(item.block.span()));
        visit::visit_item_fn(self, item);
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, item.sig.span().join(item.block.span()).unwrap_or(item.block.span()));
        visit::visit_impl_item_fn(self, item);
    }
    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig.ident, item.span());
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = Source::parse(path, text).style;
        found.into_iter().map(|violation| (violation.line, violation.what)).collect()
    }

    /// The only violation found in a sample.
    fn only(path: &str, text: &str) -> (usize, String) {
        let mut told = told(path, text);
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    }

    #[test]
    fn good_code_is_left_alone() {
        let text =
            "//! A head.\n#[expect(dead_code, reason = \"a sample\")]\nfn allow(todo: u8) -> u8 { todo }";
        assert_eq!(told("src/store/users.rs", text), []);
    }

    #[test]
    fn a_long_file_is_told() {
        let text = |lines: usize| format!("//! A head.\n{}", "// line\n".repeat(lines - 1));
        assert_eq!(told("src/a.rs", &text(400)), []);
        assert_eq!(only("src/a.rs", &text(401)).0, 401);
    }

    #[test]
    fn a_long_function_is_told_where_it_begins() {
        let function =
            |lines: usize| format!("//! A head.\n\nfn long() {{\n{}}}\n", "let _ = 1;\n".repeat(lines - 2));
        assert_eq!(told("src/a.rs", &function(80)), []);
        assert_eq!(only("src/a.rs", &function(81)), (3, "long has 81 lines; 80 at most".to_owned()));
        let method = format!("//! A head.\nimpl A {{\nfn long() {{\n{}}}\n}}\n", "let _ = 1;\n".repeat(79));
        assert_eq!(only("src/a.rs", &method).0, 3);
    }

    #[test]
    fn a_file_beside_its_folder_is_told() {
        let files = |paths: [&str; 2]| paths.map(|path| Source::parse(path, ""));
        assert_eq!(beside_their_folder(&files(["src/a/mod.rs", "src/a/b.rs"])), []);
        assert_eq!(beside_their_folder(&files(["src/a.rs", "src/ab/mod.rs"])), []);
        assert_eq!(beside_their_folder(&files(["src/a.rs", "src/a/b.rs"]))[0].path, "src/a.rs");
    }

    #[test]
    fn a_missing_head_is_told() {
        assert!(only("src/a.rs", "fn a() {}").1.contains("module head"));
    }

    #[test]
    fn empty_names_are_told() {
        for path in
            ["src/utils.rs", "src/http/helpers/mod.rs", "actors/src/common.rs", "src/session_manager.rs"]
        {
            assert!(only(path, "//! A head.").1.contains("says nothing"), "{path}");
        }
        assert_eq!(only("src/a.rs", "//! A head.\nmod helpers {}").0, 2);
    }

    #[test]
    fn each_allow_is_told() {
        for attribute in ["#[allow(dead_code)]", "#[cfg_attr(test, allow(dead_code))]"] {
            assert_eq!(
                only("src/a.rs", &format!("//! A head.\n{attribute}\nfn a() {{}}")).0,
                2,
                "{attribute}"
            );
        }
        assert_eq!(only("src/a.rs", "//! A head.\n#![allow(dead_code)]").0, 2);
        assert_eq!(only("src/a.rs", "//! A head.\nfn a() { #[allow(unused)] let b = 1; }").0, 2);
    }

    #[test]
    fn what_is_unfinished_is_told() {
        for left in ["todo!()", "unimplemented!(\"later\")", "dbg!(1)", "vec![todo!()]"] {
            assert_eq!(only("src/a.rs", &format!("//! A head.\nfn a() {{\n{left};\n}}")).0, 3, "{left}");
        }
    }

    #[test]
    fn paths_of_one_machine_are_told() {
        for folder in MACHINE_FOLDERS {
            let text = format!("fine\nsee {folder}somewhere");
            assert_eq!(machine_paths("README.md", &text).len(), 1, "{folder}");
            assert_eq!(machine_paths("README.md", &text)[0].line, 2);
            assert_eq!(machine_paths("README.md", &format!("https://example.org{folder}x")), []);
        }
    }
}
