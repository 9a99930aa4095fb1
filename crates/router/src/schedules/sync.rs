//! The config's schedules, as the file says at the start: added, changed, taken away by name. What came of them stays.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::intake::Router;
use hob_core::domain::ids::UserId;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::Role;
use hob_core::policy::schedule::check::LookTarget;
use hob_store::error::StoreError;
use hob_store::schedules::{NewSchedule, Timing};
use hob_store::users::Identity;
use hob_store::{Tx, schedules, users};

/// A schedule of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredSchedule {
    pub name: String,
    /// What is to be done.
    pub task: String,
    /// When, as it will be stored; none: it is past.
    pub timing: Option<Timing>,
    /// Where its answers go.
    pub conversation: Conversation,
    /// The platform's id of the owner in whose name it is done.
    pub owner: String,
    /// So late it may be, in seconds.
    pub grace_secs: i64,
    /// Of several that were missed only the newest is run.
    pub coalesces: bool,
    /// What is looked at before it is run.
    pub looks_at: Option<LookTarget>,
}

impl Router {
    /// Makes the stored schedules of the config those that it declares now.
    pub async fn sync_schedules(&self, declared: Vec<DeclaredSchedule>) -> Result<(), StoreError> {
        let sync = SyncSchedules { declared, now: self.clock.now() };
        self.store.write(async move |tx| sync.run(tx).await).await
    }
}

/// Brings the rows of the config's schedules to what the file says.
#[derive(Clone)]
pub(super) struct SyncSchedules {
    pub(super) declared: Vec<DeclaredSchedule>,
    pub(super) now: Timestamp,
}

impl SyncSchedules {
    pub(super) async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let known = schedules::list_named(tx).await?;
        let wanted: BTreeSet<&str> = self.declared.iter().map(|declared| declared.name.as_str()).collect();
        for (id, name) in &known {
            if !wanted.contains(name.as_str()) {
                schedules::remove(tx, *id).await?;
                tracing::info!(schedule = %id, name, "schedule.removed: the config has it no more");
            }
        }
        for declared in &self.declared {
            // What is past stays as it was done, and nothing is made of it.
            let Some(timing) = &declared.timing else { continue };
            let new = self.stored(tx, declared, timing).await?;
            let Some((id, _)) = known.iter().find(|(_, name)| *name == declared.name) else {
                schedules::add(tx, &new, self.now).await?;
                continue;
            };
            let Some(row) = schedules::lookup(tx, *id).await? else { continue };
            // What is due since the last stop is due still: only another rule begins anew.
            let same_time = (row.asked.as_str(), row.zone.as_str()) == (timing.asked.as_str(), timing.zone.as_str());
            let same = same_time
                && row.task == declared.task
                && row.conversation().as_ref() == Some(&declared.conversation)
                && row.user == new.user
                && (row.grace_secs, row.coalesces) == (declared.grace_secs, declared.coalesces)
                && row.looks_at == new.looks_at;
            if same {
                continue;
            }
            let mut timing = new.timing.clone();
            if same_time {
                timing.rule.clone_from(&row.rule);
                timing.next = row.next_at.and_then(|next| Timestamp::from_millisecond(next).ok());
            }
            schedules::replace(tx, *id, &NewSchedule { timing, ..new }).await?;
        }
        Ok(())
    }

    async fn stored(
        &self,
        tx: &mut Tx,
        declared: &DeclaredSchedule,
        timing: &Timing,
    ) -> Result<NewSchedule, StoreError> {
        let DeclaredSchedule { name, task, conversation, owner, grace_secs, coalesces, looks_at, .. } =
            declared.clone();
        // What had no form would be damaged, and paused as that.
        let looks_at = looks_at.as_ref().map(|target| serde_json::to_string(target).unwrap_or_default());
        let timing = timing.clone();
        let user = owner_of(tx, &conversation, &owner, self.now).await?;
        let (taint, name) = ("[]".to_owned(), Some(name));
        let call = None;
        Ok(NewSchedule {
            user,
            conversation,
            task,
            timing,
            taint,
            call,
            name,
            grace_secs,
            coalesces,
            looks_at,
            seen: None,
        })
    }
}

/// The owner's row; one who has never written is known by their id until they do.
pub(crate) async fn owner_of(
    tx: &mut Tx,
    conversation: &Conversation,
    owner: &str,
    now: Timestamp,
) -> Result<UserId, StoreError> {
    if let Some(user) = users::find(tx, conversation, owner).await? {
        return Ok(user);
    }
    let identity = Identity {
        channel: conversation.channel,
        account: &conversation.account,
        external_id: owner,
        name: "the owner",
        role: Role::Owner,
        others: Vec::new(),
    };
    users::ensure(tx, &identity, now).await
}
