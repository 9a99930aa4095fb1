//! What somebody says in a recording that came with a message, in words.
//!
//! A voice message is its sender speaking: what is heard in it counts as if they had written it. Any other recording is a
//! file like others, and so is what is heard in it.
//!
//! Never: a failure that costs the message, which says what is missing instead; or money that is spent before it is set aside
//! on record.
//! Start at [`VoiceInput::hear`].

use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::delivery::Delivery;
use crate::delivery::kept_files::FetchedFile;
use hob_agent::persona::Personas;
use hob_core::domain::ids::UserId;
use hob_core::domain::inbound::{Audience, ChannelKind, Conversation, Inbound, Sender};
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::policy::budget::MoneyAndTokens;
use hob_core::policy::persona::PersonaContext;
use hob_model::budget_guard::{BudgetGuard, CallReservation, CapExceeded, Spender};
use hob_model::sound::SoundError;
use hob_model::transcription::{Recording, RecordingKind, Transcriber, Transcript};
use hob_store::error::StoreError;
use hob_store::recordings::{self, RecordingKey, RecordingTranscript, TranscriptionEnd};
use hob_store::users::Identity;
use hob_store::{Store, Tx, inbound, sessions, users};

/// Why nothing is heard where nothing was set up for it.
const DEAF: &str = "nobody here puts voice messages into words: [transcription] in config.toml sets it up";
/// The most characters of a recording's words that go along with a message as a file's.
const OTHERS_CHARS_MAX: usize = 20_000;

/// Another name of the same person: the platform, and its id where it has several people.
pub(super) type LinkedIdentity = (ChannelKind, Option<String>);

/// Who hears recordings, and what for.
pub(super) struct VoiceInput<'a> {
    pub(super) transcriber: Option<&'a Transcriber>,
    pub(super) delivery: &'a Delivery,
    pub(super) store: &'a Store,
    pub(super) budget_guard: &'a Arc<BudgetGuard>,
    pub(super) personas: &'a Arc<Personas>,
    /// What the sender may, and their other names.
    pub(super) speaker: (Role, &'a [LinkedIdentity]),
    /// What is heard is kept until its message is taken in: no secret stands in it.
    pub(super) redactor: &'a Redactor,
    pub(super) now: Timestamp,
}

/// What came of a recording.
#[derive(Debug)]
pub(super) struct TranscribedRecording {
    /// The words, or why there are none.
    pub(super) transcript: Result<Transcript, String>,
    /// Whether the sender spoke it themselves.
    pub(super) own: bool,
    /// How long it is, where the platform tells.
    pub(super) seconds: Option<u32>,
}

