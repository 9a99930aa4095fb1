//! `[models."provider/model"]` and `[aliases]`: what models can do and cost, and what they are called.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::problem::Finding;
use crate::{key_path, shape, values};

/// The words by which `/model` knows its models already.
const TAKEN: [&str; 5] = ["primary", "fast", "smart", "fallback", "auto"];

/// US dollars for a million tokens, kept as millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsdPerMillion(u64);

impl UsdPerMillion {
    /// Millionths of a dollar for a million tokens.
    pub fn micro_usd(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for UsdPerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let usd = f64::deserialize(deserializer)?;
        if !(0.0..=1e9).contains(&usd) {
            return Err(D::Error::custom("a price is a number of dollars from 0"));
        }
        Ok(Self((usd * 1e6).round() as u64))
    }
}

/// What a model can do and cost. What is left out is as in Hob's own table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ModelConfig>)]
pub struct ModelConfig {
    /// The most tokens it can read and write in one call.
    #[schemars(range(min = 1000, max = 100_000_000), example = &400_000)]
    pub context_tokens: Option<u64>,
    /// The most tokens it can write in one call.
    #[schemars(range(min = 1, max = 100_000_000), example = &128_000)]
    pub max_output_tokens: Option<u64>,
    /// US dollars for a million tokens that it reads; needs output_usd.
    #[schemars(with = "Option<f64>", range(min = 0, max = 100_000), example = &0.25)]
    pub input_usd: Option<UsdPerMillion>,
    /// US dollars for a million tokens that it reads from its provider's cache. Without it: input_usd.
    #[schemars(with = "Option<f64>", range(min = 0, max = 100_000), example = &0.025)]
    pub cached_usd: Option<UsdPerMillion>,
    /// US dollars for a million tokens that it reads and its provider writes to the cache. Without it: input_usd.
    #[schemars(with = "Option<f64>", range(min = 0, max = 100_000), example = &0.25)]
    pub cache_write_usd: Option<UsdPerMillion>,
    /// US dollars for a million tokens that it writes; needs input_usd.
    #[schemars(with = "Option<f64>", range(min = 0, max = 100_000), example = &2.0)]
    pub output_usd: Option<UsdPerMillion>,
    /// Whether it takes pictures.
    #[schemars(example = &true)]
    pub sees_images: Option<bool>,
}

impl ModelConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let priced =
            [self.input_usd, self.cached_usd, self.cache_write_usd, self.output_usd].iter().any(Option::is_some);
        for (key, price, example) in [("input_usd", self.input_usd, "0.25"), ("output_usd", self.output_usd, "2.0")] {
            if priced && price.is_none() {
                let why = "is missing, expected a number, because another price of this model is set";
                let fix = format!("for example `{key} = {example}`");
                let others = ["input_usd", "cached_usd", "cache_write_usd", "output_usd"];
                let finding = Finding::new(key, why, fix);
                found.push(
                    others.iter().filter(|other| **other != key).fold(finding, |finding, other| finding.with(other)),
                );
            }
        }
        if let (Some(output), Some(context)) = (self.max_output_tokens, self.context_tokens)
            && output > context
        {
            let why = format!("is {output}, expected at most context_tokens, which is {context}");
            found.push(
                Finding::new("max_output_tokens", why, "lower it or raise context_tokens").with("context_tokens"),
            );
        }
        found
    }
}

/// Finds what keeps `label` from naming a model.
pub(crate) fn validate_label(label: &str) -> Vec<Finding> {
    if is_label(label) {
        return Vec::new();
    }
    let why = "does not name a model, expected provider/model";
    vec![Finding::new(
        key_path::key(label),
        why,
        "for example `[models.\"openai/gpt-5-mini\"]`; `hob models` lists yours",
    )]
}

/// Finds what keeps each alias from being one.
pub(crate) fn validate_aliases(aliases: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (alias, label) in aliases {
        let key = key_path::key(alias);
        if TAKEN.contains(&alias.as_str()) {
            let why = format!("is a word of Hob's own, expected another than {}", TAKEN.join(", "));
            found.push(Finding::new(&key, why, "call it something else"));
        } else if !values::is_name(alias) {
            let why = "is not an alias, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(&key, why, "for example `quick = \"openai/gpt-5-mini\"`"));
        }
        if !is_label(label) {
            let why = "does not name a model, expected provider/model";
            found.push(Finding::new(
                &key,
                why,
                "for example `quick = \"openai/gpt-5-mini\"`; `hob models` lists yours",
            ));
        }
    }
    found
}

/// What an alias looks like.
pub(super) fn alias_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("quick", "openai/gpt-5-mini")])
}

/// Whether it is `provider/model`.
fn is_label(text: &str) -> bool {
    let plain = text.chars().all(|c| !c.is_whitespace() && !c.is_control());
    plain
        && text.len() <= 200
        && text.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty())
}
