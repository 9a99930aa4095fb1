//! What somebody wants done later becomes a schedule, wherever they say so.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::schedule::GRACE_SECS;
use hob_core::domain::ids::{CallId, RunId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::policy::schedule::check::LookTarget;
use hob_core::policy::schedule::read::read;
use hob_store::schedules::{NewSchedule, Timing};

/// The longest task, in characters.
const TASK_CHARS_MAX: usize = 4_000;

/// What is wrong with a wish.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleRequestError {
    /// It does not say this.
    #[error("To create one, `{0}` is needed.")]
    Missing(&'static str),
    /// The task is too long.
    #[error("A task has {TASK_CHARS_MAX} characters at most.")]
    TooLong,
    /// There is no such time zone.
    #[error("There is no time zone {0:?}. Write it like `Europe/Berlin`.")]
    Zone(String),
    /// Nobody knows when that is.
    #[error("Not stored: {0}.")]
    When(String),
    /// It has no form that can be stored.
    #[error("It cannot be stored: {0}.")]
    Form(#[from] serde_json::Error),
}

/// What is wanted, as it was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleRequest {
    /// `weekdays at 8:30`, `in 2h`, or cron.
    pub when: Option<String>,
    /// What is to be done then.
    pub task: Option<String>,
    /// The IANA zone, if not the household's.
    pub zone: Option<String>,
    /// What is looked at before it is run.
    pub looks_at: Option<LookTarget>,
    /// What is known of that already.
    pub seen: Option<String>,
}

/// Who wants it.
#[derive(Debug, Clone)]
pub struct ScheduleRequester {
    /// In whose name it is done.
    pub user: UserId,
    /// Where its answers go.
    pub conversation: Conversation,
    /// What was read before it was wanted.
    pub taint: Taint,
    /// The call that makes it; none: a person does.
    pub call: Option<(RunId, CallId)>,
}

impl ScheduleRequest {
    /// The schedule; without a word about it, it goes by the household's zone.
    ///
    /// # Errors
    /// When it says no time, no task, or one that is none.
    pub fn shape(
        self,
        maker: ScheduleRequester,
        house: &TimeZone,
        now: Timestamp,
    ) -> Result<NewSchedule, ScheduleRequestError> {
        let said = |text: Option<String>, what: &'static str| {
            let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            text.ok_or(ScheduleRequestError::Missing(what))
        };
        let (asked, task) = (said(self.when, "when")?, said(self.task, "task")?);
        if task.chars().count() > TASK_CHARS_MAX {
            return Err(ScheduleRequestError::TooLong);
        }
        let zone = match self.zone.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => TimeZone::get(name).map_err(|_unknown| ScheduleRequestError::Zone(name.to_owned()))?,
            // A zone that has no name could not be found again.
            None => house.iana_name().map_or(TimeZone::UTC, |_named| house.clone()),
        };
        let rule = read(&asked, &zone, now).map_err(|error| ScheduleRequestError::When(error.to_string()))?;
        let looks_at = self.looks_at.or_else(|| LookTarget::of_task(&task));
        let at_once = looks_at.as_ref().is_some_and(LookTarget::is_followed).then_some(now);
        let timing = Timing {
            rule: serde_json::to_string(&rule)?,
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            asked,
            next: at_once.or_else(|| rule.next(&zone, now)),
        };
        Ok(NewSchedule {
            user: maker.user,
            conversation: maker.conversation,
            task,
            timing,
            taint: serde_json::to_string(&maker.taint)?,
            call: maker.call,
            name: None,
            grace_secs: GRACE_SECS,
            coalesces: true,
            looks_at: looks_at.map(|target| serde_json::to_string(&target)).transpose()?,
            seen: self.seen,
        })
    }
}
