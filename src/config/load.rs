//! Reads the settings from their sources, in order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::settings::{Setting, Settings, TABLE};

/// Variables that other software spells without our prefix.
const PLAIN_VARIABLES: [(&str, &str); 3] =
    [("DATABASE_URL", "database_url"), ("REDIS_URL", "redis_url"), ("SMTP_URL", "smtp_url")];

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No such setting.
    #[error("unknown setting {given} {place}{}", suggestion(.nearest))]
    Unknown {
        /// The name that was given.
        given: String,
        /// Where, with its preposition.
        place: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A value that is not of its setting's kind. The value itself may be a secret and is not shown.
    #[error("{name} {place} must be {expected}")]
    Invalid {
        /// The setting's name.
        name: String,
        /// Where, with its preposition.
        place: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The file cannot be read.
    #[error("{0} cannot be read")]
    File(PathBuf, #[source] std::io::Error),
    /// The file is not TOML. The line itself may hold a secret and is not shown.
    #[error("{path} is not TOML: line {line}: {message}")]
    Toml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The named file; otherwise `waypost.toml`, if it exists.
    pub file: Option<PathBuf>,
    /// The process's variables.
    pub variables: Vec<(String, String)>,
    /// Flags, as [`given_flags`] returns them.
    pub flags: Vec<(&'static str, String)>,
}

impl Sources {
    /// This process's variables and these flags.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<(&'static str, String)>) -> Self {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        Self { file, variables, flags }
    }
}

impl Settings {
    /// Defaults, then the file, then the variables, then the flags.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Loaded::of(sources)?.settings)
    }
}

/// A setting with the value in force.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The setting.
    pub setting: Setting,
    /// Its value as text; of a secret, only that there is one.
    pub value: String,
    /// Where the value came from, with its preposition; `by default`.
    pub place: String,
}

/// Every setting with the value in force and where that came from.
pub fn in_force(sources: &Sources) -> Result<Vec<InForce>, ConfigError> {
    let loaded = Loaded::of(sources)?;
    let in_force = |setting: &Setting| {
        let given = loaded.given.get(setting.name);
        let (value, place) = given.cloned().unwrap_or((setting.default.to_owned(), "by default".to_owned()));
        let value = if setting.is_secret && !value.is_empty() { "(secret)".to_owned() } else { value };
        InForce { setting: *setting, value, place }
    };
    Ok(TABLE.iter().map(in_force).collect())
}

/// The settings, and for those that were given, the text and its place.
#[derive(Default)]
struct Loaded {
    settings: Settings,
    given: HashMap<&'static str, (String, String)>,
}

impl Loaded {
    fn of(sources: &Sources) -> Result<Self, ConfigError> {
        let mut loaded = Self::default();
        loaded.read_file(sources.file.as_deref())?;
        loaded.read_variables(&sources.variables)?;
        for (name, text) in &sources.flags {
            loaded.put(name, text, "on the command line", &format!("--{}", kebab(name)))?;
        }
        Ok(loaded)
    }

    fn read_file(&mut self, named: Option<&Path>) -> Result<(), ConfigError> {
        let path = named.unwrap_or(Path::new("waypost.toml"));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ConfigError::File(path.to_owned(), error)),
        };
        let table: toml::Table = text.parse().map_err(|error| not_toml(path, &text, &error))?;
        let place = format!("in {}", path.display());
        for (given, value) in table {
            let name = known(&given, file_name, &place)?;
            let text = plain(&value).ok_or_else(|| ConfigError::Invalid {
                name: given.clone(),
                place: place.clone(),
                expected: "a text, a number or a list of texts",
            })?;
            self.put(name, &text, &place, &given)?;
        }
        Ok(())
    }

    fn read_variables(&mut self, variables: &[(String, String)]) -> Result<(), ConfigError> {
        let place = "in the environment";
        for (plain, name) in PLAIN_VARIABLES {
            if let Some((_, text)) = variables.iter().find(|(given, _)| given == plain) {
                self.put(name, text, place, plain)?;
            }
        }
        for (given, text) in variables.iter().filter(|(given, _)| given.starts_with("WAYPOST_")) {
            let name = known(given, screaming, place)?;
            self.put(name, text, place, given)?;
        }
        Ok(())
    }

    fn put(&mut self, name: &'static str, text: &str, place: &str, spelled: &str) -> Result<(), ConfigError> {
        self.given.insert(name, (text.to_owned(), format!("{place}, as {spelled}")));
        self.settings.assign(name, text).map_err(|expected| ConfigError::Invalid {
            name: spelled.to_owned(),
            place: place.to_owned(),
            expected,
        })
    }
}

/// The flags' names, in the order of the table; clap wants them to live as long as the process.
static FLAGS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    TABLE.iter().map(|setting| (kebab(setting.name), setting.name.to_uppercase())).collect()
});

/// One flag for each setting that a command uses, for the command line.
pub fn flags(uses: fn(&str) -> bool) -> impl Iterator<Item = clap::Arg> {
    let used = TABLE.iter().zip(FLAGS.iter()).filter(move |(setting, _)| uses(setting.name));
    used.map(|(setting, (flag, value))| {
        let help = if setting.default.is_empty() {
            setting.explanation.to_owned()
        } else {
            format!("{} [default: {}]", setting.explanation, setting.default)
        };
        clap::Arg::new(setting.name).long(flag.as_str()).value_name(value.as_str()).help(help)
    })
}

