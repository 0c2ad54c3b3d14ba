//! One change to stored data: its transaction, its actor, its time, and the effects of its commit.
//!
//! An operation begins a change, writes through it, audits what it did, and commits with the proof of that and with
//! its answer. A change without its audit row, or whose answer is not kept for the request's Idempotency-Key, does
//! not compile. What is audited is also in the log of changes, for those who follow it. The live core, the outbox and
//! open sockets are informed after the commit, even if the caller is gone by then.

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost_actors::model::{
    Change as LoggedChange, ChangeKind, ChangedResource, OrganizationId, Timestamp, VehicleId,
};

use super::audited::Audited;
use super::error::OpError;
use super::publish::{self, AfterCommit, LiveResource};
use super::scoped::Scoped;
use super::{idempotency, request_context};
use crate::auth::{Action, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::account::Role;
use crate::domain::assignment::Assignment;
use crate::domain::audit::{AuditAction, AuditEntry, AuditResource, changed_members};
use crate::sessions::Sessions;
use crate::store::assignment::{self, Ending, Open};
use crate::store::change_log::DriverRevision;
use crate::store::outbox::{self, Notice, OutgoingMail};
use crate::store::sql::{On, Tx};
use crate::store::{audit, card_assignment, change_log};

/// The audited role of an actor who is not signed in.
const NOBODY: &str = "anonymous";

/// Seconds of a day.
const DAY_SECONDS: f64 = 86_400.0;

/// A change under way.
#[must_use = "nothing of a change is stored before its commit"]
pub(super) struct Change<'a> {
    context: &'a Context,
    caller: Option<&'a Caller>,
    scope: Option<OrgScope>,
    tx: Tx,
    now: Option<Timestamp>,
    live_resources: Vec<(OrgScope, LiveResource)>,
    /// For the log of changes, without their numbers.
    changes: Vec<LoggedChange>,
    /// Times whose records may have another driver now.
    driven: Vec<DriverRevision>,
    after: AfterCommit,
}

/// Proof that a change was audited, which its commit requires.
pub(super) struct Recorded(());

impl<'a> Change<'a> {
    /// Begins a change to an organization's data; fails unless the caller may do `action`.
    pub(super) async fn begin(
        context: &'a Context,
        by: &'a Scoped,
        action: Action,
    ) -> Result<(Self, OrgScope), OpError> {
        let scope = by.scope(context, action).await?;
        Ok((Self::within(context, Some(&by.caller), Some(scope)).await?, scope))
    }

    /// Begins a change in a known scope. `caller` is `None` for a sign-up or the link of a letter. `scope` is `None`
    /// for what belongs to the platform or names its owner itself.
    pub(super) async fn within(
        context: &'a Context,
        caller: Option<&'a Caller>,
        scope: Option<OrgScope>,
    ) -> Result<Self, OpError> {
        let tx = context.db.begin().await?;
        let (live_resources, after) = (Vec::new(), AfterCommit::default());
        Ok(Self {
            context,
            caller,
            scope,
            tx,
            now: None,
            live_resources,
            changes: Vec::new(),
            driven: Vec::new(),
            after,
        })
    }

    /// Sets its instant to the one as of which its body was read.
    pub(super) fn at(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }

