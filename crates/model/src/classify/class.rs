//! The table: which words mean which class.
//!
//! Never: words for a person.
//! Start at [`class_of`].

use crate::classify::body::ErrorBody;
use crate::error::ErrorClass;

/// What tells one class from all others.
struct Rule {
    class: ErrorClass,
    /// Names of the kind of error, whole: they count at every status.
    kinds: &'static [&'static str],
    /// Parts of the message, in lower case: they count where the request is at fault, not the server (4xx).
    phrases: &'static [&'static str],
}

/// The first rule that fits decides. What only the operator can mend stands first, what mends itself last.
const RULES: &[Rule] = &[
    Rule {
        class: ErrorClass::Billing,
        kinds: &[
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "exceeded_current_quota_error",
            "budget_exceeded",
        ],
        phrases: &[
            "credit balance",
            "insufficient credits",
            "insufficient balance",
            "credits are depleted",
            "used all available credits",
            "spending limit",
            "specified api usage limits",
            "key limit exceeded",
            "budget has been exceeded",
            "enable billing",
        ],
    },
    Rule {
        class: ErrorClass::Auth,
        kinds: &[
            "invalid_api_key",
            "authentication_error",
            "invalid_authentication_error",
            "permission_error",
            "api_key_invalid",
            "api_key_expired",
            "api_key_service_blocked",
            "service_disabled",
            "unauthenticated",
            "permission_denied",
            "unsupported_country_region_territory",
        ],
        phrases: &[
            "incorrect api key",
            "api key not valid",
            "invalid api key",
            "api key expired",
            "authentication fails",
            "user location is not supported",
            "organization has been disabled",
        ],
    },
    Rule {
        class: ErrorClass::Refused,
        kinds: &["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt"],
        phrases: &[
            "content management policy",
            "content filtering policy",
            "requires moderation",
            "input was flagged",
            "prompt was flagged",
            "content exists risk",
            "violates usage guidelines",
        ],
    },
    Rule {
        class: ErrorClass::ContextTooLong,
        kinds: &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "request_too_large",
            "string_above_max_length",
        ],
        phrases: &[
            "maximum context length",
            "maximum prompt length",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "input length exceeds",
            "input token count",
            "exceed context limit",
            "exceeds the context window",
            "contextwindowexceedederror",
            "exceeds the available context size",
            "context size has been exceeded",
            "greater than the context length",
            "context length of only",
            "cannot truncate prompt",
            "exceeded model token limit",
        ],
    },
    Rule {
        class: ErrorClass::UnknownModel,
        kinds: &["model_not_found", "invalid_model", "model_decommissioned", "deploymentnotfound"],
        phrases: &[
            "not a valid model",
            "invalid model",
            "model not exist",
            "not a chat model",
            "no endpoints found",
            "no models loaded",
            "does not support tools",
            "requires --enable-auto-tool-choice",
        ],
    },
    Rule {
        class: ErrorClass::Overloaded,
        kinds: &["overloaded_error", "engine_overloaded_error", "unavailable_error", "unavailable"],
        phrases: &["overloaded", "capacity exceeded", "no capacity available", "at capacity"],
    },
    Rule {
        class: ErrorClass::RateLimit,
        kinds: &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limit_reached_error",
            "rate_limited",
            "resource_exhausted",
            "throttling_error",
        ],
        phrases: &["rate limit exceeded", "rate limit reached", "rate-limited", "too many requests"],
    },
    Rule { class: ErrorClass::Timeout, kinds: &["timeout_error", "deadline_exceeded"], phrases: &[] },
];

/// The class of what came with `status`, 0 where it came without one.
pub(super) fn class_of(status: u16, body: &ErrorBody) -> ErrorClass {
    if body.is_page {
        return by_status(status);
    }
    let own = body.searchable();
    let is_client_error = status == 0 || (400..500).contains(&status) || status == 529;
    if is_client_error && let Some(class) = special(status, body, &own) {
        return class;
    }
    let found = RULES.iter().find(|rule| rule.fits(body, &own, is_client_error)).map(|rule| rule.class);
    let passed_on = || body.upstream.as_deref().and_then(|upstream| of_upstream(upstream, is_client_error));
    found.or_else(passed_on).unwrap_or_else(|| by_status(status))
}

impl Rule {
    fn fits(&self, body: &ErrorBody, searchable: &str, is_client_error: bool) -> bool {
        body.kinds.iter().any(|kind| self.kinds.contains(&kind.as_str()))
            || is_client_error && self.phrases.iter().any(|phrase| searchable.contains(phrase))
    }
}

/// What needs more than one word to be told.
fn special(status: u16, body: &ErrorBody, searchable: &str) -> Option<ErrorClass> {
    let says = |word: &str| searchable.contains(word);
    // The reply's length is at fault, though the context's is named: less can be asked for.
    if (says("max_tokens") || says("max_completion_tokens")) && says("too large") {
        return Some(ErrorClass::BadRequest);
    }
    // More than a whole minute's tokens in one request (Groq, OpenAI): no wait makes it fit.
    if says("request too large") && says("tokens per min") {
        return Some(ErrorClass::ContextTooLong);
    }
    let missing = says("model") && ["not found", "not_found", "does not exist"].into_iter().any(says);
    let is_named = body.parameter.as_deref() == Some("model");
    (matches!(status, 0 | 400 | 404) && (missing || is_named)).then_some(ErrorClass::UnknownModel)
}

/// What a provider behind this one said. Its key and its bill are not ours: there the status alone counts.
fn of_upstream(upstream: &ErrorBody, is_client_error: bool) -> Option<ErrorClass> {
    let searchable = upstream.searchable();
    let class = RULES.iter().find(|rule| rule.fits(upstream, &searchable, is_client_error))?.class;
    (!matches!(class, ErrorClass::Billing | ErrorClass::Auth)).then_some(class)
}

fn by_status(status: u16) -> ErrorClass {
    match status {
        200..=299 => ErrorClass::Malformed,
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Billing,
        408 | 504 | 522 | 524 => ErrorClass::Timeout,
        413 => ErrorClass::ContextTooLong,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        0 | 500..=599 => ErrorClass::Server,
        _ => ErrorClass::BadRequest,
    }
}
