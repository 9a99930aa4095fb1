//! What somebody may who is not speaking just now.

use std::sync::Arc;

use async_trait::async_trait;

use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::Role;
use hob_core::policy::access::AccessList;
use hob_store::error::StoreError;
use hob_store::{Statement, Tx, members};

/// Looks it up: by the config or by having been paired; none: they are not let in.
pub(super) struct Standing {
    access: Arc<AccessList>,
    conversation: Conversation,
    person: String,
}

impl Standing {
    pub(super) fn new(access: &Arc<AccessList>, conversation: &Conversation, person: &str) -> Self {
        Self { access: Arc::clone(access), conversation: conversation.clone(), person: person.to_owned() }
    }
}

#[async_trait]
impl Statement for Standing {
    type Output = Option<Role>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Role>, StoreError> {
        members::role_of(tx, &self.access, (&self.conversation, &self.person)).await
    }
}
