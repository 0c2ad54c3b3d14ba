//! What the writer knows beyond what is stored.

use super::unsaved::{Plan, Unsaved};

/// What the writer knows beyond what is stored; held from the beginning of a commit to its end.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// `None` until the log was read.
    pub(super) unsaved: Option<Unsaved>,
    /// A commit of which nobody knows whether it is stored: its number, and what it does.
    pub(super) doubt: Option<(i64, Plan)>,
    /// The log holds nothing from before this commit.
    pub(super) log_from: i64,
}

impl Memory {
    pub(super) fn unsaved(&mut self) -> &mut Unsaved {
        self.unsaved.get_or_insert_default()
    }

    /// Whether the commit in doubt is stored, once the newest one that is stored is known.
    pub(super) fn settle_doubt(&mut self, newest: i64) {
        if let Some((number, plan)) = self.doubt.take()
            && number <= newest
        {
            self.unsaved().committed(plan, number);
        }
    }
}
