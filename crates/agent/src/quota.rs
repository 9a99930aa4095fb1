//! Quotas at work: who has how much left (rows C2, E15). The rules are [`hob_core::policy::quota`]'s.
//!
//! Looked at in the transaction that would start a call, like budgets: between the look and the call's own record there is
//! no other transaction.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::machine::stop::QuotaStop;
use hob_core::domain::ids::UserId;
use hob_core::domain::principal::{Principal, Role};
use hob_core::policy::quota::{Quotas, Scope, Window};
use hob_store::error::StoreError;
use hob_store::{Tx, millis, model_calls, spend, tool_calls};

/// The household's quotas, and its calendar.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The quotas.
    pub quotas: Quotas,
    /// Where months begin.
    pub zone: TimeZone,
}

/// A model call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The tokens it will read, estimated.
    pub(super) tokens: u64,
    /// Tokens that are used by now and not in the sums yet.
    pub(super) unsummed: u64,
    /// Tokens that were expected of a call which is over by now, and still stands among the open ones.
    pub(super) closed: u64,
}

/// What has become of a step's tool calls: so many may be made, and what the others are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) calls: usize,
    pub(super) reason: String,
}

impl Meter {
    /// The first quota that the call does not fit.
    pub(super) async fn refuses(
        &self,
        tx: &mut Tx,
        principal: &Principal,
        wanted: Wanted,
        now: Timestamp,
    ) -> Result<Option<QuotaStop>, StoreError> {
        for window in self.quotas.windows(principal.role, now, &self.zone) {
            let open = model_calls::open_tokens(tx, principal.user).await?.unsigned_abs().saturating_sub(wanted.closed);
            let used = spent(tx, &window, principal.user).await?.saturating_add(wanted.unsummed).saturating_add(open);
            if !window.fits(used, wanted.tokens) {
                return Ok(Some(QuotaStop {
                    name: window.scope.words().to_owned(),
                    key: window.scope.key().to_owned(),
                    cap: window.cap,
                    used,
                    resets: when(&window),
                }));
            }
        }
        Ok(None)
    }

    /// How many of `wanted` more tool calls somebody may have made now; none: all of them.
    pub(super) async fn tool_calls(
        &self,
        tx: &mut Tx,
        user: UserId,
        wanted: usize,
        now: Timestamp,
    ) -> Result<Option<Allowed>, StoreError> {
        let Some(cap) = self.quotas.tool_calls_per_minute.filter(|_| wanted > 0) else {
            return Ok(None);
        };
        let minute = SignedDuration::from_mins(1);
        let made = tool_calls::since(tx, user, millis(now - minute)).await?;
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
        Ok(Some(Allowed { calls, reason }))
    }

    /// What somebody has used of their quotas, in words, a line each.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn standing(
        &self,
        tx: &mut Tx,
        (user, role): (UserId, Role),
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let mut lines = Vec::new();
        for window in self.quotas.windows(role, now, &self.zone) {
            let open = model_calls::open_tokens(tx, user).await?.unsigned_abs();
            let used = spent(tx, &window, user).await?.saturating_add(open);
            let (cap, words) = (window.cap, window.scope.words());
            lines.push(match window.scope {
                Scope::Hour => format!("your tokens: {used} of {cap} for {words}"),
                Scope::GuestMonth | Scope::UserMonth => {
                    format!("your tokens: {used} of {cap} for {words}, anew on {}", when(&window))
                }
            });
        }
        Ok(lines)
    }
}

fn when(window: &Window) -> String {
    window.resets.strftime("%A, %-d %B, %H:%M").to_string()
}

/// The tokens that the calls which are over have read and written.
async fn spent(tx: &mut Tx, window: &Window, user: UserId) -> Result<u64, StoreError> {
    let since = millis(window.since);
    let tokens = match window.scope {
        Scope::Hour => model_calls::tokens_since(tx, user, since).await?,
        Scope::GuestMonth | Scope::UserMonth => {
            let spent = spend::since(tx, since, Some(user)).await?;
            spent.input_tokens.saturating_add(spent.output_tokens)
        }
    };
    Ok(tokens.unsigned_abs())
}
