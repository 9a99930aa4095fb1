//! One transaction: the instants of a schedule that have come are claimed, its run is queued, and the next instant is set.
//!
//! Of one that looks first nothing is done before it has: it is left as it is, and fired again with what was found.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::pause;
use crate::schedules::texts;
use crate::triggered_runs::{self, TriggeredRun, say};
use hob_agent::machine::accepted_input::RunKind;
use hob_core::domain::ids::{ScheduleId, SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::access::AccessList;
use hob_core::policy::schedule::Rule;
use hob_core::policy::schedule::check::{LookTarget, LookVerdict};
use hob_core::policy::schedule::misfire::{MisfirePlan, MisfirePolicy};
use hob_store::error::StoreError;
use hob_store::occurrences::{self, Claim};
use hob_store::schedules::ScheduleRow;
use hob_store::{Tx, members, millis, schedules, sessions};
use hob_tools::schedule::look::{LookOrder, LookResult};
use hob_tools::schedule::render;

/// So many looks in a row without an answer pause a schedule.
pub(super) const LOOKS_FAILED_MAX: i64 = 5;
/// From this role on one may have looks made in a chat, as the tools `watch_page` and `watch_command` have it.
const LOOKER_ROLE: Role = Role::User;
/// So long the looks that began nothing are kept.
const LOOKS_KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Begins what is due of a schedule.
#[derive(Clone)]
pub(super) struct FireSchedule {
    pub(super) id: ScheduleId,
    pub(super) access: Arc<AccessList>,
    /// When the look began, if one was made.
    pub(super) now: Timestamp,
    /// What was found by looking first.
    pub(super) looked: Option<Arc<FinishedLook>>,
}

/// A look that was made.
pub(super) struct FinishedLook {
    pub(super) target: LookTarget,
    pub(super) result: LookResult,
}

/// What came of it, and whom to wake for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FireOutcome {
    /// This conversation has a run to do.
    pub(super) begun: Option<SessionId>,
    /// Something is to be said here.
    pub(super) said: Option<SessionId>,
    /// This is to be looked at first.
    pub(super) to_look: Option<LookOrder>,
    /// An instant was claimed by what was found.
    settled: bool,
}

/// A schedule whose parts can be read.
struct ParsedSchedule {
    row: ScheduleRow,
    rule: Rule,
    zone: TimeZone,
    conversation: Conversation,
    taint: Taint,
    target: Option<LookTarget>,
}

impl ParsedSchedule {
    fn of(row: ScheduleRow) -> Result<Self, Box<ScheduleRow>> {
        let target = row.looks_at.as_deref().map(serde_json::from_str).transpose();
        match (render::timing(&row), row.conversation(), serde_json::from_str(&row.taint), target) {
            (Some((rule, zone)), Some(conversation), Ok(taint), Ok(target)) => {
                Ok(Self { row, rule, zone, conversation, taint, target })
            }
            _ => Err(Box::new(row)),
        }
    }
}

struct DueRun {
    at: Timestamp,
    role: Role,
    /// So many before it are not made up for.
    missed: usize,
}

/// The clock may have been set back: what follows from a rule then comes sooner than what was found by a clock that was ahead, perhaps
/// by a year, and what was too late for that one comes yet. What was done is done all the same.
pub(super) async fn follow_clock(tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
    for upcoming in schedules::upcoming(tx, i64::MAX).await? {
        let Some(row) = schedules::lookup(tx, upcoming.id).await? else { continue };
        let next = render::timing(&row).and_then(|(rule, zone)| rule.next(&zone, now));
        if next.is_some_and(|next| millis(next) < upcoming.next_at) {
            tracing::info!(schedule = %upcoming.id, "schedule.sooner: the clock was set back");
            schedules::set_next(tx, upcoming.id, next).await?;
            occurrences::take_back_missed(tx, upcoming.id, now).await?;
        }
    }
    Ok(())
}

