//! Answers that are spoken as well: one after another, beside the words, which never wait for it (row F10).
//!
//! An answer is noted once its words are delivered (`store::speeches`); what is said of it is a row of the outbox, queued in the
//! transaction that takes the note away.
//!
//! Never: money that is spent before it is set aside on record; or a failure that is told twice.
//! Start at [`Router::speak_answers`].

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::intake::Router;
use crate::texts;
use hob_agent::journal;
use hob_agent::persona::Personas;
use hob_core::domain::ids::FileId;
use hob_core::domain::memory::Scope;
use hob_core::domain::money::Money;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::outgoing::Destination;
use hob_core::policy::budget::MoneyAndTokens;
use hob_core::policy::persona::PersonaContext;
use hob_core::render::RenderedPiece;
use hob_core::render::speech::spoken;
use hob_model::budget_guard::{BudgetGuard, CallReservation, Spender};
use hob_model::sound::SoundError;
use hob_model::speech::{Speaker, SpeechPrice};
use hob_store::Tx;
use hob_store::contents::KeptContent;
use hob_store::error::StoreError;
use hob_store::files::{self, NewFile};
use hob_store::outbox::{self, ChunkRole, NewChunk};
use hob_store::recordings::{self, NewTranscription, RecordingKey, TranscriptionEnd};
use hob_store::speeches::{self, DueSpeech};
use hob_tools::files::text::sniff;
use hob_tools::speech::SpeechCommand;

/// How often an answer is begun to be spoken: the second time after what passes, a crash among it.
const ATTEMPTS_MAX: i64 = 2;
/// The wait after the database failed.
const STORE_RETRY: Duration = Duration::from_secs(1);
/// What is taken for a voice: Opus in Ogg.
const OPUS: &str = "audio/opus";
/// What a voice is called.
const NAME: &str = "answer.ogg";

/// Who says answers aloud.
#[async_trait]
pub trait Voice: Send + Sync {
    /// The name under which it is on the bill.
    fn label(&self) -> String;

    /// What words cost.
    fn price(&self, text: &str) -> SpeechPrice;

    /// The words as sound; nobody has looked yet of what kind.
    async fn sound(&self, text: &str) -> Result<Vec<u8>, SoundError>;

    /// What helps where that is no Opus in Ogg.
    fn advice(&self) -> &'static str;
}

/// How answers are spoken.
pub struct SpeechSettings {
    pub voice: Box<dyn Voice>,
    /// The most characters of one.
    pub chars_max: usize,
}

#[async_trait]
impl Voice for Speaker {
    fn label(&self) -> String {
        self.label()
    }

    fn price(&self, text: &str) -> SpeechPrice {
        self.price(text)
    }

    async fn sound(&self, text: &str) -> Result<Vec<u8>, SoundError> {
        self.speak(text).await
    }

    fn advice(&self) -> &'static str {
        "ask it for another `model`, or another server"
    }
}

/// A program on this machine costs nothing.
#[async_trait]
impl Voice for SpeechCommand {
    fn label(&self) -> String {
        "speech/command".to_owned()
    }

    fn price(&self, _text: &str) -> SpeechPrice {
        SpeechPrice { usd: Some(Money::ZERO), tokens: 0 }
    }

    async fn sound(&self, text: &str) -> Result<Vec<u8>, SoundError> {
        self.speak(text).await.map_err(SoundError::unsent)
    }

    fn advice(&self) -> &'static str {
        "let the command convert it: docs/files.md"
    }
}

impl SpeechSettings {
    /// The words as Opus in Ogg.
    ///
    /// # Errors
    /// With the reason, and whether it is worth another try.
    pub async fn speak(&self, text: &str) -> Result<Vec<u8>, SoundError> {
        let sound = self.voice.sound(text).await?;
        match sniff(&sound) {
            OPUS => Ok(sound),
            other => Err(SoundError {
                why: format!("what came is no Opus in Ogg but {other}: {}", self.voice.advice()),
                again: None,
                worked: true,
            }),
        }
    }
}

/// What is to be done with an answer that is due.
enum SpeechStep {
    /// There is none.
    Rest,
    /// It is settled, and perhaps something was said.
    Settled(Option<Box<DueSpeech>>),
    /// It is to be spoken.
    Speak(Box<BegunSpeech>),
}

