//! Traccar: positions as OsmAnd requests, devices and fences over its REST interface, transitions out of its
//! report of events.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};
use waypost_actors::model::Timestamp;

use super::items::osmand_query;
use super::session::{Encode, Processes, Session};
use super::waypost::{begin_millis, http_opening};
use super::{Packing, Rivals, ask};
use crate::load::Slice;
use crate::wire::http;
use crate::world::{Outline, Transition, World, make_fences};

const EMAIL: &str = "bench@example.com";
const PASSWORD: &str = "bench";
/// Devices in one report.
const DEVICES_TOGETHER: usize = 50;
/// How long a report may lack events: Traccar answers a position before it stores what that made.
const ALL_WITHIN: Duration = Duration::from_secs(10);

/// What a group has. Traccar takes the first member as the owner, so their order counts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    group_id: i64,
    geofence_id: i64,
}

/// Makes an administrator, a group with all fences, its devices, and opens sockets.
pub(crate) fn open_traccar(world: &World, rivals: &Rivals) -> Result<Session> {
    let rest = Rest { address: rivals.traccar.clone().context("no Traccar")? };
    rest.post("/api/users", &json!({ "name": "bench", "email": EMAIL, "password": PASSWORD }), false).ok();
    let group = rest.make("/api/groups", &json!({ "name": "bench" }))?;
    let mut fences = Vec::new();
    for (number, outline) in make_fences(world).iter().enumerate() {
        let area = well_known_text(outline).context("Traccar's circles are none of WGS 84")?;
        let fence = rest.make("/api/geofences", &json!({ "name": format!("f{number}"), "area": area }))?;
        rest.post("/api/permissions", &Permission { group_id: group, geofence_id: fence }, true)?;
        fences.push(fence);
    }
    let begin = begin_millis();
    // The devices of a world before have names of their own.
    let prefix = format!("g{group}v");
    let mut devices = Vec::new();
    for number in 0..world.vehicles {
        let device = json!({ "name": format!("v{number}"), "uniqueId": format!("{prefix}{number}"), "groupId": group });
        devices.push(rest.make("/api/devices", &device)?);
    }
    let processes = Processes { server: rivals.traccar_pid, database: rivals.traccar_database_pid };
    let osmand = rivals.traccar_osmand.clone();
    let mut session =
        Session::new("Traccar", processes, Packing::Http, world.vehicles, encoder(begin, &osmand, prefix))?;
    let vehicles = world.vehicles;
    session.reopen = Some(Box::new(move || (0..vehicles).map(|_| http_opening(&osmand)).collect()));
    session.fetch_transitions = Some(Box::new(move |slice| {
        until_all(slice.expected.len(), || rest.transitions(slice, begin, &devices, &fences))
    }));
    Ok(session)
}

fn encoder(begin_millis: i64, address: &str, prefix: String) -> Encode {
    let address = address.to_owned();
    Box::new(move |slice, _, fixes, bytes| {
        for fix in fixes {
            let fix = &slice.fixes[*fix as usize];
            let path = format!("/?id={prefix}{}&{}", fix.vehicle, osmand_query(fix, begin_millis));
            bytes.extend(http::get(&address, &path).bytes());
        }
    })
}