impl FireSchedule {
    pub(super) async fn run(&self, tx: &mut Tx) -> Result<FireOutcome, StoreError> {
        let Some(row) = schedules::lookup(tx, self.id).await? else {
            return Ok(FireOutcome::default());
        };
        let schedule = match ParsedSchedule::of(row) {
            Ok(schedule) => schedule,
            Err(row) => {
                tracing::error!(schedule = %row.id, "schedule.damaged: its record cannot be read; it is paused");
                return self.give_up(tx, row.id, "damaged").await;
            }
        };
        let role = self.present_role(tx, schedule.row.user, &schedule.conversation).await?;
        let Some(role) = role.filter(|role| Self::may_look(&schedule, *role)) else {
            tracing::warn!(schedule = %self.id, "schedule.paused: whoever made it may not do that any more");
            return self.give_up(tx, self.id, "access").await;
        };
        let mut fired = FireOutcome::default();
        if let Some(asked) = schedule.row.asked_at.and_then(|at| Timestamp::from_millisecond(at).ok()) {
            self.by_wish(tx, &schedule, DueRun { at: asked, role, missed: 0 }, &mut fired).await?;
        }
        let due = schedule.row.next_at.filter(|_| schedule.row.state == "active");
        if let Some(due) = due.and_then(|due| Timestamp::from_millisecond(due).ok()).filter(|due| *due <= self.now) {
            self.by_rule(tx, &schedule, DueRun { at: due, role, missed: 0 }, &mut fired).await?;
        }
        if fired.settled {
            self.close_look(tx, &schedule, &mut fired).await?;
        }
        Ok(fired)
    }

    /// May whoever made it still have looks made? In a chat that is a member's to do.
    fn may_look(schedule: &ParsedSchedule, role: Role) -> bool {
        schedule.target.is_none() || schedule.row.name.is_some() || role >= LOOKER_ROLE
    }

    async fn give_up(&self, tx: &mut Tx, id: ScheduleId, why: &str) -> Result<FireOutcome, StoreError> {
        schedules::set_asked(tx, id, None).await?;
        schedules::pause(tx, id, why, true).await?;
        Ok(FireOutcome { said: tell_paused(tx, id, self.now).await?, ..FireOutcome::default() })
    }

    /// What whoever made it may do now: it is done with that, whatever they could do then.
    async fn present_role(
        &self,
        tx: &mut Tx,
        user: UserId,
        conversation: &Conversation,
    ) -> Result<Option<Role>, StoreError> {
        let roles = members::roles_of_user(tx, &self.access, conversation, user).await?;
        Ok(roles.into_iter().flatten().max())
    }

    async fn by_rule(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        due: DueRun,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        let ParsedSchedule { row, rule, zone, target, .. } = schedule;
        // A look tells how it stands now, whatever was missed.
        let coalesces = row.coalesces || target.is_some();
        let misfire = MisfirePolicy { grace: SignedDuration::from_secs(row.grace_secs), coalesces };
        let MisfirePlan { run, missed, next } = misfire.plan(rule, zone, due.at, self.now);
        // Of several that are made up for none is in another's way.
        let busy = self.is_held(tx, schedule).await?;
        if !run.is_empty() && self.must_look(schedule, busy, due.role, fired) {
            return Ok(());
        }
        for at in &missed {
            if !occurrences::is_claimed(tx, self.id, *at).await? {
                occurrences::claim(tx, self.id, *at, Claim::Missed, self.now).await?;
            }
        }
        // A run that is late tells of those before it; where nothing is run, nobody would.
        if let (Some(last), true) = (missed.last(), run.is_empty()) {
            tracing::warn!(schedule = %self.id, due = %last, "schedule.missed");
            let told = texts::missed(row, &render::instant(*last, zone), missed.len());
            let key = format!("schedule:{}:missed:{}", self.id, millis(*last));
            fired.said = Some(say(tx, &schedule.conversation, &key, &told, self.now).await?);
        }
        for at in run {
            if busy {
                self.skip(tx, at).await?;
            } else {
                let missed = missed.len();
                self.settle(tx, schedule, DueRun { at, role: due.role, missed }, fired).await?;
            }
        }
        schedules::set_next(tx, self.id, next).await
    }

