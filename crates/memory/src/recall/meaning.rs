//! What is near a question in meaning.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::active_embedder::ActiveEmbedder;
use crate::embedding::TokenVector;
use crate::rank::features::is_informative;
use crate::rank::late::TokenBinaryCodes;
use crate::recall::{Memory, RecallQuestion, ids};
use crate::vectors::binary_codes;
use crate::vectors::bytes::rescore;
use hob_store::error::StoreError;
use hob_store::recall as rows;

/// How long the question's own vector may take: a server that hangs costs the meaning, not the recall.
const DEADLINE: Duration = Duration::from_millis(1_500);
/// How many of the index's candidates are looked at closely: enough for the hundred nearest (docs/decisions/0004). What is
/// small enough is looked at whole, as reading it costs little.
const CANDIDATES: std::ops::RangeInclusive<usize> = 500..=1_000;
/// From so many on, only one of so many is.
const FEWER_FROM: usize = 20_000;
const ONE_OF: usize = 200;

/// A question as the embedder sees it.
#[derive(Clone)]
pub struct EmbeddedQuestion {
    /// Who made it, and the index of what they made.
    pub serving: Arc<ActiveEmbedder>,
    pub vector: Vec<f32>,
    /// The signs of its tokens.
    pub tokens: TokenBinaryCodes,
}

impl Memory {
    /// The meaning of the question, if there is an embedding that tells it in time.
    pub(crate) async fn embed_question(&self, question: &RecallQuestion) -> Option<EmbeddedQuestion> {
        let serving = self.embedding_service.serving().filter(|_| !question.text.is_empty())?;
        match tokio::time::timeout(DEADLINE, serving.embed_cached(&question.text, &question.bill)).await {
            Ok(Ok(asked)) => {
                let tokens = informative_codes(asked.tokens.as_deref().unwrap_or_default(), &question.text, 0);
                Some(EmbeddedQuestion { serving, vector: asked.vector.clone(), tokens })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "recall goes by words alone: the question could not be embedded");
                None
            }
            Err(_) => {
                let after_ms = DEADLINE.as_millis();
                tracing::warn!(after_ms, "recall goes by words alone: the question was not embedded in time");
                None
            }
        }
    }

    /// What the index finds near it, looked at closely, the nearest first: memories and cosines.
    pub(super) async fn nearest(
        &self,
        question: &RecallQuestion,
        meant: Option<&EmbeddedQuestion>,
    ) -> Result<Vec<(i64, f32)>, StoreError> {
        let Some(EmbeddedQuestion { serving, vector, .. }) = meant else { return Ok(Vec::new()) };
        let near = {
            let index = serving.index.read().unwrap_or_else(PoisonError::into_inner);
            let all = question.scopes.iter().map(|scope| index.len(*scope)).sum();
            index.nearest(&binary_codes::sign_bits(vector), &question.scopes, candidates(all))
        };
        let mut wanted: Vec<i64> = near.into_iter().map(|near| near.id).collect();
        // In the order in which they lie in the file.
        wanted.sort_unstable();
        let rows = self.store.read(async |tx| rows::vectors(tx, serving.model, &ids(wanted)).await).await?;
        Ok(rescore(vector, rows.iter().map(|row| (row.id, row.bytes.as_slice())), rows.len()))
    }
}

/// How many of so many are looked at closely.
fn candidates(all: usize) -> usize {
    if all < FEWER_FROM { *CANDIDATES.end() } else { (all / ONE_OF).clamp(*CANDIDATES.start(), *CANDIDATES.end()) }
}

/// The signs of the tokens of `text` from `own` on that tell something.
pub(crate) fn informative_codes(tokens: &[TokenVector], text: &str, own: usize) -> TokenBinaryCodes {
    let tells = |range: std::ops::Range<usize>| range.start >= own && text.get(range).is_some_and(is_informative);
    let kept = tokens.iter().filter(|token| tells(token.range.clone()));
    TokenBinaryCodes::new(kept.map(|token| token.vector.as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_a_small_store_is_looked_at_whole_and_a_large_one_at_its_best() {
        let table = [(0, 1_000), (1_000, 1_000), (19_999, 1_000), (20_000, 500), (100_000, 500), (160_000, 800)];
        for (all, expected) in table.into_iter().chain([(1_000_000, 1_000)]) {
            assert_eq!(candidates(all), expected, "{all}");
        }
    }
}