    /// The instant of the change, fixed by the first call. Best called once the rows are locked, so that of two
    /// changes to one thing the second is later.
    pub(super) fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| self.context.clock.now())
    }

    /// A handle for one statement in the change's transaction.
    pub(super) fn on(&mut self) -> On<'_> {
        self.tx.on()
    }

    /// Its transaction, for what needs several statements.
    pub(super) fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    /// Logs that a thing of the change's organization looks different now because of what was done to another one.
    pub(super) fn affects(&mut self, resource: ChangedResource, resource_id: Uuid) {
        self.log(resource, resource_id, ChangeKind::Updated);
    }

    /// Logs what was done to an assignment, of which both its driver and its vehicle tell.
    pub(super) fn assigns(&mut self, assignment: &Assignment, kind: ChangeKind) {
        self.log(ChangedResource::Assignment, assignment.id, kind);
        self.affects(ChangedResource::Driver, assignment.driver_id.0);
        self.affects(ChangedResource::Vehicle, assignment.vehicle_id.0);
    }

    /// Queues a revision of the drivers recorded in this span, which the writer carries out; an open span ends now. Records
    /// made later take the assignments as they are then.
    pub(super) fn revise_drivers(
        &mut self,
        assignment: &Assignment,
        (from, to): (Timestamp, Option<Timestamp>),
    ) {
        let (assignment_id, vehicle_id) = (assignment.id, assignment.vehicle_id);
        // Fixes may be a little ahead of the clock.
        let to = to.unwrap_or_else(|| self.now().plus_seconds(DAY_SECONDS));
        self.driven.push(DriverRevision { assignment_id, vehicle_id, from, to });
    }

    /// Ends open assignments, and logs that.
    pub(super) async fn end_assignments(
        &mut self,
        scope: &OrgScope,
        which: Open,
        ending: Ending,
    ) -> Result<(), OpError> {
        let now = self.now();
        for ended in assignment::end(self.tx(), scope, which, ending, now).await? {
            self.assigns(&ended, ChangeKind::Updated);
            self.revise_drivers(&ended, (ending.at.max(ended.started_at), None));
        }
        Ok(())
    }

    /// Takes assignments that cards made out of the time of one that somebody makes or corrects, and logs that. The track writer
    /// makes anew what is left of them. Returns until when they lasted; `None`: one did still.
    pub(super) async fn make_way(
        &mut self,
        scope: &OrgScope,
        vehicle: VehicleId,
        (from, to): (Timestamp, Option<Timestamp>),
    ) -> Result<Option<Timestamp>, OpError> {
        let now = self.now();
        let mut until = Some(from);
        for (made, kind) in card_assignment::make_way(self.tx(), scope, vehicle, (from, to), now).await? {
            self.assigns(&made, kind);
            until = until.zip(made.ended_at).map(|(until, end)| until.max(end));
        }
        Ok(until)
    }

    /// Logs a change to a thing of the change's organization that has no audit entry of its own.
    pub(super) fn log(&mut self, resource: ChangedResource, resource_id: Uuid, kind: ChangeKind) {
        let organization_id = self.scope.map(|scope| scope.organization_id());
        let changed_at = self.now();
        let change = LoggedChange { sequence: 0, organization_id, resource, resource_id, kind, changed_at };
        self.changes.push(change);
    }

    /// Logs that a vehicle was deleted with its organization, and takes it out of the live core after the commit.
    pub(super) fn retires(&mut self, scope: &OrgScope, vehicle: VehicleId) {
        self.log(ChangedResource::Vehicle, vehicle.0, ChangeKind::Deleted);
        self.live_resources.push((*scope, LiveResource::Vehicle(vehicle)));
    }

    /// Puts a letter into the outbox.
    pub(super) async fn send(&mut self, mail: &OutgoingMail) -> Result<(), OpError> {
        let now = self.now();
        self.after.wakes_post = true;
        Ok(outbox::put(&mut self.tx, mail, now.into()).await?)
    }

    /// Puts a letter without a link into the outbox. `letter`: recipient, greeting, what it is about.
    pub(super) async fn send_notice(
        &mut self,
        notice: Notice,
        subject: Uuid,
        letter: (&str, &str, &str),
    ) -> Result<(), OpError> {
        let now = self.now();
        self.after.wakes_post = true;
        Ok(outbox::put_notice(&mut self.tx, notice, subject, letter, now.into()).await?)
    }

    /// Runs `tell` on the open sockets after the commit, to end them or send them something.
    pub(super) fn tell_sessions(&mut self, tell: impl FnOnce(&Sessions) + Send + 'static) {
        self.after.sessions.push(Box::new(tell));
    }

    /// Tells the deliveries to webhooks, after the commit, that they, or what they may be sent, have changed.
    pub(super) fn tell_webhooks(&mut self) {
        let webhooks = self.context.webhooks.clone();
        self.tell_sessions(move |_| webhooks.changed());
    }

    /// Audits that something was created. Resources hold no secrets, so all of it may be recorded.
    pub(super) async fn created<T: Audited + Serialize>(&mut self, after: &T) -> Result<Recorded, OpError> {
        self.record(after, AuditAction::Create, None, Some(json!(after))).await
    }

    /// Audits which members of something changed.
    pub(super) async fn updated<T: Audited + Serialize>(
        &mut self,
        before: &T,
        after: &T,
    ) -> Result<Recorded, OpError> {
        self.done(after, AuditAction::Update, before, after).await
    }

    /// Audits that something was deleted, with its last state.
    pub(super) async fn deleted<T: Audited + Serialize>(&mut self, before: &T) -> Result<Recorded, OpError> {
        self.record(before, AuditAction::Delete, Some(json!(before)), None).await
    }

    /// Audits that all that was recorded of something goes, and has that done after the commit. `before`: its last state,
    /// unless it was deleted before.
    pub(super) async fn purged(
        &mut self,
        what: &impl Audited,
        before: Option<Value>,
    ) -> Result<Recorded, OpError> {
        self.after.wakes_purge = true;
        self.record(what, AuditAction::Delete, before, Some(json!({ "purge": true }))).await
    }

    /// Audits an action on `what` that changed members.
    pub(super) async fn done(
        &mut self,
        what: &impl Audited,
        action: AuditAction,
        before: &impl Serialize,
        after: &impl Serialize,
    ) -> Result<Recorded, OpError> {
        let (before, after) = changed_members(&json!(before), &json!(after));
        self.record(what, action, Some(before), Some(after)).await
    }

    /// Audits an action on `what` that has no members to show, such as a new secret.
    pub(super) async fn noted(
        &mut self,
        what: &impl Audited,
        action: AuditAction,
    ) -> Result<Recorded, OpError> {
        self.record(what, action, None, None).await
    }

    /// Stands in for an audit entry when nothing was to be changed.
    pub(super) const fn as_before(&self) -> Recorded {
        Recorded(())
    }

    /// Audits for another organization that has a part in `what` what was done to it, but not by whom, for which
    /// organization, or by which request.
    pub(super) async fn done_elsewhere<T: Audited>(
        &mut self,
        what: &T,
        organization: OrganizationId,
        action: AuditAction,
        (before, after): (&Value, &Value),
    ) -> Result<(), OpError> {
        let (before, after) = changed_members(before, after);
        let entry = AuditEntry {
            actor_id: Uuid::nil(),
            actor_role: "otherOrganization".to_owned(),
            request_id: None,
            before: Some(before),
            after: Some(after),
            ..self.entry(T::RESOURCE, what.audit_id(), Some(organization), action)
        };
        self.keep(&entry).await
    }

    /// Audits that something is gone because the change takes its place, with no actor.
    pub(super) async fn displaced(
        &mut self,
        resource: AuditResource,
        id: Uuid,
        organization: Option<OrganizationId>,
        before: Option<Value>,
    ) -> Result<(), OpError> {
        let entry = AuditEntry {
            actor_id: Uuid::nil(),
            actor_role: NOBODY.to_owned(),
            before,
            ..self.entry(resource, id, organization, AuditAction::Delete)
        };
        self.keep(&entry).await
    }

    /// Stores an audit entry, and logs what readers see of it.
    async fn keep(&mut self, entry: &AuditEntry) -> Result<(), OpError> {
        self.changes.extend(entry.logged());
        Ok(audit::insert(self.tx.on(), entry).await?)
    }

    async fn record<T: Audited>(
        &mut self,
        what: &T,
        action: AuditAction,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<Recorded, OpError> {
        if T::RESOURCE == AuditResource::Organization {
            self.after.organizations.push(OrganizationId(what.audit_id()));
        }
        let owner = what.owner(self.scope.map(|scope| scope.organization_id()));
        let entry = AuditEntry { before, after, ..self.entry(T::RESOURCE, what.audit_id(), owner, action) };
        self.keep(&entry).await?;
        if let Some(live_resource) = what.live_resource() {
            let missing = || OpError::Internal("a change of live data without a scope".into());
            self.live_resources.push((self.scope.ok_or_else(missing)?, live_resource));
        }
        Ok(Recorded(()))
    }

    fn entry(
        &mut self,
        resource: AuditResource,
        resource_id: Uuid,
        organization_id: Option<OrganizationId>,
        action: AuditAction,
    ) -> AuditEntry {
        let role = |caller: &Caller| caller.role().map_or("system", Role::as_str);
        AuditEntry {
            id: clock::new_id(),
            organization_id,
            actor_id: self.caller.map_or(Uuid::nil(), |caller| caller.id),
            actor_role: self.caller.map_or(NOBODY, role).to_owned(),
            action,
            resource,
            resource_id,
            request_id: request_context::request_id(),
            before: None,
            after: None,
            occurred_at: self.now(),
        }
    }

    /// Commits a change that created something, with its answer. Its effects are applied or on their way.
    pub(super) async fn commit_created<T: Serialize>(self, _: Recorded, answer: T) -> Result<T, OpError> {
        self.finish(201, answer).await
    }

    /// Commits a change, with its answer. Its effects are applied or on their way.
    pub(super) async fn commit<T: Serialize>(self, _: Recorded, answer: T) -> Result<T, OpError> {
        self.finish(200, answer).await
    }

    async fn finish<T: Serialize>(mut self, status: u16, answer: T) -> Result<T, OpError> {
        idempotency::keep(&mut self.tx, status, &answer).await?;
        if !self.changes.is_empty() {
            self.after.logs_changes = true;
            change_log::insert(&mut self.tx, &self.changes).await?;
            change_log::queue_driver_revision(&mut self.tx, &self.driven).await?;
        }
        publish::commit(self.context, self.tx, self.live_resources, self.after).await?;
        Ok(answer)
    }
}
