//! How long a provider asks to be left alone, in all the ways in which it is said.
//!
//! Never: a clock. An HTTP date counts from the response's own `date`.
//! Start at [`asked`].

use std::time::Duration;

use jiff::fmt::rfc2822;

use crate::classify::ErrorResponse;
use crate::classify::body::ErrorBody;

/// What stands before a wait in a sentence.
const BEFORE_A_WAIT: &[&str] =
    &["try again in ", "try again after ", "retry in ", "retry after ", "reset after ", "resets in "];

/// The wait that a refusal names: the most exact of its words count.
pub(super) fn requested_wait(refusal: &ErrorResponse<'_>, body: &ErrorBody) -> Option<Duration> {
    let exact = refusal.retry_after_ms.and_then(milliseconds);
    exact
        .or_else(|| refusal.retry_after.and_then(|header| retry_after(header, refusal.date)))
        .or(body.retry_delay)
        .or_else(|| wait_in_text(&body.message))
        .or_else(|| body.upstream.as_ref().and_then(|upstream| wait_in_text(&upstream.message)))
        .or_else(|| refusal.reset.and_then(duration))
}

/// The header `retry-after-ms` (OpenAI, Azure).
fn milliseconds(header: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(header.trim().parse::<f64>().ok()? / 1_000.0).ok()
}

/// The header `retry-after`: seconds, or an HTTP date.
fn retry_after(header: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = header.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = rfc2822::parse(header.trim()).ok()?.timestamp();
    let from = rfc2822::parse(date?.trim()).ok()?.timestamp();
    Some(Duration::from_secs(until.as_second().saturating_sub(from.as_second()).try_into().ok()?))
}

/// `Please try again in 6m0s.`
fn wait_in_text(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    BEFORE_A_WAIT.iter().find_map(|words| message.split(words).skip(1).find_map(duration))
}

/// The time at the start of a text: `2m59.56s`, `644ms`, `34.07s`, `1 seconds`, `18h31m10s.`
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut sum = None;
    while let Some((amount, after)) = number_with_unit(rest) {
        sum = Some(sum.unwrap_or(Duration::ZERO).checked_add(amount)?);
        rest = after;
    }
    sum
}

/// One number with its unit, and what stands behind it.
fn number_with_unit(text: &str) -> Option<(Duration, &str)> {
    let (number, rest) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end)?;
    let seconds = match unit {
        "ms" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some((Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_notation() {
        let millis = |text| duration(text).map(|wait| wait.as_millis());
        for (text, wait) in [
            ("7.66s", Some(7_660)),
            ("2m59.56s", Some(179_560)),
            ("644ms.", Some(644)),
            ("6m0s. Visit", Some(360_000)),
            ("18h31m10s.", Some(66_670_000)),
            ("1 seconds", Some(1_000)),
            ("2 minutes.", Some(120_000)),
            ("34.074824224s", Some(34_074)),
            ("1d", Some(86_400_000)),
            ("12", None),
            ("soon", None),
            ("-3s", None),
            ("1.2.3s", None),
            ("5 apples", None),
            ("", None),
            ("9999999999999999999999h", None),
        ] {
            assert_eq!(millis(text), wait, "{text}");
        }
    }

    #[test]
    fn sentences_name_waits() {
        let millis = |text| wait_in_text(text).map(|wait| wait.as_millis());
        assert_eq!(millis("Limit 6000. Please try again in 7.66s. Need more?"), Some(7_660));
        assert_eq!(millis("max RPM: 3, please try again after 1 seconds"), Some(1_000));
        assert_eq!(millis("Please retry in 58.9s."), Some(58_900));
        assert_eq!(millis("Please Retry After 20 seconds."), Some(20_000));
        assert_eq!(millis("Please try again in a while, or try again in 2ms"), Some(2));
        assert_eq!(millis("Please try again later."), None);
    }
}
