//! Budgets at work: what a model call would cost is set aside in the transaction that starts it, so that runs at once
//! cannot overshoot together (row N10). The rules are [`hob_core::policy::budget`]'s.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use hob_core::domain::ids::{RunId, UserId};
use hob_core::domain::money::Money;
use hob_core::policy::budget::{Budget, Scope, Window};
use hob_store::error::StoreError;
use hob_store::{Tx, millis, model_calls, spend};

/// The household's caps, and its calendar.
#[derive(Debug, Clone)]
pub struct Purse {
    /// The caps.
    pub budget: Budget,
    /// Where days and months begin.
    pub zone: TimeZone,
}

/// Who spends.
#[derive(Debug, Clone, Copy)]
pub struct Spender {
    /// In which run; none: outside any, for memory.
    pub run: Option<RunId>,
    /// For whom.
    pub user: UserId,
}

/// A cap that something does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub scope: Scope,
    /// How much it is.
    pub cap: Money,
    /// How much of it is used or set aside.
    pub used: Money,
    /// When it begins anew, in words; none: with the next message.
    pub resets: Option<String>,
}

impl Purse {
    /// The first cap that `wanted` does not fit. To be asked in the transaction that starts the call.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn refuses(
        &self,
        tx: &mut Tx,
        spender: Spender,
        wanted: Money,
        now: Timestamp,
    ) -> Result<Option<Refusal>, StoreError> {
        for window in self.budget.windows(now, &self.zone) {
            let used = used(tx, &window, spender).await?;
            if !window.fits(used, wanted) {
                let resets = window.resets.as_ref().map(|at| at.strftime("%A, %-d %B, %H:%M").to_string());
                return Ok(Some(Refusal { scope: window.scope, cap: window.cap, used, resets }));
            }
        }
        Ok(None)
    }

    /// The caps that hold now, with what is spent or set aside of each; a run's own has nothing before the run.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn standing(
        &self,
        tx: &mut Tx,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<(Window, Option<Money>)>, StoreError> {
        let mut standing = Vec::new();
        for window in self.budget.windows(now, &self.zone) {
            let used = match window.scope {
                Scope::Run => None,
                Scope::Hour | Scope::Day | Scope::Month | Scope::PersonMonth => {
                    Some(used(tx, &window, Spender { run: None, user }).await?)
                }
            };
            standing.push((window, used));
        }
        Ok(standing)
    }

    /// What is to be said about caps that are nearly used up; each once in its period.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn notes(&self, tx: &mut Tx, spender: Spender, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let mut notes = Vec::new();
        for window in self.budget.windows(now, &self.zone) {
            // What is only set aside may yet be free again.
            let spent = spent(tx, &window, spender).await?;
            if window.is_nearly_used(spent) && spend::note_once(tx, &scope(&window, spender), period(&window)).await? {
                notes.push(format!(
                    "(The budget for {} is nearly used up: {spent} of {} are spent.)",
                    window.scope.words(),
                    window.cap
                ));
            }
        }
        Ok(notes)
    }
}

/// What is spent or set aside of a cap.
async fn used(tx: &mut Tx, window: &Window, spender: Spender) -> Result<Money, StoreError> {
    let aside = match (window.scope, spender.run) {
        (Scope::Run, Some(run)) => model_calls::reserved_by_run(tx, run).await?,
        // A call outside any run is a task of its own.
        (Scope::Run, None) => 0,
        (Scope::Hour | Scope::Day | Scope::Month, _) => model_calls::reserved(tx, None).await?,
        (Scope::PersonMonth, _) => model_calls::reserved(tx, Some(spender.user)).await?,
    };
    Ok(spent(tx, window, spender).await?.plus(Money::from_nanos(aside)))
}

/// What is spent of a cap.
async fn spent(tx: &mut Tx, window: &Window, spender: Spender) -> Result<Money, StoreError> {
    let since = millis(window.since);
    let nanos = match (window.scope, spender.run) {
        (Scope::Run, Some(run)) => model_calls::cost_of_run(tx, run).await?,
        (Scope::Run, None) => 0,
        (Scope::Hour, _) => model_calls::cost_since(tx, since).await?,
        (Scope::Day | Scope::Month, _) => spend::since(tx, since, None).await?.cost,
        (Scope::PersonMonth, _) => spend::since(tx, since, Some(spender.user)).await?.cost,
    };
    Ok(Money::from_nanos(nanos))
}

/// Whose period it is.
fn scope(window: &Window, spender: Spender) -> String {
    let key = window.scope.key();
    match window.scope {
        Scope::Run => format!("{key}:{}", spender.run.unwrap_or(RunId(0))),
        Scope::PersonMonth => format!("{key}:{}", spender.user),
        Scope::Hour | Scope::Day | Scope::Month => key.to_owned(),
    }
}

/// Which period it is; a run has but one, and the rolling hour is told of once per hour of the clock.
fn period(window: &Window) -> i64 {
    match window.scope {
        Scope::Run => 0,
        Scope::Hour => window.since.as_second().div_euclid(3_600),
        Scope::Day | Scope::Month | Scope::PersonMonth => window.since.as_second(),
    }
}
