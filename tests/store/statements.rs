//! Every fixed text in the store is prepared on both engines, and they agree on its parameters and columns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, Column, Either, Executor, SqlSafeStr, Statement};
use syn::visit::Visit;
use waypost::store::sql::{Db, Pools};
use waypost_test_support::{Engine, TestStore, postgres, run};

/// Folders below `src/store` whose statements are for one engine only.
const ONE_ENGINE: [&str; 2] = ["postgres", "sqlite"];
/// A text as found in the code.
#[derive(Debug, PartialEq)]
struct Found {
    place: String,
    text: String,
    /// Whether parts are added to it: then it is no whole statement.
    grows: bool,
}

/// How many parameters a statement takes, and the names of the columns it gives.
type Shape = (usize, Vec<String>);

#[test]
fn every_fixed_statement_prepares_on_both_engines_alike() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let found: Vec<Found> = shared_files(&store).iter().flat_map(|file| texts_of(&store, file)).collect();
    let calls: usize = shared_files(&store).iter().map(|file| calls_in(file)).sum();
    assert!(found.len() * 2 >= calls, "of {calls} statements only {} were found", found.len());
    let whole: Vec<String> =
        found.iter().filter(|found| !found.grows).map(|found| found.text.clone()).collect();
    let sqlite = shapes(Engine::Sqlite, &whole);
    let postgres = postgres().map(|_| shapes(Engine::Postgres, &whole));
    let mut wrong = Vec::new();
    for (index, found) in found.iter().filter(|found| !found.grows).enumerate() {
        let other = postgres.as_ref().map_or(&sqlite[index], |shapes| &shapes[index]);
        match (&sqlite[index], other) {
            (Ok(here), Ok(there)) if agree(here, there) => {}
            (here, there) => wrong.push(format!(
                "{}: {:?}\n  sqlite {here:?}\n  postgresql {there:?}",
                found.place, found.text
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether two engines agree on parameters and columns. SQLite calls a column without a name of its own
/// (`count(*)`) by its whole text; the code that reads it goes by position.
fn agree(sqlite: &Shape, other: &Shape) -> bool {
    let named = |column: &str| column.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut columns = sqlite.1.iter().zip(&other.1);
    sqlite.0 == other.0
        && sqlite.1.len() == other.1.len()
        && columns.all(|(here, there)| here == there || !named(here))
}

/// Prepares each text; the store's tables are there.
fn shapes(engine: Engine, texts: &[String]) -> Vec<Result<Shape, String>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    run(engine, async |store: TestStore| {
        for text in texts {
            sender.send(shape(&store.db, text).await).expect("the test waits for it");
        }
    });
    drop(sender);
    receiver.into_iter().collect()
}

async fn shape(db: &Db, text: &str) -> Result<Shape, String> {
    let text = AssertSqlSafe(text.to_owned()).into_sql_str();
    match &db.pools {
        Pools::Postgres { pool, .. } => pool.prepare(text).await.map(|statement| shape_of(&statement)),
        Pools::Sqlite { writer, .. } => writer.prepare(text).await.map(|statement| shape_of(&statement)),
    }
    .map_err(|error| error.to_string())
}

fn shape_of<S: Statement>(statement: &S) -> Shape {
    let parameters = statement.parameters().map_or(0, |found| match found {
        Either::Left(types) => types.len(),
        Either::Right(count) => count,
    });
    (parameters, statement.columns().iter().map(|column| column.name().to_owned()).collect())
}

/// The store's code that speaks to both engines.
fn shared_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the store's code is there");
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !ONE_ENGINE.contains(&name.as_str()) {
            files.extend(shared_files(&path));
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files
}

/// How often a file starts a statement, by its plain text.
fn calls_in(file: &Path) -> usize {
    std::fs::read_to_string(file).expect("a file of the store").matches(".sql(").count()
}

fn texts_of(store: &Path, file: &Path) -> Vec<Found> {
    let code = std::fs::read_to_string(file).expect("a file of the store");
    let place = file.strip_prefix(store).unwrap_or(file).display().to_string();
    texts_in(&place, &code)
}

fn texts_in(place: &str, code: &str) -> Vec<Found> {
    let file = syn::parse_file(code).expect("code that compiles parses");
    let mut constants = Constants::default();
    constants.visit_file(&file);
    let mut texts = Texts { place, constants, found: Vec::new() };
    texts.visit_file(&file);
    texts.found
}

/// The constant texts of a file, by name.
#[derive(Default)]
struct Constants(BTreeMap<String, String>);

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &*item.expr {
            self.0.insert(item.ident.to_string(), text.value());
        }
    }
}

struct Texts<'p> {
    place: &'p str,
    constants: Constants,
    found: Vec<Found>,
}

