//! A valid example body for each operation that creates something or signs a user in.

use serde_json::{Value, json};

/// The example of an operation's JSON body.
pub(super) fn body(operation: &str) -> Option<Value> {
    Some(match operation {
        "login" | "login_system_user" => json!({
            "email": "ada@example.com",
            "password": "correct horse battery",
        }),
        "create_system_user" => json!({
            "name": "Dispatch export",
            "email": "export@example.com",
            "password": "correct horse battery",
        }),
        "create_organization" => json!({
            "name": "Harbour Freight",
            "contactEmail": "office@example.com",
            "admin": { "email": "grace@example.com", "firstName": "Grace", "lastName": "Hopper" },
        }),
        "create_user" => json!({
            "email": "alan@example.com",
            "firstName": "Alan",
            "lastName": "Turing",
            "role": "dispatcher",
        }),
        "create_driver" => json!({
            "firstName": "Bertha",
            "lastName": "Benz",
            "license": { "number": "B072RRE2I55", "country": "DE", "categories": ["B", "C"] },
        }),
        "create_vehicle" => json!({
            "name": "Truck 7",
            "plate": { "number": "KA BB 1888", "country": "DE" },
            "category": "truck",
            "tracker": { "uniqueId": "356307042441013" },
        }),
        "create_tracker" => json!({ "uniqueId": "356307042441021", "model": "FMB920" }),
        "create_geofence" => json!({
            "name": "Depot",
            "shape": {
                "type": "circle",
                "center": { "latitude": 49.0094, "longitude": 8.4044 },
                "radiusMeters": 150,
            },
        }),
        "dry_run" => json!({
            "shape": {
                "type": "circle",
                "center": { "latitude": 49.0094, "longitude": 8.4044 },
                "radiusMeters": 150,
            },
            "from": "2026-05-01T00:00:00Z",
            "to": "2026-05-08T00:00:00Z",
        }),
        "create_webhook" => json!({
            "url": "https://example.com/waypost",
            "description": "Arrivals for the warehouse",
            "eventTypes": ["geofence.*", "fuel.refuel"],
        }),
        "create_positions" => json!({
            "items": [{
                "recordedAt": "2026-05-01T12:00:00Z",
                "latitude": 49.0094,
                "longitude": 8.4044,
                "speedKmh": 42,
                "headingDegrees": 90,
            }],
        }),
        _ => return None,
    })
}
