//! What a server wants back as it sent it: thinking, and signatures of calls.
//!
//! Never: a word of it shown.
//! Start at [`Thinking::take`]; [`read`] is the way back.

use serde_json::Value;

use crate::message::{ReplyPart, Sealed};
use crate::openai::chunk::Delta;
use crate::openai::quirks::ReasoningReplay;

/// DeepSeek's and Moonshot's thinking: a text.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
/// OpenRouter's: an array.
pub(super) const REASONING_DETAILS: &str = "reasoning_details";
/// What Gemini adds to a call: an object.
pub(super) const EXTRA_CONTENT: &str = "extra_content";

/// The thinking of a reply while it is written, as far as it will be wanted back.
#[derive(Debug)]
pub(super) struct Thinking {
    wanted: ReasoningReplay,
    content: String,
    details: Vec<Value>,
}

impl Thinking {
    pub(super) fn new(wanted: ReasoningReplay) -> Self {
        Self { wanted, content: String::new(), details: Vec::new() }
    }

    /// Takes an event's share; answers with how much is now held.
    pub(super) fn take(&mut self, delta: &mut Delta) -> usize {
        match self.wanted {
            ReasoningReplay::Never => 0,
            ReasoningReplay::Content => {
                let Some(Value::String(more)) = delta.reasoning_content.take() else { return 0 };
                self.content.push_str(&more);
                more.len()
            }
            ReasoningReplay::Details => {
                let Some(Value::Array(more)) = delta.reasoning_details.take() else { return 0 };
                let bytes = more.iter().map(|detail| detail.to_string().len()).sum();
                more.into_iter().for_each(|detail| self.detail(detail));
                bytes
            }
        }
    }

    /// Joins the pieces of one text; everything else stands by itself.
    fn detail(&mut self, detail: Value) {
        match self.details.last_mut().and_then(|last| text_of(last, &detail)) {
            Some(field) => extend(self.details.last_mut(), detail, field),
            None => self.details.push(detail),
        }
    }

    /// The part that stands before the reply, if there is one.
    pub(super) fn sealed(self, label: &str) -> Option<ReplyPart> {
        if !self.content.is_empty() {
            return Some(seal(label, REASONING_CONTENT, self.content));
        }
        (!self.details.is_empty()).then(|| seal(label, REASONING_DETAILS, Value::Array(self.details).to_string()))
    }
}

/// The field in which `next` goes on with the text of `last`.
fn text_of(last: &Value, next: &Value) -> Option<&'static str> {
    let field = match next["type"].as_str()? {
        "reasoning.text" => "text",
        "reasoning.summary" => "summary",
        _ => return None,
    };
    let same = |key: &str| last[key] == next[key];
    // A signature ends a text.
    (same("type") && same("index") && last["signature"].is_null()).then_some(field)
}

fn extend(last: Option<&mut Value>, next: Value, field: &str) {
    let (Some(Value::Object(last)), Value::Object(next)) = (last, next) else { return };
    for (key, value) in next {
        match (last.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if key == field => text.push_str(&more),
            (_, Value::Null) => {}
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}

/// Seals what the model `label` sent.
pub(super) fn seal(label: &str, kind: &str, data: String) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: label.to_owned(), kind: kind.to_owned(), data })
}

/// What was sealed as `kind`, as JSON.
pub(super) fn read(sealed: &Sealed, kind: &str) -> Option<Value> {
    if sealed.kind != kind {
        return None;
    }
    if kind == REASONING_CONTENT {
        return Some(Value::String(sealed.data.clone()));
    }
    serde_json::from_str(&sealed.data).inspect_err(|error| tracing::debug!(%error, kind, "a seal is broken")).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sealed(wanted: ReasoningReplay, deltas: &[Value]) -> Option<(String, String)> {
        let mut thinking = Thinking::new(wanted);
        for delta in deltas {
            thinking.take(&mut serde_json::from_value(delta.clone()).unwrap());
        }
        match thinking.sealed("a/b")? {
            ReplyPart::Sealed(Sealed { kind, data, .. }) => Some((kind, data)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let deltas = [
            json!({"reasoning_content": "Hm, ", "reasoning": "Hm, ", "reasoning_details": null}),
            json!({"reasoning_content": "so."}),
        ];
        assert_eq!(sealed(ReasoningReplay::Never, &deltas), None);
        let kept = sealed(ReasoningReplay::Content, &deltas);
        assert_eq!(kept, Some(("reasoning_content".to_owned(), "Hm, so.".to_owned())));
        assert_eq!(sealed(ReasoningReplay::Details, &deltas), None);
    }

    #[test]
    fn details_keep_their_order_and_their_fields() {
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "f"});
        let signed = json!({"type": "reasoning.text", "text": "", "signature": "s+/=", "index": 0});
        let secret = json!({"type": "reasoning.encrypted", "data": "AA==", "id": "r1", "index": 1});
        let deltas = [
            json!({"reasoning_details": [text("Hm, ")]}),
            json!({"reasoning_details": [text("so."), signed]}),
            json!({"reasoning_details": [secret, secret]}),
            json!({"reasoning_details": [text("And.")]}),
        ];
        let (kind, data) = sealed(ReasoningReplay::Details, &deltas).unwrap();
        assert_eq!(kind, "reasoning_details");
        let back: Value = serde_json::from_str(&data).unwrap();
        let first = json!({
            "type": "reasoning.text", "text": "Hm, so.", "signature": "s+/=", "index": 0, "format": "f"
        });
        assert_eq!(back, json!([first, secret, secret, text("And.")]));
    }
}
