//! From what people write to a rule: English, and the German that is written most.
//!
//! Never: a guess. What is unknown or can mean two things is refused with examples.
//! Start at [`read`]; `parts` takes the words apart, `join` puts a rule together.

mod join;
mod lexicon;
mod parts;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::policy::schedule::{Rule, RuleError, cron};

/// The longest text that is read.
const CHARS_MAX: usize = 300;

/// What can be written.
pub(crate) const EXAMPLES: &str = "`weekdays at 8:30`, `every other Friday at 17:00`, `first Monday of the month at 10`, \
                            `every 15 minutes between 9 and 17`, `on 24 December at 18:00`, `tomorrow at 9`, `in 2h`, or \
                            cron: `30 8 * * 1-5`";

/// Text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A word, or its place, means nothing here.
    #[error("{0:?} is not understood here. Write it like {EXAMPLES}")]
    Unknown(String),
    /// There is no time of day.
    #[error("the time of day is missing. Write it like {EXAMPLES}")]
    NoTime,
    /// There is no day.
    #[error("the day is missing. Write it like {EXAMPLES}")]
    NoDay,
    /// It says several things that do not go together.
    #[error("that can mean several things. Write it like {EXAMPLES}")]
    Ambiguous,
    /// It can be read and not be kept.
    #[error("{0}")]
    Rule(#[from] RuleError),
}

/// The rule that `text` means to somebody in `zone`.
///
/// # Errors
/// When it is not understood, can mean two things, or can never be due.
pub fn read(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Rule, ReadError> {
    let text = text.trim();
    if text.chars().count() > CHARS_MAX {
        return Err(ReadError::Unknown(text.chars().take(40).collect()));
    }
    let rule = match expression(text) {
        Some(fields) => {
            cron(&fields)?;
            Rule::Cron { expression: fields }
        }
        None => {
            let parts = parts::take_apart(&lexicon::words(text))?;
            join::join(parts, &join::ReadContext { zone, now })?
        }
    };
    rule.check(zone, now)?;
    Ok(rule)
}

/// The five fields, where the text is cron: each begins with what no word begins with, or the word `cron` says so.
fn expression(text: &str) -> Option<String> {
    let (named, rest) = match text.split_once(char::is_whitespace) {
        Some((first, rest)) if first.eq_ignore_ascii_case("cron") => (true, rest),
        _ => (false, text),
    };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let looks = fields.len() == 5
        && fields[..2].iter().all(|field| field.chars().all(|c| c.is_ascii_digit() || "*/,-".contains(c)))
        && fields[2].chars().all(|c| c.is_ascii_digit() || "*/,-LW?".contains(c));
    (named || looks).then(|| fields.join(" "))
}

/// The date, if the calendar has it.
fn date(year: i16, month: i8, day: i8) -> Result<Date, ReadError> {
    Date::new(year, month, day).map_err(|_no_such_day| RuleError::NoSuchDay.into())
}
