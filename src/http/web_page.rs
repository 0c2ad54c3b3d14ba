//! The dispatcher's page and the API's description to read: the files that `web/` builds, embedded in the binary. They
//! load nothing from other hosts, except the map's background where the settings name one.
//!
//! Knows which of them browsers may cache, not what is in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use rust_embed::RustEmbed;

use super::answer::{Answer, in_pieces};
use super::background::foreign_origins;
use super::code::Code;
use super::fallback::{REPORTS_GO_ELSEWHERE, no_such_path};
use super::problem::Problem;
use super::request::Shared;
use crate::config::Settings;

/// The page's content security policy: this server and the hosts of the map's background. The map draws in a worker
/// and creates images of its own.
fn policy(settings: &Settings) -> String {
    let background: String = foreign_origins(settings).iter().map(|origin| format!(" {origin}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:{background}; \
        worker-src 'self'; connect-src 'self'{background}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The policy of the API's description: Swagger UI writes styles into its page.
const DOCS_POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     base-uri 'none'; frame-ancestors 'none'";
const DOCS: &str = "docs.html";
const SHARE: &str = "share.html";

/// The folder of files whose names change with their content.
const ASSETS: &str = "assets";
const KEPT_FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Other files are revalidated each time, by their ETag.
const ASKED_AGAIN: &str = "no-cache";

/// The suffix of a file's precompressed twin.
const COMPRESSED: &str = ".br";

/// Suffixes with their media types, for all kinds of files that a build makes.
const KINDS: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
    ("geojson", "application/geo+json"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
];

/// Of what has a compressed twin only that.
#[derive(RustEmbed)]
#[folder = "web/dist"]
#[exclude = "*.js"]
#[exclude = "*.mjs"]
#[exclude = "*.css"]
struct Built;

/// The files that are only there compressed, for clients that do not take them so; no browser of today is one. Some 5 MB,
/// made when the first of these clients asks.
static UNPACKED: LazyLock<HashMap<String, Bytes>> = LazyLock::new(|| {
    let unpacked = |name: &str| {
        let mut content = Vec::new();
        let packed = Built::get(&format!("{name}{COMPRESSED}"))?.data;
        brotli::Decompressor::new(&packed[..], 4096).read_to_end(&mut content).ok()?;
        Some((name.to_owned(), content.into()))
    };
    Built::iter().filter_map(|name| unpacked(name.strip_suffix(COMPRESSED)?)).collect()
});

struct File {
    content: Bytes,
    etag: Option<String>,
    is_compressed: bool,
}

/// The page. Requests with parameters are refused, so that an app that reports to it by mistake gets an error.
pub async fn index(context: Shared, request: HttpRequest) -> Answer {
    if !request.query_string().is_empty() {
        return Err(Problem::new(Code::UnknownParameter).detail(REPORTS_GO_ELSEWHERE));
    }
    page(&context, &request, "index.html".to_owned()).await
}

/// The API's description to read and try.
pub async fn docs(context: Shared, request: HttpRequest) -> Answer {
    page(&context, &request, DOCS.to_owned()).await
}

/// The page behind a link to vehicles, the same for every token: what it shows it asks for.
pub async fn share(context: Shared, request: HttpRequest) -> Answer {
    let mut answer = page(&context, &request, SHARE.to_owned()).await?;
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.headers_mut().remove(header::ETAG);
    Ok(answer)
}

/// A file beside the page.
pub async fn file(context: Shared, request: HttpRequest, name: web::Path<String>) -> Answer {
    page(&context, &request, name.into_inner()).await
}

/// A file whose name changes with its content.
pub async fn asset(context: Shared, request: HttpRequest, name: web::Path<String>) -> Answer {
    page(&context, &request, format!("{ASSETS}/{name}")).await
}

async fn page(context: &Shared, request: &HttpRequest, name: String) -> Answer {
    let known = is_harmless(&name).then(|| kind_of(&name)).flatten();
    let found = match known {
        Some(kind) => find(context, request, &name).await?.map(|file| (kind, file)),
        None => None,
    };
    let (kind, file) = found.ok_or_else(|| no_such_path(request, &format!("/{name}")))?;
    let is_asset = name.starts_with(ASSETS) && file.etag.is_some();
    let policy = if name == DOCS { DOCS_POLICY.to_owned() } else { policy(&context.settings) };
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .insert_header((header::CACHE_CONTROL, if is_asset { KEPT_FOR_EVER } else { ASKED_AGAIN }))
        .content_type(kind);
    if let Some(etag) = file.etag {
        answer.insert_header((header::ETAG, etag));
    }
    if file.is_compressed {
        answer.insert_header(ContentEncoding::Brotli).insert_header((header::VARY, "accept-encoding"));
    }
    Ok(answer.body(in_pieces(file.content)))
}

/// Finds a file in the directory of the settings, read anew each time, or else in the binary.
async fn find(context: &Shared, request: &HttpRequest, name: &str) -> Result<Option<File>, Problem> {
    let Some(directory) = &context.settings.web_dir else {
        let Some(twin) = built(&format!("{name}{COMPRESSED}")) else { return Ok(built(name)) };
        return Ok(if takes_brotli(request) {
            Some(File { is_compressed: true, ..twin })
        } else {
            // It is another sequence of bytes, so it has another tag.
            let etag = twin.etag.map(|etag| etag.replacen('"', "\"unpacked-", 1));
            UNPACKED.get(name).map(|content| File { content: content.clone(), etag, is_compressed: false })
        });
    };
    match tokio::fs::read(directory.join(name)).await {
        Ok(content) => Ok(Some(File { content: content.into(), etag: None, is_compressed: false })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            tracing::error!(%error, name, "a file of webDir cannot be read");
            Err(Problem::new(Code::Internal))
        }
    }
}

fn built(name: &str) -> Option<File> {
    let file = Built::get(name)?;
    let hash = file.metadata.sha256_hash();
    let etag =
        hash.iter().take(16).fold(String::from("\""), |text, byte| text + &format!("{byte:02x}")) + "\"";
    let content = match file.data {
        Cow::Borrowed(content) => Bytes::from_static(content),
        Cow::Owned(content) => content.into(),
    };
    Some(File { content, etag: Some(etag), is_compressed: false })
}

fn takes_brotli(request: &HttpRequest) -> bool {
    let offered = [Encoding::brotli(), Encoding::gzip(), Encoding::identity()];
    let accepted = AcceptEncoding::parse(request).ok();
    accepted.and_then(|accepted| accepted.negotiate(offered.iter())) == Some(Encoding::brotli())
}

/// Whether a name stays below the page's directory, however the request spelled it.
fn is_harmless(name: &str) -> bool {
    let plain = |part: &str| {
        !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    name.strip_prefix("assets/").map_or_else(|| plain(name), plain)
}

fn kind_of(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    KINDS.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_build_can_be_asked_for() {
        let names: Vec<_> = Built::iter().collect();
        assert!(names.iter().any(|name| name == "index.html"));
        for name in names {
            let name = name.strip_suffix(COMPRESSED).unwrap_or(&name);
            assert!(is_harmless(name) && kind_of(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_policy_names_the_hosts_of_the_background_and_no_others() {
        let set = |name: &str, text: &str| (format!("WAYPOST_{name}"), text.to_owned());
        let sources = |variables| crate::config::Sources { variables, ..Default::default() };
        let plain = policy(&Settings::default());
        assert!(plain.contains("connect-src 'self';") && plain.contains("data: blob:;"), "{plain}");
        let variables = vec![
            set("MAP_TILES", "https://tiles.example.org:8443/{z}/{x}/{y}.png?key=a;b"),
            set("MAP_HOSTS", "https://letters.example.org, http://[::1]:80/x"),
        ];
        let policy = policy(&Settings::load(&sources(variables)).unwrap());
        let hosts = "https://tiles.example.org:8443 https://letters.example.org http://[::1]:80;";
        assert!(policy.contains(&format!("connect-src 'self' {hosts}")), "{policy}");
        assert!(policy.contains(&format!("data: blob: {hosts}")), "{policy}");
        for wrong in ["https://a.org;script-src *", "https://a b", "ftp://a", "a.org", "https://"] {
            assert!(Settings::load(&sources(vec![set("MAP_STYLE", wrong)])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for name in
            ["../Cargo.toml", "assets/../../x.js", "..", ".env", "/etc/hosts", "assets/a/b.js", "a\\b.js"]
        {
            assert!(!is_harmless(name), "{name}");
        }
    }
}
