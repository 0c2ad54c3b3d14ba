//! Webhooks: made, changed, tried out, and made to send again.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};
use waypost_actors::ports::RecordLog;
use waypost_actors::watch::Audience;

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, Caller, Grant, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::webhook::{
    AttemptOutcome, CreateWebhook, DisabledReason, MAX_WEBHOOKS, ResendWebhook, UpdateWebhook, Webhook,
    WebhookAttempt, WebhookIn,
};
use crate::store::outbox::Notice;
use crate::store::sql::Tx;
pub use crate::store::webhook::SORT_KEYS;
use crate::store::webhook::{self, Writer};
pub use crate::store::webhook_attempt::SORT_KEYS as ATTEMPT_SORT_KEYS;
use crate::store::{change_log, geofence, organization, vehicle, webhook_attempt};
use crate::webhooks::{NotDone, SECRET_PREFIX};

/// How long a former secret signs beside the new one. Seconds: a day.
const BOTH_SECONDS: f64 = 86_400.0;
/// How far back everything can be sent again. Seconds: 7 days.
const RESEND_SECONDS: f64 = 7.0 * 86_400.0;
/// Entries are numbered a little after they are found. Seconds.
const FOUND_BEFORE_SECONDS: f64 = 10.0;

/// A webhook with its new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookWithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The secret that its receiver verifies signatures with, shown this once.
    pub secret: String,
}

/// Creates a webhook, which is sent what happens from now on.
pub async fn create_webhook(
    context: &Context,
    by: &Scoped,
    body: Params<CreateWebhook>,
) -> Result<WebhookWithSecret, OpError> {
    let scope = by.scope(context, Action::WriteWebhooks).await?;
    let CreateWebhook { webhook: attributes, .. } = body.made()?;
    may_reach(context, &attributes)?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    refuse_foreign(change.tx(), &scope, None, &attributes).await?;
    organization::hold(change.on(), &scope).await?;
    if webhook::count(change.on(), &scope).await? >= MAX_WEBHOOKS {
        return Err(OpError::WebhookLimit);
    }
    let (secret, sealed) = new_secret(context);
    let now = change.now();
    let webhook = Webhook {
        id: clock::new_id(),
        organization_id: scope.organization_id(),
        attributes,
        disabled_reason: None,
        failing_since: None,
        next_attempt_at: None,
        created_at: now,
        updated_at: now,
    };
    let next = change_log::next_number(change.on(), context.db.shard()).await?;
    webhook::insert(change.on(), &webhook, writer(&by.caller), &sealed, next).await?;
    let recorded = change.created(&webhook).await?;
    change.tell_webhooks();
    change.commit_created(recorded, WebhookWithSecret { webhook, secret }).await
}

/// A page of webhooks.
pub async fn list_webhooks(
    context: &Context,
    by: &Scoped,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Webhook>, OpError> {
    let scope = by.scope(context, Action::ReadWebhooks).await?;
    Ok(webhook::list(&context.db, &scope, sort, page).await?)
}

/// A webhook.
pub async fn find_webhook(context: &Context, by: &Scoped, id: Uuid) -> Result<Webhook, OpError> {
    let scope = by.scope(context, Action::ReadWebhooks).await?;
    webhook::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)
}

/// Changes a webhook. From then on it is sent what its writer may read.
pub async fn update_webhook(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
    body: Params<UpdateWebhook>,
) -> Result<Webhook, OpError> {
    let (mut change, scope, current) = begin(context, by, id).await?;
    let UpdateWebhook { webhook: attributes } = body.changed(&current, &current.attributes)?;
    may_reach(context, &attributes)?;
    if attributes == current.attributes {
        return Ok(current);
    }
    if_match.check(&current.tagged())?;
    refuse_foreign(change.tx(), &scope, Some(&current.attributes), &attributes).await?;
    let is_enabled_again = attributes.enabled && !current.attributes.enabled;
    let mut changed = Webhook { attributes, updated_at: change.now(), ..current.clone() };
    if is_enabled_again {
        let next = change_log::next_number(change.on(), context.db.shard()).await?;
        webhook::move_to(change.on(), &scope, id, next).await?;
        changed = Webhook { disabled_reason: None, failing_since: None, next_attempt_at: None, ..changed };
    }
    webhook::update(change.on(), &scope, &changed, writer(&by.caller)).await?;
    let recorded = change.updated(&current, &changed).await?;
    change.tell_webhooks();
    change.commit(recorded, changed).await
}