impl Texts<'_> {
    /// The text of an argument: a literal, or a name given to one before in the same file.
    fn text_of(&self, argument: &syn::Expr) -> Option<String> {
        match argument {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            syn::Expr::Path(path) => self.constants.0.get(&path.path.get_ident()?.to_string()).cloned(),
            _ => None,
        }
    }
}

impl<'ast> Visit<'ast> for Texts<'_> {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        // In the order of the code, so that a name means what it was given last.
        if let (syn::Pat::Ident(name), Some(init)) = (&local.pat, &local.init)
            && let Some(text) = self.text_of(&init.expr)
        {
            self.constants.0.insert(name.ident.to_string(), text);
        }
        syn::visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let pushes = matches!(call.method.to_string().as_str(), "push" | "push_bind" | "push_each");
        let before = self.found.len();
        if call.method == "sql"
            && let Some(text) = call.args.first().and_then(|argument| self.text_of(argument))
        {
            let place = format!("{}:{}", self.place, call.method.span().start().line);
            // By custom a text that only begins a statement ends open.
            let grows = text.ends_with([' ', '\n', '(']);
            self.found.push(Found { place, text, grows });
        }
        self.visit_expr(&call.receiver);
        if pushes {
            // A text at the root of this chain is only a beginning.
            self.found[before..].iter_mut().for_each(|found| found.grows = true);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }
}

#[test]
fn texts_are_found_with_their_line_and_whether_they_grow() {
    let code = r#"const THREE: &str = "select 3";
        fn a() {
            on.sql("select 1").bind(2).all();
            on.sql("select 2").push(" limit 1").one();
            on.sql(THREE).one();
            let open = on.sql("select ");
            let four = "select 4";
            on.sql(four).one();
        }"#;
    let found =
        |place: &str, text: &str, grows| Found { place: place.to_owned(), text: text.to_owned(), grows };
    let expected = [
        found("x.rs:3", "select 1", false),
        found("x.rs:4", "select 2", true),
        found("x.rs:5", "select 3", false),
        found("x.rs:6", "select ", true),
        found("x.rs:8", "select 4", false),
    ];
    assert_eq!(texts_in("x.rs", code), expected);
}

#[test]
fn a_text_that_an_engine_refuses_is_told() {
    let texts = ["select kid from signing_key where kid = $1", "select no_such_column from signing_key"];
    let shapes = shapes(Engine::Sqlite, &texts.map(str::to_owned));
    assert_eq!(shapes[0], Ok((1, vec!["kid".to_owned()])));
    assert!(shapes[1].as_ref().is_err_and(|error| error.contains("no_such_column")), "{:?}", shapes[1]);
}

#[test]
fn engines_that_disagree_are_told() {
    let shape =
        |parameters, columns: &[&str]| (parameters, columns.iter().map(ToString::to_string).collect());
    assert!(agree(&shape(1, &["id", "count(*)"]), &shape(1, &["id", "count"])));
    assert!(!agree(&shape(1, &["id"]), &shape(2, &["id"])));
    assert!(!agree(&shape(1, &["id"]), &shape(1, &["name"])));
    assert!(!agree(&shape(1, &["id"]), &shape(1, &["id", "name"])));
}
