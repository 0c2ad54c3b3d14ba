//! Stored data is changed in one way: `ops/change.rs` alone begins a transaction of edits, which comes with the
//! audit, the answer of an Idempotency-Key, the outbox and the live core.

use crate::Violation;
use crate::source::Source;

/// The file that owns the transaction.
const OWNER: &str = "src/ops/change.rs";
/// What a change does for its operation, so that no operation can forget the rest.
const ITS_OWN: [&str; 6] = [
    ".begin(",
    "audit::insert(",
    "outbox::put(",
    "outbox::put_notice(",
    "idempotency::keep(",
    "publish::commit(",
];

/// Operations that do themselves what a change is for.
pub(crate) fn beside_the_change(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with("src/ops/") || source.path == OWNER {
        return Vec::new();
    }
    let done = |line: &str| ITS_OWN.into_iter().find(|call| line.contains(call));
    let lines = source.text.lines().enumerate();
    let told = lines.filter_map(|(line, text)| {
        let what = format!("{}…) is for {OWNER} to call", done(text)?);
        Some(Violation { path: source.path.clone(), line: line + 1, what })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> usize {
        beside_the_change(&Source::parse(path, text)).len()
    }

    #[test]
    fn an_operation_that_does_it_by_itself_is_found() {
        let wrong = [
            "fn a() { let tx = context.db.begin(); }",
            "fn a() { audit::insert(on, entry); }",
            "fn a() { outbox::put(tx, mail, now); }",
            "fn a() { super::idempotency::keep(tx, 200, answer); }",
            "fn a() { publish::commit(context, tx); }",
        ];
        for text in wrong {
            assert_eq!(broken("src/ops/drivers.rs", text), 1, "{text}");
            assert_eq!(broken("src/ops/change.rs", text), 0, "{text}");
            assert_eq!(broken("src/auth/session.rs", text), 0, "{text}");
        }
        let right = "fn a() { Change::begin(context, None, None); out_of_service::begin(on); }";
        assert_eq!(broken("src/ops/drivers.rs", right), 0);
    }
}
