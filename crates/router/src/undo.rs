//! `/undo`: takes back the last change of the workspace that was made in a conversation.
//!
//! Files move after the command is committed, so that a message which is delivered twice takes back one change.

use crate::intake::Router;
use crate::texts;
use hob_core::domain::ids::{InboundId, SessionKey, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::{Principal, Role};
use hob_store::error::StoreError;
use hob_store::{Tx, users};
use hob_tools::changes::{ChangesError, Drafts};

/// Who asks for it, and where.
#[derive(Debug, Clone)]
pub(super) struct UndoRequest {
    pub(super) inbound: InboundId,
    pub(super) principal: Principal,
    pub(super) session: SessionKey,
}

impl Router {
    /// Takes it back, and says what came of it.
    pub(super) async fn undo(
        &self,
        drafts: &Drafts,
        order: UndoRequest,
        place: Conversation,
    ) -> Result<(), StoreError> {
        let key = format!("undo:{}", order.inbound);
        let text = self.undone(drafts, order).await?;
        self.tell(place, key, text).await
    }

    async fn undone(&self, drafts: &Drafts, order: UndoRequest) -> Result<String, StoreError> {
        let (drafts, session) = (drafts.clone(), order.session);
        let last = match blocking(move || drafts.last_kept(Some(&session))).await {
            Ok(Some(last)) => last,
            Ok(None) => return Ok(texts::NOTHING_TO_UNDO.to_owned()),
            Err(error) => return Ok(texts::undo_failed(&error)),
        };
        let user = last.user();
        // Whoever is not known any more is nobody's to protect but an owner's.
        let role = self.store.read(async |tx| role_of(tx, user).await).await?.unwrap_or(Role::Owner);
        if !order.principal.may_act_for(user, role) {
            return Ok(texts::NOT_YOURS.to_owned());
        }
        let now = self.clock.now();
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
        let (drafts, now) = (self.config().house.drafts.clone(), self.clock.now());
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