/// Gives a webhook a new secret; for a day the former one signs too.
pub async fn rotate_secret(context: &Context, by: &Scoped, id: Uuid) -> Result<WebhookWithSecret, OpError> {
    let (mut change, scope, current) = begin(context, by, id).await?;
    let (secret, sealed) = new_secret(context);
    let now = change.now();
    let until = now.plus_seconds(BOTH_SECONDS);
    webhook::set_secret(change.on(), &scope, id, writer(&by.caller), (&sealed, until, now)).await?;
    let webhook = Webhook { updated_at: now, ..current };
    let recorded = change.noted(&webhook, AuditAction::RotateToken).await?;
    change.tell_webhooks();
    change.commit(recorded, WebhookWithSecret { webhook, secret }).await
}

/// Deletes a webhook with its attempts; what waits for it is not sent.
pub async fn delete_webhook(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope, current) = begin(context, by, id).await?;
    if_match.check(&current.tagged())?;
    webhook::delete(change.tx(), &scope, id).await?;
    let recorded = change.deleted(&current).await?;
    change.tell_webhooks();
    change.commit(recorded, ()).await
}

/// Sends a test event now.
pub async fn test_webhook(context: &Context, by: &Scoped, id: Uuid) -> Result<WebhookAttempt, OpError> {
    let scope = by.scope(context, Action::WriteWebhooks).await?;
    webhook::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    context.webhooks.test(id).await.map_err(not_done)
}

/// A page of a webhook's attempts.
pub async fn list_attempts(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    outcomes: &[AttemptOutcome],
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<WebhookAttempt>, OpError> {
    let scope = by.scope(context, Action::ReadWebhooks).await?;
    webhook::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    Ok(webhook_attempt::list(&context.db, &scope, id, outcomes, sort, page).await?)
}

/// Sends the event of an attempt again, now.
pub async fn resend_attempt(
    context: &Context,
    by: &Scoped,
    (id, attempt): (Uuid, Uuid),
) -> Result<WebhookAttempt, OpError> {
    let scope = by.scope(context, Action::WriteWebhooks).await?;
    let attempt =
        webhook_attempt::find(context.db.read(), &scope, id, attempt).await?.ok_or(OpError::NotFound)?;
    let sent = match attempt.sequence {
        Some(sequence) => context.webhooks.resend(id, sequence).await,
        None => context.webhooks.test(id).await,
    };
    sent.map_err(not_done)
}

/// Sends everything since an instant again, in order.
pub async fn resend_since(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    body: Params<ResendWebhook>,
) -> Result<Webhook, OpError> {
    let (mut change, scope, current) = begin(context, by, id).await?;
    let now = change.now();
    let ResendWebhook { since } = body.made_if(|members| {
        let since = members.value("since").and_then(|value| crate::domain::members::instant(value).ok());
        if since.is_some_and(|since| since > now || now.seconds_since(since) > RESEND_SECONDS) {
            members.problem("since", "range", "must be within the last seven days");
        }
    })?;
    if !current.attributes.enabled {
        let detail = "a webhook that is disabled sends nothing; set enabled to true first";
        return Err(OpError::Transition(detail.to_owned()));
    }
    let next = change_log::next_number(change.on(), context.db.shard()).await?;
    let next = number_at(context, &scope, since, next).await?;
    webhook::move_to(change.on(), &scope, id, next).await?;
    let webhook = Webhook { failing_since: None, next_attempt_at: None, ..current };
    let recorded = change.noted(&webhook, AuditAction::Resend).await?;
    change.tell_webhooks();
    change.commit(recorded, webhook).await
}

/// Disables a webhook whose receiver is gone or fails, and tells those who administer its organization.
pub async fn disable(
    context: &Context,
    organization: OrganizationId,
    id: Uuid,
    reason: DisabledReason,
) -> Result<(), OpError> {
    let by = Scoped { caller: Caller::console(), organization: Some(organization) };
    let (mut change, scope, current) = match begin(context, &by, id).await {
        Err(OpError::NotFound) => return Ok(()),
        begun => begun?,
    };
    if !current.attributes.enabled {
        return Ok(());
    }
    let attributes = WebhookIn { enabled: false, ..current.attributes.clone() };
    let disabled =
        Webhook { attributes, disabled_reason: Some(reason), updated_at: change.now(), ..current.clone() };
    webhook::disable(change.on(), &scope, &disabled).await?;
    let url = &disabled.attributes.url;
    let about = match reason {
        DisabledReason::Gone => format!("{url} was disabled, because its receiver answered 410 Gone"),
        DisabledReason::Failing => {
            format!("{url} was disabled, because nothing could be delivered for five days")
        }
    };
    for (account, address, name) in webhook::administrators(change.on(), &scope).await? {
        change.send_notice(Notice::WebhookDisabled, account, (&address, &name, &about)).await?;
    }
    let recorded = change.updated(&current, &disabled).await?;
    change.tell_webhooks();
    change.commit(recorded, ()).await
}

/// Begins a change of a webhook, with its row locked.
async fn begin<'a>(
    context: &'a Context,
    by: &'a Scoped,
    id: Uuid,
) -> Result<(Change<'a>, OrgScope, Webhook), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteWebhooks).await?;
    webhook::hold(change.on(), &scope, id).await?;
    let found = webhook::find(change.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    Ok((change, scope, found))
}

/// Whose rights a webhook has that a caller wrote.
const fn writer(caller: &Caller) -> Writer<'_> {
    match &caller.grant {
        Grant::Person(_) => None,
        Grant::Program(scopes) => Some((caller.id, scopes)),
    }
}

