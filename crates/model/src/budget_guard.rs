//! Caps at work: money and tokens are set aside before a model is asked (rows C2, E15, N10).
//!
//! That is in the transaction that starts the call, so that calls at once cannot overshoot together. Whoever asks a model asks here
//! before: runs, memory, whoever hears recordings. The rules are [`hob_core::policy::budget`]'s.
//! Start at [`BudgetGuard::refuses`].

use jiff::Timestamp;
use jiff::tz::TimeZone;

use hob_core::domain::ids::{RunId, UserId};
use hob_core::domain::principal::Role;
use hob_core::policy::budget::{Budget, Cap, CapAmount, CapPeriod, CapScope, CapWindow, MoneyAndTokens, Payer};
use hob_store::error::StoreError;
use hob_store::usage::{self, CallFilter};
use hob_store::{Tx, millis, spend};

/// The household's caps, and its calendar.
#[derive(Debug, Clone)]
pub struct BudgetGuard {
    /// The caps.
    pub budget: Budget,
    /// Where days and months begin.
    pub zone: TimeZone,
}

#[derive(Debug, Clone, Copy)]
pub struct Spender<'a> {
    /// In which run; none: outside any, for memory or a recording.
    pub run: Option<RunId>,
    pub user: UserId,
    pub role: Role,
    /// As which persona; none: as nobody in particular.
    pub persona: Option<&'a str>,
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallReservation {
    /// What it may cost at most, where its price is known, and the tokens that it is expected to read.
    pub sum: MoneyAndTokens,
    /// The spender's call before it, which is over in the same transaction: on record it is still open.
    pub over: Option<FinishedCall>,
}

/// A call that is over, and still open on record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishedCall {
    /// What is set aside for it.
    pub aside: MoneyAndTokens,
    pub took: MoneyAndTokens,
}

/// A cap that something does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapExceeded {
    pub cap: Cap,
    /// How much of it is used or set aside.
    pub used: CapAmount,
    /// When it begins anew, in words; none: with the next message.
    pub resets: Option<String>,
}

impl std::fmt::Display for CapExceeded {
    /// `the budget of $1.00 for a day is used up`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Cap { most, words, .. } = &self.cap;
        write!(f, "the budget of {most} for {words} is used up")
    }
}

/// A cap, and how much of it is used or set aside; a run's own has nothing before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapUsage {
    /// The cap at this moment.
    pub window: CapWindow,
    /// How much.
    pub used: Option<MoneyAndTokens>,
}

impl CapUsage {
    /// Is it about money, and for whom?
    pub fn is_of(&self, scope: CapScope, money: bool) -> bool {
        self.window.cap.scope == scope && matches!(self.window.cap.most, CapAmount::Usd(_)) == money
    }
}

impl BudgetGuard {
    /// With the caps alone that are nobody's in particular.
    pub fn of_house(&self) -> Self {
        let Budget { run, house, .. } = self.budget;
        Self { budget: Budget { run, house, ..Budget::default() }, zone: self.zone.clone() }
    }

    /// The first cap that a call does not fit. To be asked in the transaction that starts the call.
    pub async fn refuses(
        &self,
        tx: &mut Tx,
        spender: Spender<'_>,
        wanted: CallReservation,
        now: Timestamp,
    ) -> Result<Option<CapExceeded>, StoreError> {
        let over = wanted.over.unwrap_or_default();
        let mut last = None;
        for window in self.windows(spender, now) {
            let used = match last {
                // Money and tokens of one time are looked up together.
                Some((scope, used)) if scope == window.cap.scope => used,
                _ => {
                    let aside = reserved_sum(tx, &window, spender).await?.minus(over.aside);
                    spent(tx, &window, spender).await?.plus(aside).plus(over.took)
                }
            };
            last = Some((window.cap.scope, used));
            if !window.fits(used, wanted.sum) {
                let resets = window.resets.as_ref().map(|at| at.strftime("%A, %-d %B, %H:%M").to_string());
                return Ok(Some(CapExceeded { used: window.part(used), cap: window.cap, resets }));
            }
        }
        Ok(None)
    }

