//! The background of the dispatcher's map: tiles, a style or a PMTiles file of the operator's choice.
//!
//! Tells the page which one, serves the file by ranges, and names the hosts that the page's policy must allow. Knows
//! nothing of the content of tiles.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use actix_web::body::SizedStream;
use actix_web::http::header::{self, ContentEncoding, Header, Range};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::answer::{Answer, PIECE_BYTES};
use super::code::Code;
use super::edge::IsHead;
use super::problem::Problem;
use super::request::Shared;
use crate::config::{Settings, WebAddress};

/// Longest part of the file per answer; a client that wants more sends further requests.
const LONGEST_PART_BYTES: u64 = 4 * 1024 * 1024;

/// The page's background; without members, the coasts that are built into the page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Background<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tiles: Option<&'a WebAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'a WebAddress>,
    /// Whether `/map.pmtiles` has tiles.
    pmtiles: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribution: Option<&'a str>,
}

/// Answers which background the settings name.
pub async fn background(context: Shared) -> HttpResponse {
    let settings = &context.settings;
    HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-cache")).json(Background {
        tiles: settings.map_tiles.as_ref(),
        style: settings.map_style.as_ref(),
        pmtiles: settings.map_file().is_some(),
        attribution: settings.map_attribution.as_deref(),
    })
}

/// Answers a part of the PMTiles file. A request must name a range, because the whole may cover a country; a HEAD is told how
/// long the whole is, whatever range it names.
pub async fn pmtiles(context: Shared, request: HttpRequest) -> Answer {
    let Some(path) = context.settings.map_file() else {
        return Err(Problem::new(Code::NotFound)
            .detail("the setting mapPmtiles names no file, and none is installed"));
    };
    let unreadable = |error: io::Error| {
        tracing::error!(%error, path = %path.display(), "the PMTiles file cannot be read");
        Problem::new(Code::Internal)
    };
    if request.extensions().get::<IsHead>().is_some() {
        let (length, version) = measure(&path).await.map_err(unreadable)?;
        let left_out = stream::empty::<io::Result<Bytes>>();
        return Ok(answer(HttpResponse::Ok(), version).body(SizedStream::new(length, left_out)));
    }
    let asked = match Range::parse(&request) {
        Ok(Range::Bytes(parts)) if parts.len() == 1 => parts.into_iter().next(),
        _ => None,
    };
    let asked = asked.ok_or_else(|| unusable("the header Range must name one part of the file in bytes"))?;
    let (length, version) = measure(&path).await.map_err(unreadable)?;
    let (from, to) = asked.to_satisfiable_range(length).ok_or_else(|| unusable("the file ends before"))?;
    let to = to.min(from + LONGEST_PART_BYTES - 1);
    let part = Part { path: path.clone(), version: version.clone(), next: from, last: to };
    let first = part.read().await.map_err(unreadable)?;
    // The rest as its reader takes it.
    let pieces = stream::iter(first)
        .flat_map(|(piece, rest)| stream::iter([Ok(piece)]).chain(stream::try_unfold(rest, Part::read)));
    Ok(answer(HttpResponse::PartialContent(), version)
        .insert_header((header::CONTENT_RANGE, format!("bytes {from}-{to}/{length}")))
        .body(SizedStream::new(to + 1 - from, pieces)))
}

/// With what is said of the file, whatever is asked of it.
fn answer(mut answer: HttpResponseBuilder, version: String) -> HttpResponseBuilder {
    answer
        .insert_header((header::ETAG, version))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        .insert_header(ContentEncoding::Identity)
        .content_type("application/vnd.pmtiles");
    answer
}

fn unusable(detail: &str) -> Problem {
    Problem::new(Code::MalformedRequest).detail(detail)
}

/// The file's length, and a tag that changes with its content.
async fn measure(path: &Path) -> io::Result<(u64, String)> {
    tokio::fs::metadata(path).await.and_then(|metadata| version(&metadata))
}

fn version(metadata: &Metadata) -> io::Result<(u64, String)> {
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((metadata.len(), format!("\"{:x}-{:x}\"", metadata.len(), changed.as_millis())))
}

/// A part of one version of the file that is still to be sent.
struct Part {
    path: PathBuf,
    version: String,
    next: u64,
    last: u64,
}

impl Part {
    /// Reads the next piece; `None` at the end. The file is not held open meanwhile, because readers may be slow and many.
    async fn read(mut self) -> io::Result<Option<(Bytes, Self)>> {
        let bytes = (self.last + 1 - self.next).min(PIECE_BYTES as u64);
        if bytes == 0 {
            return Ok(None);
        }
        spawn_blocking(move || {
            let mut file = File::open(&self.path)?;
            if version(&file.metadata()?)?.1 != self.version {
                return Err(io::Error::other("the file was replaced while it was sent"));
            }
            file.seek(SeekFrom::Start(self.next))?;
            let mut piece = vec![0; bytes as usize];
            file.read_exact(&mut piece)?;
            self.next += bytes;
            Ok(Some((piece.into(), self)))
        })
        .await?
    }
}

/// The origins besides this server that the background is loaded from.
pub(super) fn foreign_origins(settings: &Settings) -> Vec<&str> {
    let addresses = settings.map_tiles.iter().chain(&settings.map_style).chain(&settings.map_hosts);
    addresses.map(WebAddress::origin).collect()
}