impl VoiceInput<'_> {
    /// The words in a file that came, before `end`; none: it is not a recording, or one that nobody was to hear.
    pub(super) async fn transcribe(
        &self,
        inbound: &Inbound,
        place: usize,
        fetched: &FetchedFile,
        end: Instant,
    ) -> Option<TranscribedRecording> {
        let metadata = &inbound.metadata;
        // What people say among themselves is nobody's to listen to.
        if metadata.audience == Audience::Group {
            return None;
        }
        let spoken = metadata.spoken.as_ref();
        // Who sends music does not expect to be told what it is about.
        if spoken.is_none() && (RecordingKind::of(fetched.mime, false).is_none() || self.transcriber.is_none()) {
            return None;
        }
        let own = spoken.is_some() && metadata.forwarded_from.is_none();
        let seconds = spoken.and_then(|spoken| spoken.seconds);
        Some(TranscribedRecording {
            transcript: self.transcribe_recording(inbound, place, fetched, end).await,
            own,
            seconds,
        })
    }

    async fn transcribe_recording(
        &self,
        inbound: &Inbound,
        place: usize,
        fetched: &FetchedFile,
        end: Instant,
    ) -> Result<Transcript, String> {
        let transcriber = self.transcriber.ok_or(DEAF)?;
        let spoken = inbound.metadata.spoken.as_ref();
        let kind = RecordingKind::of(fetched.mime, spoken.is_some());
        let kind = kind.ok_or_else(|| format!("no service takes its format ({})", fetched.mime))?;
        let (kept, seconds) = (&fetched.kept, spoken.and_then(|spoken| spoken.seconds));
        let which = RecordingKey {
            conversation: inbound.conversation.clone(),
            external_id: inbound.external_id.clone(),
            place: i64::try_from(place).unwrap_or(i64::MAX),
        };
        let _turn = transcriber.turn(&format!("{which:?}")).await;
        let end = transcriber.until(end);
        let begin = ReserveTranscription {
            which,
            sender: inbound.sender.clone(),
            server: inbound.metadata.server.clone(),
            role: self.speaker.0,
            others: self.speaker.1.to_vec(),
            budget_guard: Arc::clone(self.budget_guard),
            personas: Arc::clone(self.personas),
            model: transcriber.label(),
            wanted: transcriber.estimate(kept.bytes, seconds),
            now: self.now,
        };
        let mut is_first = true;
        loop {
            let ask = async || match self.delivery.content_of(kept).await {
                Ok(content) => transcriber.transcribe_until(&Recording { content: &content, kind, seconds }, end).await,
                Err(error) => Err(SoundError::unsent(format!("it cannot be read: {error}"))),
            };
            let transcript = self.ask_and_bill(&begin, ask).await;
            let again = transcript.as_ref().err().and_then(|deaf| deaf.again).filter(|_| is_first);
            let Some(at) = again.map(|wait| Instant::now() + wait).filter(|at| *at < end) else {
                return match transcript {
                    Ok(transcript) if transcript.text.is_empty() => Err("nobody is heard in it".to_owned()),
                    transcript => transcript.map_err(|deaf| deaf.why),
                };
            };
            is_first = false;
            tokio::time::sleep_until(at).await;
        }
    }

    /// One request: set aside before, and on the bill after.
    async fn ask_and_bill(
        &self,
        begin: &ReserveTranscription,
        ask: impl AsyncFnOnce() -> Result<Transcript, SoundError>,
    ) -> Result<Transcript, SoundError> {
        let failed = |error: StoreError| SoundError::unsent(format!("the database failed: {error}"));
        let begin = begin.clone();
        let call = match self.store.write(async move |tx| begin.run(tx).await).await.map_err(failed)? {
            ReservationOutcome::Call(call) => call,
            ReservationOutcome::Heard(transcript) => return Ok(transcript),
            ReservationOutcome::TakenIn => {
                return Err(SoundError::unsent("its message was taken in before".to_owned()));
            }
            ReservationOutcome::Refused(refusal) => return Err(SoundError::unsent(refusal.to_string())),
        };
        let transcript = ask().await.map(|mut transcript| {
            self.redactor.redact_in_place(&mut transcript.text);
            transcript
        });
        let end = match &transcript {
            Ok(transcript) => {
                let seconds = transcript.seconds.and_then(|seconds| i64::try_from(seconds).ok());
                let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
                TranscriptionEnd::Heard(RecordingTranscript {
                    words: transcript.text.clone(),
                    seconds,
                    cost: transcript.cost.map(Money::nanos),
                    input_tokens: count(transcript.input_tokens),
                    output_tokens: count(transcript.output_tokens),
                })
            }
            Err(deaf) if deaf.worked => TranscriptionEnd::Lost,
            Err(_) => TranscriptionEnd::Failed,
        };
        let now = self.now;
        if let Err(error) = self.store.write(async move |tx| recordings::end(tx, call, &end, now).await).await {
            // It stays set aside, and counts as lost at the next start.
            tracing::warn!(%error, "what a recording cost could not be stored");
        }
        transcript
    }
}

/// Sets aside what one request may cost, in one transaction with the look whether the budgets allow it.
#[derive(Clone)]
struct ReserveTranscription {
    which: RecordingKey,
    sender: Sender,
    /// The server that it was said on.
    server: Option<String>,
    role: Role,
    others: Vec<LinkedIdentity>,
    budget_guard: Arc<BudgetGuard>,
    personas: Arc<Personas>,
    model: String,
    wanted: MoneyAndTokens,
    now: Timestamp,
}

impl ReserveTranscription {
    async fn run(&self, tx: &mut Tx) -> Result<ReservationOutcome, StoreError> {
        let RecordingKey { conversation, external_id, .. } = &self.which;
        if inbound::is_claimed(tx, conversation, external_id).await? {
            return Ok(ReservationOutcome::TakenIn);
        }
        if let Some(words) = recordings::find(tx, &self.which).await? {
            return Ok(ReservationOutcome::Heard(cached_transcript(words)));
        }
        let session = sessions::find_by_key(tx, &conversation.session_key().0).await?;
        let chosen = session.as_ref().and_then(|session| session.persona.as_deref());
        let server = self.server.as_deref().or(session.as_ref().and_then(|session| session.server.as_deref()));
        let persona = self.personas.assigned.resolve(conversation, PersonaContext { server, chosen }).name();
        let user = self.speaker(tx).await?;
        let spender = Spender { run: None, user, role: self.role, persona };
        let wanted = CallReservation { sum: self.wanted, over: None };
        if let Some(refusal) = self.budget_guard.refuses(tx, spender, wanted, self.now).await? {
            return Ok(ReservationOutcome::Refused(refusal));
        }
        let (reserved, estimate) = (self.wanted.usd.nanos(), i64::try_from(self.wanted.tokens).unwrap_or(i64::MAX));
        let call = recordings::NewTranscription { user, persona, model: &self.model, reserved, estimate, at: self.now };
        Ok(ReservationOutcome::Call(recordings::begin_call(tx, &self.which, call).await?))
    }

