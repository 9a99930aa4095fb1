//! A run's state in one hash: what `hob replay --verify` compares.
//!
//! It covers every field of [`State`], because the compiler asks each for its form. So that it outlives fields that come
//! later, what is empty, nought or off stands for nothing, and of the policy only what is not the default counts. If a
//! field gets another meaning, or a number of the policy another default, [`STATE_SCHEME`] takes a new name.

use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::machine::digest::Digest;
use crate::machine::policy::Policy;
use crate::machine::state::State;
use crate::machine::transcript::Transcript;

/// The scheme of state hashes: hashes of different schemes are not compared.
pub const STATE_SCHEME: &str = "state1";

/// The hash of everything that decides how a run goes on.
#[must_use]
pub fn fingerprint(state: &State) -> Digest {
    let value = serde_json::to_value(state).unwrap_or_default();
    Digest::of(STATE_SCHEME, &[&text_of(&value)])
}

/// The transcript's form: its own hash grows along, so that a long one costs no more than a short one.
pub(super) fn transcript<S: Serializer>(transcript: &Transcript, to: S) -> Result<S::Ok, S::Error> {
    (transcript.digest(), transcript.messages().len(), transcript.tokens()).serialize(to)
}

/// The policy's form: what is not the default.
pub(super) fn policy<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
    static USUAL: LazyLock<(Policy, Value)> = LazyLock::new(|| {
        let usual = Policy::default();
        let value = serde_json::to_value(&usual).unwrap_or_default();
        (usual, value)
    });
    let (usual, value) = &*USUAL;
    // Most runs go by it, and each of their events asks.
    if policy == usual {
        return Map::new().serialize(to);
    }
    changed_fields(serde_json::to_value(policy).unwrap_or_default(), value).serialize(to)
}

/// What of `value` is not as in `usual`.
fn changed_fields(value: Value, usual: &Value) -> Value {
    let (Value::Object(fields), Value::Object(usual)) = (&value, usual) else {
        return value;
    };
    let differs = |(name, field): (&String, &Value)| match usual.get(name) {
        Some(same) if same == field => None,
        Some(other) => Some((name.clone(), changed_fields(field.clone(), other))),
        None => Some((name.clone(), field.clone())),
    };
    Value::Object(fields.iter().filter_map(differs).collect())
}

/// JSON with its keys in order, without fields that say nothing.
fn text_of(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    write_canonical(value, &mut text);
    text
}

/// Adds it to the text; whether it says anything.
fn write_canonical(value: &Value, text: &mut Vec<u8>) -> bool {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_str());
            text.push(b'{');
            let begun = text.len();
            for (name, field) in fields {
                let before = text.len();
                text.extend((before > begun).then_some(b','));
                write_scalar(name, text);
                text.push(b':');
                if !write_canonical(field, text) {
                    text.truncate(before);
                }
            }
            let says = text.len() > begun;
            text.push(b'}');
            says
        }
        Value::Array(items) => {
            text.push(b'[');
            for (index, item) in items.iter().enumerate() {
                text.extend((index > 0).then_some(b','));
                write_canonical(item, text);
            }
            text.push(b']');
            !items.is_empty()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write_scalar(value, text);
            is_nonempty(value)
        }
    }
}

/// Adds a text, a number or a word of JSON.
#[expect(clippy::expect_used, reason = "memory takes all that is written to it, and such a value encodes")]
fn write_scalar<T: Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("a plain value encodes");
}

/// Whether what holds nothing else says anything.
fn is_nonempty(value: &Value) -> bool {
    match value {
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn n2_what_says_nothing_is_left_out() {
        let table = [
            (json!({"b": 1, "a": "x"}), r#"{"a":"x","b":1}"#),
            (json!({"a": null, "b": false, "c": 0, "d": "", "e": [], "f": {}, "g": {"h": {"i": 0}}}), "{}"),
            (json!({"a": true, "b": [0, null, ""]}), r#"{"a":true,"b":[0,null,""]}"#),
            (json!({"a": {"b": 0, "c": 2}}), r#"{"a":{"c":2}}"#),
            (json!({"a\"b": [[], {}]}), r#"{"a\"b":[[],{}]}"#),
        ];
        for (value, expected) in table {
            assert_eq!(String::from_utf8(text_of(&value)).unwrap(), expected);
        }
    }

    #[test]
    fn n2_of_the_policy_only_what_is_not_usual_counts() {
        let table = [
            (json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"a": 1, "b": {"c": 2, "d": 4}}), json!({"b": {"d": 3}})),
            (json!({"a": 1}), json!({"a": 1}), json!({})),
            (json!({"a": [1]}), json!({"a": [2]}), json!({"a": [1]})),
            (json!({"a": {"b": 1}}), json!({"a": null}), json!({"a": {"b": 1}})),
            (json!({"new": 5}), json!({}), json!({"new": 5})),
        ];
        for (value, usual, expected) in table {
            assert_eq!(changed_fields(value, &usual), expected);
        }
    }
}
