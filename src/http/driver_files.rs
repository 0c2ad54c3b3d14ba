//! `/v1/drivers/{id}/documents/{documentId}/file`.

use actix_web::body::SizedStream;
use actix_web::dev::Payload;
use actix_web::http::header::{self, ContentEncoding};
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, stream};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::answer::Answer;
use super::drivers::shown;
use super::problem::Problem;
use super::query::Query;
use super::receive::receive;
use super::request::{InOrganization, Matching, PathIds, Shared, SignedCaller};
use crate::large_bodies::Turn;
use crate::ops::driver_files as ops;
use crate::ops::drivers::OwnDriver;
use crate::ops::error::OpError;
use crate::ops::scoped::Scoped;

/// A body as it came, whatever it is.
#[derive(Debug)]
pub struct FileBody {
    content: Bytes,
    _turn: Option<Turn>,
}

/// The bytes of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "described only")]
pub struct FileContent(Vec<u8>);

impl FromRequest for FileBody {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        async move {
            let (content, turn) = receive(&request, payload).await?.make(Ok).await?;
            Ok(Self { content, _turn: turn })
        }
        .boxed_local()
    }
}

/// Upload the file of a driver's document, in place of one that there was: a PDF, JPEG or PNG of up to 10 MiB, told by its
/// content. It belongs to the organization's own profile of the driver, as the document does, and goes with it. The files of an
/// organization have 1 GiB together at most.
#[utoipa::path(put, path = "/v1/drivers/{id}/documents/{documentId}/file", tag = "drivers",
    params(("id" = DriverId, Path), ("documentId" = Uuid, Path), InOrganization),
    request_body(content = FileContent, content_type = "application/octet-stream"),
    responses((status = 200, body = OwnDriver, description = "The driver"),
        (status = 409, description = "fileLimitReached")))]
pub async fn put_document_file(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathIds(driver, document): PathIds<DriverId, Uuid>,
    query: Query,
    Matching(if_match): Matching,
    body: FileBody,
) -> Answer {
    let by = query.scoped(caller)?;
    Ok(shown(&ops::put_file(&context, &by, (driver, document), &if_match, &body.content).await?))
}

/// Download the file of a driver's document, to be saved: its `mediaType` is in the document.
#[utoipa::path(get, path = "/v1/drivers/{id}/documents/{documentId}/file", tag = "drivers",
    params(("id" = DriverId, Path), ("documentId" = Uuid, Path), InOrganization),
    responses((status = 200, description = "The file", body = FileContent, content_type = "application/octet-stream")))]
pub async fn get_document_file(
    context: Shared,
    PathIds(driver, document): PathIds<DriverId, Uuid>,
    by: Scoped,
) -> Answer {
    let (scope, file) = ops::find_file(&context, &by, (driver, document)).await?;
    // One part after the other, as fast as the client takes them.
    let parts = stream::try_unfold(0, move |part| {
        let context = context.clone();
        async move {
            let content = ops::file_part(&context, &scope, file.id, part).await?;
            Ok::<_, OpError>(content.map(|content| (Bytes::from(content), part + 1)))
        }
    });
    let name = format!("attachment; filename=\"{document}.{}\"", file.media_type.ending());
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header(header::ContentType::octet_stream())
        .insert_header((header::CONTENT_DISPOSITION, name));
    // It is packed as it is.
    answer.insert_header(ContentEncoding::Identity);
    Ok(answer.body(SizedStream::new(file.bytes.unsigned_abs(), parts)))
}

/// Remove the file of a driver's document. The document stays.
#[utoipa::path(delete, path = "/v1/drivers/{id}/documents/{documentId}/file", tag = "drivers",
    params(("id" = DriverId, Path), ("documentId" = Uuid, Path), InOrganization),
    responses((status = 204, description = "Removed")))]
pub async fn delete_document_file(
    context: Shared,
    PathIds(driver, document): PathIds<DriverId, Uuid>,
    Matching(if_match): Matching,
    by: Scoped,
) -> Answer {
    ops::delete_file(&context, &by, (driver, document), &if_match).await?;
    Ok(HttpResponse::NoContent().finish())
}
