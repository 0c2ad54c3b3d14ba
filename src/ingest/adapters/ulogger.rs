//! μlogger (Android): a form to `client/index.php`, which signs in, makes a track, then adds positions to it. Speeds are
//! m/s. A phone is known by the token in the path; user and password are not looked at.

use waypost_actors::model::NewAttributes;
use waypost_actors::tracking::Reported;

use super::adapter::Adapter;
use super::fields::Fields;
use super::instant;
use super::parsed::{Message, Parsed, Request, Words};
use super::shape::Shape;
use super::units::{KMH_PER_METER_PER_SECOND, accuracy_meters};
use crate::ingest::decode::{BadFrame, BadItem, Item};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "ulogger",
    // A position may come with a picture.
    body_bytes: 4 * 1024 * 1024,
    is_meant,
    parse,
    kept,
};

/// The end of the path that the app adds to the address.
const PATH: &str = "client/index.php";

fn is_meant(request: &Request, shape: &Shape<'_>) -> bool {
    let has_action = |fields: &Fields<'_>| {
        fields.get(&["action"]).is_some_and(|action| ["auth", "addtrack", "addpos"].contains(&action))
    };
    request.rest.ends_with(PATH) || matches!(shape, Shape::Fields(fields) if has_action(fields))
}

fn parse(request: &Request) -> Result<Parsed<'_>, BadFrame> {
    let fields = Fields::of(request);
    Ok(Parsed::one(match fields.get(&["action"]) {
        Some("addpos") => message(&fields),
        Some("auth" | "addtrack") => Ok(Message::Contact(None)),
        other => Err(BadItem::new(format!(
            "action is {:?}, and neither auth nor addtrack nor addpos",
            other.unwrap_or_default()
        ))),
    }))
}

fn message(fields: &Fields<'_>) -> Result<Message<'static>, BadItem> {
    let (Some(latitude), Some(longitude)) = (fields.number(&["lat"]), fields.number(&["lon"])) else {
        return Err(BadItem::new("lat or lon is missing or no number"));
    };
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: fields.number(&["speed"]).map(|speed| speed * KMH_PER_METER_PER_SECOND),
        heading_degrees: fields.number(&["bearing"]),
        altitude_meters: fields.number(&["altitude"]),
        accuracy_meters: accuracy_meters(fields.number(&["accuracy"])),
        ..Reported::default()
    };
    let recorded_at = instant::text(fields.get(&["time"]).unwrap_or_default());
    Ok(Message::Position(Box::new(Item::of(None, recorded_at, reported, NewAttributes::default()))))
}

/// Tracks are not kept apart, so that each is the first one.
fn kept(request: &Request) -> Words {
    match Fields::of(request).get(&["action"]) {
        Some("addtrack") => Words::json(r#"{"error":false,"trackid":1}"#),
        _ => Words::json(r#"{"error":false}"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_answer() {
        for (body, answer, items) in [
            ("action=auth&user=a&pass=b", r#"{"error":false}"#, 0),
            ("action=addtrack&track=Tour", r#"{"error":false,"trackid":1}"#, 0),
            ("action=addpos&lat=1&lon=2&time=1795334400&speed=10&trackid=1", r#"{"error":false}"#, 1),
        ] {
            let request = Request::of(body);
            assert_eq!(
                (kept(&request).body, parse(&request).unwrap().items.len()),
                (answer, items),
                "{body}"
            );
        }
    }
}
