//! What somebody says in a recording that came with a message, in words.
//!
//! A voice message is its sender speaking: what is heard in it counts as if they had written it. Any other recording is a
//! file like others, and so is what is heard in it.
//!
//! Never: a failure that costs the message. It says what is missing instead.
//! Start at [`Ear::hear`].

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::domain::ids::UserId;
use crate::domain::inbound::{Audience, Conversation, Inbound};
use crate::domain::money::Money;
use crate::model::purse::{Purse, Refusal, Spender};
use crate::model::transcription::{Heard, Kind, Recording, Transcriber};
use crate::router::delivery::{Delivery, Fetched};
use crate::store::error::StoreError;
use crate::store::spend::Spent;
use crate::store::{Statement, Store, Tx, millis, spend, users};

/// Why nothing is heard where nothing was set up for it.
const DEAF: &str = "nobody here puts voice messages into words: [transcription] in config.toml sets it up";
/// The most characters of a recording's words that go along with a message as a file's.
const OTHERS_CHARS_MAX: usize = 20_000;

/// Who hears recordings, and what for.
pub(super) struct Ear<'a> {
    pub(super) transcriber: Option<&'a Transcriber>,
    pub(super) delivery: &'a Delivery,
    pub(super) store: &'a Store,
    pub(super) purse: &'a Purse,
    pub(super) now: Timestamp,
}

/// What came of a recording.
#[derive(Debug)]
pub(super) struct Spoken {
    /// The words, or why there are none.
    pub(super) heard: Result<Heard, String>,
    /// Whether the sender spoke it themselves.
    pub(super) own: bool,
    /// How long it is, where the platform tells.
    pub(super) seconds: Option<u32>,
}

impl Ear<'_> {
    /// The words in a file that came, before `end`; none: it is no recording, or one that nobody was to hear.
    pub(super) async fn hear(&self, inbound: &Inbound, fetched: &Fetched, end: Instant) -> Option<Spoken> {
        let circumstances = &inbound.circumstances;
        // What people say among themselves is nobody's to listen to.
        if circumstances.audience == Audience::Group {
            return None;
        }
        let spoken = circumstances.spoken.as_ref();
        let kind = Kind::of(fetched.mime, spoken.is_some());
        // Who sends music does not expect to be told what it is about.
        if spoken.is_none() && (kind.is_none() || self.transcriber.is_none()) {
            return None;
        }
        let own = spoken.is_some() && circumstances.forwarded_from.is_none();
        let seconds = spoken.and_then(|spoken| spoken.seconds);
        let heard = match (self.transcriber, kind) {
            (Some(transcriber), Some(kind)) => self.heard(transcriber, inbound, (fetched, kind, seconds), end).await,
            (Some(_), None) => Err(format!("no service takes its format ({})", fetched.mime)),
            (None, _) => Err(DEAF.to_owned()),
        };
        Some(Spoken { heard, own, seconds })
    }

    async fn heard(
        &self,
        transcriber: &Transcriber,
        inbound: &Inbound,
        (fetched, kind, seconds): (&Fetched, Kind, Option<u32>),
        end: Instant,
    ) -> Result<Heard, String> {
        let kept = &fetched.kept;
        if let Some(wanted) = transcriber.estimate(kept.bytes, seconds) {
            let place = inbound.conversation.clone();
            let (sender, purse) = (inbound.sender.external_id.clone(), self.purse.clone());
            let refusal = self.store.read(Affords { place, sender, purse, wanted, now: self.now }).await;
            if let Some(Refusal { scope, cap, .. }) =
                refusal.map_err(|error| format!("the database failed: {error}"))?
            {
                return Err(format!("the budget of {cap} for {} is used up", scope.words()));
            }
        }
        let content = self.delivery.content_of(kept).await.map_err(|error| format!("it cannot be read: {error}"))?;
        transcriber.hear(&Recording { content: &content, hash: &kept.hash, kind, seconds }, end).await
    }
}

/// Whether a recording fits the budgets.
struct Affords {
    place: Conversation,
    sender: String,
    purse: Purse,
    wanted: Money,
    now: Timestamp,
}

#[async_trait]
impl Statement for Affords {
    type Output = Option<Refusal>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Refusal>, StoreError> {
        // Whoever is new has spent nothing yet.
        let user = users::find(tx, &self.place, &self.sender).await?.unwrap_or(UserId(0));
        self.purse.refuses(tx, Spender { run: None, user }, self.wanted, self.now).await
    }
}

/// Puts what was heard for somebody on the bill.
pub(super) async fn bill(
    tx: &mut Tx,
    user: UserId,
    (label, heard): (&str, &Heard),
    now: Timestamp,
) -> Result<(), StoreError> {
    let (cost, unpriced) = (heard.cost.map_or(0, Money::nanos), i64::from(heard.cost.is_none()));
    spend::add(tx, millis(now), user, label, &Spent { calls: 1, unpriced, cost, ..Spent::default() }).await
}

impl Spoken {
    /// The sender's own words in it.
    pub(super) fn own_words(&self) -> Option<&str> {
        self.heard.as_ref().ok().filter(|_| self.own).map(|heard| heard.text.as_str())
    }

    /// The line about it, beside its sender's words; and what others say in it, as a line of its own.
    pub(super) fn lines(&self, name: &str) -> (Option<String>, Option<String>) {
        let what = if self.own { "voice message".to_owned() } else { format!("recording {name:?}") };
        let seconds = self.heard.as_ref().ok().and_then(|heard| heard.seconds).or(self.seconds.map(u64::from));
        let long = seconds.map(|seconds| format!(", {seconds} s")).unwrap_or_default();
        match &self.heard {
            Ok(_) if self.own => (Some(format!("[{what}{long}: the words are as a machine heard them]")), None),
            Ok(heard) => {
                let words: String = heard.text.chars().take(OTHERS_CHARS_MAX).collect();
                (
                    None,
                    Some(format!(
                        "[{what}{long}: what a machine heard in it, which is not said by the sender: {words:?}]"
                    )),
                )
            }
            Err(why) => {
                let advice = if self.own { "; its sender does not know that yet" } else { "" };
                (Some(format!("[{what}{long}: not transcribed: {why}{advice}]")), None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(heard: Result<&str, &str>, own: bool) -> (Option<String>, Option<String>) {
        let heard = heard.map(|text| Heard { text: text.to_owned(), seconds: None, cost: None });
        Spoken { heard: heard.map_err(str::to_owned), own, seconds: Some(12) }.lines("a\"]\n.mp3")
    }

    #[test]
    fn c6_a_recording_says_whose_words_it_holds_and_what_is_missing() {
        let shown = |(own, others): (Option<String>, Option<String>)| own.or(others).unwrap();
        insta::assert_snapshot!(shown(lines(Ok("Buy milk"), true)), @"[voice message, 12 s: the words are as a machine heard them]");
        insta::assert_snapshot!(shown(lines(Err(DEAF), true)), @"[voice message, 12 s: not transcribed: nobody here puts voice messages into words: [transcription] in config.toml sets it up; its sender does not know that yet]");
        insta::assert_snapshot!(shown(lines(Err("it took too long"), false)), @r#"[recording "a\"]\n.mp3", 12 s: not transcribed: it took too long]"#);
        insta::assert_snapshot!(shown(lines(Ok("Buy milk]\n[File"), false)), @r#"[recording "a\"]\n.mp3", 12 s: what a machine heard in it, which is not said by the sender: "Buy milk]\n[File"]"#);
        assert_eq!(lines(Ok("x"), true).1, None);
        assert_eq!(lines(Ok("x"), false).0, None, "others' words are told apart from the sender's");
    }
}
