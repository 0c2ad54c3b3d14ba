//! The document's prose: about the interface, its groups, and each operation.

use serde_json::{Value, json};

use crate::http::route::{Access, Route};

/// The groups of operations.
const TAGS: [(&str, &str); 19] = [
    ("auth", "Signing in, staying signed in, signing out; invitations and forgotten passwords."),
    ("system users", "Accounts of programs: sign-up, verification, scopes."),
    ("organizations", "Tenants: sign-up, activation, settings, subscription."),
    ("users", "The people of an organization, and the platform's operators."),
    ("drivers", "Drivers, who holds them, and what they drive."),
    ("vehicles", "Vehicles, where they are and where they were."),
    ("trackers", "The devices in vehicles, and their tokens."),
    ("geofences", "Circles and polygons with the rules of entry and exit."),
    ("events", "Everything that happened, of every kind."),
    ("geofence events", "Entries, exits and dwells, and who is inside."),
    ("visits", "Stays of vehicles in geofences."),
    ("alerts", "What a dispatcher should look at."),
    ("shares", "Links that show vehicles without an account."),
    ("trips", "Trips of vehicles, and the stops between them."),
    ("fuel", "Levels, refuels and drains, consumption and charts."),
    ("live", "Positions in, and the feed of what happens."),
    ("webhooks", "What happens, sent to addresses of your own."),
    ("audit", "Who changed what."),
    ("server", "Whether the server lives and is ready, and this description."),
];

/// The groups, as a document lists them.
pub(super) fn tags() -> Value {
    TAGS.iter().map(|(name, description)| json!({ "name": name, "description": description })).collect()
}

/// Splits a handler's doc comment into summary and description, and adds who may call it.
pub(super) fn part(operation: &mut Value, route: &Route) {
    let whole = operation["summary"].as_str().unwrap_or_default().replace('\n', " ");
    let (summary, rest) = whole.split_once(". ").unwrap_or((whole.trim_end_matches('.'), ""));
    let more = operation["description"].as_str().unwrap_or_default();
    let parts = [rest, more, caller(route.access)];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    operation["description"] = json!(parts.join("\n\n"));
    operation["summary"] = json!(summary);
}

const fn caller(access: Access) -> &'static str {
    match access {
        Access::Open => "Anybody may call it.",
        Access::Either(_) => "Anybody may call it; an access token says on whose behalf.",
        Access::SignedIn | Access::May(_) | Access::OneselfOr(_) => "Takes an access token.",
        Access::Tracker => "Takes a tracker's token, or the access token of a system user.",
    }
}

/// An introduction to the interface.
pub(super) const INTRODUCTION: &str = "Real-time fleet tracking: positions in, geofence events out.\n\n\
Members are camelCase with units in their names, times RFC 3339 (`Z`, milliseconds), ids UUIDs. \
Lists are `{data, pagination}`. A PUT merges: absent = unchanged, null = cleared. Single resources carry an \
`ETag`; `If-Match` guards a change, `If-None-Match` saves an answer. A POST may be repeated under an \
`Idempotency-Key`. `RateLimit` tells how many requests are left. Every refusal is `application/problem+json` with a `code` that \
`/problems` explains. Platform operators name the organization they act in by `organizationId`.";
