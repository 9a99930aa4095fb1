//! Whether somebody who counts has said a value (row N16): as a whole, never as a part of another.
//!
//! | the value | is said by |
//! |---|---|
//! | a number | a number of the same amount, whatever separates its thousands |
//! | a long number of an account, a card or a telephone | the same digits and letters, also in groups |
//! | a name, an address of mail | the same, whatever the case |
//! | anything else | the same, letter by letter |
//! | a date, a yes or no, a word of a closed list | the plan itself: it names nobody |
//!
//! Characters that look alike are not the same. What shows nothing is left out of what people said; a value that has such a
//! character, or is not written as text usually is, was said by nobody.
//! Start at [`value_source`]; what of a message counts for a person's own words says [`own_words`].

mod leads;
mod number;
mod sender_words;
mod token;

pub use leads::{is_link, leads};
pub use sender_words::{is_all_quoted, own_words};

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::domain::plan::ValueSource;
use crate::policy::arguments::{WrittenValue, parse};
use crate::policy::invisible::is_invisible;

/// A name of fewer letters proves nothing: each text has it.
const NAME_CHARS_MIN: usize = 3;
/// The same for anything else that is not a number.
const EXACT_CHARS_MIN: usize = 4;
/// So many digits at least has the number of an account.
const ACCOUNT_DIGITS_MIN: usize = 6;
/// And so many characters.
const ACCOUNT_CHARS_MIN: usize = 8;
/// The longest date with a time and a zone.
const DATE_CHARS_MAX: usize = 35;

/// A text, and what it counts for.
#[derive(Debug, Clone)]
pub struct SourcedText {
    pub whence: ValueSource,
    pub text: String,
}

/// Who has said all of a value; none: for some part of it nobody has. `schema` is what the tool says of the argument.
pub fn value_source(value: &WrittenValue, schema: &Value, told: &[SourcedText]) -> Option<ValueSource> {
    match value {
        WrittenValue::List(items) => {
            let of = |item| value_source(item, schema.get("items").unwrap_or(&Value::Null), told);
            combined_source(items.iter().map(of))
        }
        WrittenValue::Object(members) => {
            let of = |(name, value): &(String, WrittenValue)| {
                value_source(value, schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null), told)
            };
            combined_source(members.iter().map(of))
        }
        WrittenValue::Bare(bare) if matches!(bare.as_str(), "true" | "false" | "null") => Some(ValueSource::Form),
        WrittenValue::Bare(text) | WrittenValue::Text(text) => {
            let is_listed = schema.get("enum").and_then(Value::as_array).is_some_and(|all| {
                all.iter().any(|known| {
                    known.as_str().map_or_else(|| known.to_string().as_str() == text, |known| known == text)
                })
            });
            if is_listed || is_moment(text) {
                return Some(ValueSource::Form);
            }
            told.iter().find(|told| is_said(text, &told.text)).map(|told| told.whence.clone())
        }
    }
}

/// The same where a form alone proves nothing, because somebody else may have chosen it: all of it was said.
pub fn whence_said(value: &WrittenValue, told: &[SourcedText]) -> Option<ValueSource> {
    match value {
        WrittenValue::List(items) => combined_source(items.iter().map(|item| whence_said(item, told))),
        WrittenValue::Object(members) => combined_source(members.iter().map(|(_, value)| whence_said(value, told))),
        WrittenValue::Bare(text) | WrittenValue::Text(text) if is_moment(text) => {
            is_moment_said(&value.json(), told).then_some(ValueSource::Words)
        }
        WrittenValue::Bare(text) | WrittenValue::Text(text) => {
            told.iter().find(|told| is_said(text, &told.text)).map(|told| told.whence.clone())
        }
    }
}

/// What stands for all: what names something goes before what is a mere form. Nothing at all is said by nobody.
fn combined_source(parts: impl Iterator<Item = Option<ValueSource>>) -> Option<ValueSource> {
    let parts: Option<Vec<ValueSource>> = parts.collect();
    let parts = parts?;
    parts.iter().find(|part| **part != ValueSource::Form).or(parts.first()).cloned()
}

/// A day, a time, or both, as machines write them.
fn is_moment(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | '+' | ' ' | 'T' | 'Z');
    let fits = text.len() <= DATE_CHARS_MAX && text.contains(['-', ':']) && text.chars().all(is_plain);
    fits && (text.parse::<jiff::civil::Date>().is_ok()
        || text.parse::<jiff::civil::DateTime>().is_ok()
        || text.parse::<jiff::civil::Time>().is_ok()
        || text.parse::<jiff::Timestamp>().is_ok())
}

/// Has the person said this moment themselves: its day and its time, each as it is written?
pub fn is_moment_said(written: &str, told: &[SourcedText]) -> bool {
    let Some(WrittenValue::Text(moment)) = parse(written) else { return false };
    let parts: Vec<&str> = moment.split(['T', ' ']).collect();
    let is_said = |part: &str| {
        let short = part.strip_suffix(":00").filter(|short| short.contains(':')).unwrap_or(part);
        let mut words = told.iter().filter(|told| told.whence == ValueSource::Words);
        words.any(|told| is_said(part, &told.text) || is_said(short, &told.text))
    };
    is_moment(&moment) && parts.len() <= 2 && parts[0].contains('-') && parts.into_iter().all(is_said)
}

/// Does the text say this value, as a whole?
pub fn is_said(value: &str, text: &str) -> bool {
    if value.is_empty() || plain(value) != value || value.trim() != value {
        return false;
    }
    let text = plain(text);
    if is_account(value) && token::is_grouped_in(value, &text) {
        return true;
    }
    if let Some(number) = number::of(value) {
        return number::is_in(&number, &text);
    }
    let chars = value.chars().count();
    let is_wide = value.chars().all(|c| !c.is_ascii());
    if is_name(value) {
        let enough = chars >= NAME_CHARS_MIN || (is_wide && chars > 1);
        return enough && token::is_in(&folded(value), &folded(&text));
    }
    if chars < EXACT_CHARS_MIN {
        return false;
    }
    if value.contains('@') && !value.contains('/') {
        return token::is_in(&folded(value), &folded(&text));
    }
    token::is_in(value, &text)
}

/// As text is usually written: composed, with plain spaces, and without what shows nothing.
fn plain(text: &str) -> String {
    let shown = text.chars().filter(|c| !is_invisible(*c)).nfkc();
    let spaced: String = shown.map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect();
    let mut plain = String::with_capacity(spaced.len());
    for c in spaced.chars() {
        if c != ' ' || !plain.ends_with(' ') {
            plain.push(c);
        }
    }
    plain
}

fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// Letters alone, in words.
fn is_name(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '\'' | '’' | '-' | '.'))
        && value.chars().any(char::is_alphabetic)
        && !value.contains("..")
        && !value.trim_end_matches('.').contains('.')
}

fn is_account(value: &str) -> bool {
    let counts = |c: &char| c.is_ascii_digit();
    let allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, ' ' | '-' | '+');
    value.chars().all(allowed)
        && value.chars().filter(counts).count() >= ACCOUNT_DIGITS_MIN
        && value.chars().filter(char::is_ascii_alphanumeric).count() >= ACCOUNT_CHARS_MIN
}

#[cfg(test)]
mod tests;
