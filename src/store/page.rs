//! The end of a paged query.

use super::sql::Stmt;
use crate::domain::paging::{PageRequest, Sort};

/// The sort keys of a list, by the names of the interface, with their columns.
pub(super) type Columns = &'static [(&'static str, &'static str)];

/// Adds order and limits. Ids break ties, so that no row is on two pages.
pub(super) fn paged<'c>(stmt: Stmt<'c>, columns: Columns, sort: &Sort, page: PageRequest) -> Stmt<'c> {
    let stmt = sort.0.iter().fold(stmt.push(" order by "), |stmt, key| {
        let column = columns.iter().find(|(name, _)| *name == key.name).map(|(_, column)| *column);
        let direction = if key.is_descending { " desc, " } else { ", " };
        match column {
            Some(column) => stmt.push(column).push(direction),
            None => stmt,
        }
    });
    stmt.push("id limit ").push_bind(page.limit).push(" offset ").push_bind(page.offset())
}
