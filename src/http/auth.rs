//! `/v1/auth`: signing in and out.

use actix_web::HttpResponse;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

use super::answer::Answer;
use super::body::JsonBody;
use super::credentials::{EmailIn, LoginIn, address, any_text, credentials};
use super::query::Query;
use super::request::{InOrganization, PathToken, Shared, SignedCaller};
use crate::auth::{Action, Principal, SignedIn};
use crate::domain::account::new_password;
use crate::domain::members::Members;
use crate::ops::error::OpError;
use crate::ops::{request_context, sign_in};

/// A password somebody chooses.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasswordIn {
    /// The new password.
    #[schema(min_length = 12, max_length = 128)]
    pub password: String,
}

/// What refreshing and signing out take.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshIn {
    /// The newest refresh token of the session.
    #[schema(format = Password, min_length = 1, max_length = 1024)]
    pub refresh_token: String,
}

/// A ticket for the live feed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WsTicket {
    /// Send it as the first message of the socket.
    ticket: String,
    /// It works once, and not after this instant.
    expires_at: Timestamp,
}

/// Sign in with e-mail and password.
#[utoipa::path(post, path = "/v1/auth/login", tag = "auth", request_body = LoginIn,
    responses((status = 200, body = SignedIn, description = "Signed in"),
        (status = 401, description = "invalidCredentials"),
        (status = 403, description = "organizationInactive"),
        (status = 429, description = "tooManyAttempts")))]
pub async fn login(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    let (email, password) = credentials(&body)?;
    Ok(HttpResponse::Ok().json(context.auth.login(&email, password, &request_context::peer()).await?))
}

/// Get the next access token. The refresh token is used up; one that comes again ends its session.
#[utoipa::path(post, path = "/v1/auth/refresh", tag = "auth", request_body = RefreshIn,
    responses((status = 200, body = SignedIn, description = "Still signed in"),
        (status = 401, description = "invalidToken"),
        (status = 403, description = "organizationInactive")))]
pub async fn refresh(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    Ok(HttpResponse::Ok().json(context.auth.refresh(&refresh_token(&body)?, &request_context::peer()).await?))
}

/// Sign out: ends the session of the refresh token, its access tokens included.
#[utoipa::path(post, path = "/v1/auth/logout", tag = "auth", request_body = RefreshIn,
    responses((status = 204, description = "Signed out")))]
pub async fn logout(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    context.auth.logout(&refresh_token(&body)?, &request_context::peer()).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Who am I?
#[utoipa::path(get, path = "/v1/auth/me", tag = "auth",
    responses((status = 200, body = Principal, description = "The caller")))]
pub async fn me(context: Shared, SignedCaller(caller): SignedCaller, query: Query) -> Answer {
    query.finish()?;
    Ok(HttpResponse::Ok().json(caller.principal(&context.db).await?))
}

/// Get a one-time ticket for the live feed, for browsers, which cannot set headers on a socket or an `EventSource`.
///
/// A system user needs a scope of one of the feed's topics: `positions:read`, `events:read`, `fuel:read`, or for changes
/// `vehicles:read`, `drivers:read`, `geofences:read` or `users:read`. Of one
/// caller's tickets the 20 newest are good, and of one organization's the 1,000 newest.
#[utoipa::path(post, path = "/v1/auth/ws-ticket", tag = "auth",
    params(InOrganization),
    responses((status = 201, body = WsTicket, description = "A ticket, good for 30 seconds")))]
pub async fn create_ws_ticket(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    mut query: Query,
) -> Answer {
    let organization = query.organization().or(caller.organization_id);
    query.finish()?;
    caller.may(Action::WatchLive)?;
    let (ticket, expires_at) = context.auth.tickets.issue(caller, organization, context.clock.now())?;
    Ok(HttpResponse::Created().json(WsTicket { ticket, expires_at }))
}

/// Sign in with a one-time link, as the demo prints it.
#[utoipa::path(post, path = "/v1/auth/sign-in-link/{token}", tag = "auth",
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 200, body = SignedIn, description = "Signed in"),
        (status = 401, description = "invalidToken"),
        (status = 403, description = "organizationInactive")))]
pub async fn redeem_sign_in_link(context: Shared, PathToken(token): PathToken, query: Query) -> Answer {
    query.finish()?;
    Ok(HttpResponse::Ok().json(context.auth.redeem_sign_in_link(&token).await?))
}

/// Ask for a new password, of a user or of a system user. The answer is the same whether the address is known
/// or not. Less than a minute after the last letter, it is sent when that minute is over; an address gets five in a day.
#[utoipa::path(post, path = "/v1/auth/forgot-password", tag = "auth", request_body = EmailIn,
    responses((status = 202, description = "If there is somebody with this address, a letter is on its way")))]
pub async fn forgot_password(context: Shared, query: Query, JsonBody(body): JsonBody) -> Answer {
    query.finish()?;
    sign_in::forgot_password(&context, &address(&body)?).await?;
    Ok(HttpResponse::Accepted().finish())
}

/// Choose a new password by the link of a letter. Ends every session.
#[utoipa::path(post, path = "/v1/auth/reset-password/{token}", tag = "auth", request_body = PasswordIn,
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 204, description = "The new password counts"),
        (status = 404, description = "notFound"),
        (status = 410, description = "linkExpired, linkUsed")))]
pub async fn reset_password(
    context: Shared,
    PathToken(token): PathToken,
    query: Query,
    JsonBody(body): JsonBody,
) -> Answer {
    query.finish()?;
    context.auth.reset_password(&token, password(&body)?, &request_context::peer()).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Make a user's new address theirs by the link that was sent there. Ends every session; a link that did so before is
/// no error.
#[utoipa::path(post, path = "/v1/auth/confirm-address/{token}", tag = "auth",
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 204, description = "The new address counts"),
        (status = 404, description = "notFound"),
        (status = 409, description = "emailTaken"),
        (status = 410, description = "linkExpired")))]
pub async fn confirm_address(context: Shared, PathToken(token): PathToken, query: Query) -> Answer {
    query.finish()?;
    context.auth.confirm_address(&token, request_context::request_id()).await?;
    context.live.number_changes();
    Ok(HttpResponse::NoContent().finish())
}

/// Accept an invitation by choosing a password, and be signed in.
#[utoipa::path(post, path = "/v1/auth/accept-invite/{token}", tag = "auth", request_body = PasswordIn,
    params(("token" = String, Path, description = "The link's token")),
    responses((status = 200, body = SignedIn, description = "Signed in"),
        (status = 403, description = "organizationInactive"),
        (status = 404, description = "notFound"),
        (status = 410, description = "linkExpired, linkUsed")))]
pub async fn accept_invite(
    context: Shared,
    PathToken(token): PathToken,
    query: Query,
    JsonBody(body): JsonBody,
) -> Answer {
    query.finish()?;
    let signed_in = context.auth.accept_invite(&token, password(&body)?, &request_context::peer()).await?;
    context.live.number_changes();
    Ok(HttpResponse::Ok().json(signed_in))
}

fn password(body: &Value) -> Result<String, OpError> {
    let mut members = Members::of(body);
    let password = members.required("password", new_password);
    Ok(members.finish(|| password)?)
}

fn refresh_token(body: &Value) -> Result<String, OpError> {
    let mut members = Members::of(body);
    let token = members.required("refreshToken", any_text);
    Ok(members.finish(|| token)?)
}
