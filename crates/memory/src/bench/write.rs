//! A conversation's way into the database: the one of all that is remembered.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::bench::{SCOPE, Sessions};
use crate::embedding::EmbeddingModel;
use crate::{importance, keep};
use hob_store::error::StoreError;
use hob_store::memories::{NewMemory, begin_episode};
use hob_store::vectors::{self, NewModel, NewVector};
use hob_store::{Tx, millis};

/// So many seconds after noon of that day.
pub(super) fn at(day: Date, seconds: usize) -> Timestamp {
    let noon = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).map(|noon| noon.timestamp());
    let seconds = i64::try_from(seconds).unwrap_or(0).seconds();
    noon.and_then(|noon| noon.checked_add(seconds)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Writes a conversation, an episode for each session. Gives each turn's memory and name.
pub(super) async fn write_conversation(tx: &mut Tx, sessions: &Sessions) -> Result<Vec<(i64, String)>, StoreError> {
    let mut names = Vec::new();
    for (day, said) in sessions {
        let episode = begin_episode(tx, SCOPE, None, millis(at(*day, 0))).await?;
        for (place, said) in said.iter().enumerate() {
            let shown = said.blip_caption.as_ref().map(|caption| format!(" [shows {caption}]"));
            let text = said.text.clone() + &shown.unwrap_or_default();
            let new = NewMemory {
                scope: SCOPE,
                session: None,
                speaker: &said.speaker,
                user: None,
                message: None,
                text: &text,
                asked: None,
                origin: "import",
                importance: importance::score(&text),
                at: millis(at(*day, place)),
            };
            names.push((keep::add_to(tx, episode, &new).await?.0, said.dia_id.clone()));
        }
    }
    Ok(names)
}

/// Gives the model a row.
pub(super) async fn register(tx: &mut Tx, model: &EmbeddingModel) -> Result<i64, StoreError> {
    let EmbeddingModel { name, dimensions, digest } = model;
    let dimensions = i64::try_from(*dimensions).unwrap_or(i64::MAX);
    Ok(vectors::register(tx, NewModel { name, dimensions, digest }, Timestamp::UNIX_EPOCH).await?.id)
}

pub(super) async fn put_vectors(tx: &mut Tx, model: i64, vectors: &[NewVector]) -> Result<(), StoreError> {
    for vector in vectors {
        vectors::put(tx, model, vector).await?;
    }
    Ok(())
}
