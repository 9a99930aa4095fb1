//! Reads what servers write carelessly.
//!
//! Never: a meaning.
//! Start at [`or_empty`].

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads `null` as the empty value.
pub(crate) fn or_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A call's arguments as the model wrote them, be they an object or a text that has one in it: no member is moved, and no
/// number rounded. Nothing at all stands for none.
pub(crate) fn as_written(arguments: Option<&RawValue>) -> String {
    let written = arguments.map_or("", RawValue::get);
    let text = serde_json::from_str::<String>(written).unwrap_or_else(|_no_text| written.to_owned());
    if text.trim().is_empty() { "{}".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_arguments_stay_as_the_model_wrote_them() {
        let of = |written: &str| as_written(serde_json::from_str::<Option<Box<RawValue>>>(written).unwrap().as_deref());
        let written = r#"{"to":"x","n":123456789012345678901234567890,"body":1.50}"#;
        assert_eq!(of(written), written);
        assert_eq!(of(r#""{\"b\":1,\"a\":2}""#), r#"{"b":1,"a":2}"#);
        assert_eq!([of("null"), of(r#"" ""#), as_written(None)], ["{}", "{}", "{}"]);
    }
}