/// An answer whose speaking is on record.
struct BegunSpeech {
    due: DueSpeech,
    text: String,
    price: SpeechPrice,
    /// Its row on the bill.
    call: i64,
}

impl Router {
    /// Speaks what is to be spoken, as long as there is somebody who can. What is begun when Hob `stops` is brought to its end, unless
    /// that takes until everything is `cut`.
    pub async fn speak_answers(self: Arc<Self>, stops: CancellationToken, cut: CancellationToken) {
        let due = self.delivery.speech_due();
        while !stops.is_cancelled() {
            let work = cut.run_until_cancelled(self.speak_next());
            let wait = match work.await {
                None => return,
                Some(Ok(Some(wait))) => Some(wait),
                Some(Ok(None)) => None,
                Some(Err(error)) => {
                    tracing::warn!(%error, "an answer could not be spoken; that is tried again");
                    Some(STORE_RETRY)
                }
            };
            tokio::select! {
                biased;
                () = stops.cancelled() => return,
                () = due.notified(), if wait.is_none() => {}
                () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
            }
        }
    }

    /// Speaks one answer. Gives how long the next one waits; none: there is none.
    async fn speak_next(&self) -> Result<Option<Duration>, StoreError> {
        let config = self.config();
        let Some(settings) = &config.speech else { return Ok(None) };
        let begin = BeginSpeech {
            settings: Arc::clone(settings),
            budget_guard: Arc::clone(&config.services.budget_guard),
            personas: Arc::clone(&config.services.personas),
            now: self.clock.now(),
        };
        let begin = Arc::new(begin);
        let begun = match self.store.write(async move |tx| begin.run(tx).await).await? {
            SpeechStep::Rest => return Ok(None),
            SpeechStep::Settled(told) => {
                told.into_iter().for_each(|due| self.delivery.wake(due.session));
                return Ok(Some(Duration::ZERO));
            }
            SpeechStep::Speak(begun) => begun,
        };
        let outcome = match settings.speak(&begun.text).await {
            Ok(sound) => self.delivery.keep(sound).await.map_err(|error| SoundError {
                why: format!("it could not be kept: {error}"),
                again: None,
                worked: true,
            }),
            Err(error) => Err(error),
        };
        let again =
            outcome.as_ref().err().and_then(|error| error.again).filter(|_| begun.due.attempts + 1 < ATTEMPTS_MAX);
        let session = begun.due.session;
        let end = Arc::new(EndSpeech { begun: *begun, outcome, again: again.is_some(), now: self.clock.now() });
        loop {
            let ending = Arc::clone(&end);
            match self.store.write(async move |tx| ending.run(tx).await).await {
                Ok(()) => break,
                // What is made is paid for: it is not made again for a moment's trouble.
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, "what was spoken could not be stored; trying again");
                    tokio::time::sleep(STORE_RETRY).await;
                }
                Err(error) => return Err(error),
            }
        }
        // No sweep takes the sound before its record is there.
        drop(end);
        self.delivery.wake(session);
        Ok(Some(again.unwrap_or_default()))
    }
}

/// Sets aside what the next answer costs, in one transaction with the look whether the budgets allow it.
struct BeginSpeech {
    settings: Arc<SpeechSettings>,
    budget_guard: Arc<BudgetGuard>,
    personas: Arc<Personas>,
    now: Timestamp,
}

