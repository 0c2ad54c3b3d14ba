//! Successful answers: single resources with their ETag, lists with their pagination and links.

use std::convert::Infallible;
use std::future::ready;

use actix_web::body::{MessageBody, SizedStream};
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;
use crate::domain::paging::{Page, PageRequest, Slice};
use crate::ops::etag;

/// The result of a handler.
pub type Answer = Result<HttpResponse, Problem>;

/// Bytes of one piece of an answer that is not sent at once.
pub(super) const PIECE_BYTES: usize = 32 * 1024;

/// A body that is sent in pieces as its reader takes them. A body of one piece is copied whole for each of its readers,
/// however slow they are.
pub(super) fn in_pieces(content: Bytes) -> impl MessageBody + 'static {
    let bytes = content.len() as u64;
    let pieces = stream::unfold(content, |mut rest| {
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        ready((!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), rest)))
    });
    SizedStream::new(bytes, pieces)
}

/// Where a page stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PagePagination {
    /// From 1.
    page: i64,
    /// Items per page; what was asked for, at most 200, of vehicles 1,000.
    limit: i64,
    /// Items on all pages.
    total_items: i64,
    /// Pages.
    total_pages: i64,
}

/// Where a slice ends.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CursorPagination {
    /// Send it as `after` for what follows, now or later; null only for a list that is empty from
    /// its beginning.
    end_cursor: Option<String>,
    /// Whether something follows now.
    has_next_page: bool,
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageOf<T> {
    /// Its items.
    pub data: Vec<T>,
    /// Where it stands.
    pub pagination: PagePagination,
}

/// A slice of a list that goes on.
#[derive(Debug, Serialize, ToSchema)]
pub struct SliceOf<T> {
    /// Its items.
    pub data: Vec<T>,
    /// Where it ends.
    pub pagination: CursorPagination,
}

/// 200 with a resource; the ETag is computed from `tagged`, the part of it that is not derived.
pub fn ok(tagged: &impl Serialize, body: &impl Serialize) -> HttpResponse {
    with_etag(HttpResponse::Ok(), tagged).json(body)
}

/// 200 with a resource that has derived members, which change without it.
pub fn with_derived(tagged: &impl Serialize, body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::ETAG, etag::shown(tagged, body))).json(body)
}

/// 201 with a resource and its location.
pub fn created(location: String, tagged: &impl Serialize, body: &impl Serialize) -> HttpResponse {
    let mut answer = with_etag(HttpResponse::Created(), tagged);
    answer.insert_header((header::LOCATION, location)).json(body)
}

fn with_etag(mut answer: HttpResponseBuilder, tagged: &impl Serialize) -> HttpResponseBuilder {
    answer.insert_header((header::ETAG, etag::of(tagged)));
    answer
}

/// A page's pagination.
#[must_use]
pub fn pagination<T>(page: &Page<T>, request: PageRequest) -> PagePagination {
    PagePagination {
        page: request.page,
        limit: request.limit,
        total_items: page.total,
        total_pages: (page.total + request.limit - 1) / request.limit,
    }
}

impl PagePagination {
    /// The `Link` header of the page.
    #[must_use]
    pub fn link(&self, request: &HttpRequest) -> Option<HeaderValue> {
        let to = |page: i64, rel: &str| {
            let target = with_parameter(request, "page", &page.to_string());
            format!("<{target}>; rel=\"{rel}\"")
        };
        let mut links = vec![to(1, "first")];
        if self.page > 1 {
            links.push(to(self.page - 1, "prev"));
        }
        if self.page < self.total_pages {
            links.push(to(self.page + 1, "next"));
        }
        links.push(to(self.total_pages.max(1), "last"));
        HeaderValue::try_from(links.join(", ")).ok()
    }
}

/// 200 with a page.
pub fn page<T, U: Serialize>(
    request: &HttpRequest,
    asked: PageRequest,
    page: Page<T>,
    shown: impl FnMut(T) -> U,
) -> HttpResponse {
    let pagination = pagination(&page, asked);
    let link = pagination.link(request);
    let body = PageOf { data: page.items.into_iter().map(shown).collect(), pagination };
    linked(HttpResponse::Ok(), link).json(body)
}

/// A slice's pagination and `Link` header.
#[must_use]
pub fn cursor_pagination<T>(
    request: &HttpRequest,
    slice: &Slice<T>,
) -> (CursorPagination, Option<HeaderValue>) {
    let next = slice.end_cursor.as_ref().filter(|_| slice.has_next);
    let link = next.and_then(|cursor| {
        HeaderValue::try_from(format!("<{}>; rel=\"next\"", with_parameter(request, "after", cursor))).ok()
    });
    let pagination = CursorPagination { end_cursor: slice.end_cursor.clone(), has_next_page: slice.has_next };
    (pagination, link)
}

/// 200 with a slice.
pub fn slice<T: Serialize>(request: &HttpRequest, slice: Slice<T>) -> HttpResponse {
    let (pagination, link) = cursor_pagination(request, &slice);
    linked(HttpResponse::Ok(), link).json(SliceOf { data: slice.items, pagination })
}

/// Adds a `Link` header.
pub fn linked(mut answer: HttpResponseBuilder, link: Option<HeaderValue>) -> HttpResponseBuilder {
    if let Some(link) = link {
        answer.insert_header((header::LINK, link));
    }
    answer
}

/// The request's own URL with one parameter set.
fn with_parameter(request: &HttpRequest, name: &str, value: &str) -> String {
    let own = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(name);
    let mut pairs: Vec<String> = request.query_string().split('&').filter(own).map(str::to_owned).collect();
    pairs.push(format!("{name}={value}"));
    format!("{}?{}", request.path(), pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;

    #[actix_web::test]
    async fn a_large_body_comes_in_small_pieces() {
        for bytes in [0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 1] {
            let content: Bytes = (0..bytes).map(|at| at as u8).collect();
            let mut body = pin!(in_pieces(content.clone()));
            let mut sent = Vec::new();
            while let Some(piece) = poll_fn(|cx| body.as_mut().poll_next(cx)).await {
                let piece = piece.unwrap_or_else(|_| panic!("nothing can fail"));
                assert!((1..=PIECE_BYTES).contains(&piece.len()));
                sent.extend_from_slice(&piece);
            }
            assert_eq!(content, sent);
        }
    }
}
