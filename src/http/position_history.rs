//! `GET /v1/vehicles/{id}/positions`.

use actix_web::HttpRequest;
use waypost_actors::model::{Timestamp, VehicleId};

use super::answer::{self, Answer, SliceOf};
use super::query::{Query, flag, instant};
use super::request::{InOrganization, PathId, Shared, SignedCaller};
use crate::domain::position::{HistoryRequest, StoredPosition};
use crate::ops::position_history as ops;

/// Where a vehicle was, by the device's clock. Its history stays when it is deleted.
///
/// An answer may have fewer than `limit` fixes, or none, and `hasNextPage` all the same: after about 20,000 that are left out because
/// they are not evaluated it ends, and `endCursor` goes on behind them.
///
/// A system user needs the scope `positions:read` or `events:read`; `fuel` takes `fuel:read` as well.
#[utoipa::path(get, path = "/v1/vehicles/{id}/positions", tag = "vehicles",
    params(("id" = VehicleId, Path),
        ("from" = Option<Timestamp>, Query, description = "recordedAt from here, inclusive"),
        ("to" = Option<Timestamp>, Query, description = "recordedAt up to here, exclusive"),
        ("quarantined" = Option<bool>, Query, description = "true: those that are not evaluated too, each with the reason"),
        ("sort" = Option<String>, Query, description = "recordedAt (default) or -recordedAt"),
        InOrganization,
        ("limit" = Option<i64>, Query, description = "Default 200, at most 1,000"),
        ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<StoredPosition>, description = "A slice of the history")))]
pub async fn list_positions(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<VehicleId>,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let asked = HistoryRequest {
        from: query.one("from", instant),
        to: query.one("to", instant),
        with_quarantined: query.one("quarantined", flag).unwrap_or(false),
        is_newest_first: query.order(&[("recordedAt", false), ("-recordedAt", true)]).unwrap_or(false),
    };
    let slice = query.long_slice();
    let by = query.scoped(caller)?;
    let found = ops::list_positions(&context, &by, id, &asked, &slice).await?;
    Ok(answer::slice(&request, found))
}
