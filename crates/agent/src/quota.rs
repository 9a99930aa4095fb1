//! How many tool calls somebody has made in a minute (row E15). The rule is [`hob_core::policy::quota`]'s; money and tokens are
//! `hob_model::budget_guard`'s.
//!
//! Looked at in the transaction that would start a call: between the look and the call's own record there is no other
//! transaction.

use jiff::{SignedDuration, Timestamp};

use hob_core::domain::ids::UserId;
use hob_core::policy::quota::Quotas;
use hob_store::error::StoreError;
use hob_store::{Tx, millis, tool_calls};

/// The household's quotas.
#[derive(Debug, Clone)]
pub struct QuotaChecker {
    pub quotas: Quotas,
}

/// What has become of a step's tool calls: so many may be made, and what the others are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotaDecision {
    pub(super) calls: usize,
    pub(super) reason: String,
}

impl QuotaChecker {
    /// How many of `wanted` more tool calls somebody may have made now; none: all of them.
    pub(super) async fn tool_calls(
        &self,
        tx: &mut Tx,
        user: UserId,
        wanted: usize,
        now: Timestamp,
    ) -> Result<Option<QuotaDecision>, StoreError> {
        let Some(cap) = self.quotas.tool_calls_per_minute.filter(|_| wanted > 0) else {
            return Ok(None);
        };
        let minute = SignedDuration::from_mins(1);
        // What is dated later is a clock's that was wrong.
        let made = tool_calls::within(tx, user, millis(now - minute)..millis(now + minute)).await?;
        let calls = self.quotas.tool_calls(made.count.unsigned_abs(), wanted);
        if calls == wanted {
            return Ok(None);
        }
        let oldest = made.oldest.and_then(|oldest| Timestamp::from_millisecond(oldest).ok()).unwrap_or(now);
        let wait = (oldest + minute).duration_since(now).as_secs().max(0) + 1;
        let reason = format!(
            "Not run: there may be {cap} tool calls for one person in a minute, and there were as many. The next one may be \
             made in {wait} s (tool_calls_per_minute under [quotas] in config.toml). Call less, or tell the user."
        );
        Ok(Some(QuotaDecision { calls, reason }))
    }
}