/// The flags that were given.
#[must_use]
pub fn given_flags(matches: &clap::ArgMatches) -> Vec<(&'static str, String)> {
    // Settings the command does not use have no flag.
    let value = |name: &str| matches.try_get_one::<String>(name).ok().flatten().cloned();
    TABLE.iter().filter_map(|setting| Some((setting.name, value(setting.name)?))).collect()
}

/// The setting that `spelling` turns into `given`.
fn known(given: &str, spelling: fn(&str) -> String, place: &str) -> Result<&'static str, ConfigError> {
    TABLE.iter().map(|setting| setting.name).find(|name| spelling(name) == given).ok_or_else(|| {
        let names: Vec<String> = TABLE.iter().map(|setting| spelling(setting.name)).collect();
        let nearest = crate::domain::nearest::nearest(given, names.iter().map(String::as_str));
        ConfigError::Unknown {
            given: given.to_owned(),
            place: place.to_owned(),
            nearest: nearest.map(str::to_owned),
        }
    })
}

fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = text.bytes().take(error.span().map_or(0, |span| span.start));
    let line = before.filter(|byte| *byte == b'\n').count() + 1;
    ConfigError::Toml { path: path.to_owned(), line, message: error.message().to_owned() }
}

fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        _ => None,
    }
}

/// A setting's name in the file: `data_dir` is `dataDir`.
#[must_use]
pub fn file_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

/// `data_dir` as `data-dir`.
fn kebab(name: &str) -> String {
    name.replace('_', "-")
}

/// `data_dir` as `WAYPOST_DATA_DIR`.
fn screaming(name: &str) -> String {
    format!("WAYPOST_{}", name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::value::Value as _;

    fn with_variables(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let variables = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Settings::load(&Sources { variables, ..Sources::default() })
    }

    #[test]
    fn later_sources_win() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("own.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\ndataDir = \"a\"\nworkers = 3\n").unwrap();
        let sources = Sources {
            file: Some(file),
            variables: vec![
                ("WAYPOST_LISTEN".into(), "127.0.0.1:2".into()),
                ("DATABASE_URL".into(), "postgres://plain/x".into()),
                ("HOME".into(), "/".into()),
            ],
            flags: vec![("listen", "127.0.0.1:3".into())],
        };
        let settings = Settings::load(&sources).unwrap();
        assert_eq!(settings.listen.port(), 3);
        assert_eq!(settings.data_dir, Path::new("a"));
        assert_eq!(settings.workers, Some(3));
        assert_eq!(settings.database_url.unwrap().reveal(), "postgres://plain/x");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let error = with_variables(&[("WAYPOST_DATADIR", "x")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown setting WAYPOST_DATADIR in the environment; did you mean WAYPOST_DATA_DIR?"
        );
    }

    #[test]
    fn a_wrong_value_is_named_but_not_shown() {
        let error = with_variables(&[("WAYPOST_STATEMENT_TIMEOUT", "hunter2")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "WAYPOST_STATEMENT_TIMEOUT in the environment must be a time such as 250ms, 5s or 15m"
        );
    }

    #[test]
    fn a_mistake_in_the_file_is_told_without_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("own.toml");
        std::fs::write(&file, "workers = 3\ndatabaseUrl = postgres://waypost:hunter2@db/x\n").unwrap();
        let error = Settings::load(&Sources { file: Some(file), ..Sources::default() }).unwrap_err();
        let told = format!("{error:?} {error}");
        assert!(told.contains("line 2") && !told.contains("hunter2"), "{told}");
    }

    #[test]
    fn only_the_pause_between_batches_may_be_none() {
        for row in TABLE.iter().filter(|row| Duration::read(row.default).is_ok()) {
            let tried = |text| with_variables(&[(&screaming(row.name), text)]);
            assert_eq!(tried("0s").is_ok(), row.name == "batch_interval", "{}", row.name);
            assert!(tried("1ms").is_ok(), "{}", row.name);
        }
    }

    #[test]
    fn other_nodes_reach_a_node_at_one_address() {
        let node = |text| with_variables(&[("WAYPOST_NODE_LISTEN", text)]);
        let address = node("10.0.0.1:7300").unwrap().node_listen.unwrap();
        assert_eq!(address.to_string(), "10.0.0.1:7300");
        assert_eq!(node("").unwrap().node_listen, None);
        for text in ["0.0.0.0:7300", "[::]:7300", "[::ffff:0.0.0.0]:7300"] {
            let error = node(text).unwrap_err().to_string();
            assert!(error.contains("must be the one address of this machine"), "{text}: {error}");
        }
    }

    #[test]
    fn the_table_in_force_says_where_from_and_hides_secrets() {
        let variables = [("WAYPOST_WORKERS", "3"), ("DATABASE_URL", "postgres://u:hunter2@h/x")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sources = Sources { file: None, variables, flags: vec![("listen", "127.0.0.1:3".to_owned())] };
        let table = in_force(&sources).unwrap();
        let row = |name: &str| table.iter().find(|row| row.setting.name == name).unwrap();
        let told = |name: &str| (row(name).value.as_str(), row(name).place.as_str());
        assert_eq!(told("workers"), ("3", "in the environment, as WAYPOST_WORKERS"));
        assert_eq!(told("database_url"), ("(secret)", "in the environment, as DATABASE_URL"));
        assert_eq!(told("listen"), ("127.0.0.1:3", "on the command line, as --listen"));
        assert_eq!(told("statement_timeout"), ("5s", "by default"));
        assert_eq!(told("admin_password"), ("", "by default"));
    }

    #[test]
    fn secrets_are_not_printed() {
        let settings = with_variables(&[("DATABASE_URL", "postgres://u:hunter2@h/x")]).unwrap();
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
