//! Budgets: how much money and how many tokens may go where, and until when (rows C2, E15, N10).
//!
//! Never: the sums themselves; whoever asks brings them.
//! Start at [`Budget::windows`].

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use crate::domain::money::Money;
use crate::domain::principal::Role;

/// From this share of a cap on, it is told (issue: at 80 % a note).
const NOTE_PERCENT: i64 = 80;

/// The time over which a cap holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapPeriod {
    /// The last sixty minutes.
    Hour,
    /// The calendar day.
    Day,
    /// The calendar month.
    Month,
}

impl CapPeriod {
    fn words(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::Month => "a month",
        }
    }

    fn usd_key(self) -> &'static str {
        match self {
            Self::Hour => "hour_usd",
            Self::Day => "day_usd",
            Self::Month => "month_usd",
        }
    }

    fn tokens_key(self) -> &'static str {
        match self {
            Self::Hour => "hour_tokens",
            Self::Day => "day_tokens",
            Self::Month => "month_tokens",
        }
    }
}

/// What a cap holds for. Stored in journals by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CapScope {
    /// One run, with all that it starts.
    Run,
    /// Everybody together.
    House(CapPeriod),
    Person(CapPeriod),
    /// One persona, whoever speaks with it.
    Persona(CapPeriod),
}

/// A scope that this Hob does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope {0:?}")]
pub struct UnknownScope(String);

/// All scopes, by the names that journals have for them.
const NAMED: [(CapScope, &str); 10] = [
    (CapScope::Run, "run"),
    (CapScope::House(CapPeriod::Hour), "hour"),
    (CapScope::House(CapPeriod::Day), "day"),
    (CapScope::House(CapPeriod::Month), "month"),
    (CapScope::Person(CapPeriod::Hour), "person_hour"),
    (CapScope::Person(CapPeriod::Day), "person_day"),
    (CapScope::Person(CapPeriod::Month), "person_month"),
    (CapScope::Persona(CapPeriod::Hour), "persona_hour"),
    (CapScope::Persona(CapPeriod::Day), "persona_day"),
    (CapScope::Persona(CapPeriod::Month), "persona_month"),
];

impl From<CapScope> for String {
    fn from(scope: CapScope) -> Self {
        scope.name().to_owned()
    }
}

impl TryFrom<String> for CapScope {
    type Error = UnknownScope;

    fn try_from(name: String) -> Result<Self, UnknownScope> {
        let known = NAMED.iter().find(|(_, known)| *known == name);
        known.map(|(scope, _)| *scope).ok_or(UnknownScope(name))
    }
}

impl CapScope {
    /// The name that journals have for it.
    pub fn name(self) -> &'static str {
        NAMED.iter().find(|(scope, _)| *scope == self).map_or("", |(_, name)| name)
    }

    /// The section of its key, of a persona's cap the persona's own.
    pub fn section(self, persona: Option<&str>) -> String {
        match self {
            Self::Run | Self::House(_) | Self::Person(_) => "budget".to_owned(),
            Self::Persona(_) => format!("personas.{}", persona.unwrap_or_default()),
        }
    }

    /// The key of its cap on money.
    pub fn usd_key(self) -> &'static str {
        match self {
            Self::Run => "run_usd",
            Self::House(span) | Self::Persona(span) => span.usd_key(),
            Self::Person(CapPeriod::Hour) => "person_hour_usd",
            Self::Person(CapPeriod::Day) => "person_day_usd",
            Self::Person(CapPeriod::Month) => "person_month_usd",
        }
    }

    /// In words, as in "the budget for …".
    pub fn words(self, persona: Option<&str>) -> String {
        match self {
            Self::Run => "one task".to_owned(),
            Self::House(span) => span.words().to_owned(),
            Self::Person(span) => {
                let span = span.words().split(' ').next_back().unwrap_or_default();
                format!("one person's {span}")
            }
            Self::Persona(span) => format!("{} as {}", span.words(), persona.unwrap_or("a persona")),
        }
    }
}

/// How much of one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapAmount {
    Usd(Money),
    /// Tokens that models read and write.
    Tokens(u64),
}

impl std::fmt::Display for CapAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usd(money) => money.fmt(f),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

/// Money and tokens together: what is used, or wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyAndTokens {
    /// Money, as far as prices are known.
    pub usd: Money,
    pub tokens: u64,
}

