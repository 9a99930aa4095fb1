//! What Slack's answer to a delivery means for the outbox. Pure.

use crate::call::CallError;
use hob_core::domain::outgoing::DeliveryError;

/// What the outbox has to know. A gateway's 502 or 504 says nothing about what the server behind it did.
pub(super) fn outcome(error: &CallError) -> DeliveryError {
    let why = error.to_string();
    match error {
        CallError::NotSent(_) => DeliveryError::Retry { after: None, why },
        CallError::Lost(_) => DeliveryError::Unknown { why },
        CallError::Api { retry_after: Some(after), .. } => DeliveryError::Retry { after: Some(*after), why },
        CallError::Api { code, .. } => match code.as_str() {
            // "It's possible some aspect of the operation succeeded", says Slack of both.
            "internal_error" | "fatal_error" => DeliveryError::Unknown { why },
            "request_timeout" | "service_unavailable" | "team_added_to_org" | "ratelimited" | "rate_limited" => {
                DeliveryError::Retry { after: None, why }
            }
            // An operator can mend these.
            "invalid_auth" | "not_authed" | "token_expired" | "token_revoked" | "missing_scope" | "access_denied" => {
                DeliveryError::Retry { after: None, why }
            }
            // channel_not_found, not_in_channel, is_archived, restricted_action, account_inactive, and what is new.
            _ => DeliveryError::Refused { why },
        },
        CallError::Foreign { status } => match status {
            0..300 | 502 | 504 => DeliveryError::Unknown { why },
            _ => DeliveryError::Retry { after: None, why },
        },
    }
}

/// The same of a step that by itself shows nobody anything: it can be done again.
pub(super) fn repeatable_outcome(error: &CallError) -> DeliveryError {
    match outcome(error) {
        DeliveryError::Unknown { why } => DeliveryError::Retry { after: None, why },
        known => known,
    }
}

/// Does Slack refuse the markup, and not the words?
pub(super) fn is_markup_refused(error: &CallError) -> bool {
    matches!(
        error.code(),
        Some(
            "invalid_blocks"
                | "invalid_blocks_format"
                | "msg_too_long"
                | "msg_blocks_too_long"
                | "blocks_too_long"
                | "block_mismatch"
        )
    )
}

/// Is the message that was to be changed gone, or not to be changed any more?
pub(super) fn is_unchangeable(error: &CallError) -> bool {
    matches!(
        error.code(),
        Some(
            "message_not_found"
                | "cant_update_message"
                | "cant_delete_message"
                | "edit_window_closed"
                | "update_failed"
                | "is_inactive"
                | "thread_not_found"
        )
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn api(code: &str) -> CallError {
        CallError::Api { code: code.to_owned(), details: None, retry_after: None }
    }

    fn name(error: &CallError) -> &'static str {
        match outcome(error) {
            DeliveryError::Retry { .. } => "retry",
            DeliveryError::Refused { .. } => "refused",
            DeliveryError::Unknown { .. } => "unknown",
        }
    }

    #[test]
    fn k2_only_what_may_have_arrived_is_unknown() {
        let refused = ["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "account_inactive"];
        let refused = refused.into_iter().chain(["no_text", "invalid_blocks", "msg_too_long", "some_new_word"]);
        let retry = ["request_timeout", "service_unavailable", "invalid_auth", "missing_scope", "token_revoked"];
        let unknown = ["internal_error", "fatal_error"];
        let codes = refused.map(|code| (code, "refused")).chain(retry.map(|code| (code, "retry")));
        for (code, expected) in codes.chain(unknown.map(|code| (code, "unknown"))) {
            assert_eq!((code, name(&api(code))), (code, expected));
        }
        for status in [200, 502, 504] {
            assert_eq!((status, name(&CallError::Foreign { status })), (status, "unknown"));
        }
        for status in [403, 500, 503] {
            assert_eq!((status, name(&CallError::Foreign { status })), (status, "retry"));
        }
        assert_eq!(name(&CallError::NotSent(String::new())), "retry");
        assert_eq!(name(&CallError::Lost(String::new())), "unknown");
        assert!(matches!(repeatable_outcome(&CallError::Lost(String::new())), DeliveryError::Retry { .. }));
    }

    #[test]
    fn k2_slack_says_when_it_may_be_tried_again() {
        let after = Some(Duration::from_secs(7));
        let limited = CallError::Api { code: "ratelimited".to_owned(), details: None, retry_after: after };
        assert_eq!(outcome(&limited), DeliveryError::Retry { after, why: "ratelimited".to_owned() });
    }
}
