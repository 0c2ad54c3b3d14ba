//! What a run needs at the server: an organization of its own, vehicles with trackers, fences.

use anyhow::{Context, Result};
use awc::http::Method;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use uuid::Uuid;

use super::options::{Options, RuleSet};
use super::source::Source;
use crate::Api;
use crate::trace::fences::NamedShape;

/// Requests under way at a time.
const AT_A_TIME: usize = 4;

/// What was created.
#[derive(Debug)]
pub(super) struct Fleet {
    /// The organization.
    pub organization_id: String,
    /// The trackers' credentials, in the order of the tracks.
    pub tokens: Vec<String>,
    /// Name and id of the fences, in the order of the source.
    pub fences: Vec<(String, String)>,
}

/// Creates it all. Fences come before the first fix, so that they are there when it comes.
pub(super) async fn create(api: &Api, options: &Options, source: &Source) -> Result<Fleet> {
    // Twelve random digits: several runs may use one server at once.
    let run = Uuid::new_v4().simple().to_string()[..12].to_owned();
    let organization_id = organization(api, options, &run).await?;
    let vehicles = source.tracks.iter().enumerate().map(|(number, track)| {
        let unique_id = format!("sim-{run}-{number}");
        let body = vehicle_body(&organization_id, &track.vehicle, &unique_id, options.rules);
        async move { tracker_token(api, &body).await.with_context(|| format!("vehicle {}", track.vehicle)) }
    });
    let tokens = stream::iter(vehicles).buffered(AT_A_TIME).try_collect().await?;
    let fences = source.fences.iter().map(|fence| {
        let body = fence_body(&organization_id, fence, options.rules);
        async move {
            let created = api.send(Method::POST, "/v1/geofences", &body).await;
            let created = created.with_context(|| format!("fence {}", fence.id))?;
            anyhow::Ok((fence.id.clone(), member(&created, "id")?))
        }
    });
    let fences = stream::iter(fences).buffered(AT_A_TIME).try_collect().await?;
    Ok(Fleet { organization_id, tokens, fences })
}

async fn organization(api: &Api, options: &Options, run: &str) -> Result<String> {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S");
    let name = options.organization.clone().unwrap_or_else(|| format!("Simulation {now}"));
    let body = json!({
        "name": name,
        "slug": format!("simulation-{run}"),
        "contactEmail": format!("simulation-{run}@example.com"),
        "admin": {
            "email": format!("admin-{run}@example.com"),
            "firstName": "Simulation",
            "lastName": "Admin",
        },
    });
    let created = api.send(Method::POST, "/v1/organizations", &body).await?;
    let id = member(&created, "id")?;
    api.send(Method::PUT, &format!("/v1/organizations/activate/{id}"), &json!({})).await?;
    Ok(id)
}

fn vehicle_body(organization_id: &str, name: &str, unique_id: &str, rules: RuleSet) -> Value {
    let mut body = json!({
        "organizationId": organization_id,
        "name": name,
        "category": "bus",
        "tracker": { "uniqueId": unique_id },
    });
    if rules == RuleSet::Exact {
        body["tracking"] = json!({ "maxSpeedKmh": null, "maxAccuracyMeters": null });
    }
    body
}

async fn tracker_token(api: &Api, body: &Value) -> Result<String> {
    let created = api.send(Method::POST, "/v1/vehicles", body).await?;
    member(&created["tracker"], "token")
}

fn fence_body(organization_id: &str, fence: &NamedShape, rules: RuleSet) -> Value {
    let mut body = json!({
        "organizationId": organization_id,
        "name": fence.id,
        "shape": fence.shape,
        // What is played was recorded in the past.
        "effectiveFrom": null,
    });
    if rules == RuleSet::Exact {
        body["rules"] = json!({ "exitMarginMeters": 0, "inferPassages": false, "holdWhileStanding": false });
    }
    body
}

fn member(value: &Value, name: &str) -> Result<String> {
    let text = value[name].as_str().map(str::to_owned);
    text.with_context(|| format!("the answer has no {name}: {value}"))
}