    async fn by_wish(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        due: DueRun,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        let busy = self.is_held(tx, schedule).await?;
        if self.must_look(schedule, busy, due.role, fired) {
            return Ok(());
        }
        schedules::set_asked(tx, self.id, None).await?;
        if busy { self.skip(tx, due.at).await } else { self.settle(tx, schedule, due, fired).await }
    }

    /// Is nothing of it to be begun now? Its last run is still at work; or it would have to look while its conversation, or the
    /// house, stands still.
    async fn is_held(&self, tx: &mut Tx, schedule: &ParsedSchedule) -> Result<bool, StoreError> {
        if occurrences::is_open(tx, self.id).await? {
            return Ok(true);
        }
        if schedule.target.is_none() {
            return Ok(false);
        }
        let place = &schedule.conversation;
        let session = sessions::ensure(tx, &place.session_key().0, place.channel, self.now).await?;
        Ok(pause::active_pause(tx, session.id).await?.is_some())
    }

    /// What was found, if it was looked at what is to be looked at now.
    fn found(&self, schedule: &ParsedSchedule) -> Option<&LookResult> {
        let looked = self.looked.as_deref().filter(|looked| schedule.target.as_ref() == Some(&looked.target));
        looked.map(|looked| &looked.result)
    }

    /// Has it to be looked first? Not for what is not run anyway.
    fn must_look(&self, schedule: &ParsedSchedule, busy: bool, role: Role, fired: &mut FireOutcome) -> bool {
        let Some(target) = schedule.target.as_ref().filter(|_| !busy && self.found(schedule).is_none()) else {
            return false;
        };
        let (seen, is_from_chat) = (schedule.row.seen.clone(), schedule.row.name.is_none());
        let reader = maker(&schedule.row, role);
        fired.to_look = Some(LookOrder { target: target.clone(), seen, is_from_chat, reader });
        true
    }

    /// Claims the instant: for a run, unless it was looked first and there is nothing to do.
    async fn settle(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        due: DueRun,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        let verdict = self.found(schedule).map(|found| &found.verdict);
        let told = match verdict {
            None | Some(LookVerdict::Wake { .. }) => return self.queue(tx, schedule, due, fired).await,
            Some(LookVerdict::Idle) => "idle".to_owned(),
            Some(LookVerdict::Tell { .. }) => "told".to_owned(),
            Some(LookVerdict::Failed { why }) => format!("failed: {why}"),
        };
        if !occurrences::is_claimed(tx, self.id, due.at).await? {
            tracing::info!(schedule = %self.id, due = %due.at, look = told, "schedule.looked");
            occurrences::claim(tx, self.id, due.at, Claim::Looked(&told), self.now).await?;
            fired.settled = true;
            if let Some(LookVerdict::Tell { text }) = verdict {
                let key = format!("schedule:{}:told:{}", self.id, millis(self.now));
                fired.said = Some(say(tx, &schedule.conversation, &key, text, self.now).await?);
            }
        }
        Ok(())
    }

