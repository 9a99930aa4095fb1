//! A call's arguments as the model wrote them: members in its order, numbers digit by digit.
//!
//! `serde_json::Value` keeps neither: it sorts members, and a number that no machine word holds comes out as another one.
//! (`arbitrary_precision` would keep numbers, but breaks each number with a point in types that are read by trial, such as a
//! place in a message of Telegram's; `preserve_order` would reorder every schema that a model is shown.)
//! Start at [`parse`]; [`display`] is what a person sees of it.

pub mod display;

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// So deep arguments may be. What is deeper is not taken apart.
const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenValue {
    /// `null`, `true`, `false`, or a number: by its characters.
    Bare(String),
    /// A text, without its escapes.
    Text(String),
    List(Vec<Self>),
    /// Members, in their order. Of two with one name the later one counts.
    Object(Vec<(String, Self)>),
}

impl WrittenValue {
    /// As JSON again.
    pub fn json(&self) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Bare(bare) => bare.clone(),
            Self::Text(words) => text(words),
            Self::List(items) => format!("[{}]", items.iter().map(Self::json).collect::<Vec<_>>().join(",")),
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| format!("{}:{}", text(name), value.json()));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// Is it the same value? Numbers are by their amount, members in any order.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bare(one), Self::Bare(two)) => {
                one == two || decimal(one).is_some_and(|amount| decimal(two) == Some(amount))
            }
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::List(one), Self::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.is_same(two))
            }
            (Self::Object(one), Self::Object(two)) => {
                let has = |(name, value): &(String, Self)| {
                    two.iter().any(|(known, other)| known == name && value.is_same(other))
                };
                one.len() == two.len() && one.iter().all(has)
            }
            (Self::Bare(_) | Self::Text(_) | Self::List(_) | Self::Object(_), _) => false,
        }
    }
}

/// Members in the order in which they were written, and whether two have one name.
struct Members(Vec<(String, Box<RawValue>)>, bool);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedMembersVisitor;
        impl<'de> Visitor<'de> for OrderedMembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let (mut members, mut twice) = (Vec::<(String, Box<RawValue>)>::new(), false);
                while let Some((name, value)) = map.next_entry()? {
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, old)) => (*old, twice) = (value, true),
                        None => members.push((name, value)),
                    }
                }
                Ok(Members(members, twice))
            }
        }
        deserializer.deserialize_map(OrderedMembersVisitor)
    }
}

/// What was written, taken apart; none: it is not JSON, or too deep.
pub fn parse(written: &str) -> Option<WrittenValue> {
    let written = if written.trim().is_empty() { "{}" } else { written };
    read(written.trim(), true, 0)
}

/// The same of what others wrote. Of two members with one name none counts: where a program puts its JSON together by hand,
/// somebody's words may pass for its own.
pub(crate) fn parse_once(written: &str) -> Option<WrittenValue> {
    read(written.trim(), false, 0)
}

fn read(text: &str, may_repeat: bool, depth: usize) -> Option<WrittenValue> {
    if depth > DEPTH_MAX {
        return None;
    }
    match text.as_bytes().first()? {
        b'{' => {
            let Members(members, twice) = serde_json::from_str(text).ok()?;
            let inner = |value: &RawValue| read(value.get().trim(), may_repeat, depth + 1);
            let member = |(name, value): (String, Box<RawValue>)| Some((name, inner(&value)?));
            if twice && !may_repeat {
                return None;
            }
            members.into_iter().map(member).collect::<Option<Vec<_>>>().map(WrittenValue::Object)
        }
        b'[' => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
            let items = items.iter().map(|item| read(item.get().trim(), may_repeat, depth + 1));
            items.collect::<Option<Vec<_>>>().map(WrittenValue::List)
        }
        b'"' => serde_json::from_str(text).ok().map(WrittenValue::Text),
        _ => serde_json::from_str::<&RawValue>(text).ok().map(|bare| WrittenValue::Bare(bare.get().to_owned())),
    }
}

/// The first number that would not arrive as it was written: no machine word holds it.
pub fn inexact(written: &WrittenValue) -> Option<&str> {
    match written {
        WrittenValue::Bare(bare) => (!is_exact(bare)).then_some(bare.as_str()),
        WrittenValue::Text(_) => None,
        WrittenValue::List(items) => items.iter().find_map(inexact),
        WrittenValue::Object(members) => members.iter().find_map(|(_, value)| inexact(value)),
    }
}

fn is_exact(bare: &str) -> bool {
    if matches!(bare, "null" | "true" | "false") {
        return true;
    }
    if bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return bare == "-0" || bare.parse::<i64>().is_ok() || bare.parse::<u64>().is_ok();
    }
    let held = bare.parse::<f64>().ok().filter(|held| held.is_finite());
    held.is_some_and(|held| decimal(&format!("{held:e}")) == decimal(bare))
}

/// An amount, by which it can be compared: whether it is below nothing, the digits that count, and the power of ten that they
/// are to be multiplied by.
pub(in crate::policy) type Decimal = (bool, String, i64);

/// The amount that is written there.
pub(in crate::policy) fn decimal(number: &str) -> Option<Decimal> {
    let (is_negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(part.len()).ok()?)?;
    let all = format!("{whole}{part}");
    let counting = all.trim_start_matches('0').trim_end_matches('0');
    if counting.is_empty() {
        return Some((false, String::new(), 0));
    }
    let zeros = all.len() - all.trim_end_matches('0').len();
    Some((is_negative, counting.to_owned(), exponent.checked_add(i64::try_from(zeros).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_what_was_written_stays_as_it_was_written() {
        let written =
            r#"{"to": "Bo\u0062", "n": 123456789012345678901234567890, "a": [1.50, {"z": null, "b": true}], "n": 1e2}"#;
        let bare = |text: &str| WrittenValue::Bare(text.to_owned());
        let inner = WrittenValue::Object(vec![("z".to_owned(), bare("null")), ("b".to_owned(), bare("true"))]);
        let expected = WrittenValue::Object(vec![
            ("to".to_owned(), WrittenValue::Text("Bob".to_owned())),
            ("n".to_owned(), bare("1e2")),
            ("a".to_owned(), WrittenValue::List(vec![bare("1.50"), inner])),
        ]);
        assert_eq!(parse(written), Some(expected));
        assert_eq!(parse(" "), Some(WrittenValue::Object(Vec::new())));
        for none in ["{", "nothing", "{\"a\":}", "[1,]", "\"\\ud800\""] {
            assert_eq!(parse(none), None, "{none}");
        }
        assert_eq!(parse(&format!("{}1{}", "[".repeat(40), "]".repeat(40))), None, "too deep");
    }

    #[test]
    fn d5_a_number_that_no_machine_word_holds_is_found() {
        let of = |number: &str| inexact(&parse(&format!("{{\"a\": [{number}]}}")).unwrap()).map(str::to_owned);
        for fine in
            ["0", "-0", "1", "18446744073709551615", "-9223372036854775808", "1.50", "0.1", "1e2", "-2.5E-3", "0.0"]
        {
            assert_eq!(of(fine), None, "{fine}");
        }
        for lost in [
            "123456789012345678901234567890",
            "18446744073709551616",
            "-9223372036854775809",
            "0.1234567890123456789",
            "1e400",
        ] {
            assert_eq!(of(lost).as_deref(), Some(lost));
        }
    }
}
