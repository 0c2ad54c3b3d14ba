//! Settings as flags: the table of settings declares them, and each command chooses those it uses.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, FromArgMatches};

use waypost::config::{self, Settings, Sources};

/// Other places for settings, shown below the help of commands that take them.
pub(super) const ELSEWHERE: &str = "Settings may also stand in ./waypost.toml (dataDir = \"…\") or in variables \
(WAYPOST_DATA_DIR); flags win over variables, variables over the file.";

/// A command that takes settings.
pub(crate) trait Uses {
    /// Whether it uses a setting.
    fn uses(setting: &str) -> bool;
}

/// Flags for the settings that a command uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingFlags<U> {
    flags: Vec<(&'static str, String)>,
    of: PhantomData<U>,
}

/// The server, which uses all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serving;

/// The demo, which has a store and an administrator of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Showing;

/// Migrations, which only open the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Migrating;

/// Commands that know a data directory alone.
#[derive(Clone, Debug, Default)]
pub(super) struct InDataDir;

/// Work on the signing keys, which needs the store and the master key.
#[derive(Clone, Debug, Default)]
pub(super) struct Keying;

/// Flags of `serve` and `config`.
pub(super) type ServeArgs = SettingFlags<Serving>;
/// Flags of `demo`.
pub(super) type DemoArgs = SettingFlags<Showing>;
/// Flags of `migrate`.
pub(super) type MigrateArgs = SettingFlags<Migrating>;
/// Flags of `keys`.
pub(super) type KeysArgs = SettingFlags<Keying>;
/// The flag of `transfer` and `map`, besides their own.
pub(super) type DataDirFlags = SettingFlags<InDataDir>;

impl Uses for Serving {
    fn uses(_: &str) -> bool {
        true
    }
}

impl Uses for Showing {
    fn uses(setting: &str) -> bool {
        let own = ["admin_listen", "database_url", "redis_url", "admin_email", "admin_password", "smtp_url"];
        !own.contains(&setting) && !["device_listeners", "mqtt_brokers", "node_listen"].contains(&setting)
    }
}

impl Uses for Migrating {
    fn uses(setting: &str) -> bool {
        ["data_dir", "database_url", "database_connections", "statement_timeout"].contains(&setting)
    }
}

impl Uses for Keying {
    fn uses(setting: &str) -> bool {
        ["master_key", "master_key_file"].contains(&setting) || Migrating::uses(setting)
    }
}

impl Uses for InDataDir {
    fn uses(setting: &str) -> bool {
        setting == "data_dir"
    }
}

impl<U: Uses> Args for SettingFlags<U> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(config::flags(U::uses))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<U: Uses> FromArgMatches for SettingFlags<U> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { flags: config::given_flags(matches), of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.flags = config::given_flags(matches);
        Ok(())
    }
}

impl<U> SettingFlags<U> {
    /// The file, the environment and these flags.
    pub(super) fn sources(self) -> Sources {
        Sources::of_process(None, self.flags)
    }

    /// What a flag says, if it was given.
    pub(super) fn given(&self, setting: &str) -> Option<&str> {
        self.flags.iter().find(|(name, _)| *name == setting).map(|(_, text)| text.as_str())
    }

    /// Loads the settings with these flags.
    pub(super) fn settings(self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&self.sources())?)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::cli::Cli;

    #[test]
    fn a_command_lists_only_the_settings_it_uses() {
        let command = Cli::command();
        let has = |name: &str, flag: &str| {
            let command = command.find_subcommand(name).unwrap();
            command.get_arguments().any(|argument| argument.get_long() == Some(flag))
        };
        assert!(has("serve", "redis-url") && has("config", "redis-url"));
        assert!(has("demo", "listen") && !has("demo", "database-url") && !has("demo", "admin-password"));
        assert!(has("migrate", "database-url") && !has("migrate", "listen"));
        assert!(has("transfer", "data-dir") && has("transfer", "to") && !has("transfer", "database-url"));
    }
}
