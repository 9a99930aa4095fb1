//! Letters that the house does not take: the log names each sender once a day for each reason.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use hob_core::domain::inbound::SenderProof;

/// How long a sender is not named again.
const QUIET: SignedDuration = SignedDuration::from_hours(24);
/// The most lines in that time: whoever floods the mailbox must not flood the log.
const LINES_MAX: usize = 500;

/// Those who were named, for what, and when.
#[derive(Default)]
pub(super) struct IgnoredSenders(Mutex<BTreeMap<(String, String), Timestamp>>);

impl IgnoredSenders {
    /// Whether a sender is to be named now for this reason.
    pub(super) fn is_news(&self, sender: &str, why: &str, now: Timestamp) -> bool {
        let key = (sender.to_owned(), why.to_owned());
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        named.retain(|_, at| now.duration_since(*at) < QUIET);
        let is_news = named.len() < LINES_MAX && !named.contains_key(&key);
        if is_news {
            named.insert(key, now);
        }
        is_news
    }
}

/// Why a letter was not taken, in words for an operator.
pub(super) fn why(proof: &SenderProof) -> String {
    match proof {
        SenderProof::Platform => "the config lets nobody of this address in".to_owned(),
        SenderProof::Nobody { why } => format!("nothing shows that it is from there: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_a_sender_is_named_once_a_day_for_each_reason() {
        let ignored = IgnoredSenders::default();
        let at = |hours: i64| Timestamp::from_second(hours * 3_600).unwrap();
        for (sender, why, hours, expected) in [
            ("a", "forged", 0, true),
            ("a", "forged", 23, false),
            ("a", "not let in", 23, true),
            ("b", "forged", 23, true),
            ("a", "forged", 24, true),
            ("b", "forged", 25, false),
        ] {
            assert_eq!(ignored.is_news(sender, why, at(hours)), expected, "{sender} {why} {hours}");
        }
        let named = (0..2 * LINES_MAX).filter(|number| ignored.is_news(&number.to_string(), "", at(48))).count();
        assert_eq!(named, LINES_MAX, "the others are forgotten by then");
    }
}
