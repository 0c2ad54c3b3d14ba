//! The seam between what devices and apps say and the intake: an adapter makes items of a request, and says the words
//! that let its client forget them. Pure: knows no actor, no store, no route and no clock.
//!
//! Adding one is a file, a line in [`ADAPTERS`], and recorded requests in `tests/fixtures/inputs`.

mod adapter;
mod carried;
mod fields;
mod flespi;
mod instant;
mod json;
mod multipart;
mod osmand;
mod overland;
mod owntracks;
mod parsed;
mod shape;
mod traccar;
mod ulogger;
pub mod units;

pub use adapter::Adapter;
pub use parsed::{MOST_MESSAGES, Parsed, Request, Words};
use shape::Shape;

/// The largest body that any adapter takes.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Every adapter over HTTP. The first one whose form a request has reads it, and the last one what nobody else does.
pub static ADAPTERS: [Adapter; 6] = [
    owntracks::ADAPTER,
    overland::ADAPTER,
    traccar::ADAPTER,
    flespi::ADAPTER,
    ulogger::ADAPTER,
    osmand::ADAPTER,
];

/// The adapter with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}

/// The adapter for a request: the one that its path names, or the one whose form it has.
#[must_use]
pub fn of(request: &Request) -> &'static Adapter {
    let forced = request.rest.split('/').next().and_then(named);
    let by_form = || {
        let shape = Shape::of(request);
        let (last, others) = ADAPTERS.split_last().expect("the table has rows");
        others.iter().find(|adapter| (adapter.is_meant)(request, &shape)).unwrap_or(last)
    };
    forced.unwrap_or_else(by_form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(rest: &str, query: &str, body: &'static str) -> Request {
        Request { rest: rest.to_owned(), query: query.to_owned(), ..Request::of(body) }
    }

    #[test]
    fn the_form_decides_unless_the_path_does() {
        for (rest, query, body, name) in [
            ("", "lat=1&lon=2", "", "osmand"),
            ("", "", "id=1&lat=1&lon=2", "osmand"),
            ("", "", r#"{"location":{},"device_id":"1"}"#, "osmand"),
            ("", "", r#"{"lat":1,"lon":2,"tst":3}"#, "osmand"),
            ("", "", r#"[{"lat":1,"lon":2}]"#, "osmand"),
            ("", "", r#"{"_type":"location"}"#, "owntracks"),
            ("", "token=wpt_x", "", "owntracks"),
            ("", "", r#" {"locations":[]}"#, "overland"),
            ("", "", r#"{"position":{},"device":{}}"#, "traccar"),
            ("", "", r#"[{"ident":"1","position.latitude":1}]"#, "flespi"),
            ("client/index.php", "", "action=auth&user=a", "ulogger"),
            ("", "", "action=addpos&lat=1", "ulogger"),
            ("", "", "<xml/>", "osmand"),
            ("", "", "{", "osmand"),
            ("overland", "lat=1&lon=2", "", "overland"),
            ("owntracks/phone", "", "{", "owntracks"),
        ] {
            assert_eq!(of(&request(rest, query, body)).name, name, "{rest} {query} {body}");
        }
    }

    #[test]
    fn the_route_takes_what_each_adapter_takes() {
        assert!(ADAPTERS.iter().all(|adapter| adapter.body_bytes <= MAX_BODY_BYTES));
    }
}