impl BeginSpeech {
    async fn run(&self, tx: &mut Tx) -> Result<SpeechStep, StoreError> {
        let Some(due) = speeches::next(tx, self.now).await? else { return Ok(SpeechStep::Rest) };
        let text = match answer_of(tx, &due).await?.filter(|_| !due.is_old) {
            Some(answer) => spoken(&answer, self.settings.chars_max),
            None => String::new(),
        };
        if text.is_empty() {
            speeches::settle(tx, due.outbox).await?;
            return Ok(SpeechStep::Settled(None));
        }
        if due.attempts >= ATTEMPTS_MAX {
            return give_up(tx, due, "I was interrupted twice while I did", self.now).await;
        }
        let context = PersonaContext { server: due.server.as_deref(), chosen: due.persona.as_deref() };
        let persona = self.personas.assigned.resolve(&due.place, context).name();
        let (price, label) = (self.settings.voice.price(&text), self.settings.voice.label());
        let sum = MoneyAndTokens { usd: price.usd.unwrap_or_default(), tokens: price.tokens };
        let spender = Spender { run: None, user: due.user, role: due.role, persona };
        let wanted = CallReservation { sum, over: None };
        if let Some(refusal) = self.budget_guard.refuses(tx, spender, wanted, self.now).await? {
            return give_up(tx, due, &refusal.to_string(), self.now).await;
        }
        let call = NewTranscription {
            user: due.user,
            persona,
            model: &label,
            reserved: sum.usd.nanos(),
            estimate: count(price.tokens),
            at: self.now,
        };
        let call = recordings::begin_call(tx, &RecordingKey::of_answer(due.place.clone(), due.run), call).await?;
        speeches::begin(tx, due.outbox).await?;
        Ok(SpeechStep::Speak(Box::new(BegunSpeech { due, text, price, call })))
    }
}

/// The answer, as the model wrote it; none: it was forgotten, or is none.
async fn answer_of(tx: &mut Tx, due: &DueSpeech) -> Result<Option<String>, StoreError> {
    let seq = due.key.strip_prefix("run:").and_then(|rest| rest.split(':').nth(1)).and_then(|seq| seq.parse().ok());
    match seq {
        Some(seq) => journal::answer_at(tx, due.run, seq).await,
        None => Ok(None),
    }
}

async fn give_up(tx: &mut Tx, due: DueSpeech, why: &str, now: Timestamp) -> Result<SpeechStep, StoreError> {
    if speeches::settle(tx, due.outbox).await? {
        queue(tx, &due, &texts::not_spoken(why), None, now).await?;
    }
    Ok(SpeechStep::Settled(Some(Box::new(due))))
}

/// Queues what came of it, once for each answer: its voice, or why there is none.
async fn queue(
    tx: &mut Tx,
    due: &DueSpeech,
    text: &str,
    file: Option<FileId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let chunk = NewChunk {
        key: &format!("run:{}:speech:0", due.run),
        session: due.session,
        run: Some(due.run),
        destination: &Destination { conversation: due.place.clone(), reply_to: None },
        piece: &RenderedPiece { text: text.to_owned(), markup: None },
        choices: &[],
        file,
        part: ChunkRole::Words,
    };
    outbox::add(tx, &chunk, now).await
}

/// What came of it: on the bill, and in the outbox.
struct EndSpeech {
    begun: BegunSpeech,
    outcome: Result<KeptContent, SoundError>,
    /// It is begun once more.
    again: bool,
    now: Timestamp,
}

impl EndSpeech {
    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let BegunSpeech { due, price, call, .. } = &self.begun;
        let end = match &self.outcome {
            Ok(_) => TranscriptionEnd::Spoken { cost: price.usd.map(Money::nanos), tokens: count(price.tokens) },
            Err(error) if error.worked => TranscriptionEnd::Lost,
            Err(_) => TranscriptionEnd::Failed,
        };
        recordings::end(tx, *call, &end, self.now).await?;
        if self.again || !speeches::settle(tx, due.outbox).await? {
            return Ok(());
        }
        // What was forgotten meanwhile is not said any more.
        if answer_of(tx, due).await?.is_none() {
            return Ok(());
        }
        match &self.outcome {
            Ok(kept) => self.send(tx, kept).await,
            Err(error) => queue(tx, due, &texts::not_spoken(&error.why), None, self.now).await,
        }
    }

    async fn send(&self, tx: &mut Tx, kept: &KeptContent) -> Result<(), StoreError> {
        let due = &self.begun.due;
        let is_private = due.place.is_private();
        let new = NewFile {
            key: &files::voice_key(due.run),
            session: due.session,
            user: due.user,
            scope: if is_private { Scope::Person(due.user) } else { Scope::Conversation(due.session) },
            inbound: None,
            name: NAME,
            mime: OPUS,
            bytes: kept.bytes,
            hash: &kept.hash,
            origin: &OriginSource::new(Origin::Tool, "the voice of an answer"),
        };
        let file = files::add(tx, &new, self.now).await?;
        queue(tx, due, "", Some(file), self.now).await
    }
}

fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
