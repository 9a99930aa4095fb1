//! Letting people in: codes for strangers, which an owner confirms; the first owner's code; `/pair`, `/unpair`, `/people`
//! (row C1).
//!
//! Never: somebody let in by being first, or by knowing a name. A code is said once, holds an hour, and is kept as a hash.
//! Start at `knock` (a stranger writes) and `command` (an owner answers).

pub mod codes;
pub(crate) mod texts;

use jiff::Timestamp;

use crate::command::PairRequest;
use crate::command_handlers::CommandOutcome;
use crate::triggered_runs::say;
use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::{ChannelKind, Conversation, Sender, SenderProof};
use hob_core::domain::principal::{Principal, Role};
use hob_core::policy::access::AccessList;
use hob_core::policy::pairing::{Code, FIRST_GUESSES_MAX, GUESSES_MAX, StrangerContact, gives_code, may_become_owner};
use hob_store::error::StoreError;
use hob_store::members::Member;
use hob_store::pairings::PendingPairing;
use hob_store::users::Identity;
use hob_store::{Tx, members, millis, pairings, private_chats, users};

/// Who writes, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visitor<'a> {
    pub(super) place: &'a Conversation,
    pub(super) sender: &'a Sender,
    pub(super) proof: &'a SenderProof,
}

/// A stranger writes to Hob alone: gives what they are told, if anything; `code` is theirs if they get one.
pub(super) async fn greet_stranger(
    tx: &mut Tx,
    access: &AccessList,
    visitor: Visitor<'_>,
    code: &Code,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    let Visitor { place, sender, proof } = visitor;
    pairings::sweep(tx, now).await?;
    let (has_code, open) = pairings::pending_codes(tx, place, &sender.external_id).await?;
    if !gives_code(place, proof, StrangerContact { has_door: access.has_door(place), has_code, open }) {
        return Ok(None);
    }
    pairings::add(tx, place, sender, &code.hash(), now).await?;
    tracing::info!(channel = %place.channel, "pairing.offered: somebody who is not let in got a code");
    let is_first = pairings::first_owner(tx).await?.is_some();
    Ok(Some(texts::offered(code, is_first)))
}

/// What came of a word that may be the first owner's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstOwnerOutcome {
    /// They are the owner.
    Bound,
    /// It was another word.
    Wrong,
    /// There is no such code here and now.
    Closed,
}

/// Somebody says what may be the code that the daemon printed.
pub(super) async fn become_owner(
    tx: &mut Tx,
    visitor: Visitor<'_>,
    said: &str,
    now: Timestamp,
) -> Result<FirstOwnerOutcome, StoreError> {
    let Visitor { place, sender, proof } = visitor;
    let known = pairings::first_owner(tx).await?.filter(|_| may_become_owner(place, proof));
    let Some((code, _)) = known.filter(|(_, guesses)| *guesses < FIRST_GUESSES_MAX) else {
        return Ok(FirstOwnerOutcome::Closed);
    };
    // Hashes, so that how long the comparing takes tells nothing.
    let fits = Code::parse(&code).zip(Code::parse(said)).is_some_and(|(known, said)| known.hash() == said.hash());
    if !fits {
        pairings::guessed_first_owner(tx).await?;
        tracing::warn!(channel = %place.channel, "pairing.guessed: a wrong code for the first owner");
        return Ok(FirstOwnerOutcome::Wrong);
    }
    members::add(tx, place, sender, Role::Owner, now).await?;
    pairings::set_first_owner(tx, None).await?;
    pairings::drop_of(tx, place, &sender.external_id).await?;
    tracing::info!(channel = %place.channel, "pairing.owner: the first owner is known");
    Ok(FirstOwnerOutcome::Bound)
}

/// Lets the stranger in who has this code, and tells them; none: nobody has it.
pub async fn confirm(
    tx: &mut Tx,
    code: &Code,
    role: Role,
    now: Timestamp,
) -> Result<Option<ConfirmedPairing>, StoreError> {
    let Some(pairing) = pairings::take(tx, &code.hash(), now).await? else {
        return Ok(None);
    };
    let Some(place) = pairing.conversation() else {
        return Ok(None);
    };
    let sender = Sender { external_id: pairing.external_id.clone(), name: pairing.name.clone() };
    members::add(tx, &place, &sender, role, now).await?;
    let identity = Identity {
        channel: place.channel,
        account: &place.account,
        external_id: &pairing.external_id,
        name: &pairing.name,
        role,
        others: Vec::new(),
    };
    let user = users::ensure(tx, &identity, now).await?;
    if place.is_private() {
        private_chats::note(tx, user, &place, now).await?;
    }
    let key = format!("pairing:{}:{}", pairing.code, millis(now));
    let told = say(tx, &place, &key, texts::PAIRED, now).await?;
    tracing::info!(channel = %place.channel, role = role.as_str(), "pairing.confirmed");
    Ok(Some(ConfirmedPairing { pairing, told }))
}

