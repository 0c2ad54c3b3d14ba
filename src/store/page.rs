//! Paged queries: a page of rows, and the number of rows on all pages.

use super::sql::{Db, Record, Result, Stmt};
use crate::domain::paging::{Page, PageRequest, Sort};

/// The sort keys of a list, by their names in the interface, with their columns.
pub(super) type Columns = &'static [(&'static str, &'static str)];

/// A list: the beginnings of its two statements, and its sort keys.
pub(super) struct List {
    /// `select … from table `
    pub(super) select: &'static str,
    /// `select count(*) from table `
    pub(super) count: &'static str,
    /// Its sort keys.
    pub(super) columns: Columns,
}

impl List {
    /// A page of the rows that remain after `narrowed`, which adds the same conditions to both statements.
    pub(super) async fn page<'c, R: Record>(
        &self,
        db: &'c Db,
        narrowed: impl Fn(Stmt<'c>) -> Stmt<'c>,
        sort: &Sort,
        page: PageRequest,
    ) -> Result<Page<R>> {
        let rows = paged(narrowed(db.read().sql(self.select)), self.columns, sort, page);
        let items = rows.all().await?;
        let total = narrowed(db.read().sql(self.count)).scalar().await?;
        Ok(Page { items, total })
    }
}

/// Adds order and limits.
pub(super) fn paged<'c>(stmt: Stmt<'c>, columns: Columns, sort: &Sort, page: PageRequest) -> Stmt<'c> {
    let stmt = ordered(stmt, columns, sort);
    stmt.push(" limit ").push_bind(page.limit).push(" offset ").push_bind(page.offset())
}

/// Adds the order. Ids break ties, so that no row is on two pages.
pub(super) fn ordered<'c>(stmt: Stmt<'c>, columns: Columns, sort: &Sort) -> Stmt<'c> {
    let stmt = sort.0.iter().fold(stmt.push(" order by "), |stmt, key| {
        let column = columns.iter().find(|(name, _)| *name == key.name).map(|(_, column)| *column);
        let direction = if key.is_descending { " desc, " } else { ", " };
        match column {
            Some(column) => stmt.push(column).push(direction),
            None => stmt,
        }
    });
    stmt.push("id")
}