    /// The caps that hold now, with what is used of each.
    pub async fn standing(
        &self,
        tx: &mut Tx,
        spender: Spender<'_>,
        now: Timestamp,
    ) -> Result<Vec<CapUsage>, StoreError> {
        let mut standing = Vec::new();
        for window in self.windows(spender, now) {
            let used = match window.cap.scope {
                CapScope::Run => None,
                CapScope::House(_) | CapScope::Person(_) | CapScope::Persona(_) => {
                    let aside = reserved_sum(tx, &window, spender).await?;
                    Some(spent(tx, &window, spender).await?.plus(aside))
                }
            };
            standing.push(CapUsage { window, used });
        }
        Ok(standing)
    }

    /// What is to be said about caps that are nearly used up; each once in its period.
    pub async fn notes(&self, tx: &mut Tx, spender: Spender<'_>, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let mut notes = Vec::new();
        for window in self.windows(spender, now).into_iter().filter(CapWindow::is_told_ahead) {
            // What is only set aside may yet be free again.
            let spent = spent(tx, &window, spender).await?;
            if window.is_nearly_used(spent) && spend::note_once(tx, &scope(&window, spender), period(&window)).await? {
                let (words, spent) = (&window.cap.words, window.shown(spent));
                notes.push(format!("(The budget for {words} is nearly used up: {spent} are spent.)"));
            }
        }
        Ok(notes)
    }

    fn windows(&self, spender: Spender<'_>, now: Timestamp) -> Vec<CapWindow> {
        let Spender { role, persona, .. } = spender;
        self.budget.windows(Payer { role, persona }, now, &self.zone)
    }
}

/// Whose calls a cap is about.
fn of<'a>(scope: CapScope, spender: Spender<'a>) -> CallFilter<'a> {
    match scope {
        CapScope::Run | CapScope::House(_) => CallFilter::default(),
        CapScope::Person(_) => CallFilter { user: Some(spender.user), persona: None },
        CapScope::Persona(_) => CallFilter { user: None, persona: spender.persona },
    }
}

/// What is set aside of a cap.
async fn reserved_sum(tx: &mut Tx, window: &CapWindow, spender: Spender<'_>) -> Result<MoneyAndTokens, StoreError> {
    match (window.cap.scope, spender.run) {
        (CapScope::Run, Some(run)) => usage::reserved_for_run(tx, run).await,
        // A call outside any run is a task of its own.
        (CapScope::Run, None) => Ok(MoneyAndTokens::default()),
        (scope, _) => usage::reserved(tx, of(scope, spender)).await,
    }
}

async fn spent(tx: &mut Tx, window: &CapWindow, spender: Spender<'_>) -> Result<MoneyAndTokens, StoreError> {
    let until = window.resets.as_ref().map_or(i64::MAX, |end| millis(end.timestamp()));
    let time = millis(window.since)..until;
    match (window.cap.scope, spender.run) {
        (CapScope::Run, Some(run)) => usage::by_run(tx, run).await,
        (CapScope::Run, None) => Ok(MoneyAndTokens::default()),
        (scope @ (CapScope::House(span) | CapScope::Person(span) | CapScope::Persona(span)), _) => match span {
            CapPeriod::Hour => usage::within(tx, of(scope, spender), time).await,
            CapPeriod::Day | CapPeriod::Month => usage::within_quarters(tx, of(scope, spender), time).await,
        },
    }
}

/// Whose period it is, by the names under which it was noted that it was told of.
fn scope(window: &CapWindow, spender: Spender<'_>) -> String {
    let (key, scope) = (window.cap.key, window.cap.scope);
    match scope {
        CapScope::Run => format!("{key}:{}", spender.run.unwrap_or(RunId(0))),
        CapScope::Person(_) => format!("{key}:{}", spender.user),
        CapScope::Persona(_) => format!("{}.{key}", scope.section(spender.persona)),
        CapScope::House(_) => key.to_owned(),
    }
}

/// Which period it is; a run has but one, and the rolling hour is told of once per hour of the clock.
fn period(window: &CapWindow) -> i64 {
    match window.cap.scope {
        CapScope::Run => 0,
        CapScope::House(span) | CapScope::Person(span) | CapScope::Persona(span) => match span {
            CapPeriod::Hour => window.since.as_second().div_euclid(3_600),
            CapPeriod::Day | CapPeriod::Month => window.since.as_second(),
        },
    }
}