fn may_reach(context: &Context, attributes: &WebhookIn) -> Result<(), OpError> {
    let url = Url::parse(&attributes.url).map_err(|error| OpError::Internal(error.into()))?;
    match context.webhooks.guard.objection(&url) {
        Some(must) => Err(vec![FieldError::new("/url", "notAllowed", format!("must be {must}"))].into()),
        None => Ok(()),
    }
}

/// Refuses to filter by vehicles and geofences that are not the organization's. What was there before may be sent back,
/// though it was deleted since.
async fn refuse_foreign(
    tx: &mut Tx,
    scope: &OrgScope,
    before: Option<&WebhookIn>,
    attributes: &WebhookIn,
) -> Result<(), OpError> {
    let WebhookIn { vehicle_ids, geofence_ids, .. } = attributes;
    let mut vehicles = vehicle::existing(tx.on(), scope, vehicle_ids).await?;
    let mut geofences = geofence::existing(tx.on(), scope, geofence_ids).await?;
    if let Some(before) = before {
        vehicles.extend(&before.vehicle_ids);
        geofences.extend(&before.geofence_ids);
    }
    let of_vehicles = FieldError::strangers("vehicleIds", "vehicle", vehicle_ids, &vehicles);
    let of_geofences = FieldError::strangers("geofenceIds", "geofence", geofence_ids, &geofences);
    let problems: Vec<FieldError> = of_vehicles.chain(of_geofences).collect();
    if problems.is_empty() { Ok(()) } else { Err(OpError::Invalid(problems)) }
}

/// A new secret, as it is shown and as it is stored.
fn new_secret(context: &Context) -> (String, Vec<u8>) {
    let secret = clock::random_bytes::<32>();
    (format!("{SECRET_PREFIX}{}", BASE64.encode(secret)), context.webhooks.master.sealed(&secret))
}

fn not_done(why: NotDone) -> OpError {
    match why {
        NotDone::Busy => OpError::Busy,
        NotDone::Away => OpError::Unavailable("the store does not answer".into()),
        NotDone::Gone => OpError::Transition(
            "the log no longer has this event in this form: it was revised, which was sent by itself, or it is too old, \
             or the webhook is no longer sent it"
                .to_owned(),
        ),
    }
}

/// The number from which on the log has everything that was found since an instant, before `end`. Numbers and instants
/// rise together, so it is searched by halves.
async fn number_at(context: &Context, scope: &OrgScope, since: Timestamp, end: i64) -> Result<i64, OpError> {
    let audience = Audience::Organization(scope.organization_id());
    let since = since.plus_seconds(-FOUND_BEFORE_SECONDS);
    let away = |error: waypost_actors::ports::StoreError| OpError::Unavailable(error.into());
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        let records = context.track.records_from(audience, middle, 1).await.map_err(away)?;
        let changes = context.track.changes_from(audience, middle, 1).await.map_err(away)?;
        let record = records.first().map(|record| (record.sequence, record.detected_at));
        let change = changes.first().map(|change| (change.sequence, change.changed_at));
        let first = record.into_iter().chain(change).min_by_key(|(sequence, _)| *sequence);
        match first {
            Some((sequence, at)) if at < since => low = sequence + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}
