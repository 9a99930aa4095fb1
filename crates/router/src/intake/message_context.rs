//! What stands around a message, as the run is told it: what was overheard, what is quoted, what is handed on; and what of
//! it nobody vouches for (rows C4, N6).

use jiff::Timestamp;

use crate::intake::sender_access::SenderAccess;
use crate::intake::transaction::{IntakeOutcome, IntakeTransaction};
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::{Attachment, Audience, QuotedMessage};
use hob_core::domain::message_context::{MessageContext, OverheardMessage};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::render::clean::clean;
use hob_store::error::StoreError;
use hob_store::overheard::NewOverheard;
use hob_store::sessions::Session;
use hob_store::{Tx, messages, overheard, sessions};

/// The most characters of a quoted text.
const QUOTED_CHARS_MAX: usize = 2_000;
/// So many of the latest messages a quoted one is looked for in.
const LOOKED_THROUGH: i64 = 100;
/// So many of the latest answers certainly go along with a run.
const GOES_ALONG: usize = 5;

/// What stands around a message, and what of it nobody vouches for.
#[derive(Debug, Default)]
pub(super) struct SurroundingContext {
    around: MessageContext,
    taint: Taint,
}

impl SurroundingContext {
    /// Is the message to be told as bare words?
    pub(super) fn is_bare(&self) -> bool {
        self.around.forwarded_from.is_none() && self.around.quoted.is_none() && self.taint.is_clean()
    }

    /// With what was said since the last run of the conversation, which is taken.
    pub(super) async fn with_overheard(
        mut self,
        tx: &mut Tx,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        self.around.overheard = overheard::take(tx, session, now).await?;
        let strangers = self.around.overheard.iter().filter(|heard| !heard.member);
        let sources: Vec<OriginSource> =
            strangers.map(|heard| OriginSource::new(Origin::Stranger, &heard.name)).collect();
        sources.into_iter().for_each(|source| {
            self.taint.add(source);
        });
        Ok(self)
    }

    /// As it is recorded.
    pub(super) fn split(self) -> (Option<Box<MessageContext>>, Taint) {
        let around = (!self.around.is_empty()).then(|| Box::new(self.around));
        (around, self.taint)
    }
}

impl IntakeTransaction {
    /// What stands around this message, but for what was overheard.
    pub(super) async fn surrounding_context(
        &self,
        tx: &mut Tx,
        session: &Session,
    ) -> Result<SurroundingContext, StoreError> {
        let metadata = &self.inbound.metadata;
        let mut near = SurroundingContext::default();
        near.around.unaddressed = metadata.audience == Audience::Group;
        near.around.forwarded_from = metadata.forwarded_from.as_deref().map(|author| clean(author).into_owned());
        near.around.wanted = metadata.wanted;
        if let Some(author) = &near.around.forwarded_from {
            near.taint.add(OriginSource::new(Origin::Forwarded, author));
        }
        if let Some(quoted) = &metadata.quoted {
            let text: String = clean(&quoted.text).chars().take(QUOTED_CHARS_MAX).collect();
            let quoted = QuotedMessage { author: clean(&quoted.author).into_owned(), text, own: quoted.own };
            self.quote(tx, session, quoted, &mut near).await?;
        }
        Ok(near)
    }

    /// What is answered is shown unless the run sees it anyway. Of whom the platform says that they wrote it counts for
    /// nothing: only words that were heard from a member are a member's.
    async fn quote(
        &self,
        tx: &mut Tx,
        session: &Session,
        quoted: QuotedMessage,
        near: &mut SurroundingContext,
    ) -> Result<(), StoreError> {
        let key = comparable_text(&quoted.text);
        if quoted.own {
            let answers = messages::latest(tx, session.id, "assistant", LOOKED_THROUGH).await?;
            let found = answers.iter().position(|answer| fits(&answer.text, &key));
            match found.and_then(|at| Some((at, answers.get(at)?))) {
                Some((at, answer)) if at < GOES_ALONG && answer.ordinal > session.context_from => return Ok(()),
                Some((_, answer)) => near.taint.join(&Taint::from_stored(answer.taint.as_deref())),
                // Words that were sent here from elsewhere, or by a command.
                None => {
                    near.taint.add(OriginSource::new(Origin::Memory, "what I said here before"));
                }
            }
            near.around.quoted = Some(quoted);
            return Ok(());
        }
        let said = messages::latest(tx, session.id, "user", LOOKED_THROUGH).await?;
        let said = said.iter().any(|message| message.taint.is_none() && fits(&message.text, &key));
        let is_members = said || overheard::of_members(tx, session.id).await?.iter().any(|text| fits(text, &key));
        if !is_members {
            near.taint.add(OriginSource::new(Origin::Stranger, &quoted.author));
        }
        near.around.quoted = Some(quoted);
        Ok(())
    }

    /// Keeps what was said to a group and not to Hob.
    pub(super) async fn overhear(
        &self,
        tx: &mut Tx,
        known: &SenderAccess,
        text: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        let text = [text.to_owned()].into_iter().chain(self.inbound.attachments.iter().map(attachment_label));
        let text = text.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
        }
        let place = &self.inbound.conversation;
        let session = sessions::ensure(tx, &place.session_key().0, place.channel, self.now).await?;
        let name = match &self.inbound.metadata.forwarded_from {
            Some(author) => format!("{}, handing on what {author} said", self.inbound.sender.name),
            None => self.inbound.sender.name.clone(),
        };
        let member = known.is_member(&self.context.access, &self.inbound);
        let message = OverheardMessage { name: clean(&name).into_owned(), text, at: self.now, member };
        let new = NewOverheard {
            session: session.id,
            conversation: place,
            external_id: &self.inbound.external_id,
            sender: &self.inbound.sender.external_id,
            message: &message,
        };
        let is_new = overheard::add(tx, &new).await?;
        Ok(IntakeOutcome::without_effects(if is_new { UpdateOutcome::Committed } else { UpdateOutcome::Duplicate }))
    }
}

/// A file that nobody has asked Hob to look at.
fn attachment_label(file: &Attachment) -> String {
    format!("(sent {})", clean(&file.name))
}

/// What tells a text from others, however its platform shows it: letters and digits, to its end. Somebody's words may begin like
/// another's.
fn comparable_text(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a text has these words in a row. Without any, nothing tells them apart.
fn fits(text: &str, key: &str) -> bool {
    let all: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    !key.is_empty() && all.contains(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_known_however_it_is_shown() {
        let table = [
            ("**Red**, or _blue_?", "Red, or blue?", true),
            ("I said: red, or blue? Well.", "red or blue", true),
            ("Red", "Red, or blue?", false),
            ("👍", "👍", false),
            ("", "", false),
        ];
        for (text, quoted, expected) in table {
            assert_eq!(fits(text, &comparable_text(quoted)), expected, "{text} {quoted}");
        }
        let said = "Words of a member. ".repeat(30);
        assert!(fits(&format!("{said}Bye."), &comparable_text(&said)));
        assert!(!fits(&said, &comparable_text(&format!("{said}Pay Mallory."))), "what follows is not the member's");
    }
}
