//! `/v1/webhooks`: addresses that are sent what happens.

use actix_web::{HttpRequest, HttpResponse};
use uuid::Uuid;

use super::answer::{self, Answer, PageOf};
use super::query::{Query, word};
use super::request::{InOrganization, Matching, PathId, PathIds, Shared, SignedCaller};
use crate::domain::body::Params;
use crate::domain::paging::SortKey;
use crate::domain::webhook::{
    AttemptOutcome, CreateWebhook, ResendWebhook, UpdateWebhook, Webhook, WebhookAttempt,
};
use crate::ops::scoped::Scoped;
use crate::ops::webhooks::{self as ops, WebhookWithSecret};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };
const NEWEST_ATTEMPT_FIRST: SortKey = SortKey { name: "attemptedAt", is_descending: true };

/// List webhooks, without their secrets.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks",
    params(("sort" = Option<String>, Query, description = "url, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<Webhook>, description = "A page")))]
pub async fn list_webhooks(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    query: Query,
) -> Answer {
    let (by, sort, page) = query.listed(caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let found = ops::list_webhooks(&context, &by, &sort, page).await?;
    Ok(answer::page(&request, page, found, |webhook| webhook))
}

/// Create a webhook, which is sent what happens from now on. Its secret is shown once.
///
/// Signed by Standard Webhooks 1.0.0. It is sent what its writer may read: a person, what an orgAdmin may; a system user,
/// what its scopes say as long as it has them. Whoever changes a webhook is its writer from then on.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", request_body = CreateWebhook,
    params(InOrganization),
    responses((status = 201, body = WebhookWithSecret, description = "Created; Location names it"),
        (status = 409, description = "webhookLimitReached")))]
pub async fn create_webhook(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateWebhook>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let out = ops::create_webhook(&context, &by, body).await?;
    Ok(answer::created(format!("/v1/webhooks/{}", out.webhook.id), &out.webhook.tagged(), &out))
}

/// Get a webhook. Its secret is not shown again.
#[utoipa::path(get, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 200, body = Webhook, description = "The webhook")))]
pub async fn find_webhook(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let found = ops::find_webhook(&context, &by, id).await?;
    Ok(answer::with_derived(&found.tagged(), &found))
}

/// Change a webhook. One that is enabled again is sent what happens from then on.
#[utoipa::path(put, path = "/v1/webhooks/{id}", tag = "webhooks", request_body = UpdateWebhook,
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 200, body = Webhook, description = "The webhook as it is now")))]
pub async fn update_webhook(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<UpdateWebhook>,
) -> Answer {
    let by = query.scoped(caller)?;
    let found = ops::update_webhook(&context, &by, id, &if_match, body).await?;
    Ok(answer::with_derived(&found.tagged(), &found))
}

/// Delete a webhook with its attempts. What waits for it is not sent.
#[utoipa::path(delete, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_webhook(
    context: Shared,
    PathId(id): PathId<Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_webhook(&context, &by, id, &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Give a webhook a new secret, shown once. For a day, the former one signs too.
#[utoipa::path(post, path = "/v1/webhooks/{id}/secret", tag = "webhooks",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 200, body = WebhookWithSecret, description = "The webhook with its new secret")))]
pub async fn rotate_webhook_secret(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    let out = ops::rotate_secret(&context, &by, id).await?;
    Ok(answer::with_derived(&out.webhook.tagged(), &out))
}

/// Send a test event, `webhook.test`, now. Answers how that went, within about 15 seconds.
#[utoipa::path(post, path = "/v1/webhooks/{id}/test", tag = "webhooks",
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 200, body = WebhookAttempt, description = "The attempt, whether it succeeded or not"),
        (status = 409, description = "invalidTransition"), (status = 503, description = "busy")))]
pub async fn test_webhook(context: Shared, PathId(id): PathId<Uuid>, by: Scoped) -> Answer {
    Ok(HttpResponse::Ok().json(ops::test_webhook(&context, &by, id).await?))
}

/// Send everything since an instant again, in order. Each event has the id that it had.
#[utoipa::path(post, path = "/v1/webhooks/{id}/resend", tag = "webhooks", request_body = ResendWebhook,
    params(("id" = Uuid, Path), InOrganization),
    responses((status = 200, body = Webhook, description = "The webhook"),
        (status = 409, description = "invalidTransition")))]
pub async fn resend_webhook(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    query: Query,
    body: Params<ResendWebhook>,
) -> Answer {
    let by = query.scoped(caller)?;
    let found = ops::resend_since(&context, &by, id, body).await?;
    Ok(answer::with_derived(&found.tagged(), &found))
}

/// List attempts to deliver to a webhook: those of the last seven days, ten thousand at most.
#[utoipa::path(get, path = "/v1/webhooks/{id}/attempts", tag = "webhooks",
    params(("id" = Uuid, Path),
        ("outcome" = Option<Vec<AttemptOutcome>>, Query, description = "Only those that ended so"),
        ("sort" = Option<String>, Query, description = "attemptedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<WebhookAttempt>, description = "A page")))]
pub async fn list_webhook_attempts(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<Uuid>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let outcomes = query.many("outcome", word(AttemptOutcome::WORDS));
    let (by, sort, page) = query.listed(caller, ops::ATTEMPT_SORT_KEYS, NEWEST_ATTEMPT_FIRST)?;
    let found = ops::list_attempts(&context, &by, id, &outcomes, &sort, page).await?;
    Ok(answer::page(&request, page, found, |attempt| attempt))
}

/// Send the event of an attempt again, now. Answers how that went, within about 15 seconds.
#[utoipa::path(post, path = "/v1/webhooks/{id}/attempts/{attemptId}/resend", tag = "webhooks",
    params(("id" = Uuid, Path), ("attemptId" = Uuid, Path), InOrganization),
    responses((status = 200, body = WebhookAttempt, description = "The new attempt, whether it succeeded or not"),
        (status = 409, description = "invalidTransition"), (status = 503, description = "busy")))]
pub async fn resend_webhook_attempt(
    context: Shared,
    PathIds(id, attempt): PathIds<Uuid, Uuid>,
    by: Scoped,
) -> Answer {
    Ok(HttpResponse::Ok().json(ops::resend_attempt(&context, &by, (id, attempt)).await?))
}
