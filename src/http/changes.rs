//! `/v1/changes`: what was done to master data, and what it looks like now to the caller.

use std::rc::Rc;

use actix_web::HttpRequest;
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use waypost_actors::model::{Change, ChangeKind, ChangedResource};

use super::answer::{self, Answer, SliceOf};
use super::problem::Problem;
use super::query::{Query, word};
use super::request::{InOrganization, Shared, SignedCaller};
use super::{geofences, organizations, vehicles};
use crate::auth::Caller;
use crate::domain::change::ShownChange;
use crate::domain::paging::Slice;
use crate::feed::{ShowChange, cursor};
use crate::ops::changes::{self as ops, visible};
use crate::ops::error::OpError;
use crate::ops::scoped::Scoped;
use crate::ops::{alerts, api_keys, assignment_history, drivers, system_users, trackers, users};

/// In the place of a cursor: the end of the log.
const LATEST: &str = "latest";
/// Changes read for one answer at most, those included that the caller may not see.
const MOST_READ: usize = 2_000;
/// Changes per read.
const READ: i64 = 200;
/// An answer ends with the first change beyond this, because a geofence may be large. Bytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Follow changes of master data.
///
/// What was created, changed and deleted, in the order of commits; each change tells what the thing looks like now,
/// as GET gives it to the caller (a user or a key as its list shows it), and is left out for who may not see it.
/// Send the last `endCursor` as `after` and miss nothing; `after=latest` gives the cursor to go on from when lists are
/// read next; without `after`, the log is read from its beginning, 30 days ago. The live feed takes these cursors too.
#[utoipa::path(get, path = "/v1/changes", tag = "events",
    params(("resource" = Option<Vec<ChangedResource>>, Query, description = "Only of these kinds"),
        InOrganization,
        ("limit" = Option<i64>, Query), ("after" = Option<String>, Query, description = "A cursor, or `latest`")),
    responses((status = 200, body = SliceOf<ShownChange>, description = "A slice of the log"),
        (status = 410, description = "cursorExpired")))]
pub async fn list_changes(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let resources = query.many("resource", word(ChangedResource::WORDS));
    let asked = query.slice();
    let by = query.scoped(caller)?;
    let audience = ops::audience(&context, &by).await?;
    let (signer, now) = (&context.auth.cursor_signer, context.clock.now());
    let (mut next, mut known_at) = match &asked.after {
        Some(word) if word == LATEST => (ops::next_number(&context).await?, now),
        Some(text) => cursor::read(signer, audience, text).ok_or(OpError::Cursor)?,
        None => (0, now),
    };
    if now.seconds_since(known_at) > ops::CURSOR_SECONDS {
        return Err(OpError::CursorExpired.into());
    }
    if asked.after.is_some() {
        ops::refuse_ahead(&context, next).await?;
    }
    let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
    let (mut items, mut bytes, mut read) = (Vec::new(), 0, 0);
    let mut has_next = true;
    while has_next && read < MOST_READ {
        let changes = ops::read(&context, audience, next, READ).await?;
        let is_last = changes.len() < READ as usize;
        read += changes.len();
        let (mut told, many) = (0, changes.len());
        for change in changes {
            if items.len() >= limit || bytes > MOST_BYTES {
                break;
            }
            told += 1;
            (next, known_at) = (change.sequence + 1, change.changed_at);
            let is_asked = resources.is_empty() || resources.contains(&change.resource);
            if is_asked && let Some(shown) = shown(&context, &by.caller, change).await? {
                bytes += shown.data.as_ref().map_or(0, |data| data.get().len());
                items.push(shown);
            }
        }
        if told < many {
            break;
        }
        has_next = !is_last;
    }
    if !has_next {
        known_at = now;
    }
    let end_cursor = Some(cursor::sign(signer, audience, next, known_at));
    Ok(answer::slice(&request, Slice { items, end_cursor, has_next }))
}

/// What callers may see of changes, for the live feed.
pub(super) fn shown_to_callers(context: &Shared) -> ShowChange {
    let context = context.clone();
    Rc::new(move |caller, change| {
        let context = context.clone();
        async move { shown(&context, &caller, change).await.map_err(|problem| problem.to_string()) }
            .boxed_local()
    })
}

/// A change as a caller may see it; `None`: not at all.
async fn shown(context: &Shared, caller: &Caller, change: Change) -> Result<Option<ShownChange>, Problem> {
    if change.kind == ChangeKind::Deleted {
        let may = ops::may_hear_of_deletion(caller, &change);
        return Ok(may.then(|| ShownChange::new(change, None)));
    }
    let data = data(context, caller, &change).await?;
    Ok(data.map(|data| ShownChange::new(change, Some(data))))
}

/// What was changed, in the form in which GET gives it to a caller; `None` if it is not given.
async fn data(context: &Shared, caller: &Caller, change: &Change) -> Result<Option<Box<RawValue>>, Problem> {
    let id = change.resource_id;
    let organization = change.organization_id.filter(|_| caller.is_operator());
    let by = &Scoped { caller: caller.clone(), organization };
    match change.resource {
        ChangedResource::Organization => {
            let found = crate::ops::organizations::find_organization(context, caller, id.into()).await;
            let found = visible(found)?;
            found.map(|(found, usage)| json(&organizations::shown(&found, usage))).transpose()
        }
        ChangedResource::Vehicle => {
            let found = crate::ops::vehicles::find_vehicle(context, by, id.into()).await;
            let Some((scope, vehicle)) = visible(found)? else { return Ok(None) };
            let shown = vehicles::shown(context, caller, &scope, vec![vehicle], vehicles::Shown::Plain(None))
                .await?
                .pop();
            shown.map(|shown| json(&shown)).transpose()
        }
        ChangedResource::Geofence => {
            let found = crate::ops::geofences::find_geofence(context, by, id.into()).await;
            let Some((_, found)) = visible(found)? else { return Ok(None) };
            json(&geofences::with_count(context, found).await?).map(Some)
        }
        ChangedResource::Tracker => shown_as(trackers::find_tracker(context, by, id.into()).await),
        ChangedResource::Driver => shown_as(drivers::find_driver(context, by, id.into(), false).await),
        // The list shows all of a user, also to those who may not ask for one by its id.
        ChangedResource::User => shown_as(users::find_listed_user(context, by, id).await),
        ChangedResource::SystemUser => shown_as(system_users::find_system_user(context, by, id).await),
        ChangedResource::ApiKey => shown_as(api_keys::find_api_key(context, by, id).await),
        ChangedResource::Alert => shown_as(alerts::find_alert(context, by, id.into()).await),
        ChangedResource::Assignment => shown_as(assignment_history::find_assignment(context, by, id).await),
    }
}

fn shown_as(found: Result<impl Serialize, OpError>) -> Result<Option<Box<RawValue>>, Problem> {
    visible(found)?.map(|found| json(&found)).transpose()
}

fn json(value: &impl Serialize) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value).map_err(|error| OpError::Internal(error.into()).into())
}
