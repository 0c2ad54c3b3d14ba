//! The disk under the database is full, and then has room again.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::time::Instant;
use waypost::store::open::Location;
use waypost_test_support::{Engine, PrivatePostgres, scratch};

use crate::drill::{Drill, Load, learn_undisturbed};
use crate::figures::figure;
use crate::ground::{DEADLINE, Ground, launch, on};
use crate::seed::seed;

#[test]
fn the_disk_is_full_sqlite() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    on(Engine::Sqlite, async |ground| {
        let place = disk.path.join("store");
        ground.copy_to(&place);
        run(ground, &disk, Location::Embedded(place), None).await;
    });
}

#[test]
fn the_disk_is_full_postgres() {
    let Some(disk) = SmallDisk::mount(256) else { return };
    on(Engine::Postgres, async |ground| {
        let mut postgres = PrivatePostgres::own_in(Some(&disk.path)).expect("it was there before");
        postgres.create_database("small", None).await;
        let place = Location::Postgres(postgres.url("small"));
        let undisturbed = std::mem::take(&mut ground.undisturbed);
        // It has other ids, and so needs a fleet of its own.
        let fleet = ground.prepare_at(&place).await;
        let own = std::mem::replace(&mut ground.fleet, fleet);
        postgres.create_database("copy", Some("small")).await;
        let copy = Location::Postgres(postgres.url("copy"));
        learn_undisturbed(ground, 8, copy).await;
        run(ground, &disk, place, Some(&mut postgres)).await;
        (ground.fleet, ground.undisturbed) = (own, undisturbed);
    });
}

/// Fills the disk in the middle of a load, until trackers are asked to wait; then makes room again.
async fn run(
    ground: &mut Ground,
    disk: &SmallDisk,
    place: Location,
    mut postgres: Option<&mut PrivatePostgres>,
) {
    let seed = seed();
    let mut drill = Drill::begin_at(ground, launch(place), seed, Load::every(8)).await;
    for (times, moment) in drill.moments(2).into_iter().enumerate() {
        drill.answered(moment).await;
        let retries = drill.book.read(|counts| counts.retries);
        disk.fill();
        let told = || drill.book.read(|counts| counts.retries > retries + 3);
        drill.book.until(DEADLINE, || told() || drill.is_through()).await;
        // After the first time, SQLite writes its log from the beginning again: it may have room for the rest of
        // the load.
        let had_room = times > 0 && drill.is_through();
        assert!(told() || had_room, "seed {seed}: nobody was told to wait: {:?}", drill.summary());
        drill.book.fault_begins();
        disk.make_room();
        let since = Instant::now();
        if let Some(postgres) = &mut postgres {
            // A server that could not even write its log has given up; its operator starts it.
            postgres.start_again();
        }
        let Some(recovery) = drill.recovered(since).await else {
            assert!(had_room, "seed {seed}: the load ended: {:?}", drill.summary());
            break;
        };
        figure(
            "disk full under the database: room again to the first ack",
            &format!("{recovery:.1?}"),
            "told",
        );
    }
    let counts = drill.finish(ground).await;
    figure(&format!("disk full, {:?}, seed {seed}", ground.engine), "0 acknowledged fixes lost", "0");
    assert!(counts.lost().is_empty(), "sockets were lost: {:?}", counts.lost());
}

/// A disk of some megabytes, in memory. Removed when dropped.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// `None`, with a message, where this user may not mount anything.
    fn mount(megabytes: u32) -> Option<Self> {
        let path = scratch("disk");
        let size = format!("size={megabytes}m,mode=1777");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "waypost-tests"]).arg(&path).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("tests: a full disk: skipped, this user may not mount one");
            return None;
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        Some(Self { path })
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        let mut file = File::create(self.ballast()).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            let some = vec![0_u8; size];
            while file.write_all(&some).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.path);
    }
}

fn unmount(path: &Path) {
    // Lazily: a process may still be about to close a file there.
    let _ = Command::new("umount").arg("-l").arg(path).stderr(Stdio::null()).status();
}
