//! Files that only the server's own user may read: the embedded store holds keys, hashes of passwords and where
//! people drive; saved letters hold links that sign in.
//!
//! Knows permissions (Unix), not what is in the files.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Mode of a directory that only its owner can use.
const DIRECTORY: u32 = 0o700;
/// Mode of a file that only its owner can use.
const FILE: u32 = 0o600;
/// Permission bits of everybody else on the machine.
const ANYBODY: u32 = 0o007;
const ANYBODY_WRITES: u32 = 0o002;

/// Creates a directory, and those above it, for its owner alone. An existing one keeps its permissions, and the log
/// warns if everybody may put files into it.
pub fn make_directory(path: &Path) -> Result<()> {
    if let Ok(found) = path.metadata()
        && found.is_dir()
    {
        let mode = found.permissions().mode();
        if mode & ANYBODY_WRITES != 0 {
            let mode = format!("{:o}", mode & 0o7777);
            tracing::warn!(directory = %path.display(), mode, "anybody on this machine may change the data: chmod 700");
        }
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Creates an empty file for its owner alone; an existing one keeps its content and is closed to everybody else.
pub fn make_file(path: &Path) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).mode(FILE).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    close(path, mode, FILE)
}

/// Closes a file or directory of ours to everybody but its owner and, if group access was given, its group.
pub fn close_to_others(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) => close(path, found.permissions().mode(), if found.is_dir() { DIRECTORY } else { FILE }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Closes a path that others than owner and group can access. Group access alone is left, because it was given on
/// purpose, as for backups; access for everybody never is.
fn close(path: &Path, mode: u32, wanted: u32) -> Result<()> {
    if mode & ANYBODY == 0 {
        return Ok(());
    }
    tracing::info!(path = %path.display(), "closed to everybody but its owner");
    std::fs::set_permissions(path, Permissions::from_mode(wanted))
}

/// Writes a file that only its owner can read.
pub async fn write(path: &Path, content: &[u8]) -> Result<()> {
    use tokio::io::AsyncWriteExt;
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(FILE).open(path).await?;
    file.write_all(content).await?;
    file.flush().await
}
