//! `/undo`: takes back the last effect that was had in a conversation: a change of the workspace, or what a tool did whose inverse is
//! known (row N16).
//!
//! Files move after the command is committed, so that a message which is delivered twice takes back one change
//! ([`crate::command_follow_ups`]). An inverse is called
//! in a run of its own: it is recorded before it is made, once, and who is cut off is asked what became of it.
//! Start at `take_back`.

use crate::command_follow_ups::persist;
use crate::intake::Router;
use crate::texts;
use crate::triggered_runs::{self, TriggeredRun};
use hob_agent::machine::accepted_input::RunKind;
use hob_core::domain::ids::{InboundId, RunId, SessionId, SessionKey, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::principal::{Principal, Role};
use hob_store::error::StoreError;
use hob_store::{Tx, follow_ups, millis, undos, users};
use hob_tools::changes::draft_dir::DraftDir;
use hob_tools::changes::{ChangesError, Drafts};
use jiff::Timestamp;

/// Who asks for it, and where.
#[derive(Debug, Clone)]
pub(super) struct CommandOrigin {
    pub(super) inbound: InboundId,
    pub(super) principal: Principal,
    pub(super) session: SessionKey,
    pub(super) id: SessionId,
}

/// What is to be taken back, and in whose name.
pub(super) struct TakeBackRequest<'a> {
    pub(super) session: SessionId,
    /// Of this run and its agents alone, or whatever was last.
    pub(super) run: Option<RunId>,
    /// Who says so.
    pub(super) by: &'a Principal,
    pub(super) place: &'a Conversation,
    pub(super) now: Timestamp,
}

/// Begins a run that takes the last effect back; why not, otherwise. By those who may approve: whose run it was, and owners.
pub(super) async fn take_back(
    tx: &mut Tx,
    wish: &TakeBackRequest<'_>,
) -> Result<Result<RunId, &'static str>, StoreError> {
    let TakeBackRequest { session, run, by, place, now } = *wish;
    let Some(open) = undos::last(tx, session, run, millis(now)).await? else {
        return Ok(Err(texts::NOTHING_TO_UNDO));
    };
    let is_known = OriginSource::of_speaker(by, place.channel).is_none();
    if !is_known || (by.user != open.user && by.role < Role::Owner) {
        return Ok(Err(texts::NOT_YOURS_TO_UNDO));
    }
    let key = format!("undo:{}:{}", open.order.run, open.order.call);
    let what = TriggeredRun {
        session,
        claim: (place, &key),
        due: now,
        principal: by.clone(),
        conversation: place,
        text: "/undo".to_owned(),
        order: RunKind::Undo,
        taint: Taint::default(),
        undo: Some(Box::new(open.order.clone())),
    };
    let Some(begun) = triggered_runs::begin(tx, what, now).await? else {
        return Ok(Err(texts::NOTHING_TO_UNDO));
    };
    undos::take(tx, open.id, begun).await?;
    tracing::info!(run = %open.order.run, call = %open.order.call, %begun, "effect.undoing");
    Ok(Ok(begun))
}

impl Router {
    /// Takes it back, and says what came of it.
    pub(super) async fn undo(&self, drafts: &Drafts, order: CommandOrigin, place: Conversation) {
        persist(|| self.try_undo(drafts, &order, &place)).await;
    }

    async fn try_undo(&self, drafts: &Drafts, order: &CommandOrigin, place: &Conversation) -> Result<(), StoreError> {
        match self.undone(drafts, order.clone(), place).await? {
            Some(text) => self.conclude(order.inbound, place, text).await,
            None => Ok(()),
        }
    }

    /// What came of it; none: a run says that, or it was said.
    async fn undone(
        &self,
        drafts: &Drafts,
        order: CommandOrigin,
        place: &Conversation,
    ) -> Result<Option<String>, StoreError> {
        let (drafts, session, id, inbound) = (drafts.clone(), order.session.clone(), order.id, order.inbound);
        let now = self.clock.now();
        let open = self.store.read(async move |tx| follow_ups::find(tx, inbound).await).await?;
        let Some(open) = open else { return Ok(None) };
        if let Some(name) = open.draft {
            // It has begun: nothing else may be taken back in its place.
            return Ok(Some(match blocking(move || drafts.named(&name)).await {
                Ok(Some(draft)) => match draft.undo_outcome() {
                    Some(outcome) => outcome.to_string(),
                    None => self.undo_files(draft, &order).await?,
                },
                Ok(None) => texts::undo_failed(&ChangesError::Gone),
                Err(error) => texts::undo_failed(&error),
            }));
        }
        let effect = self.store.read(async move |tx| undos::last(tx, id, None, millis(now)).await).await?;
        let last = blocking(move || drafts.last_kept(Some(&session))).await;
        let files_at = last.as_ref().ok().and_then(|last| last.as_ref()?.kept_at()).map(millis);
        if effect.is_some_and(|effect| files_at.is_none_or(|at| at <= effect.made_at)) {
            return self.undo_effect(order, place).await;
        }
        match last {
            Ok(Some(last)) => self.undo_files(last, &order).await.map(Some),
            Ok(None) => Ok(Some(texts::NOTHING_TO_UNDO.to_owned())),
            Err(error) => Ok(Some(texts::undo_failed(&error))),
        }
    }

    async fn undo_effect(&self, order: CommandOrigin, place: &Conversation) -> Result<Option<String>, StoreError> {
        let (session, place, now) = (order.id, place.clone(), self.clock.now());
        let begun = self
            .store
            .write(async move |tx| {
                let wish = TakeBackRequest { session, run: None, by: &order.principal, place: &place, now };
                let begun = take_back(tx, &wish).await?;
                if begun.is_ok() {
                    // The run says what comes of it.
                    follow_ups::remove(tx, order.inbound).await?;
                }
                Ok(begun)
            })
            .await?;
        self.lanes.wake(session);
        Ok(begun.err().map(str::to_owned))
    }

    async fn undo_files(&self, last: DraftDir, order: &CommandOrigin) -> Result<String, StoreError> {
        let (user, by) = (last.user(), &order.principal);
        // Whoever is not known any more is nobody's to protect but an owner's.
        let role = self.store.read(async |tx| role_of(tx, user).await).await?.unwrap_or(Role::Owner);
        if !by.may_act_for(user, role) {
            return Ok(texts::NOT_YOURS.to_owned());
        }
        let (now, inbound, name) = (self.clock.now(), order.inbound, last.name());
        self.store.write(async move |tx| follow_ups::set_draft(tx, inbound, &name).await).await?;
        Ok(match blocking(move || last.undo(now)).await {
            Ok(undone) => undone.to_string(),
            Err(error) => texts::undo_failed(&error),
        })
    }

    /// Takes back the last change of the whole house, for whoever may use Hob's own socket; says what came of it.
    ///
    /// # Errors
    /// When there is nothing to take back, or it cannot be done.
    pub async fn undo_last(&self) -> Result<String, ChangesError> {
        let (drafts, now) = (self.config().services.drafts.clone(), self.clock.now());
        blocking(move || drafts.undo_last(None, now)).await.map(|undone| undone.to_string())
    }
}

/// Files are moved off the runtime's threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChangesError> + Send + 'static,
) -> Result<T, ChangesError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ChangesError::Io { what: "the change", source: std::io::Error::other(error) })?
}

async fn role_of(tx: &mut Tx, user: UserId) -> Result<Option<Role>, StoreError> {
    Ok(users::find_by_id(tx, user).await?.map(|(_, role)| role))
}
