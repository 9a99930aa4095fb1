//! Values that contradict each other, and which of them a person says is true.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::facts::keep::resolve_rivals;
use hob_core::domain::ids::FactId;
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::facts::Fact;
use hob_store::{Tx, facts, millis};

/// Two values, of which one is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Rivalry {
    /// The current fact.
    pub current: Fact,
    /// What contradicts it; [`facts::note_asked`] notes on this one that a person was asked.
    pub rival: Fact,
}

impl Rivalry {
    /// What the two rest on that nobody vouches for (row N6).
    #[must_use]
    pub fn taint(&self) -> Taint {
        let mut taint = Taint::from_stored(self.current.taint.as_deref());
        taint.join(&Taint::from_stored(self.rival.taint.as_deref()));
        taint
    }

    /// A line for the model: what is known twice, and that it is to ask.
    #[must_use]
    pub fn question_line(&self, zone: &TimeZone) -> String {
        let side = |fact: &Fact| {
            let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
            let day = at.to_zoned(zone.clone()).strftime("%-d %B %Y").to_string();
            format!("\"{}\" ({}, {day})", line(&fact.value), line(&fact.speaker))
        };
        let Self { current, rival } = self;
        format!(
            "Two things are known about {}: {} and {}. Ask once which of them is true, and remember the answer under the \
             category \"{}\" and the key \"{}\".",
            line(&current.key),
            side(current),
            side(rival),
            line(&current.category),
            line(&current.key)
        )
    }
}

/// On one line, unable to end the block it stands in.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "‹").replace('>', "›")
}

/// A person says which is true: the others are history. Gives whether there was anything to settle.
pub async fn settle_rival(tx: &mut Tx, scopes: &[Scope], keep: FactId, at: Timestamp) -> Result<bool, StoreError> {
    let found = facts::find(tx, keep).await?;
    let visible = |fact: &Fact| scopes.contains(&fact.scope) && fact.superseded_at.is_none();
    let Some(truth) = found.filter(visible) else { return Ok(false) };
    let current = facts::find(tx, truth.rival_of.unwrap_or(truth.id)).await?;
    let Some(current) = current else { return Ok(false) };
    let rivals = facts::rivals(tx, current.id).await?;
    let known: Vec<Fact> = std::iter::once(current).chain(rivals).collect();
    Ok(resolve_rivals(tx, &truth, &known, millis(at)).await?.is_some())
}
