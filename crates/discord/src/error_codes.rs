//! What Discord's own error codes mean, as tables.

use std::time::Duration;

use crate::call::CallError;
use hob_core::domain::outgoing::DeliveryError;

/// What a code says of the thing that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorMeaning {
    /// The channel or thread is gone, or closed to the bot.
    NoPlace,
    /// The message is gone, or it cannot be changed (any more).
    NoMessage,
    /// The content is not taken as it is written.
    Content,
    /// The thread is archived.
    Archived,
    /// Nothing can be answered here, only said.
    NoReply,
    /// Anything else.
    Other,
}

pub(super) fn code_meaning(code: u32) -> ErrorMeaning {
    match code {
        10003 | 50001 | 50007 | 50013 => ErrorMeaning::NoPlace,
        // Not ours to edit; too many edits of an old message.
        10008 | 50005 | 50021 | 30046 => ErrorMeaning::NoMessage,
        50006 | 50035 => ErrorMeaning::Content,
        50083 => ErrorMeaning::Archived,
        160002 => ErrorMeaning::NoReply,
        _ => ErrorMeaning::Other,
    }
}

/// What to do about it, for people.
pub(super) fn hint(code: u32) -> Option<&'static str> {
    Some(match code {
        50001 => "let the bot's role see this channel",
        50007 => "the person must share a server with the bot and take direct messages from its members",
        50013 => "let the bot's role send messages, use threads, attach files and add reactions here",
        40005 => "the file is larger than Discord takes here",
        50083 => "the thread is archived and locked",
        160002 => "let the bot's role read the message history here; until then no message shows what it answers",
        30046 => "an old message cannot be changed so often",
        40001 | 50014 => "the bot's token is not valid any more",
        _ => return None,
    })
}

/// Whether what was refused is that a message answers another.
pub(super) fn is_for_reply(error: &CallError) -> bool {
    match error {
        CallError::Api { code, fields, .. } => {
            code_meaning(*code) == ErrorMeaning::NoReply || fields.iter().any(|field| field == "message_reference")
        }
        CallError::NotSent(_) | CallError::Held(_) | CallError::Lost(_) | CallError::Foreign { .. } => false,
    }
}

/// What the outbox has to know of a message that was not taken.
pub(super) fn outcome(error: &CallError) -> DeliveryError {
    let (after, why) = (error.after(), error.to_string());
    match error {
        CallError::NotSent(_) | CallError::Held(_) => DeliveryError::Retry { after, why },
        CallError::Lost(_) => DeliveryError::Unknown { why },
        CallError::Api { status, code, .. } => match status {
            // A gateway's word says nothing about what the server behind it did.
            500 | 502 | 504 => DeliveryError::Unknown { why },
            // 401: the token; an operator can mend it.
            401 | 408 | 429 | 501.. => DeliveryError::Retry { after, why },
            404 if *code == 0 => DeliveryError::Retry { after, why },
            _ => DeliveryError::Refused { why },
        },
        CallError::Foreign { status, .. } => match status {
            0..300 | 500 | 502 | 504 => DeliveryError::Unknown { why },
            _ => DeliveryError::Retry { after, why },
        },
    }
}

/// The same for a call that can be repeated without harm: a change, a sign.
pub(super) fn repeatable(error: &CallError) -> DeliveryError {
    match outcome(error) {
        DeliveryError::Unknown { why } => DeliveryError::Retry { after: None::<Duration>, why },
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: u16, code: u32) -> CallError {
        CallError::Api { status, code, message: "no".to_owned(), fields: Vec::new(), retry_after: None }
    }

    fn name(error: DeliveryError) -> &'static str {
        match error {
            DeliveryError::Retry { .. } => "retry",
            DeliveryError::Refused { .. } => "refused",
            DeliveryError::Unknown { .. } => "unknown",
        }
    }

    #[test]
    fn only_what_may_have_arrived_is_unknown() {
        let foreign = |status| CallError::Foreign { status, excerpt: String::new(), retry_after: None };
        let table = [
            (api(400, 50035), "refused"),
            (api(400, 40005), "refused"),
            (api(413, 40005), "refused"),
            (api(403, 50001), "refused"),
            (api(403, 50007), "refused"),
            (api(403, 50013), "refused"),
            (api(404, 10003), "refused"),
            (api(400, 50083), "refused"),
            (api(401, 0), "retry"),
            (api(429, 0), "retry"),
            (api(503, 0), "retry"),
            (api(404, 0), "retry"),
            (api(500, 0), "unknown"),
            (api(502, 0), "unknown"),
            (api(504, 0), "unknown"),
            (foreign(200), "unknown"),
            (foreign(502), "unknown"),
            (foreign(403), "retry"),
            (foreign(503), "retry"),
            (CallError::Lost(String::new()), "unknown"),
            (CallError::NotSent(String::new()), "retry"),
            (CallError::Held(Duration::ZERO), "retry"),
        ];
        for (error, expected) in table {
            assert_eq!(name(outcome(&error)), expected, "{error:?}");
        }
        assert_eq!(name(repeatable(&api(502, 0))), "retry");
        assert_eq!(name(repeatable(&api(403, 50013))), "refused");
    }

    #[test]
    fn codes_have_meanings() {
        let table = [
            (10003, ErrorMeaning::NoPlace),
            (10008, ErrorMeaning::NoMessage),
            (30046, ErrorMeaning::NoMessage),
            (50005, ErrorMeaning::NoMessage),
            (50006, ErrorMeaning::Content),
            (50007, ErrorMeaning::NoPlace),
            (50035, ErrorMeaning::Content),
            (50083, ErrorMeaning::Archived),
            (160002, ErrorMeaning::NoReply),
            (40005, ErrorMeaning::Other),
        ];
        for (code, expected) in table {
            assert_eq!(code_meaning(code), expected, "{code}");
        }
    }
}