/// Somebody who was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedPairing {
    pub pairing: PendingPairing,
    pub told: SessionId,
}

/// Who gives a command here.
pub(super) struct PairingCaller<'a> {
    pub(super) principal: &'a Principal,
    pub(super) visitor: Visitor<'a>,
    pub(super) now: Timestamp,
}

/// `/pair`: by an owner for somebody else, or by somebody who is to become the first owner.
pub(super) async fn command(
    tx: &mut Tx,
    by: &PairingCaller<'_>,
    pair: Option<&PairRequest>,
) -> Result<CommandOutcome, StoreError> {
    let Visitor { place, sender, .. } = by.visitor;
    let is_alone = place.is_private() || place.channel == ChannelKind::Email;
    if !is_alone {
        return Ok(texts::NOT_HERE.to_owned().into());
    }
    let Some(pair) = pair else {
        return Ok(texts::PAIR_WHAT.to_owned().into());
    };
    if by.principal.role < Role::Owner {
        let told = match become_owner(tx, by.visitor, &pair.code, by.now).await? {
            FirstOwnerOutcome::Bound => texts::OWNER,
            FirstOwnerOutcome::Wrong => texts::WRONG,
            FirstOwnerOutcome::Closed => texts::OWNERS_ONLY,
        };
        return Ok(told.to_owned().into());
    }
    pairings::sweep(tx, by.now).await?;
    if pairings::count_wrong_codes(tx, place, &sender.external_id, by.now).await? >= GUESSES_MAX {
        return Ok(texts::TOO_MANY.to_owned().into());
    }
    let found = match Code::parse(&pair.code) {
        Some(code) => confirm(tx, &code, pair.role, by.now).await?,
        None => None,
    };
    match found {
        Some(ConfirmedPairing { pairing, told }) => {
            Ok(CommandOutcome { elsewhere: Some(told), ..CommandOutcome::from(texts::confirmed(&pairing, pair.role)) })
        }
        None => {
            pairings::note_wrong_code(tx, place, &sender.external_id, by.now).await?;
            Ok(texts::WRONG.to_owned().into())
        }
    }
}

/// `/people`.
pub(super) async fn people(tx: &mut Tx, access: &AccessList, by: &PairingCaller<'_>) -> Result<String, StoreError> {
    if by.principal.role < Role::Owner {
        return Ok(texts::OWNERS_ONLY.to_owned());
    }
    let (members, waiting) = (members::list(tx).await?, pairings::list(tx, by.now).await?);
    Ok(texts::people(&members, &waiting, access))
}

/// `/unpair`.
pub(super) async fn unpair(
    tx: &mut Tx,
    access: &AccessList,
    by: &PairingCaller<'_>,
    who: Option<&str>,
) -> Result<String, StoreError> {
    if by.principal.role < Role::Owner {
        return Ok(texts::OWNERS_ONLY.to_owned());
    }
    let Some(who) = who else {
        return Ok(texts::UNPAIR_WHOM.to_owned());
    };
    let all = members::list(tx).await?;
    let named: Vec<&Member> = all.iter().filter(|member| is_called(member, who)).collect();
    let [member] = named.as_slice() else {
        return Ok(texts::unpair_whom(who, &named));
    };
    members::remove(tx, member.id).await?;
    let place = place_of(member);
    if let Some(place) = &place
        && let Some(user) = users::find(tx, place, &member.external_id).await?
    {
        // What is asked of owners is not asked of them any more.
        let mut left = None;
        for name in users::all_names(tx, user).await? {
            let Ok(channel) = name.channel.parse() else { continue };
            let there = Conversation { channel, account: name.account, chat: String::new(), thread: None };
            left = left.max(members::role_of(tx, access, &there, &name.external_id).await?);
        }
        users::set_role(tx, user, left.unwrap_or(Role::Guest)).await?;
    }
    let still = place.and_then(|place| access.role_of(&place, &member.external_id, None));
    tracing::info!(channel = member.channel, "pairing.undone");
    Ok(texts::unpaired(member, still))
}

fn place_of(member: &Member) -> Option<Conversation> {
    let (channel, account) = (member.channel.parse().ok()?, member.account.clone());
    Some(Conversation { channel, account, chat: String::new(), thread: None })
}

/// Is this the name, or the short name, of a member?
fn is_called(member: &Member, who: &str) -> bool {
    let by_id = who.strip_prefix(['p', 'P']).and_then(|id| id.parse::<i64>().ok());
    by_id.map_or_else(|| member.name.to_lowercase() == who.to_lowercase(), |id| member.id.0 == id)
}
