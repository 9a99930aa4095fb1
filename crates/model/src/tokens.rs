//! How many tokens text takes: cl100k's count, set right for each model by what its provider reported.
//!
//! Never: a provider's own tokenizer, of which most publish none.
//! Start at [`estimate`] and [`Calibration`]; why it is done like this: `docs/decisions/0001-tokens.md`.

use crate::message::{Message, ReplyPart, UserPart};
use crate::provider::ToolSchema;
use crate::tokens::bpe::Counter;

mod bpe;
mod split;
#[cfg(test)]
mod tests;

/// What each message takes besides its words: the marks around it, and who says it.
const PER_MESSAGE: u64 = 4;
/// What each tool and each call takes besides its words.
const PER_TOOL: u64 = 8;
/// What a picture takes: providers count from a few hundred to about 1,600, by its size.
const PER_IMAGE: u64 = 1000;
/// What begins the reply.
const PER_REQUEST: u64 = 3;

/// How many tokens of cl100k the text is. Takes time in proportion to the text, whatever it says.
pub fn count(text: &str) -> u64 {
    let mut counter = Counter::default();
    split::pieces(text).map(|piece| counter.count(piece)).sum()
}

/// How many tokens a request is, before any calibration.
pub fn estimate(system: &str, tools: &[ToolSchema], messages: &[Message]) -> u64 {
    let head = PER_REQUEST + PER_MESSAGE + count(system);
    head + tools.iter().map(tool).sum::<u64>() + messages.iter().map(message).sum::<u64>()
}

/// What one tool adds to a request.
pub fn tool(tool: &ToolSchema) -> u64 {
    PER_TOOL + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
}

/// What one message adds to a request; it can be kept, as a message does not change.
pub fn message(message: &Message) -> u64 {
    let inside: u64 = match message {
        Message::User { parts } => parts.iter().map(user_part).sum(),
        Message::Assistant { parts } => parts.iter().map(reply_part).sum(),
        Message::Tool(result) => PER_TOOL + count(&result.name) + count(&result.text),
    };
    PER_MESSAGE + inside
}

fn user_part(part: &UserPart) -> u64 {
    match part {
        UserPart::Text { text } => count(text),
        UserPart::Image(_) | UserPart::Picture(_) => PER_IMAGE,
    }
}

fn reply_part(part: &ReplyPart) -> u64 {
    match part {
        ReplyPart::Text { text } => count(text),
        ReplyPart::Call(call) => PER_TOOL + count(&call.name) + count(&call.arguments),
        // Signatures and cipher text: the bytes say little about the tokens, but more bytes are more tokens.
        ReplyPart::Sealed(sealed) => sealed.data.len() as u64 / 4,
    }
}

/// One past call: what was estimated for it, and what the provider says that it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// By [`estimate`], not calibrated.
    pub estimated: u64,
    /// All tokens read, cached or not.
    pub reported: u64,
}

/// How one model's provider counts, against cl100k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    factor: f64,
}

impl Default for Calibration {
    /// As cl100k counts.
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Calibration {
    /// The most past calls that are looked at.
    pub const SAMPLES_MAX: usize = 20;
    /// No tokenizer is further from cl100k than this, either way: what a provider reports beyond is not what it read.
    const FACTOR_MAX: f64 = 4.0;
    /// What a call counts against the one after it.
    const FADE: f64 = 0.85;

    /// From past calls, the newest first. The middle one of their ratios counts, where later calls weigh more: a report
    /// without the cached tokens, or of nothing, moves it by at most one place.
    pub fn from_samples(samples: &[Sample]) -> Self {
        let mut weight = 1.0;
        let mut ratios: Vec<(f64, f64)> = Vec::new();
        for sample in samples.iter().take(Self::SAMPLES_MAX).filter(|sample| sample.estimated > 0) {
            let ratio = sample.reported as f64 / sample.estimated as f64;
            if (1.0 / Self::FACTOR_MAX..=Self::FACTOR_MAX).contains(&ratio) {
                ratios.push((ratio, weight));
                weight *= Self::FADE;
            }
        }
        ratios.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let half = ratios.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let mut below = 0.0;
        let middle = ratios.iter().find(|(_, weight)| {
            below += weight;
            below >= half
        });
        middle.map_or_else(Self::default, |(ratio, _)| Self { factor: *ratio })
    }

    /// What the provider will probably count for what is estimated at this.
    pub fn apply(self, estimated: u64) -> u64 {
        (estimated as f64 * self.factor).ceil() as u64
    }

    /// What the provider counts for each token of cl100k.
    pub fn factor(self) -> f64 {
        self.factor
    }
}
