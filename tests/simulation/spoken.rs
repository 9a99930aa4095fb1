//! Answers that are spoken: the voice of a world, and what must be true of it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::money::Money;
use hob_model::sound::SoundError;
use hob_model::speech::SpeechPrice;
use hob_router::speech::{SpeechSettings, Voice};
use hob_store::Tx;
use tokio::time::sleep;

use crate::world::{VoiceBehaviour, World};

/// How sound begins that is Opus in Ogg.
const OPUS: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead";

struct WorldVoice(Arc<World>);

#[async_trait]
impl Voice for WorldVoice {
    fn label(&self) -> String {
        "speech/sim".to_owned()
    }

    fn price(&self, _text: &str) -> SpeechPrice {
        SpeechPrice { usd: Some(Money::ZERO), tokens: 0 }
    }

    async fn sound(&self, text: &str) -> Result<Vec<u8>, SoundError> {
        let Self(world) = self;
        sleep(Duration::from_millis(world.between(300, 3_000))).await;
        if world.state().voice == VoiceBehaviour::Fails {
            world.note("has no voice");
            return Err(SoundError {
                why: "it is hoarse".to_owned(),
                again: Some(Duration::from_secs(5)),
                worked: false,
            });
        }
        world.note(format!("takes the voice for {text:?}"));
        Ok([OPUS, text.as_bytes()].concat())
    }

    fn advice(&self) -> &'static str {
        "nothing"
    }
}

pub(crate) fn has_voice(world: &World) -> bool {
    world.state().voice != VoiceBehaviour::Absent
}

pub(crate) fn voice(world: &Arc<World>) -> Option<Arc<SpeechSettings>> {
    let settings = || SpeechSettings { voice: Box::new(WorldVoice(Arc::clone(world))), chars_max: 2_000 };
    has_voice(world).then(|| Arc::new(settings()))
}

#[derive(Debug, sqlx::FromRow)]
struct SpokenRun {
    run: i64,
    /// Rows of the outbox that speak it, or say why nobody does.
    rows: i64,
    /// Those of them that are a voice.
    voices: i64,
    /// How often somebody was asked to speak it.
    asked: i64,
}

/// In a world of which all is spoken: each answer has one voice, or one word why there is none, and is asked for twice at most.
pub(crate) async fn voices(world: &World, tx: &mut Tx) -> Vec<String> {
    if !has_voice(world) {
        return Vec::new();
    }
    let voice = world.state().voice;
    let spoken: Vec<SpokenRun> = sqlx::query_as(
        "SELECT r.id AS run,
                (SELECT count(*) FROM outbox o WHERE o.key LIKE 'run:' || r.id || ':speech:%') AS rows,
                (SELECT count(*) FROM outbox o WHERE o.key LIKE 'run:' || r.id || ':speech:%' AND o.file_id IS NOT NULL) AS voices,
                (SELECT count(*) FROM recordings c WHERE c.external_id = 'speech:' || r.id) AS asked
         FROM runs r WHERE r.state = 'completed' ORDER BY r.id",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let is_right = |one: &SpokenRun| {
        let voices = i64::from(voice == VoiceBehaviour::Speaks);
        one.rows == 1 && one.voices == voices && (1..=2).contains(&one.asked)
    };
    let mut wrong: Vec<String> = spoken
        .iter()
        .filter(|one| !is_right(one))
        .map(|one| format!("run {} is not spoken once ({voice:?}): {one:?}", one.run))
        .collect();
    wrong.extend(spoken.is_empty().then(|| "nothing was answered".to_owned()));
    for (what, query) in [
        ("answers still to be spoken", "SELECT count(*) FROM speeches"),
        ("calls of a voice of which nobody knows", "SELECT count(*) FROM recordings WHERE state = 'asked'"),
    ] {
        let count: i64 = sqlx::query_scalar(query).fetch_one(&mut *tx).await.unwrap();
        wrong.extend((count > 0).then(|| format!("{count} {what}")));
    }
    wrong
}
