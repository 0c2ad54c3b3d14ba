//! Raw data: the whole fuel log of vehicles over a period, a page at a time.

use futures_util::stream::{self, BoxStream, StreamExt};

use super::error::OpError;
use super::fuel_pages::{Pages, PeriodRequest};
use super::scoped::Scoped;
use crate::context::Context;
use crate::domain::fuel::FuelEntry;

/// The longest period of one answer, in days.
const MAX_DAYS: usize = 31;

/// The pages of a period. The first is read before this returns, so that a refusal still gets an answer of its own; a
/// later error ends the stream.
///
/// Each page is read by a task of its own, which returns its connection even if the page is never asked for.
pub async fn fuel_raw_data(
    context: &Context,
    by: &Scoped,
    asked: PeriodRequest,
) -> Result<BoxStream<'static, Result<Vec<FuelEntry>, OpError>>, OpError> {
    let period = asked.check(context, by, MAX_DAYS).await?;
    let mut pages = Pages::new(&context.db, period);
    let first = pages.next().await?;
    let rest = stream::try_unfold(pages, |mut pages| async {
        let read = tokio::spawn(async move { (pages.next().await, pages) });
        let (page, pages) = read.await.map_err(|error| OpError::Internal(error.into()))?;
        Ok(page?.map(|page| (page, pages)))
    });
    Ok(stream::iter(first).map(Ok).chain(rest).boxed())
}
