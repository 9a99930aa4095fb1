//! One transaction: the instants of a schedule that have come are claimed, its run is queued, and the next instant is set.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::schedules::texts;
use crate::triggered_runs::{self, TriggeredRun, say};
use hob_agent::machine::accepted_input::RunKind;
use hob_core::domain::ids::{ScheduleId, SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::access::AccessList;
use hob_core::policy::schedule::Rule;
use hob_core::policy::schedule::misfire::{MisfirePlan, MisfirePolicy};
use hob_store::error::StoreError;
use hob_store::occurrences::{self, Claim};
use hob_store::schedules::ScheduleRow;
use hob_store::{Tx, members, millis, schedules, sessions};
use hob_tools::schedule::render;

/// Begins what is due of a schedule.
#[derive(Clone)]
pub(super) struct FireSchedule {
    pub(super) id: ScheduleId,
    pub(super) access: Arc<AccessList>,
    pub(super) now: Timestamp,
}

/// What came of it, and whom to wake for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FireOutcome {
    /// This conversation has a run to do.
    pub(super) begun: Option<SessionId>,
    /// Something is to be said here.
    pub(super) said: Option<SessionId>,
}

/// A schedule whose parts can be read.
struct ParsedSchedule {
    row: ScheduleRow,
    rule: Rule,
    zone: TimeZone,
    conversation: Conversation,
    taint: Taint,
}

impl ParsedSchedule {
    fn of(row: ScheduleRow) -> Result<Self, Box<ScheduleRow>> {
        let parts = (render::timing(&row), row.conversation(), serde_json::from_str(&row.taint));
        match parts {
            (Some((rule, zone)), Some(conversation), Ok(taint)) => Ok(Self { row, rule, zone, conversation, taint }),
            _ => Err(Box::new(row)),
        }
    }
}

/// One run that is due.
struct DueRun {
    at: Timestamp,
    role: Role,
    /// So many before it are not made up for.
    missed: usize,
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
        let Some(role) = self.present_role(tx, schedule.row.user, &schedule.conversation).await? else {
            tracing::warn!(schedule = %self.id, "schedule.paused: whoever made it is not let in any more");
            return self.give_up(tx, self.id, "access").await;
        };
        let mut fired = FireOutcome::default();
        if let Some(asked) = schedule.row.asked_at.and_then(|at| Timestamp::from_millisecond(at).ok()) {
            schedules::set_asked(tx, self.id, None).await?;
            self.begin(tx, &schedule, DueRun { at: asked, role, missed: 0 }, &mut fired).await?;
        }
        let due = schedule.row.next_at.filter(|_| schedule.row.state == "active");
        if let Some(due) = due.and_then(|due| Timestamp::from_millisecond(due).ok()).filter(|due| *due <= self.now) {
            self.by_rule(tx, &schedule, (due, role), &mut fired).await?;
        }
        Ok(fired)
    }

    async fn give_up(&self, tx: &mut Tx, id: ScheduleId, why: &str) -> Result<FireOutcome, StoreError> {
        schedules::set_asked(tx, id, None).await?;
        schedules::pause(tx, id, why, true).await?;
        Ok(FireOutcome { begun: None, said: tell_paused(tx, id, self.now).await? })
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
        (due, role): (Timestamp, Role),
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        let ParsedSchedule { row, rule, zone, .. } = schedule;
        let misfire = MisfirePolicy { grace: SignedDuration::from_secs(row.grace_secs), coalesces: row.coalesces };
        let MisfirePlan { run, missed, next } = misfire.plan(rule, zone, (due, self.now));
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
        // Of several that are made up for none is in another's way.
        let busy = occurrences::is_open(tx, self.id).await?;
        for at in run {
            if busy {
                self.skip(tx, at).await?;
            } else {
                let missed = missed.len();
                self.queue(tx, schedule, DueRun { at, role, missed }, fired).await?;
            }
        }
        schedules::set_next(tx, self.id, next).await
    }

    async fn begin(
        &self,
        tx: &mut Tx,
        schedule: &ParsedSchedule,
        due: DueRun,
        fired: &mut FireOutcome,
    ) -> Result<(), StoreError> {
        if occurrences::is_open(tx, self.id).await? {
            return self.skip(tx, due.at).await;
        }
        self.queue(tx, schedule, due, fired).await
    }

    /// The one before it is still at work: this one would only wait behind it.
    async fn skip(&self, tx: &mut Tx, at: Timestamp) -> Result<(), StoreError> {
        if !occurrences::is_claimed(tx, self.id, at).await? {
            tracing::info!(schedule = %self.id, due = %at, "schedule.skipped: the one before it is still at work");
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
        let what = TriggeredRun {
            session: session.id,
            claim: (conversation, &format!("schedule:{}:{}", self.id, millis(due.at))),
            due: due.at,
            principal: Principal { user: row.user, name: row.user_name.clone(), role: due.role, trust: Trust::Trusted },
            conversation,
            text: texts::prompt(row, &told, due.missed),
            order: RunKind::Scheduled,
            taint: schedule.taint.clone(),
            undo: None,
        };
        let Some(run) = triggered_runs::begin(tx, what, self.now).await? else {
            return Ok(());
        };
        schedules::yield_to_people(tx, run).await?;
        occurrences::claim(tx, self.id, due.at, Claim::Queued(run), self.now).await?;
        tracing::info!(schedule = %self.id, due = %due.at, %run, "schedule.begun");
        fired.begun = Some(session.id);
        Ok(())
    }
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
