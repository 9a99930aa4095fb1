//! In which conversation a request belongs, and which message it is.
//!
//! A client sends all that was said, and no name for it. A conversation is known by how it began: whose key it was, for which
//! user, and the user's first words. The client's instructions do not count, since they often hold the time of day. Whoever
//! sends first words alone begins a conversation, also with words that were said before. Of several that began alike it is
//! the one whose first answer the client tells, or else the newest.

use jiff::{SignedDuration, Timestamp};

use crate::chat::channel::conversation;
use crate::compat::request::ParsedRequest;
use hob_core::domain::inbound::ALOUD;
use hob_store::error::StoreError;
use hob_store::web_compat::{self, ApiConversation};
use hob_store::{Tx, millis, sessions};

/// A client tries again within this.
const TRIES_FOR: SignedDuration = SignedDuration::from_mins(30);

/// Where a request belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// The conversation.
    pub(crate) chat: String,
    /// What the message is called in it.
    pub(crate) external_id: String,
}

/// Finds where a request belongs.
#[derive(Debug, Clone)]
pub(super) struct TargetLookup {
    /// What was asked: how it began, what was answered first, what it is known by.
    pub(super) opening: String,
    pub(super) first_answer: Option<String>,
    pub(super) print: String,
    /// The conversation, where the client names it.
    pub(super) named: Option<String>,
    /// What the client calls the request, or else what nothing was ever called.
    pub(super) nonce: String,
    /// The client has a name for the request.
    pub(super) is_named: bool,
    /// The client says that it tries again.
    pub(super) is_retry: bool,
    /// What is answered is read aloud.
    pub(super) aloud: bool,
    pub(super) now: Timestamp,
}

impl TargetLookup {
    pub(super) async fn find(&self, tx: &mut Tx) -> Result<RequestTarget, StoreError> {
        // A request that has a name is the same one each time, and so is the conversation that it begins.
        let chat = format!("{}-{}", self.chat_start(), self.nonce);
        let fresh = RequestTarget { chat, external_id: self.external_id() };
        let begins = self.first_answer.is_none();
        let chat = match &self.named {
            Some(named) if self.aloud && !named.starts_with(ALOUD) => Some(format!("{ALOUD}{named}")),
            Some(named) => Some(named.clone()),
            None if begins && (self.is_named || !self.is_retry) => None,
            None => self.existing_chat(tx).await?,
        };
        let Some(chat) = chat else { return Ok(fresh) };
        let again = if self.is_retry && !self.is_named { self.earlier_request(tx, &chat).await? } else { None };
        match again {
            Some(external_id) => Ok(RequestTarget { chat, external_id }),
            // It tries again what never arrived.
            None if begins && self.named.is_none() => Ok(fresh),
            None => Ok(RequestTarget { chat, ..fresh }),
        }
    }

    pub(super) fn of(asked: &ParsedRequest, nonce: String, now: Timestamp) -> Self {
        let (opening, first_answer, print) = (asked.opening.clone(), asked.first_answer.clone(), asked.print.clone());
        let aloud = asked.aloud;
        Self { opening, first_answer, print, named: None, nonce, is_named: false, is_retry: false, aloud, now }
    }
}

impl TargetLookup {
    /// What conversations begin with that began so.
    fn chat_start(&self) -> String {
        format!("{}v1-{}", if self.aloud { ALOUD } else { "" }, self.opening)
    }

    /// What the message is called.
    fn external_id(&self) -> String {
        format!("v1-{}-{}", self.print, self.nonce)
    }

    /// The conversation that began so.
    async fn existing_chat(&self, tx: &mut Tx) -> Result<Option<String>, StoreError> {
        let key = |end| conversation(&format!("{}{end}", self.chat_start())).session_key().0;
        let alike = web_compat::newest_conversations(tx, &key('-'), &key('.')).await?;
        let chat = |begun: &ApiConversation| begun.key.strip_prefix("web:").unwrap_or(&begun.key).to_owned();
        if self.is_named {
            // It is where it was before, whatever else has begun alike since.
            let external_id = self.external_id();
            for begun in &alike {
                if web_compat::find_inbound(tx, &chat(begun), &external_id).await?.is_some() {
                    return Ok(Some(chat(begun)));
                }
            }
        }
        let answer = alphanumeric_only(self.first_answer.as_deref().unwrap_or_default());
        if alike.len() > 1 && !answer.is_empty() {
            for begun in &alike {
                let said = web_compat::first_words(tx, begun.session).await?;
                if said
                    .iter()
                    .map(|words| alphanumeric_only(words))
                    .any(|words| !words.is_empty() && answer.contains(&words))
                {
                    return Ok(Some(chat(begun)));
                }
            }
        }
        Ok(alike.first().map(chat))
    }

    /// What the same request was called when it came before, if nothing was said since.
    async fn earlier_request(&self, tx: &mut Tx, chat: &str) -> Result<Option<String>, StoreError> {
        let Some(session) = sessions::find_by_key(tx, &conversation(chat).session_key().0).await? else {
            return Ok(None);
        };
        let from = millis(self.now.checked_sub(TRIES_FOR).unwrap_or(Timestamp::MIN));
        let newest = web_compat::newest(tx, session.id).await?;
        let is_same = |id: &str| id.strip_prefix("v1-").is_some_and(|rest| rest.starts_with(&self.print));
        Ok(newest.filter(|(id, at)| is_same(id) && *at >= from).map(|(id, _)| id))
    }
}

/// Letters and digits alone: what is left of words however they are marked up.
fn alphanumeric_only(words: &str) -> String {
    words.chars().filter(|sign| sign.is_alphanumeric()).collect()
}
