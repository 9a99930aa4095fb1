//! `read_result`: reads a long result again, piece by piece (row C9).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::results::{ResultId, ResultStore};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::ids::RunId;
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_store::error::StoreError;
use hob_store::{Store, Tx, messages, runs};

/// What of an answer's length is kept for the line above the piece.
const HEADER_CHARS: usize = 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The result's id, as the shortened result names it.
    id: String,
    /// The first character to read, counted from 0.
    #[serde(default)]
    from: u64,
    /// The character to stop before. Without it, or too far away: as much as one answer holds.
    #[serde(default)]
    to: Option<u64>,
}

/// The tool. It reads what the same person's runs of the same conversation have left, and nothing else.
pub struct ReadResult {
    spec: ToolSpec,
    store: Store,
    results: ResultStore,
    chars_max: usize,
}

impl ReadResult {
    /// Reads from `results`, at most `chars_max` characters at once.
    pub fn new(store: Store, results: ResultStore, chars_max: usize) -> Self {
        let about = "Reads a part of an earlier tool result that was too long to be shown whole.";
        Self { spec: spec_of::<Arguments>("read_result", about, true).shown_on_need(), store, results, chars_max }
    }
}

/// Whether a run belongs to the same conversation and person as the one that asks. None: it does not. Else what the other had
/// read by its end that nobody vouches for.
async fn belong_together(tx: &mut Tx, asking: RunId, asked: RunId) -> Result<Option<Taint>, StoreError> {
    if !runs::queries::are_same_conversation_and_user(tx, asking, asked).await? {
        return Ok(None);
    }
    Ok(Some(Taint::from_stored(messages::taint_of(tx, asked).await?.as_deref())))
}

#[async_trait]
impl Tool for ReadResult {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments: Arguments = parse(&self.spec, invocation.arguments)?;
        let Some(id) = ResultId::parse(&arguments.id) else {
            let id = excerpt(&arguments.id);
            return Err(Outcome::Error(format!("{id:?} is not the id of a result, which looks like 12/3.0.")));
        };
        let taint = match self.store.read(async |tx| belong_together(tx, invocation.run, id.run).await).await {
            Ok(Some(taint)) => taint,
            // Whether somebody else has such a result is theirs alone to know.
            Ok(None) => return Err(Outcome::Error(unknown(&id))),
            Err(error) => {
                return Err(Outcome::of_store(&error, format!("The result could not be looked up: {error}.")));
            }
        };
        let outcome = match self.results.read(&id).await {
            Ok(text) => piece(&text, arguments.from, arguments.to, self.chars_max.saturating_sub(HEADER_CHARS)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Outcome::Error(unknown(&id)),
            Err(error) => Outcome::Error(format!("The result {id} could not be read: {error}.")),
        };
        // Which of that run's words they are, nobody knows any more.
        if taint.is_clean() {
            return Ok(outcome);
        }
        Ok(outcome.from(OriginSource::new(Origin::Tool, &format!("result {id}"))))
    }
}

fn unknown(id: &ResultId) -> String {
    format!("There is no kept result {id} in this conversation.")
}

fn excerpt(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(at, _)| &text[..at])
}

/// The characters from `from` up to `to`, at most so many.
fn piece(text: &str, from: u64, to: Option<u64>, chars_max: usize) -> Outcome {
    let total = text.chars().count();
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    if from >= total {
        return Outcome::Error(format!("The result has {total} characters, so it ends before character {from}."));
    }
    let to = to.and_then(|to| usize::try_from(to).ok()).unwrap_or(usize::MAX);
    let to = to.min(from.saturating_add(chars_max)).min(total);
    if to <= from {
        return Outcome::Error(format!(
            "There is nothing between {from} and {to}: \"to\" must be greater than \"from\"."
        ));
    }
    let read: String = text.chars().skip(from).take(to - from).collect();
    Outcome::Text(format!("Characters {from} to {to} of {total}:\n{read}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_pieces_are_bounded_and_never_beside_the_text() {
        let text = |from: u64, to: Option<u64>| match piece("äbcdefghij", from, to, 4) {
            Outcome::Text(text) | Outcome::Error(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(text(0, None), "Characters 0 to 4 of 10:\näbcd");
        assert_eq!(text(0, Some(1)), "Characters 0 to 1 of 10:\nä");
        assert_eq!(text(2, Some(4)), "Characters 2 to 4 of 10:\ncd");
        assert_eq!(text(0, Some(5)), "Characters 0 to 4 of 10:\näbcd");
        assert_eq!(text(8, None), "Characters 8 to 10 of 10:\nij");
        assert_eq!(text(9, Some(u64::MAX)), "Characters 9 to 10 of 10:\nj");
        insta::assert_snapshot!(text(10, None), @"The result has 10 characters, so it ends before character 10.");
        insta::assert_snapshot!(text(3, Some(3)), @r#"There is nothing between 3 and 3: "to" must be greater than "from"."#);
    }
}
