//! What a webhook is sent of an entry of the log: the form that GET gives, to whom GET would give it.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;
use waypost_actors::model::{Change, ChangedResource, GeofenceId, OrganizationId, Timestamp, VehicleId};
use waypost_actors::watch::{Audience, CommittedRecord, Interest};

use crate::auth::{Action, Caller};
use crate::clock;
use crate::domain::system_user::Scopes;
use crate::domain::webhook_event::{self, EventTypes, TEST};
use crate::feed::{Entry, ShowChange, encoded};
use crate::store::webhook_delivery::Target;

/// The store has this long to tell what a changed thing looks like now.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// An event as it is sent.
#[derive(Debug)]
pub struct Message {
    /// The header `webhook-id`.
    pub(super) id: String,
    /// Its type.
    pub event_type: String,
    /// The vehicle, or the thing that was changed: events of one are sent one after the other.
    pub(super) about: Uuid,
    /// When it came into the log.
    pub logged_at: Timestamp,
    /// The body.
    pub body: String,
}

/// What somebody is to be told of an organization.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Whose.
    pub organization_id: OrganizationId,
    /// By whose rights: `None` for an orgAdmin's, or a system user's scopes.
    pub scopes: Option<Scopes>,
    /// Of which types.
    pub event_types: EventTypes,
    /// Only of these vehicles; empty: of all.
    pub vehicle_ids: Vec<VehicleId>,
    /// Only of these geofences; empty: of all.
    pub geofence_ids: Vec<GeofenceId>,
}

impl From<&Target> for Selection {
    fn from(target: &Target) -> Self {
        Self {
            organization_id: target.organization_id,
            scopes: target.scopes.clone(),
            event_types: target.event_types.clone(),
            vehicle_ids: target.vehicle_ids.clone(),
            geofence_ids: target.geofence_ids.clone(),
        }
    }
}

/// Makes messages of entries of the log.
pub struct Writer {
    event_types: EventTypes,
    caller: Caller,
    interest: Interest,
}

impl Writer {
    /// By the rights of today.
    #[must_use]
    pub fn new(of: Selection) -> Self {
        let caller = Caller::webhook(of.organization_id, of.scopes);
        let may = |action| caller.may(action).is_ok();
        let interest = Interest {
            events: may(Action::ReadEvents),
            fuel_events: may(Action::ReadFuel),
            changes: may(Action::ReadChanges),
            vehicles: set(&of.vehicle_ids),
            fences: set(&of.geofence_ids),
            ..Interest::of_log(Audience::Organization(of.organization_id))
        };
        Self { event_types: of.event_types, caller, interest }
    }

    /// The message of an entry; `None`: it is not to be told. The error is the store's.
    pub async fn write(&self, entry: &Entry, show: &ShowChange) -> Result<Option<Message>, String> {
        match entry {
            Entry::Record(told) => Ok(self.record(told)),
            Entry::Change(change) => self.change(change, show).await,
        }
    }

    fn record(&self, told: &CommittedRecord) -> Option<Message> {
        let record = &told.record;
        let event_type = webhook_event::of_record(record);
        if !self.interest.record(record) || !self.event_types.matches(event_type) {
            return None;
        }
        Some(Message {
            id: format!("{}_{}", record.id, record.revision),
            event_type: event_type.to_owned(),
            about: record.vehicle_id.0,
            logged_at: record.detected_at,
            body: body(event_type, record.occurred_at, &encoded(told, self.caller.sees())),
        })
    }

    /// Whether a change is of what is named: a vehicle or geofence of those, or anything where none are named.
    fn concerns(&self, change: &Change) -> bool {
        let Interest { vehicles, fences, .. } = &self.interest;
        let id = change.resource_id;
        match change.resource {
            _ if vehicles.is_none() && fences.is_none() => true,
            ChangedResource::Vehicle => vehicles.as_ref().is_some_and(|ids| ids.contains(&VehicleId(id))),
            ChangedResource::Geofence => fences.as_ref().is_some_and(|ids| ids.contains(&GeofenceId(id))),
            _ => false,
        }
    }

    async fn change(&self, change: &Change, show: &ShowChange) -> Result<Option<Message>, String> {
        let event_type = webhook_event::of_change(change);
        if !self.interest.changes || !self.concerns(change) || !self.event_types.matches(&event_type) {
            return Ok(None);
        }
        let shown = timeout(SHOWN_WITHIN, show(self.caller.clone(), *change)).await;
        let shown = shown.map_err(|_| "the store does not answer in time".to_owned())??;
        let Some(shown) = shown else { return Ok(None) };
        let data = serde_json::to_string(&shown).map_err(|error| error.to_string())?;
        Ok(Some(Message {
            id: format!("{}_{}", change.resource_id, change.sequence),
            body: body(&event_type, change.changed_at, &data),
            event_type,
            about: change.resource_id,
            logged_at: change.changed_at,
        }))
    }
}

/// The event that tries a webhook out.
pub(super) fn test(target: &Target, now: Timestamp) -> Message {
    let data = json!({ "webhookId": target.id, "organizationId": target.organization_id });
    Message {
        id: format!("test_{}", clock::new_id()),
        event_type: TEST.to_owned(),
        about: target.id,
        logged_at: now,
        body: body(TEST, now, &data.to_string()),
    }
}

fn body(event_type: &str, at: Timestamp, data: &str) -> String {
    format!(r#"{{"type":"{event_type}","timestamp":"{at}","data":{data}}}"#)
}

fn set<T: Copy + Eq + Hash>(ids: &[T]) -> Option<Arc<HashSet<T>>> {
    (!ids.is_empty()).then(|| Arc::new(ids.iter().copied().collect()))
}
