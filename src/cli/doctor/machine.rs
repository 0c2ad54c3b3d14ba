//! The machine: clock, disk, permissions, descriptors.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::report::Report;
use waypost::config::Settings;
use waypost::connections::descriptors;
use waypost::store::checkup::Checkup;
use waypost::store::open::Location;

/// A clock that is further from the store's is doubtful: fixes this far in the future are not evaluated.
const CLOCK_SECONDS: f64 = 2.0;
/// What a time service leaves while it runs or after it has set the clock.
const TIME_SERVICES: [&str; 6] = [
    "/run/systemd/timesync/synchronized",
    "/run/chrony/chronyd.pid",
    "/run/chronyd.pid",
    "/run/ntpd.pid",
    "/run/ntpsec/ntpd.pid",
    "/run/openntpd.pid",
];
const GIB: u64 = 1 << 30;
/// With less room, a backup of a day may fail.
const LITTLE_ROOM: u64 = 2 * GIB;
/// With less room, the store's log alone may fill the disk.
const NO_ROOM: u64 = GIB / 4;
/// Enough for some thousand trackers.
const DESCRIPTORS: usize = 8_192;

/// The system, as its kernel names itself.
pub(super) fn system() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

pub(super) fn clock(found: Option<&Checkup>, report: &mut Report) {
    const ABOUT: &str = "clock";
    let ahead = found.map_or(0.0, |found| found.ahead_seconds);
    if ahead.abs() > CLOCK_SECONDS {
        let what = format!("the store's clock is {ahead:.0} s ahead of this machine's");
        report.wrong(ABOUT, what, "set both by a time service, such as chrony");
    } else if TIME_SERVICES.iter().any(|sign| Path::new(sign).exists()) {
        report.good(ABOUT, "a time service is at work");
    } else {
        report.doubtful(
            ABOUT,
            "there is no sign of a time service on this machine",
            "unless its host sets the clock: apt-get install chrony",
        );
    }
}

pub(super) fn disk(settings: &Settings, report: &mut Report) {
    const ABOUT: &str = "disk";
    let directory = nearest(&settings.data_dir);
    let Ok(found) = rustix::fs::statvfs(&directory) else {
        report.wrong(
            ABOUT,
            format!("{} cannot be looked at", directory.display()),
            "name another --data-dir",
        );
        return;
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let told = format!("{:.1} GiB free at {}", free as f64 / GIB as f64, directory.display());
    match free {
        ..NO_ROOM => report.wrong(ABOUT, told, "make room: on a full disk nothing is acknowledged"),
        NO_ROOM..LITTLE_ROOM => report.doubtful(ABOUT, told, "make room before it is full"),
        _ => report.good(ABOUT, told),
    }
}

/// The directory itself, or the nearest one above it that is there.
fn nearest(directory: &Path) -> PathBuf {
    let there = directory.ancestors().find(|above| above.exists());
    there.unwrap_or(Path::new(".")).to_owned()
}

pub(super) fn permissions(settings: &Settings, report: &mut Report) {
    const ABOUT: &str = "permissions";
    let directory = nearest(&settings.data_dir);
    let needed = settings.smtp_url.is_none() || matches!(settings.store().location, Location::Embedded(_));
    if needed && access(&directory, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let what = format!("{} cannot be written by this user", directory.display());
        report.wrong(ABOUT, what, "run this as the server's user; if it is, chown the directory to it");
        return;
    }
    if !settings.data_dir.exists() {
        report.good(ABOUT, format!("{} can be made", settings.data_dir.display()));
        return;
    }
    let opened = open_to_others(&settings.data_dir);
    match opened.first() {
        Some(first) => report.doubtful(
            ABOUT,
            format!("everybody may read {}, and {} more", first.display(), opened.len() - 1),
            "chmod -R o-rwx; the server closes its own files at its start",
        ),
        None => report.good(ABOUT, format!("{} is for its owner alone", settings.data_dir.display())),
    }
    if let (Ok(directory), user) = (settings.data_dir.metadata(), rustix::process::geteuid())
        && directory.uid() != user.as_raw()
    {
        report.doubtful(
            ABOUT,
            format!("{} belongs to another user than the one of this command", settings.data_dir.display()),
            "run the server and its commands as one user",
        );
    }
}

/// Of the data directory and its files, those that everybody on the machine may reach and read.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let is_open = |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o007 != 0);
    if !is_open(directory) {
        return Vec::new();
    }
    let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|file| is_open(file)).collect()
}

pub(super) fn descriptors(report: &mut Report) {
    const ABOUT: &str = "limits";
    // As the server does when it starts.
    descriptors::raise();
    match descriptors::limit() {
        usize::MAX => report.good(ABOUT, "no limit of open files and sockets"),
        limit if limit < DESCRIPTORS => report.doubtful(
            ABOUT,
            format!("a server may open {limit} files and sockets here: as many connections, less some, are all it can hold"),
            "ulimit -H -n 65536, or LimitNOFILE=65536 of its service",
        ),
        limit => report.good(ABOUT, format!("{limit} files and sockets may be open")),
    }
}
