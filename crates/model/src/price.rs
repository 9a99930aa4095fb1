//! What a call costs: whole numbers, so that a bill adds up.
//!
//! Never: a price of its own; those are in [`crate::model_table`].
//! Start at [`cost`].

use serde::{Deserialize, Serialize};

use crate::message::Usage;
use hob_core::domain::money::Money;

/// More tokens than any model reads or writes in one call; what a provider reports beyond is an error of its own.
const TOKENS_MAX: u64 = 10_000_000;

/// What a million tokens of one kind cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// So many millionths of a dollar per million tokens.
    pub const fn from_micro_usd(micro_usd: u64) -> Self {
        Self(micro_usd)
    }

    /// What a million tokens cost.
    pub fn per_million(self) -> Money {
        Money::from_nanos(i64::try_from(self.0.saturating_mul(1000)).unwrap_or(i64::MAX))
    }

    /// What `tokens` cost, in trillionths of a dollar.
    fn picos(self, tokens: u64) -> u128 {
        u128::from(self.0) * u128::from(tokens)
    }
}

/// What a model's tokens cost, by kind. It is stored: change it only by adding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Read, and not from the cache.
    pub input: Rate,
    /// Read from the provider's cache.
    pub cached: Rate,
    /// Read, and written to the provider's cache.
    pub cache_write: Rate,
    /// Written, thinking included.
    pub output: Rate,
    /// What a whole call costs instead when it reads very much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongRates>,
}

/// What a call's tokens cost when it reads more than so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongRates {
    /// The most tokens that a call may read at the usual rates.
    pub above_tokens: u64,
    /// Read, and not from the cache.
    pub input: Rate,
    /// Read from the provider's cache.
    pub cached: Rate,
    /// Read, and written to the provider's cache.
    pub cache_write: Rate,
    /// Written, thinking included.
    pub output: Rate,
}

impl Rates {
    /// For models on one's own machine.
    pub const FREE: Self = Self { input: Rate(0), cached: Rate(0), cache_write: Rate(0), output: Rate(0), long: None };

    /// What holds for a call that reads so many tokens.
    fn for_input(self, tokens: u64) -> Self {
        match self.long {
            Some(long) if tokens > long.above_tokens => Self {
                input: long.input,
                cached: long.cached,
                cache_write: long.cache_write,
                output: long.output,
                long: None,
            },
            _ => self,
        }
    }
}

/// What one call cost. Each token that was read is charged once, at the rate of where it came from or went to.
pub fn cost(usage: &Usage, rates: &Rates) -> Money {
    let input = usage.input_tokens.min(TOKENS_MAX);
    let output = usage.output_tokens.min(TOKENS_MAX);
    let cached = usage.cached_tokens.min(input);
    let written = usage.cache_write_tokens.min(input - cached);
    let rates = rates.for_input(input);
    let picos = rates.input.picos(input - cached - written)
        + rates.cached.picos(cached)
        + rates.cache_write.picos(written)
        + rates.output.picos(output);
    Money::from_nanos(i64::try_from((picos + 500) / 1000).unwrap_or(i64::MAX))
}

/// The most that one call may cost which reads and writes so much: nobody knows beforehand what a cache takes or gives.
pub fn most(input_tokens: u64, output_tokens: u64, rates: &Rates) -> Money {
    let plain = Usage { input_tokens, output_tokens, ..Usage::default() };
    let written = Usage { cache_write_tokens: input_tokens, ..plain };
    cost(&plain, rates).max(cost(&written, rates))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates() -> Rates {
        let usd = |micro| Rate::from_micro_usd(micro);
        Rates {
            input: usd(1_000_000),
            cached: usd(100_000),
            cache_write: usd(1_250_000),
            output: usd(5_000_000),
            long: None,
        }
    }

    #[test]
    fn each_token_is_charged_once() {
        let call = |input_tokens, cached_tokens, cache_write_tokens, output_tokens| Usage {
            input_tokens,
            output_tokens,
            cached_tokens,
            cache_write_tokens,
            reasoning_tokens: output_tokens,
        };
        let table = [
            (call(0, 0, 0, 0), 0),
            (call(1, 0, 0, 0), 1_000),
            (call(0, 0, 0, 1), 5_000),
            (call(1_000_000, 0, 0, 0), 1_000_000_000),
            (call(1_000, 1_000, 0, 0), 100_000),
            (call(1_000, 0, 1_000, 0), 1_250_000),
            (call(1_000, 600, 300, 10), 60_000 + 375_000 + 100_000 + 50_000),
            // A provider that says more was cached than read.
            (call(10, 1_000, 1_000, 0), 1_000),
            (call(10, 4, 1_000, 0), 400 + 7_500),
            (call(u64::MAX, u64::MAX, u64::MAX, u64::MAX), 1_000_000_000 + 50_000_000_000),
        ];
        for (usage, nanos) in table {
            assert_eq!(cost(&usage, &rates()).nanos(), nanos, "{usage:?}");
            assert_eq!(cost(&usage, &Rates::FREE), Money::ZERO);
        }
    }

    #[test]
    fn what_is_set_aside_is_enough_if_all_of_it_goes_into_the_cache() {
        assert_eq!(most(1_000, 10, &rates()).nanos(), 1_250_000 + 50_000);
        let free_writes = Rates { cache_write: Rate::from_micro_usd(0), ..rates() };
        assert_eq!(most(1_000, 10, &free_writes).nanos(), 1_000_000 + 50_000);
    }

    #[test]
    fn the_cheapest_token_is_not_lost() {
        let cent = Rates { input: Rate::from_micro_usd(10_000), ..Rates::FREE };
        let one = Usage { input_tokens: 1, ..Usage::default() };
        assert_eq!(cost(&one, &cent), Money::from_nanos(10));
    }

    #[test]
    fn a_long_call_costs_the_long_rates_throughout() {
        let double = |rate: Rate| Rate(rate.0 * 2);
        let long = LongRates {
            above_tokens: 100,
            input: double(rates().input),
            cached: double(rates().cached),
            cache_write: double(rates().cache_write),
            output: double(rates().output),
        };
        let rates = Rates { long: Some(long), ..rates() };
        let call = |input_tokens| Usage { input_tokens, cached_tokens: 50, output_tokens: 1, ..Usage::default() };
        assert_eq!(cost(&call(100), &rates).nanos(), 50_000 + 5_000 + 5_000);
        assert_eq!(cost(&call(101), &rates).nanos(), 102_000 + 10_000 + 10_000);
    }

    #[test]
    fn rates_are_stored_as_numbers() {
        let stored = r#"{"input":1000000,"cached":100000,"cache_write":1250000,"output":5000000}"#;
        assert_eq!(serde_json::to_string(&rates()).unwrap(), stored);
        assert_eq!(serde_json::from_str::<Rates>(stored).unwrap(), rates());
        assert_eq!(serde_json::to_string(&Money::from_nanos(7)).unwrap(), "7");
    }
}
