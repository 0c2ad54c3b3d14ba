//! `waypost map`: installs streets under the dispatchers' map.
//!
//! Knows the head of a PMTiles archive (version 3, github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md), not its tiles.

use std::fs::{File, remove_file, rename};
use std::io::{Read, copy};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;

use super::setting_flags::DataDirFlags;
use waypost::config::INSTALLED_MAP;
use waypost::store::private;

const HEAD_BYTES: usize = 127;
/// Offset and length, each of eight bytes: the root directory, the metadata, the leaf directories, the tiles.
const PARTS: [usize; 4] = [8, 24, 40, 56];
const TILE_TYPE: usize = 99;
const ZOOMS: usize = 100;
/// The least longitude and latitude and the greatest, in ten-millionths of a degree.
const BOUNDS: usize = 102;

/// What `map` takes.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// A PMTiles archive (version 3): vectors as Protomaps cuts them, or pictures
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    settings: DataDirFlags,
}

pub(super) fn install(args: MapArgs) -> anyhow::Result<()> {
    install_in(&args.settings.settings()?.data_dir, &args.file)
}

fn install_in(directory: &Path, file: &Path) -> anyhow::Result<()> {
    let about = look(file).with_context(|| format!("{} is not installed", file.display()))?;
    private::make_directory(directory)?;
    let installed = directory.join(INSTALLED_MAP);
    // Renamed when it is whole, so that a server that runs never serves half of one.
    let part = directory.join(format!("{INSTALLED_MAP}.part"));
    let bytes = put(file, &part, &installed).inspect_err(|_| drop(remove_file(&part)))?;
    println!("{}: {about}, {bytes} bytes", installed.display());
    println!("Pages that are loaded from now on show it; where it is gone, they show coasts again.");
    Ok(())
}

fn put(file: &Path, part: &Path, installed: &Path) -> std::io::Result<u64> {
    let bytes = copy(&mut File::open(file)?, &mut File::create(part)?)?;
    File::open(part)?.sync_all()?;
    rename(part, installed)?;
    Ok(bytes)
}

/// What an archive covers; an error where it is none, or ends before what its head names.
fn look(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path)?;
    let mut head = [0; HEAD_BYTES];
    ensure!(file.read_exact(&mut head).is_ok() && head.starts_with(b"PMTiles"), "it is no PMTiles archive");
    ensure!(head[7] == 3, "it is of version {} of PMTiles, and the page reads version 3", head[7]);
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
    let length = file.metadata()?.len();
    let end = PARTS.into_iter().map(|at| number(at).saturating_add(number(at + 8))).max().unwrap_or(0);
    ensure!(end <= length, "it has {length} bytes of {end}: it was not downloaded whole");
    let tiles = match head[TILE_TYPE] {
        1 => "vectors",
        2..=5 => "pictures",
        other => bail!("the page cannot draw its kind of tiles ({other})"),
    };
    let degrees = |at: usize| {
        let units = i32::from_le_bytes(std::array::from_fn(|index| head[at + index]));
        format!("{:.2}", f64::from(units) / 1e7)
    };
    let [west, south, east, north] = [0, 4, 8, 12].map(|offset| degrees(BOUNDS + offset));
    let (least, most) = (head[ZOOMS], head[ZOOMS + 1]);
    Ok(format!("{tiles} from {south}, {west} to {north}, {east}, zoom {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_cannot_be_installed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, data) = (folder.path().join("streets"), folder.path().join("data"));
        let mut archive = [0; HEAD_BYTES];
        archive[..8].copy_from_slice(b"PMTiles\x03");
        archive[TILE_TYPE] = 1;
        std::fs::write(&file, archive).unwrap();
        std::fs::create_dir_all(data.join(INSTALLED_MAP).join("in the way")).unwrap();
        install_in(&data, &file).unwrap_err();
        assert_eq!(data.read_dir().unwrap().count(), 1);
        std::fs::remove_dir_all(data.join(INSTALLED_MAP)).unwrap();
        install_in(&data, &file).unwrap();
    }
}
