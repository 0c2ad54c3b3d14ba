//! From items to fixes to vehicles: shared by the socket and `POST /v1/positions`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Attributes, AttributesByFix, Fix, Timestamp, TrackerId, VehicleId};
use waypost_actors::ports::Counts;
use waypost_actors::report::{Pending, ReportOutcome, Reporter};
use waypost_actors::tracking;

use super::adapters::units::kmh_per;
use super::decode::{BadItem, Item};
use super::ignored_members::{AlreadyWarned, IgnoredMember, Warning};
use super::pending;
use super::rejected::{Rejected, of_unknown};
use crate::auth::{Configured, Named, Reports, TrackerCredential};
use crate::clock;
use crate::domain::tracker::{SpeedUnit, TrackerConfig};
use crate::report_log::{NewRejected, ReportLog, Tally};

/// Pause before what could not be stored is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What our own items come by, over the socket or `POST /v1/positions`.
const OWN_PROTOCOL: &str = "waypost";

/// The path of one connection's items to their vehicles.
pub struct Intake {
    live: Live,
    reporter: Reporter,
    reports: Reports,
    log: ReportLog,
    /// The adapter or protocol that the items come by.
    input: &'static str,
    /// The unit that was taken for that of the items' speeds, where the client's words leave it open.
    assumed_speed: Option<SpeedUnit>,
    /// Whether a vehicle that is out of use costs only its own items, not the connection.
    is_item_by_item: bool,
    told: AlreadyWarned,
    /// What the client is still to be told of.
    warnings: Vec<Warning>,
}

/// Items that wait for their commit.
pub struct Batch {
    /// The fixes that were not refused at once.
    pending: Option<Pending>,
    /// Where each of them was in the request.
    places: Vec<ItemPosition>,
    is_item_by_item: bool,
    /// The refused items.
    pub rejected: Vec<Rejected>,
}

/// Where an item was: its index in the request, its number, and who reported it.
type ItemPosition = (usize, Option<i64>, Option<TrackerId>);

impl Batch {
    /// Waits for the commit of all fixes. After an error, none of them is promised.
    pub async fn committed(self) -> Result<(Counts, Vec<Rejected>), LiveError> {
        let Self { pending, places, is_item_by_item, mut rejected } = self;
        let Some(pending) = pending else { return Ok((Counts::default(), rejected)) };
        let ReportOutcome { counts, refused, out_of_use } = pending.outcome().await?;
        if !out_of_use.is_empty() && !is_item_by_item {
            return Err(LiveError::UnknownVehicle);
        }
        let mut reject = |place: usize, code, detail: &str| {
            let Some((index, seq, tracker)) = places.get(place).copied() else { return };
            rejected.push(Rejected { seq, index, code, detail: detail.to_owned(), tracker });
        };
        for place in out_of_use {
            reject(place, "notInstalled", "the tracker's vehicle is out of use");
        }
        for (place, _) in refused {
            // The reason is for operators only, because it may quote the database.
            reject(
                place,
                "quarantined",
                "it cannot be processed, and is kept for the operator of the server",
            );
        }
        rejected.sort_unstable_by_key(|rejected| rejected.index);
        Ok((counts, rejected))
    }
}

impl Intake {
    /// The intake of one connection.
    #[must_use]
    pub fn new(live: Live, reports: Reports, log: ReportLog) -> Self {
        let is_item_by_item = matches!(reports, Reports::Fleet(_));
        Self {
            reporter: live.reporter(),
            live,
            reports,
            log,
            input: OWN_PROTOCOL,
            assumed_speed: None,
            is_item_by_item,
            told: AlreadyWarned::default(),
            warnings: Vec::new(),
        }
    }

    /// Names the adapter or protocol that the items come by.
    #[must_use]
    pub fn by(self, input: &'static str) -> Self {
        Self { input, ..self }
    }