    /// What was found is what the next look is compared with; who waits for an answer is told.
    async fn close_look(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        let (row, Some(target), Some(found)) = (&schedule.row, &schedule.target, self.found(schedule)) else {
            return Ok(());
        };
        let is_failure = matches!(found.verdict, LookVerdict::Failed { .. });
        let failed = if is_failure { row.looks_failed + 1 } else { 0 };
        if failed != row.looks_failed || found.seen.as_ref().is_some_and(|seen| row.seen.as_ref() != Some(seen)) {
            schedules::set_looked(tx, self.id, found.seen.as_deref(), failed).await?;
        }
        if fired.begun.is_some() {
            return if target.is_once() { schedules::set_next(tx, self.id, None).await } else { Ok(()) };
        }
        occurrences::prune_looks(tx, self.id, self.now - LOOKS_KEPT).await?;
        if failed >= LOOKS_FAILED_MAX && row.state == "active" {
            schedules::pause(tx, self.id, "failures", true).await?;
            fired.said = tell_paused(tx, self.id, self.now).await?;
        } else if failed == 1 || row.asked_at.is_some() && !matches!(found.verdict, LookVerdict::Tell { .. }) {
            let key = format!("schedule:{}:looked:{}", self.id, millis(self.now));
            let told = texts::looked(row, target, found);
            fired.said = Some(say(tx, &schedule.conversation, &key, &told, self.now).await?);
        }
        Ok(())
    }

    /// The one before it is still at work, and this one would only wait behind it; or it may not even look.
    async fn skip(&self, tx: &mut Tx, at: Timestamp) -> Result<(), StoreError> {
        if !occurrences::is_claimed(tx, self.id, at).await? {
            tracing::info!(schedule = %self.id, due = %at, "schedule.skipped: the one before it is still at work, or everything stands still");
            occurrences::claim(tx, self.id, at, Claim::Skipped, self.now).await?;
        }
        Ok(())
    }

    /// Claims the instant, and puts its run at the end of the conversation's lane.
    async fn queue(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        due: DueRun,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        if occurrences::is_claimed(tx, self.id, due.at).await? {
            return Ok(());
        }
        let (row, conversation) = (&schedule.row, &schedule.conversation);
        let session = sessions::ensure(tx, &conversation.session_key().0, conversation.channel, self.now).await?;
        let told =
            texts::DueInstant { at: render::instant(due.at, &schedule.zone), late: self.now.duration_since(due.at) };
        let (mut text, mut taint) = (texts::prompt(row, &told, due.missed), schedule.taint.clone());
        let found = schedule.target.as_ref().zip(self.found(schedule));
        if let Some((target, LookResult { verdict: LookVerdict::Wake { data }, source, .. })) = found {
            text = format!("{text}\n\n{}", texts::found(target, data));
            taint.add(source.clone());
        }
        let what = TriggeredRun {
            session: session.id,
            claim: (conversation, &format!("schedule:{}:{}", self.id, millis(due.at))),
            due: due.at,
            principal: maker(row, due.role),
            conversation,
            text,
            order: RunKind::Scheduled,
            taint,
            undo: None,
        };
        let Some(run) = triggered_runs::begin(tx, what, self.now).await? else {
            return Ok(());
        };
        schedules::yield_to_people(tx, run).await?;
        let look = found.map(|_| "woken");
        occurrences::claim(tx, self.id, due.at, Claim::Queued(run, look), self.now).await?;
        tracing::info!(schedule = %self.id, due = %due.at, %run, "schedule.begun");
        (fired.begun, fired.settled) = (Some(session.id), found.is_some());
        Ok(())
    }
}

/// In whose name a schedule is done.
fn maker(row: &ScheduleRow, role: Role) -> Principal {
    Principal { user: row.user, name: row.user_name.clone(), role, trust: Trust::Trusted }
}

pub(super) async fn tell_paused(tx: &mut Tx, id: ScheduleId, now: Timestamp) -> Result<Option<SessionId>, StoreError> {
    schedules::set_told(tx, id).await?;
    let row = schedules::lookup(tx, id).await?.filter(|row| row.state == "paused");
    let Some((row, conversation)) = row.and_then(|row| row.conversation().map(|place| (row, place))) else {
        return Ok(None);
    };
    let key = format!("schedule:{id}:paused:{}", millis(now));
    say(tx, &conversation, &key, &texts::paused(&row), now).await.map(Some)
}
