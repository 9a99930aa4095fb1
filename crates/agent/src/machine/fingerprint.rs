//! A run's state in one hash: what `hob replay --verify` compares.
//!
//! It covers every field of [`State`], because the compiler asks each for its form. So that it outlives fields that come
//! later, what is empty, nought or off stands for nothing, and of the policy only what is not the default counts. If a
//! field gets another meaning, or a number of the policy another default, `STATE_SCHEME` takes a new name.

use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::machine::canonical_json::canonical_json;
use crate::machine::digest::Digest;
use crate::machine::policy::Policy;
use crate::machine::state::State;
use crate::machine::transcript::Transcript;

/// The scheme of state hashes: hashes of different schemes are not compared.
pub(crate) const STATE_SCHEME: &str = "state1";

/// The hash of everything that decides how a run goes on.
pub fn fingerprint(state: &State) -> Digest {
    Digest::of(STATE_SCHEME, &[&canonical_json(state).unwrap_or_default()])
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
