//! Stored data is changed in few places: `ops/change.rs` alone begins a transaction of edits, which comes with the
//! audit, the answer of an Idempotency-Key, the outbox and the live core. Beside it stand the transactions of who
//! somebody is (docs/decisions/0016) and of the outbox, each file by name.

use crate::Violation;
use crate::source::Source;

/// The file that owns the transaction of edits.
const OWNER: &str = "src/ops/change.rs";
/// Files that begin transactions of their own: links and sessions, which audit by `auth/entry.rs`, keys, the first
/// start, and the post.
const OTHERS: [&str; 5] = [
    "src/auth/keys.rs",
    "src/auth/redeem.rs",
    "src/auth/session.rs",
    "src/auth/setup.rs",
    "src/mail/post.rs",
];
/// What a change does for its operation, so that no operation can forget the rest.
const ITS_OWN: [&str; 6] = [
    "db.begin(",
    "audit::insert(",
    "outbox::put(",
    "outbox::put_notice(",
    "idempotency::keep(",
    "publish::commit(",
];

/// Code that does itself what a change is for.
pub(crate) fn beside_the_change(source: &Source) -> Vec<Violation> {
    let path = source.path.as_str();
    let is_ours = path.starts_with("src/") && !path.starts_with("src/store/");
    if !is_ours || path == OWNER || OTHERS.contains(&path) {
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
    fn who_does_it_by_itself_is_found() {
        let wrong = [
            "fn a() { let tx = context.db.begin(); }",
            "fn a() { audit::insert(on, entry); }",
            "fn a() { outbox::put(tx, mail, now); }",
            "fn a() { super::idempotency::keep(tx, 200, answer); }",
            "fn a() { publish::commit(context, tx); }",
        ];
        for text in wrong {
            for path in
                ["src/ops/drivers.rs", "src/http/drivers.rs", "src/auth/ticket.rs", "src/feed/session.rs"]
            {
                assert_eq!(broken(path, text), 1, "{path}: {text}");
            }
            for path in
                ["src/ops/change.rs", "src/auth/session.rs", "src/store/audit.rs", "tests/api/audit.rs"]
            {
                assert_eq!(broken(path, text), 0, "{path}: {text}");
            }
        }
        let right = "fn a() { Change::begin(context, None, None); out_of_service::begin(on); }";
        assert_eq!(broken("src/ops/drivers.rs", right), 0);
    }
}