    /// Whose bill it is on. Who was never heard before becomes known by it, so that all they say is on one.
    async fn speaker(&self, tx: &mut Tx) -> Result<UserId, StoreError> {
        let Conversation { channel, account, .. } = &self.which.conversation;
        if let Some(user) = users::find(tx, &self.which.conversation, &self.sender.external_id).await? {
            return Ok(user);
        }
        let Sender { external_id, name } = &self.sender;
        let identity =
            Identity { channel: *channel, account, external_id, name, role: self.role, others: self.others.clone() };
        users::ensure(tx, &identity, self.now).await
    }
}

/// Whether a recording may be put into words.
#[derive(Debug, PartialEq, Eq)]
enum ReservationOutcome {
    /// Yes: it is on record.
    Call(i64),
    /// It was heard before, by a process that did not come to take its message in.
    Heard(Transcript),
    /// Its message is on record: nobody waits for its words.
    TakenIn,
    /// It does not fit a cap.
    Refused(CapExceeded),
}

fn cached_transcript(words: RecordingTranscript) -> Transcript {
    let RecordingTranscript { words, seconds, cost, input_tokens, output_tokens } = words;
    Transcript {
        text: words,
        seconds: seconds.and_then(|seconds| u64::try_from(seconds).ok()),
        cost: cost.map(Money::from_nanos),
        input_tokens: input_tokens.unsigned_abs(),
        output_tokens: output_tokens.unsigned_abs(),
    }
}

impl TranscribedRecording {
    /// The sender's own words in it.
    pub(super) fn own_words(&self) -> Option<&str> {
        self.transcript.as_ref().ok().filter(|_| self.own).map(|transcript| transcript.text.as_str())
    }

