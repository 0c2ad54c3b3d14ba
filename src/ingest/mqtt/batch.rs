//! Messages that are stored together, so that many devices share a commit.

use std::borrow::Cow;
use std::collections::HashSet;

use waypost_actors::live::LiveError;
use waypost_actors::model::Timestamp;

use super::message::{Message, parse, request};
use crate::config::MqttInput;
use crate::ingest::adapters::{self, Request};
use crate::ingest::decode::{BadFrame, BadItem, Item};
use crate::ingest::protocol::MAX_ITEMS;
use crate::ingest::{Intake, Rejected};
use crate::report_log::Tally;

/// What some messages say.
#[derive(Default)]
pub(super) struct Batch {
    requests: Vec<Request>,
    items: Vec<Result<Item<'static>, BadItem>>,
    /// The message of each item.
    from: Vec<usize>,
    contacts: Vec<Option<Cow<'static, str>>>,
    /// Messages that cannot be read.
    unreadable: Vec<(usize, String)>,
}

impl Batch {
    pub(super) fn read(input: &MqttInput, messages: &[Message], now: Timestamp) -> Self {
        let mut batch = Self::default();
        let Some(adapter) = adapters::named(input.payload.as_str()) else { return batch };
        for (at, Message { publish, .. }) in messages.iter().enumerate() {
            let request = request(input, &publish.topic, publish.payload.clone(), now);
            match parse(adapter, &request) {
                Ok(parsed) => {
                    batch.from.resize(batch.from.len() + parsed.items.len(), at);
                    batch.items.extend(parsed.items);
                    batch.contacts.extend(parsed.contacts);
                }
                Err(BadFrame(detail)) => batch.unreadable.push((at, detail)),
            }
            batch.requests.push(request);
        }
        // A device that sends what cannot be read counts as heard all the same, where the topic says which one it is.
        let bad = batch.items.iter().zip(&batch.from).filter(|(item, _)| item.is_err()).map(|(_, at)| *at);
        let bad: Vec<usize> = bad.chain(batch.unreadable.iter().map(|(at, _)| *at)).collect();
        batch
            .contacts
            .extend(bad.into_iter().filter_map(|at| name(&batch.requests[at])).map(|name| Some(name.into())));
        batch
    }

    /// Stores everything, however long the store is away, and keeps what is refused for good; returns of how many messages it
    /// refused anything.
    pub(super) async fn store(self, intake: &mut Intake) -> Result<usize, LiveError> {
        let Self { requests, items, from, contacts, unreadable } = self;
        intake.store(&contacts, Vec::new()).await?;
        let mut tally = Tally { contacts: contacts.len() as u64, ..Tally::default() };
        let unreadable = unreadable.into_iter().map(|(at, detail)| {
            (at, Rejected { seq: None, index: 0, code: "unreadable", detail, tracker: None })
        });
        let mut rejected: Vec<(usize, Rejected)> = unreadable.collect();
        // In slices for which there is always room at once.
        for (slice, from) in items.chunks(MAX_ITEMS).zip(from.chunks(MAX_ITEMS)) {
            let (counts, refused) = intake.store(&[], slice.to_vec()).await?;
            tally.stored += counts.stored;
            tally.duplicates += counts.duplicates;
            rejected
                .extend(refused.into_iter().filter_map(|refused| Some((*from.get(refused.index)?, refused))));
        }
        let of_message = |(at, refused): (usize, Rejected)| {
            let whose = || intake.whose(&name(&requests[at])?);
            Rejected { index: at, tracker: refused.tracker.or_else(whose), ..refused }
        };
        let rejected: Vec<Rejected> = rejected.into_iter().map(of_message).collect();
        let messages: HashSet<usize> = rejected.iter().map(|refused| refused.index).collect();
        intake.note_each(tally, rejected, |at| requests[at].raw());
        Ok(messages.len())
    }
}

/// The device as the topic names it.
fn name(request: &Request) -> Option<String> {
    let (user, device) = request.limit_names.as_ref()?;
    Some(format!("{user}/{device}"))
}
