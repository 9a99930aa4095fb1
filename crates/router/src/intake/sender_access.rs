//! Who speaks, and whether it is for Hob: looked up before anything is claimed (rows C1, C4).

use crate::command::{self, Command};
use crate::groups::mode_of;
use crate::intake::transaction::{IntakeOutcome, IntakeTransaction};
use crate::pairing::{self, FirstOwnerOutcome, Visitor};
use crate::triggered_runs;
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::inbound::{Inbound, InboundEvent};
use hob_core::domain::principal::{Role, Trust};
use hob_core::domain::redactor::Redactor;
use hob_core::policy::access::AccessList;
use hob_core::policy::groups::{AddressingFacts, GroupMode, MessageDisposition, disposition};
use hob_core::policy::sources::is_all_quoted;
use hob_core::render::clean::clean;
use hob_store::error::StoreError;
use hob_store::{Tx, members, quarantined_mail};

/// What is known of a sender and a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SenderAccess {
    /// What the sender may; none: they are not let in.
    pub(super) role: Option<Role>,
    /// What they may by having been paired.
    pub(super) member: Option<Role>,
    /// When Hob answers there, if it is a group.
    pub(super) group: Option<GroupMode>,
}

impl SenderAccess {
    pub(super) async fn of(
        tx: &mut Tx,
        access: &AccessList,
        inbound: &Inbound,
        member: Option<Role>,
    ) -> Result<Self, StoreError> {
        let (place, sender) = (&inbound.conversation, &inbound.sender.external_id);
        let role = access.role_of(place, sender, member);
        Ok(Self { role, member, group: mode_of(tx, &access.groups, place).await? })
    }

    /// Whether a button may be pressed here by somebody who may what `role` may. Which button, its question says.
    pub(super) fn may_press(&self, role: Role) -> bool {
        self.group != Some(GroupMode::Off) || role == Role::Owner
    }

    /// Whether their words may instruct: those of members of the household, where they are proven.
    pub(super) fn is_member(&self, access: &AccessList, inbound: &Inbound) -> bool {
        let (sender, proof) = (inbound.sender.external_id.as_str(), &inbound.metadata.proof);
        let trust = access.trust(&inbound.conversation, sender, proof, self.member);
        self.role >= Some(Role::User) && trust == Trust::Trusted && inbound.metadata.forwarded_from.is_none()
    }
}

/// What becomes of a new message.
pub(super) fn fate_of(inbound: &Inbound, known: &SenderAccess) -> MessageDisposition {
    let InboundEvent::Posted { text } = &inbound.happening else {
        return if known.role.is_some() { MessageDisposition::Heard } else { MessageDisposition::Ignored };
    };
    let is_own = inbound.metadata.forwarded_from.is_none();
    let is_command = is_own && command::parse(clean(text).trim()).is_some();
    disposition(AddressingFacts {
        group: known.group,
        audience: inbound.metadata.audience,
        role: known.role,
        is_command,
    })
}

/// Looks before it is known whether anything is to be stored.
pub(super) async fn load_sender_access(
    tx: &mut Tx,
    access: &AccessList,
    inbound: &Inbound,
) -> Result<SenderAccess, StoreError> {
    let member = members::role(tx, &inbound.conversation, &inbound.sender.external_id).await?;
    SenderAccess::of(tx, access, inbound, member).await
}

/// Takes this Hob's secrets out of everything that people can put into a message.
pub(super) fn redact(redactor: &Redactor, inbound: &mut Inbound) {
    if let InboundEvent::Posted { text } | InboundEvent::Edited { text } = &mut inbound.happening {
        redactor.redact_in_place(text);
    }
    redactor.redact_in_place(&mut inbound.sender.name);
    inbound.attachments.iter_mut().for_each(|file| redactor.redact_in_place(&mut file.name));
    inbound.metadata.forwarded_from.iter_mut().for_each(|author| redactor.redact_in_place(author));
    if let Some(quoted) = &mut inbound.metadata.quoted {
        redactor.redact_in_place(&mut quoted.author);
        redactor.redact_in_place(&mut quoted.text);
    }
}

/// What is all a quotation, or a letter, is somebody else's, whoever sends it.
pub(super) fn attribute_quotation(inbound: &mut Inbound) {
    let InboundEvent::Posted { text } = &inbound.happening else { return };
    if inbound.metadata.forwarded_from.is_none() && is_all_quoted(text) {
        inbound.metadata.forwarded_from = Some("somebody whom it quotes".to_owned());
    }
}

impl IntakeTransaction {
    /// A stranger talks with Hob alone. Nothing of what they say is kept.
    pub(super) async fn handle_stranger(&self, tx: &mut Tx, text: &str) -> Result<IntakeOutcome, StoreError> {
        let visitor = Visitor {
            place: &self.inbound.conversation,
            sender: &self.inbound.sender,
            proof: &self.inbound.metadata.proof,
        };
        let is_own = self.inbound.metadata.forwarded_from.is_none();
        if let Some(Command::Pair(Some(pair))) = command::parse(text).filter(|_| is_own) {
            match pairing::become_owner(tx, visitor, &pair.code, self.now).await? {
                FirstOwnerOutcome::Bound => {
                    // It is known who they are, from now on.
                    let arrival = self.look(tx).await?;
                    let arriving = self.arriving(tx, arrival, Role::Owner).await?;
                    let claimed = self.claim(tx, &arriving, "/pair", "command").await?;
                    return self.tell(tx, &arriving, claimed, pairing::texts::OWNER).await;
                }
                FirstOwnerOutcome::Wrong => return self.answer_stranger(tx, pairing::texts::WRONG).await,
                FirstOwnerOutcome::Closed => {}
            }
        }
        match pairing::greet_stranger(tx, &self.context.access, visitor, &self.code, self.now).await? {
            Some(told) => self.answer_stranger(tx, &told).await,
            None => {
                tracing::debug!("a message from somebody who is not let in was ignored");
                Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored))
            }
        }
    }

    /// Says something to somebody who is nobody here: no user, no claim. Delivered again, the message is answered once.
    async fn answer_stranger(&self, tx: &mut Tx, told: &str) -> Result<IntakeOutcome, StoreError> {
        let Inbound { conversation, external_id, .. } = &self.inbound;
        let key = format!("stranger:{}:{external_id}", conversation.session_key());
        let session = triggered_runs::say(tx, conversation, &key, told, self.now).await?;
        // Their letter is not kept, so the answer brings along to whom it goes.
        if let Some(envelope) = &self.inbound.metadata.envelope {
            quarantined_mail::set_envelope(tx, &format!("{key}:0"), envelope).await?;
        }
        Ok(IntakeOutcome { said: Some(session), ..IntakeOutcome::without_effects(UpdateOutcome::Committed) })
    }
}
