//! Finding the servers' programs, and the user they run as.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user and group of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The folder with PostgreSQL's `initdb` and `postgres`: the newest one of Debian's, else one from the search path.
pub(crate) fn postgres_folder() -> Option<PathBuf> {
    let mut packaged: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    packaged.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let packaged = packaged.into_iter().map(|(_, folder)| folder);
    packaged.chain(search_path()).find(|folder| {
        let has = |program: &str| folder.join(program).is_file();
        has("initdb") && has("postgres")
    })
}

/// The path of `redis-server`.
pub(crate) fn redis_server() -> Option<PathBuf> {
    search_path().map(|folder| folder.join("redis-server")).find(|program| program.is_file())
}

/// The path of a program of Debian's mosquitto: the broker is among those of the system.
pub(crate) fn mosquitto(program: &str) -> Option<PathBuf> {
    let folders = search_path().chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|program| program.is_file())
}

/// The first word of a program's `--version` that starts with a digit, such as `15.20`.
pub(crate) fn version_of(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().map(|done| done.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    let words = text.split_whitespace().map(|word| word.trim_start_matches("v="));
    words
        .into_iter()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or("of unknown version")
        .to_owned()
}

/// The user to run a server as if root owns `ours`, a file of this process: PostgreSQL refuses to run as root, and
/// wants a user that the machine knows by name. `None` = the current user.
pub(crate) fn unprivileged_user(ours: &Path) -> Option<User> {
    if std::fs::metadata(ours).is_ok_and(|made| made.uid() != 0) {
        return None;
    }
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres", "nobody"].iter().find_map(|name| account(&accounts, name))
}

fn account(accounts: &str, name: &str) -> Option<User> {
    let mut fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = fields.find(|fields| fields.first() == Some(&name))?;
    Some(User { uid: found.get(2)?.parse().ok()?, gid: found.get(3)?.parse().ok()? })
}

fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.into_iter().chain([PathBuf::from("/usr/local/bin"), PathBuf::from("/usr/bin")])
}