impl MoneyAndTokens {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { usd: self.usd.plus(other.usd), tokens: self.tokens.saturating_add(other.tokens) }
    }

    /// Without `other`, which is part of it.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let usd = self.usd.nanos().saturating_sub(other.usd.nanos());
        Self { usd: Money::from_nanos(usd), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// The caps of one span; what is not set is not capped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeriodCaps {
    pub usd: Option<Money>,
    pub tokens: Option<u64>,
}

/// The caps of somebody, by span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapsByPeriod {
    /// For any sixty minutes.
    pub hour: PeriodCaps,
    /// For a calendar day.
    pub day: PeriodCaps,
    /// For a calendar month.
    pub month: PeriodCaps,
}

/// The caps of a household; what is not set is not capped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    pub run: Option<Money>,
    /// For all together.
    pub house: CapsByPeriod,
    pub person: CapsByPeriod,
    /// Tokens of a guest in a calendar month.
    pub guest_month: Option<u64>,
    /// Tokens of a user in a calendar month; admins and owners have no such cap.
    pub user_month: Option<u64>,
    /// For personas, by their names.
    pub personas: BTreeMap<String, CapsByPeriod>,
}

/// Who is to pay, as far as caps depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// What the person may.
    pub role: Role,
    /// Who Hob is for them; none: nobody in particular.
    pub persona: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    pub scope: CapScope,
    pub most: CapAmount,
    /// The key in config.toml.
    pub key: &'static str,
    /// In words, as in "the budget for …", "the tokens for …".
    pub words: String,
}

/// A cap at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapWindow {
    pub cap: Cap,
    /// Since when it is used up.
    pub since: Timestamp,
    /// When it begins anew, for people; none: with the next run.
    pub resets: Option<Zoned>,
}

impl Budget {
    /// Whether there is any cap on money.
    pub fn caps_money(&self) -> bool {
        let all = [&self.house, &self.person].into_iter().chain(self.personas.values());
        let is_set =
            |limited: &CapsByPeriod| [limited.hour, limited.day, limited.month].iter().any(|of| of.usd.is_some());
        self.run.is_some() || all.into_iter().any(is_set)
    }

    /// The caps that hold now for somebody, the narrowest first.
    pub fn windows(&self, payer: Payer<'_>, now: Timestamp, zone: &TimeZone) -> Vec<CapWindow> {
        let caps = self.caps(payer);
        if caps.is_empty() {
            return Vec::new();
        }
        let spans = CurrentPeriods::at(now, zone);
        caps.into_iter().map(|cap| spans.window(cap, now)).collect()
    }

    fn caps(&self, payer: Payer<'_>) -> Vec<Cap> {
        let own = payer.persona.and_then(|name| self.personas.get(name)).copied().unwrap_or_default();
        let run = self.run.map(|usd| Cap::on_money(CapScope::Run, usd, None));
        let house = self.house.caps(CapScope::House, None);
        let person = self.person_of(payer.role).caps(CapScope::Person, None);
        let person = person.map(|cap| cap.for_person(payer.role));
        run.into_iter().chain(house).chain(person).chain(own.caps(CapScope::Persona, payer.persona)).collect()
    }

    /// Tokens of a month go by the role.
    fn person_of(&self, role: Role) -> CapsByPeriod {
        let tokens = match role {
            Role::Guest => self.guest_month,
            Role::User => self.user_month,
            Role::Admin | Role::Owner => None,
        };
        CapsByPeriod { month: PeriodCaps { tokens, ..self.person.month }, ..self.person }
    }
}

impl CapsByPeriod {
    /// The caps that are set, of each span money before tokens.
    fn caps<'a>(
        self,
        scope: fn(CapPeriod) -> CapScope,
        persona: Option<&'a str>,
    ) -> impl Iterator<Item = Cap> + use<'a> {
        let spans = [(CapPeriod::Hour, self.hour), (CapPeriod::Day, self.day), (CapPeriod::Month, self.month)];
        spans.into_iter().flat_map(move |(span, PeriodCaps { usd, tokens })| {
            let usd = usd.map(|usd| Cap::on_money(scope(span), usd, persona));
            let tokens = tokens.map(|tokens| Cap {
                scope: scope(span),
                most: CapAmount::Tokens(tokens),
                key: span.tokens_key(),
                words: scope(span).words(persona),
            });
            usd.into_iter().chain(tokens)
        })
    }
}

