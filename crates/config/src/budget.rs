//! `[budget]`: how much money models may cost, and how many tokens they may read and write.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;

/// How much models may cost, in US dollars, and how much they may read and write, in tokens: in conversations, for memory and for
/// voice messages together.
///
/// At 80 % of a cap the chat is told; at its end a task is handed back with what was done. Models without a known price cost
/// nothing here, but their tokens count. What one person may use in tokens is under `[quotas]`, what a persona may under
/// `[personas]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<BudgetConfig>)]
pub struct BudgetConfig {
    /// For one task, with all that it starts.
    #[schemars(range(min = 0, max = 1_000_000), example = &0.5)]
    pub run_usd: Option<f64>,
    /// For any sixty minutes.
    #[schemars(range(min = 0, max = 1_000_000), example = &2.0)]
    pub hour_usd: Option<f64>,
    /// For a day of the calendar.
    #[schemars(range(min = 0, max = 1_000_000), example = &5.0)]
    pub day_usd: Option<f64>,
    /// For a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000), example = &50.0)]
    pub month_usd: Option<f64>,
    /// Tokens for any sixty minutes.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &2_000_000)]
    pub hour_tokens: Option<u64>,
    /// Tokens for a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), example = &100_000_000)]
    pub month_tokens: Option<u64>,
    /// For one person in any sixty minutes.
    #[schemars(range(min = 0, max = 1_000_000), example = &1.0)]
    pub person_hour_usd: Option<f64>,
    /// For one person in a month of the calendar.
    #[schemars(range(min = 0, max = 1_000_000), example = &20.0)]
    pub person_month_usd: Option<f64>,
}

impl BudgetConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let money = [
            ("run_usd", self.run_usd),
            ("hour_usd", self.hour_usd),
            ("day_usd", self.day_usd),
            ("month_usd", self.month_usd),
        ];
        let own = [("person_hour_usd", self.person_hour_usd), ("person_month_usd", self.person_month_usd)];
        let tokens = [("hour_tokens", self.hour_tokens), ("month_tokens", self.month_tokens)];
        [narrowing(&money), narrowing(&own), narrowing(&tokens)].concat()
    }
}

/// Finds caps that are above those of a longer time; they go from the shortest to the longest.
pub(super) fn narrowing<T: PartialOrd + Copy + Display>(caps: &[(&str, Option<T>)]) -> Vec<Finding> {
    let set: Vec<(&str, T)> = caps.iter().filter_map(|(key, cap)| Some((*key, (*cap)?))).collect();
    let extra_check = set.windows(2).filter(|pair| pair[0].1 > pair[1].1).map(|pair| {
        let [(key, cap), (wide, most)] = [pair[0], pair[1]];
        let why = format!("is {cap}, expected at most {wide}, which is {most}");
        Finding::new(key, why, format!("lower it or raise {wide}")).with(wide)
    });
    extra_check.collect()
}
