//! What is done with schedules, each as one piece of work on the database.

use jiff::Timestamp;

use crate::schedule::render;
use hob_core::domain::ids::ScheduleId;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role};
use hob_store::error::StoreError;
use hob_store::occurrences::OccurrenceRow;
use hob_store::schedules::{NewSchedule, ScheduleRow};
use hob_store::{Tx, occurrences, schedules, users};

/// The most schedules of one person that are not over.
pub const SCHEDULES_MAX: i64 = 200;
/// The most in a list.
const LISTED_MAX: i64 = 50;
/// So much of what came of each is told.
const HISTORY: i64 = 2;

/// Who looks at schedules, and where.
#[derive(Debug, Clone)]
pub struct Viewer {
    pub principal: Principal,
    /// Where what they are told can be read.
    pub conversation: Conversation,
}

impl Viewer {
    /// In a group only what is done for the group is anybody's business.
    fn sees(&self, row: &ScheduleRow) -> bool {
        let theirs = self.principal.user == row.user || self.principal.role >= Role::Admin;
        theirs && (self.conversation.is_private() || row.conversation().as_ref() == Some(&self.conversation))
    }
}

/// A change of one schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Not run until it is resumed.
    Pause,
    /// Run again.
    Resume,
    /// Taken away.
    Remove,
    /// Run once more, now.
    RunNow,
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is so now.
    Done(Box<ScheduleRow>, Vec<OccurrenceRow>),
    /// There is no such schedule, or none that they may see.
    Unknown,
    /// It is another's, who may do more.
    NotTheirs,
    /// It stands in the config.
    InConfig(String),
    /// It is done, and will never be due again.
    Over,
    TooMany,
}

pub async fn make(tx: &mut Tx, new: &NewSchedule, now: Timestamp) -> Result<ChangeOutcome, StoreError> {
    let known = match &new.call {
        Some((run, call)) => schedules::find_by_call(tx, *run, call).await?,
        None => None,
    };
    if known.is_none() && schedules::count(tx, new.user).await? >= SCHEDULES_MAX {
        return Ok(ChangeOutcome::TooMany);
    }
    let id = schedules::add(tx, new, now).await?;
    let row = schedules::lookup(tx, id).await?;
    Ok(row.map_or(ChangeOutcome::Unknown, |row| ChangeOutcome::Done(Box::new(row), Vec::new())))
}

/// Lists those that somebody may see, and tells what those had read in whose runs its tasks were written (row N6).
pub async fn list(tx: &mut Tx, viewer: &Viewer, now: Timestamp) -> Result<(String, Taint), StoreError> {
    let own = (viewer.principal.role < Role::Admin).then_some(viewer.principal.user);
    let (mut cards, mut taint) = (Vec::new(), Taint::default());
    for row in schedules::list(tx, own, LISTED_MAX).await? {
        if viewer.sees(&row) {
            taint.join(&Taint::from_stored(Some(&row.taint)));
            let history = occurrences::history(tx, row.id, HISTORY).await?;
            let whose =
                if row.user == viewer.principal.user { String::new() } else { format!("\n   for: {}", row.user_name) };
            cards.push(format!("{}{whose}", render::card(&row, &history, now)));
        }
    }
    Ok((if cards.is_empty() { "Nothing is scheduled.".to_owned() } else { cards.join("\n") }, taint))
}

pub async fn apply_change(
    tx: &mut Tx,
    viewer: &Viewer,
    id: ScheduleId,
    change: Change,
    now: Timestamp,
) -> Result<ChangeOutcome, StoreError> {
    let (id, now) = (id, now);
    let row = schedules::lookup(tx, id).await?.filter(|row| row.state != "removed" && viewer.sees(row));
    let Some(row) = row else { return Ok(ChangeOutcome::Unknown) };
    let role = users::role(tx, row.user).await?.unwrap_or(Role::Guest);
    if !viewer.principal.may_act_for(row.user, role) {
        return Ok(ChangeOutcome::NotTheirs);
    }
    match (change, row.state.as_str()) {
        (Change::Pause, "active") => schedules::pause(tx, id, "asked", false).await?,
        (Change::Resume, "paused") => {
            let next = render::timing(&row).and_then(|(rule, zone)| rule.next(&zone, now));
            let Some(next) = next else { return Ok(ChangeOutcome::Over) };
            schedules::resume(tx, id, next).await?;
        }
        (Change::Remove, _) => {
            if let Some(name) = row.name {
                return Ok(ChangeOutcome::InConfig(name));
            }
            schedules::remove(tx, id).await?;
            return Ok(ChangeOutcome::Done(Box::new(row), Vec::new()));
        }
        // One wish is one run, however often it is told.
        (Change::RunNow, _) if row.asked_at.is_none() => schedules::set_asked(tx, id, Some(now)).await?,
        (Change::Resume, "done") => return Ok(ChangeOutcome::Over),
        (Change::RunNow | Change::Pause | Change::Resume, _) => {}
    }
    let history = occurrences::history(tx, id, HISTORY).await?;
    let row = schedules::lookup(tx, id).await?;
    Ok(row.map_or(ChangeOutcome::Unknown, |row| ChangeOutcome::Done(Box::new(row), history)))
}

impl ChangeOutcome {
    /// In words; what was wanted comes first.
    pub fn describe(&self, did: &str, now: Timestamp) -> Result<String, String> {
        match self {
            Self::Done(row, history) => Ok(format!("{did}:\n{}", render::card(row, history, now))),
            Self::Unknown => Err("There is no such schedule. List them to see their numbers.".to_owned()),
            Self::NotTheirs => Err("That schedule is somebody else's. Nothing has changed.".to_owned()),
            Self::InConfig(name) => {
                Err(format!("That schedule stands in the config file as {name:?}: take it out there, or pause it."))
            }
            Self::Over => Err("That schedule is over: it would never be due again. Make a new one.".to_owned()),
            Self::TooMany => {
                Err(format!("There are {SCHEDULES_MAX} schedules already, which is the most: delete some first."))
            }
        }
    }
}
