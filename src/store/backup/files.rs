//! The files of a backup: a directory that gets its name only when all in it is on the disk, and copies that are
//! digested on the way.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::BackupError;
use super::layout::MANIFEST;
use super::manifest::{Digested, Manifest};
use crate::store::private;

/// Bytes read at once.
const PIECE: usize = 1 << 18;

/// A backup that is being written, under its name with `.part` behind it, and removed if it is dropped before it is
/// finished. If its process is killed, the directory stays and is begun anew by the next backup to the same place.
pub(super) struct Part {
    name: PathBuf,
    part: PathBuf,
    /// Locked; the lock is free when the process is gone.
    directory: File,
    is_finished: bool,
}

impl Part {
    pub(super) fn begin(name: &Path) -> Result<Self, BackupError> {
        // Without a slash behind it.
        let name: PathBuf = name.components().collect();
        let mut part = name.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = |error| BackupError::File(part.clone(), error);
        let free = || if name.exists() { Err(BackupError::Exists(name.clone())) } else { Ok(()) };
        free()?;
        private::make_directory(&part).map_err(failed)?;
        let directory = File::open(&part).map_err(failed)?;
        directory.try_lock().map_err(|_| BackupError::UnderWay(name.clone()))?;
        free()?; // another backup may have ended just now
        for left in fs::read_dir(&part).map_err(failed)? {
            fs::remove_file(left.map_err(failed)?.path()).map_err(failed)?;
        }
        Ok(Self { name, part, directory, is_finished: false })
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.part.join(name)
    }

    /// Puts everything on the disk, and the backup in its place.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<(), BackupError> {
        let failed = |error| BackupError::File(self.part.clone(), error);
        let text = serde_json::to_vec_pretty(manifest).map_err(|error| failed(error.into()))?;
        let path = self.file(MANIFEST);
        private::make_file(&path).map_err(failed)?;
        fs::write(&path, text).map_err(failed)?;
        for file in fs::read_dir(&self.part).map_err(failed)? {
            File::open(file.map_err(failed)?.path()).and_then(|file| file.sync_all()).map_err(failed)?;
        }
        self.directory.sync_all().map_err(failed)?;
        fs::rename(&self.part, &self.name).map_err(failed)?;
        self.is_finished = true;
        let failed = |error| BackupError::File(self.name.clone(), error);
        let above = self.name.parent().filter(|above| !above.as_os_str().is_empty());
        File::open(above.unwrap_or(Path::new("."))).and_then(|above| above.sync_all()).map_err(failed)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_finished {
            fs::remove_dir_all(&self.part).ok();
        }
    }
}

/// Copies all of `from` to `to`.
pub(super) fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<Digested> {
    let (mut piece, mut digest, mut bytes) = (vec![0; PIECE], Sha256::new(), 0);
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&piece[..count]);
        to.write_all(&piece[..count])?;
        bytes += count as u64;
    }
    to.flush()?;
    let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Digested { sha256, bytes })
}

/// The digest of a file.
pub(super) fn digest(path: &Path) -> Result<Digested, BackupError> {
    let read = File::open(path).and_then(|file| copy(file, io::sink()));
    read.map_err(|error| BackupError::File(path.to_owned(), error))
}