/// Asks until as many are there as are expected.
fn until_all(expected: usize, ask: impl Fn() -> Result<Vec<Transition>>) -> Result<Vec<Transition>> {
    let begun = Instant::now();
    loop {
        let found = ask()?;
        if found.len() >= expected || begun.elapsed() > ALL_WITHIN {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Latitude first, as Traccar has it.
fn well_known_text(outline: &Outline) -> Option<String> {
    let ring = |ring: &Vec<[f64; 2]>| {
        let points: Vec<String> = ring.iter().map(|[x, y]| format!("{y} {x}")).collect();
        format!("({})", points.join(", "))
    };
    let rings: Vec<String> = outline.coordinates()?.iter().map(ring).collect();
    Some(format!("POLYGON ({})", rings.join(", ")))
}

struct Rest {
    address: String,
}

impl Rest {
    fn post(&self, path: &str, body: &impl Serialize, signed: bool) -> Result<Value> {
        let authorization = format!("Basic {}", STANDARD.encode(format!("{EMAIL}:{PASSWORD}")));
        let mut headers = vec![("Content-Type", "application/json"), ("Accept", "application/json")];
        if signed {
            headers.push(("Authorization", &authorization));
        }
        let (status, answer) =
            ask(&self.address, &http::post(&self.address, path, &headers, &serde_json::to_string(body)?))?;
        if !(200..300).contains(&status) {
            bail!("{path}: {status} {}", String::from_utf8_lossy(&answer));
        }
        Ok(serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// Creates something; returns its number.
    fn make(&self, path: &str, body: &Value) -> Result<i64> {
        let made = self.post(path, body, true)?;
        made["id"].as_i64().with_context(|| format!("{path} answers no id: {made}"))
    }

    fn transitions(
        &self,
        slice: &Slice,
        begin_millis: i64,
        devices: &[i64],
        fences: &[i64],
    ) -> Result<Vec<Transition>> {
        let rounds = || slice.fixes.iter().map(|fix| begin_millis + i64::from(fix.round) * 1_000);
        let (from, to) = (instant(rounds().min()), instant(rounds().max().map(|last| last + 999)));
        let authorization =
            format!("Authorization: Basic {}", STANDARD.encode(format!("{EMAIL}:{PASSWORD}")));
        let mut found = Vec::new();
        for some in devices.chunks(DEVICES_TOGETHER) {
            let named: String = some.iter().map(|device| format!("deviceId={device}&")).collect();
            let path = format!(
                "/api/reports/events?{named}type=geofenceEnter&type=geofenceExit&from={from}&to={to}"
            );
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n{authorization}\r\n\r\n",
                self.address
            );
            let (status, answer) = ask(&self.address, &request)?;
            if status != 200 {
                bail!("{path}: {status}");
            }
            let events: Vec<Value> = serde_json::from_slice(&answer)?;
            let transition = |event: &Value| transition(event, begin_millis, devices, fences);
            found.extend(events.iter().filter_map(transition));
        }
        Ok(found)
    }
}

fn instant(millis: Option<i64>) -> String {
    Timestamp::from_millis(millis.unwrap_or_default()).map_or_else(|_| String::new(), |at| at.to_string())
}

fn transition(event: &Value, begin_millis: i64, devices: &[i64], fences: &[i64]) -> Option<Transition> {
    let place = |all: &[i64], id: &Value| all.iter().position(|known| Some(*known) == id.as_i64());
    let at =
        Timestamp::parse(&event["eventTime"].as_str()?.replace("+0000", "Z").replace("+00:00", "Z")).ok()?;
    Some(Transition {
        vehicle: place(devices, &event["deviceId"])? as u32,
        round: u32::try_from((at.as_millis() - begin_millis) / 1_000).ok()?,
        is_entry: event["type"] == "geofenceEnter",
        fence: place(fences, &event["geofenceId"])? as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fix;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn positions_and_fences_are_written_as_documented() {
        let place = geo::Coord { x: 7.5, y: 45.25 };
        let slice = Slice::new(vec![Fix { vehicle: 0, round: 2, place, heading: 90 }], vec![]);
        let mut bytes = Vec::new();
        encoder(1_000_000, "h", "g7v".to_owned())(&slice, 0, &[0], &mut bytes);
        let line = "GET /?id=g7v0&lat=45.25&lon=7.5&timestamp=1002000&speed=29.16&bearing=90 HTTP/1.1\r\n";
        assert!(bytes.starts_with(line.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
        let owned = serde_json::to_string(&Permission { group_id: 1, geofence_id: 2 }).unwrap();
        assert_eq!(owned, r#"{"groupId":1,"geofenceId":2}"#);
        let ring = geo::LineString::from(vec![(1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 2.0)]);
        let area = well_known_text(&Outline::Rings(geo::Polygon::new(ring, vec![])));
        assert_eq!(area.as_deref(), Some("POLYGON ((2 1, 2 3, 4 3, 2 1))"));
        assert_eq!(well_known_text(&Outline::Circle(place, 5.0)), None);
    }

    #[test]
    fn what_is_made_is_made_as_somebody_and_has_a_number() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let rest = Rest { address: listener.local_addr().unwrap().to_string() };
        let fake = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 4096];
            let mut read = 0;
            while !bytes[..read].ends_with(b"}") {
                read += socket.read(&mut bytes[read..]).unwrap();
            }
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"id\":7}").unwrap();
            String::from_utf8_lossy(&bytes[..read]).into_owned()
        });
        assert_eq!(rest.make("/api/groups", &json!({ "name": "bench" })).unwrap(), 7);
        let said = fake.join().unwrap();
        assert!(said.starts_with("POST /api/groups HTTP/1.1\r\n"), "{said}");
        assert!(said.contains("Authorization: Basic YmVuY2hAZXhhbXBsZS5jb206YmVuY2g=\r\n"), "{said}");
    }

    #[test]
    fn an_event_of_the_report_is_a_transition() {
        let event = json!({ "type": "geofenceExit", "eventTime": "1970-01-01T00:16:42.000+00:00",
            "deviceId": 9, "geofenceId": 5 });
        let told = transition(&event, 1_000_000, &[8, 9], &[5]);
        assert_eq!(told, Some(Transition { vehicle: 1, round: 2, is_entry: false, fence: 0 }));
    }
}