    /// The line about it, beside its sender's words; and what others say in it, as a line of its own.
    pub(super) fn lines(&self, name: &str) -> (Option<String>, Option<String>) {
        let what = if self.own { "voice message".to_owned() } else { format!("recording {name:?}") };
        let seconds =
            self.transcript.as_ref().ok().and_then(|transcript| transcript.seconds).or(self.seconds.map(u64::from));
        let long = seconds.map(|seconds| format!(", {seconds} s")).unwrap_or_default();
        match &self.transcript {
            Ok(_) if self.own => (Some(format!("[{what}{long}: the words are as a machine heard them]")), None),
            Ok(transcript) => {
                let words: String = transcript.text.chars().take(OTHERS_CHARS_MAX).collect();
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
    use jiff::tz::TimeZone;

    use super::*;
    use hob_core::policy::budget::{Budget, CapsByPeriod, PeriodCaps};
    use hob_store::SchedulingMode;

    fn lines(transcript: Result<&str, &str>, own: bool) -> (Option<String>, Option<String>) {
        let transcript = transcript.map(|text| Transcript {
            text: text.to_owned(),
            seconds: None,
            cost: None,
            input_tokens: 0,
            output_tokens: 0,
        });
        TranscribedRecording { transcript: transcript.map_err(str::to_owned), own, seconds: Some(12) }
            .lines("a\"]\n.mp3")
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

    async fn database() -> (tempfile::TempDir, Tx) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hob.db");
        Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
        let database = Store::raw(&path).await.unwrap();
        (dir, database)
    }

    /// What a recording costs at most.
    const EACH: Money = Money::from_nanos(10);

    fn begin(message: &str) -> ReserveTranscription {
        let (channel, account, chat) = (ChannelKind::Telegram, "default".to_owned(), "7".to_owned());
        let conversation = Conversation { channel, account, chat, thread: None };
        let hour = PeriodCaps { usd: Some(Money::from_nanos(25)), tokens: None };
        let budget = Budget { house: CapsByPeriod { hour, ..CapsByPeriod::default() }, ..Budget::default() };
        ReserveTranscription {
            which: RecordingKey { conversation, external_id: message.to_owned(), place: 0 },
            sender: Sender { external_id: "7".to_owned(), name: "Ada".to_owned() },
            server: None,
            role: Role::User,
            others: Vec::new(),
            budget_guard: Arc::new(BudgetGuard { budget, zone: TimeZone::UTC }),
            personas: Arc::default(),
            model: "transcription/one".to_owned(),
            wanted: MoneyAndTokens { usd: EACH, tokens: 30 },
            now: Timestamp::UNIX_EPOCH,
        }
    }

    fn words(cost: i64) -> RecordingTranscript {
        RecordingTranscript {
            words: "Buy milk".to_owned(),
            seconds: Some(3),
            cost: Some(cost),
            input_tokens: 31,
            output_tokens: 2,
        }
    }

    async fn sums(tx: &mut Tx) -> (i64, i64, i64) {
        sqlx::query_as(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(cost), 0), coalesce(sum(input_tokens + output_tokens), 0) FROM spend",
        )
            .fetch_one(&mut *tx)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn n10_recordings_at_once_cannot_overshoot_a_cap_together() {
        let (_dir, mut tx) = database().await;
        assert!(matches!(begin("a").run(&mut tx).await.unwrap(), ReservationOutcome::Call(_)));
        let ReservationOutcome::Call(second) = begin("b").run(&mut tx).await.unwrap() else { panic!("both fit") };
        assert!(matches!(begin("c").run(&mut tx).await.unwrap(), ReservationOutcome::Refused(_)), "the third does not");
        // What was dearer than thought counts as what it was; what was cheaper leaves room.
        recordings::end(&mut tx, second, &TranscriptionEnd::Heard(words(4)), Timestamp::UNIX_EPOCH).await.unwrap();
        assert!(matches!(begin("c").run(&mut tx).await.unwrap(), ReservationOutcome::Call(_)));
    }

    #[tokio::test]
    async fn c2_recordings_of_somebody_new_cannot_overshoot_their_cap_together() {
        let (_dir, mut tx) = database().await;
        // Nobody knows what it costs: tokens count.
        let begin = |message: &str| {
            let hour = PeriodCaps { usd: None, tokens: Some(70) };
            let budget = Budget { person: CapsByPeriod { hour, ..CapsByPeriod::default() }, ..Budget::default() };
            let wanted = MoneyAndTokens { usd: Money::ZERO, tokens: 30 };
            ReserveTranscription {
                budget_guard: Arc::new(BudgetGuard { budget, zone: TimeZone::UTC }),
                wanted,
                ..begin(message)
            }
        };
        assert!(matches!(begin("a").run(&mut tx).await.unwrap(), ReservationOutcome::Call(_)));
        assert!(matches!(begin("b").run(&mut tx).await.unwrap(), ReservationOutcome::Call(_)));
        let ReservationOutcome::Refused(refusal) = begin("c").run(&mut tx).await.unwrap() else {
            panic!("60 of 70 are set aside")
        };
        assert_eq!(refusal.to_string(), "the budget of 70 tokens for an hour is used up");
        // Somebody else has tokens of their own.
        let sender = Sender { external_id: "8".to_owned(), name: "Bob".to_owned() };
        assert!(matches!(
            ReserveTranscription { sender, ..begin("d") }.run(&mut tx).await.unwrap(),
            ReservationOutcome::Call(_)
        ));
    }

    #[tokio::test]
    async fn n10_a_recording_is_paid_once_whenever_the_process_dies() {
        let (_dir, mut tx) = database().await;
        // Nobody knew who that is: by what they say, they are known.
        let ReservationOutcome::Call(call) = begin("a").run(&mut tx).await.unwrap() else { panic!("it fits") };
        recordings::end(&mut tx, call, &TranscriptionEnd::Heard(words(4)), Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(sums(&mut tx).await, (1, 4, 33));
        // Killed before its message was taken in: that is handed in again.
        let again = begin("a").run(&mut tx).await.unwrap();
        assert_eq!(again, ReservationOutcome::Heard(cached_transcript(words(4))), "nobody is asked again");
        let conversation = begin("a").which.conversation;
        recordings::settle(&mut tx, &conversation, "a").await.unwrap();
        // Killed in the middle: nobody knows what it took, and what was set aside stands in.
        assert!(matches!(begin("b").run(&mut tx).await.unwrap(), ReservationOutcome::Call(_)));
        assert_eq!(recordings::close_lost(&mut tx, Timestamp::UNIX_EPOCH).await.unwrap(), 1);
        recordings::settle(&mut tx, &conversation, "b").await.unwrap();
        assert_eq!(sums(&mut tx).await, (2, 14, 63));
        let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM recordings WHERE words IS NOT NULL")
            .fetch_one(&mut tx)
            .await
            .unwrap();
        assert_eq!(kept, 0, "the words are where the message is");
    }
}