    /// Says which unit was taken for that of the speeds to come; a tracker that is set to another one has that.
    #[must_use]
    pub fn assuming(self, assumed_speed: Option<SpeedUnit>) -> Self {
        Self { assumed_speed, ..self }
    }

    /// For clients that learn only whether to discard their buffer: bad items are rejected one by one, and on a tracker's
    /// own connection the name inside an item is ignored.
    #[must_use]
    pub fn item_by_item(self) -> Self {
        Self { is_item_by_item: true, ..self }
    }

    /// For a long-lived connection: moves its vehicles to the calling thread.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { reporter: self.reporter.for_long(), ..self }
    }

    /// The config of the connection's own tracker; those of a fleet come from [`Intake::take_configs`].
    #[must_use]
    pub fn config(&self, now: Timestamp) -> Option<TrackerConfig> {
        match &self.reports {
            Reports::Own(own) => Some(own.config_at(now)),
            Reports::Fleet(_) => None,
        }
    }

    /// Sets for how many days the organization of the connection's own tracker keeps positions; fleets look it up
    /// anew.
    pub fn keep_positions(&mut self, days: Option<i64>) {
        if let Reports::Own(own) = &mut self.reports {
            Arc::make_mut(own).keep_days = days;
        }
    }

    /// Starts collecting configs for a fleet's trackers.
    pub fn tell_configs(&mut self) {
        if let Reports::Fleet(fleet) = &mut self.reports {
            fleet.tell_configs();
        }
    }

    /// Takes what is to be told of items that were stored without something.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Takes the configs to send to a fleet's trackers, collected as their items came in.
    pub fn take_configs(&mut self) -> Vec<Configured> {
        match &mut self.reports {
            Reports::Own(_) => Vec::new(),
            Reports::Fleet(fleet) => fleet.take_configs(),
        }
    }

    /// Tells the client what stood beside its items.
    pub fn warn(&mut self, ignored: Vec<IgnoredMember>) {
        self.told.warnings((None, None), ignored, &mut self.warnings);
    }

    /// Hands the items to their vehicles, in order, and waits until they are applied. `first`: its place in what was sent.
    pub async fn take(
        &mut self,
        first: usize,
        items: Vec<Result<Item<'_>, BadItem>>,
    ) -> Result<Batch, LiveError> {
        self.learn(items.iter().filter_map(named)).await?;
        let now = self.live.now();
        let (mut rejected, mut heard, mut attributes) = (Vec::new(), Vec::new(), AttributesByFix::default());
        let (mut report, mut places) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for (index, mut item) in (first..).zip(items) {
            if let Ok(Item { seq, ignored, .. }) = &mut item {
                self.told.warnings((Some(index), *seq), std::mem::take(ignored), &mut self.warnings);
            }
            let (seq, named) = (item.as_ref().map_or_else(|bad| bad.seq, |item| item.seq), named(&item));
            self.keep_pending(named, item.as_ref().ok(), now);
            let tracker = self.tracker(named);
            let whose = tracker.as_ref().ok().map(|tracker| tracker.tracker_id);
            let refused_of = whose.or_else(|| self.disabled(named));
            let item = item.map_err(|bad| ("invalidItem", bad.detail));
            let read = item.and_then(|item| fix(tracker?, item, self.assumed_speed, now));
            heard.extend(whose.map(|tracker| (tracker, read.is_ok())));
            match read {
                Ok((vehicle, fix, carried)) => {
                    places.push((index, seq, whose));
                    if let Some(carried) = carried {
                        attributes.add(vehicle, &fix, carried);
                    }
                    report.push((vehicle, fix));
                }
                Err((code, detail)) => {
                    rejected.push(Rejected { seq, index, code, detail, tracker: refused_of });
                }
            }
        }
        heard.dedup();
        self.log.heard(heard, now);
        let pending = match report.is_empty() {
            true => None,
            false => Some(self.reporter.report_all(report, attributes).await?),
        };
        Ok(Batch { pending, places, is_item_by_item: self.is_item_by_item, rejected })
    }

    /// Notes who was heard without a position.
    pub async fn hear(&mut self, contacts: &[Option<Cow<'_, str>>]) -> Result<(), LiveError> {
        self.learn(contacts.iter().flatten().map(|name| &**name)).await?;
        let now = self.live.now();
        contacts.iter().for_each(|name| self.keep_pending(name.as_deref(), None, now));
        let whose = contacts.iter().filter_map(|name| self.tracker(name.as_deref()).ok());
        self.log.heard(whose.map(|tracker| (tracker.tracker_id, false)), now);
        Ok(())
    }

    /// Notes who was heard and stores items, or refuses them for good, however long the store is away. For clients that
    /// wait for the answer; an error is the end of the server.
    pub async fn store(
        &mut self,
        contacts: &[Option<Cow<'_, str>>],
        items: Vec<Result<Item<'_>, BadItem>>,
    ) -> Result<(Counts, Vec<Rejected>), LiveError> {
        let mut is_shown = false;
        loop {
            let stored = async {
                if !contacts.is_empty() {
                    self.hear(contacts).await?;
                }
                self.take(0, items.clone()).await?.committed().await
            };
            match stored.await {
                // A vehicle that was deleted meanwhile has its fixes refused the next time.
                Err(LiveError::Unavailable | LiveError::UnknownVehicle) => {
                    if !std::mem::replace(&mut is_shown, true) {
                        self.show_provisional(items.clone()).await;
                    }
                    sleep(RETRY_AFTER).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Whom a name belongs to that was heard before.
    #[must_use]
    pub fn whose(&self, name: &str) -> Option<TrackerId> {
        self.tracker(Some(name)).ok().map(|tracker| tracker.tracker_id)
    }

    /// Counts what came by an adapter or protocol, and keeps what was refused of it for people. `raw`: what was sent.
    pub fn note(&self, tally: Tally, rejected: Vec<Rejected>, raw: &[u8]) {
        self.note_each(tally, rejected, |_| raw);
    }

    /// Like [`Self::note`], of several messages: `raw` gives what was sent as the item with an index.
    pub fn note_each<R: Into<Vec<u8>>>(
        &self,
        tally: Tally,
        rejected: Vec<Rejected>,
        raw: impl Fn(usize) -> R,
    ) {
        let (input, received_at) = (self.input, self.live.now());
        self.log.count(input, Tally { rejected: rejected.len() as u64, ..tally });
        if let Some((count, Rejected { code, detail, .. })) = of_unknown(&rejected) {
            tracing::info!(
                input,
                count,
                code,
                detail,
                "refused, of devices that are not known; the first reason"
            );
        }
        for Rejected { index, code, detail, tracker, .. } in rejected {
            let Some(tracker_id) = tracker else { continue };
            let (id, raw) = (clock::new_id(), raw(index).into());
            self.log.rejected(NewRejected { id, tracker_id, received_at, input, code, detail, raw });
        }
    }

    /// Shows provisional positions while the store is away, from items that are not taken now and will be sent again.
    pub async fn show_provisional(&self, items: Vec<Result<Item<'_>, BadItem>>) {
        if self.live.is_available() {
            return;
        }
        let now = self.live.now();
        let mut fixes: HashMap<VehicleId, Vec<Fix>> = HashMap::new();
        let known = |item: Item<'_>| {
            fix(self.tracker(item.tracker.as_deref()).ok()?, item, self.assumed_speed, now).ok()
        };
        let mut attributes = AttributesByFix::default();
        for (vehicle, fix, carried) in items.into_iter().flatten().filter_map(known) {
            if let Some(carried) = carried {
                attributes.add(vehicle, &fix, carried);
            }
            fixes.entry(vehicle).or_default().push(fix);
        }
        for (vehicle, fixes) in fixes {
            self.reporter.show_provisional(vehicle, fixes, attributes.clone()).await;
        }
    }

    /// Looks up the trackers that a fleet names and that are not cached yet.
    async fn learn<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<(), LiveError> {
        let Reports::Fleet(fleet) = &mut self.reports else { return Ok(()) };
        fleet.learn(names, self.live.now()).await.map_err(|error| {
            tracing::warn!(%error, "trackers cannot be looked up");
            LiveError::Unavailable
        })
    }

    /// Keeps what a device says that is no tracker of the fleet, for a user to make it one.
    fn keep_pending(&self, named: Option<&str>, item: Option<&Item<'_>>, now: Timestamp) {
        if let (Reports::Fleet(fleet), Some(name)) = (&self.reports, named)
            && matches!(fleet.find(name), Named::Unknown)
        {
            let device = (name, self.input);
            pending::keep(&self.log, fleet.organization_id(), device, item.into_iter(), now);
        }
    }

    /// The tracker of a fleet that an item names and that may not report: what is refused of it is kept for people.
    fn disabled(&self, named: Option<&str>) -> Option<TrackerId> {
        let (Reports::Fleet(fleet), Some(name)) = (&self.reports, named) else { return None };
        match fleet.find(name) {
            Named::Disabled(tracker) => Some(tracker),
            Named::Tracker(_) | Named::Unknown => None,
        }
    }

    /// The tracker that an item comes from: the connection's own, or the one that a fleet's item names.
    fn tracker<'s>(&'s self, named: Option<&str>) -> Result<&'s TrackerCredential, (&'static str, String)> {
        match (&self.reports, named) {
            (Reports::Own(own), None) => Ok(own),
            (Reports::Own(own), Some(_)) if self.is_item_by_item => Ok(own),
            (Reports::Own(own), Some(name)) if own.is_called(name) => Ok(own),
            (Reports::Own(_), Some(other)) => {
                Err(("unknownTracker", format!("{other:?} is not the tracker this token belongs to")))
            }
            (Reports::Fleet(_), None) => {
                Err(("trackerRequired", "trackerId or uniqueId must say whose position this is".to_owned()))
            }
            (Reports::Fleet(fleet), Some(name)) => match fleet.find(name) {
                Named::Tracker(tracker) => Ok(tracker),
                Named::Disabled(_) => Err(("trackerDisabled", format!("the tracker {name:?} is disabled"))),
                Named::Unknown => Err(("unknownTracker", format!("there is no tracker {name:?}"))),
            },
        }
    }
}

/// The tracker that an item names, if that can be read.
fn named<'i>(item: &'i Result<Item<'_>, BadItem>) -> Option<&'i str> {
    match item {
        Ok(item) => item.tracker.as_deref(),
        Err(bad) => bad.tracker.as_deref(),
    }
}

/// A tracker's item as a fix of the vehicle it was in, or why it is refused.
fn fix(
    tracker: &TrackerCredential,
    mut item: Item<'_>,
    assumed_speed: Option<SpeedUnit>,
    now: Timestamp,
) -> Result<(VehicleId, Fix, Option<Attributes>), (&'static str, String)> {
    let recorded_at = item.recorded_at.map_err(|detail| ("invalidTime", detail))?;
    let keep_from = tracker.keep_days.map(|days| now.plus_seconds(-86_400.0 * days as f64));
    if let (Some(assumed), Some(unit)) = (assumed_speed, tracker.speed_unit) {
        item.reported.speed_kmh =
            item.reported.speed_kmh.map(|speed| speed / kmh_per(assumed) * kmh_per(unit));
    }
    let fix = tracking::accept(&item.reported, recorded_at, now, keep_from)
        .map_err(|refusal| (refusal.code(), refusal.to_string()))?;
    let in_none =
        || format!("the tracker was in no vehicle at {recorded_at}, or its vehicle was deleted since");
    let vehicle = tracker.vehicle_at(recorded_at).ok_or_else(|| ("notInstalled", in_none()))?;
    Ok((vehicle, fix, item.attributes))
}