impl Cap {
    fn on_money(scope: CapScope, usd: Money, persona: Option<&str>) -> Self {
        Self { scope, most: CapAmount::Usd(usd), key: scope.usd_key(), words: scope.words(persona) }
    }

    /// Those on a person's tokens are the oldest of all: under `[quotas]`, called after roles, and told to the person.
    fn for_person(self, role: Role) -> Self {
        let (key, words) = match (self.most, self.scope, role) {
            (CapAmount::Tokens(_), CapScope::Person(CapPeriod::Month), Role::Guest) => {
                ("guest_month_tokens", "a guest's month")
            }
            (CapAmount::Tokens(_), CapScope::Person(CapPeriod::Month), _) => ("user_month_tokens", "a month"),
            (CapAmount::Tokens(_), CapScope::Person(span), _) => (self.key, span.words()),
            _ => return self,
        };
        Self { key, words: words.to_owned(), ..self }
    }
}

/// Where the spans that a moment lies in begin and end.
struct CurrentPeriods {
    hour: (Zoned, Zoned),
    day: Option<(Zoned, Zoned)>,
    month: Option<(Zoned, Zoned)>,
}

impl CurrentPeriods {
    fn at(now: Timestamp, zone: &TimeZone) -> Self {
        let local = now.to_zoned(zone.clone());
        let hour = SignedDuration::from_hours(1);
        let until = |start: Zoned, span: jiff::Span| start.checked_add(span).ok().map(|end| (start, end));
        Self {
            hour: ((now - hour).to_zoned(zone.clone()), (now + hour).to_zoned(zone.clone())),
            day: local.start_of_day().ok().and_then(|start| until(start, 1.day())),
            month: local
                .first_of_month()
                .and_then(|first| first.start_of_day())
                .ok()
                .and_then(|start| until(start, 1.month())),
        }
    }

    fn window(&self, cap: Cap, now: Timestamp) -> CapWindow {
        let span = match cap.scope {
            CapScope::Run => None,
            CapScope::House(span) | CapScope::Person(span) | CapScope::Persona(span) => match span {
                CapPeriod::Hour => Some(&self.hour),
                CapPeriod::Day => self.day.as_ref(),
                CapPeriod::Month => self.month.as_ref(),
            },
        };
        let since = span.map_or(now, |(start, _)| start.timestamp());
        CapWindow { cap, since, resets: span.map(|(_, end)| end.clone()) }
    }
}

impl CapWindow {
    /// Whether something that may take `wanted` fits, after `used` (what is set aside included). What costs nothing always fits
    /// a cap on money: a model on one's own machine goes on when the money is spent.
    pub fn fits(&self, used: MoneyAndTokens, wanted: MoneyAndTokens) -> bool {
        match self.cap.most {
            CapAmount::Usd(most) => wanted.usd <= Money::ZERO || used.usd.plus(wanted.usd) <= most,
            CapAmount::Tokens(most) => used.tokens.saturating_add(wanted.tokens) <= most,
        }
    }

    /// As much of a sum as the cap is about.
    pub fn part(&self, sum: MoneyAndTokens) -> CapAmount {
        match self.cap.most {
            CapAmount::Usd(_) => CapAmount::Usd(sum.usd),
            CapAmount::Tokens(_) => CapAmount::Tokens(sum.tokens),
        }
    }

    /// How much of the cap a sum is: `$1.00 of $5.00`, `700 of 5000 tokens`.
    pub fn shown(&self, used: MoneyAndTokens) -> String {
        match self.cap.most {
            CapAmount::Usd(most) => format!("{} of {most}", used.usd),
            CapAmount::Tokens(most) => format!("{} of {most} tokens", used.tokens),
        }
    }

    /// Whether there is a word about it before it is used up. A person's own tokens are in `/status` all the time.
    pub fn is_told_ahead(&self) -> bool {
        !matches!((self.cap.most, self.cap.scope), (CapAmount::Tokens(_), CapScope::Person(_)))
    }

    /// Whether it is time for that word.
    pub fn is_nearly_used(&self, used: MoneyAndTokens) -> bool {
        match self.cap.most {
            CapAmount::Usd(most) => used.usd >= most.percent(NOTE_PERCENT),
            CapAmount::Tokens(most) => {
                u128::from(used.tokens) * 100 >= u128::from(most) * u128::from(NOTE_PERCENT.unsigned_abs())
            }
        }
    }
}

#[cfg(test)]
mod tests;
