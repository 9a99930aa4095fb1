//! What is known of each model without asking it: its window, its price, whether it sees pictures.
//!
//! Never: a guess. A model that is not in `table.toml` and not in the config has no price, which is not the same as none.
//! Start at [`ModelTable::facts`].

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::offline;
use crate::price::{LongRates, Rate, Rates};
use hob_config::models::{ModelConfig, UsdPerMillion};

/// The data, with the dates it is from.
const SHIPPED: &str = include_str!("table.toml");
/// Providers on one's own machine, or in Hob: they cost nothing.
const FREE: &[&str] = &["ollama", "vllm", "llama-cpp", "lm-studio", "offline"];
/// Who sells others' models at their makers' prices, under the makers' names.
const RESELLER: &str = "openrouter";
/// What a reseller calls the makers.
const MAKERS: &[(&str, &str)] =
    &[("google", "gemini"), ("x-ai", "xai"), ("moonshotai", "moonshot"), ("mistralai", "mistral")];
/// What may follow a model's name without making another model of it, besides a date.
const SUFFIXES: &[&str] = &["latest", "preview", "exp"];

/// The table that ships with Hob is not what this code reads.
#[derive(Debug, thiserror::Error)]
#[error("the table of models that ships with Hob cannot be read: {0}")]
pub struct TableError(#[from] toml::de::Error);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceSource {
    /// Nowhere: there is none.
    Unknown,
    /// The model runs here.
    Own,
    /// Its maker's list, as it was on this day.
    List(String),
    Config,
}

impl fmt::Display for PriceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::Own => f.write_str("own machine"),
            Self::List(day) => write!(f, "list price of {day}"),
            Self::Config => f.write_str("config.toml"),
        }
    }
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// The most tokens it can read and write in one call.
    pub context_tokens: Option<u64>,
    /// The most tokens it can write in one call.
    pub max_output_tokens: Option<u64>,
    /// Whether it takes pictures.
    pub sees_images: Option<bool>,
    /// What its tokens cost.
    pub rates: Option<Rates>,
    pub source: PriceSource,
}

/// All that is known: the shipped table, and what the config says over it.
#[derive(Debug)]
pub struct ModelTable {
    shipped: ShippedTable,
    overrides: Vec<(NormalizedName, ModelConfig)>,
}

impl ModelTable {
    /// The shipped table under what the config says.
    ///
    /// # Errors
    /// When the shipped table cannot be read, which a test rules out.
    pub fn new(overrides: &BTreeMap<String, ModelConfig>) -> Result<Self, TableError> {
        let overrides = overrides.iter().map(|(label, model)| (NormalizedName::of(label), model.clone())).collect();
        Ok(Self { shipped: toml::from_str(SHIPPED)?, overrides })
    }

    /// The day on which the shipped table was put together.
    pub fn as_of(&self) -> &str {
        &self.shipped.as_of
    }

    /// Whether the model with this label may see pictures: what is not known to be blind is shown them, for a server that
    /// takes none says so.
    pub fn may_see(&self, label: &str) -> bool {
        self.facts(label).sees_images.unwrap_or(label != offline::LABEL)
    }

    /// What is known of the model with this label, `provider/model`.
    pub fn facts(&self, label: &str) -> ModelFacts {
        let name = NormalizedName::of(label);
        let shipped = self.shipped.facts(&name);
        let own = longest(self.overrides.iter().map(|(known, model)| (known, model)), &name);
        own.map_or_else(|| shipped.clone(), |own| merged_facts(own, &shipped))
    }
}

/// What the config says, over what is shipped.
fn merged_facts(own: &ModelConfig, shipped: &ModelFacts) -> ModelFacts {
    let own_rates = match (own.input_usd, own.output_usd) {
        (Some(input), Some(output)) => Some(Rates {
            input: rate(input),
            cached: rate(own.cached_usd.unwrap_or(input)),
            cache_write: rate(own.cache_write_usd.unwrap_or(input)),
            output: rate(output),
            long: None,
        }),
        _ => None,
    };
    ModelFacts {
        context_tokens: own.context_tokens.or(shipped.context_tokens),
        max_output_tokens: own.max_output_tokens.or(shipped.max_output_tokens),
        sees_images: own.sees_images.or(shipped.sees_images),
        rates: own_rates.or(shipped.rates),
        source: if own_rates.is_some() { PriceSource::Config } else { shipped.source.clone() },
    }
}

fn rate(price: UsdPerMillion) -> Rate {
    Rate::from_micro_usd(price.micro_usd())
}

/// A label in the form in which labels are compared: vendors and resellers do not agree on dots and strokes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NormalizedName {
    provider: String,
    model: String,
}

impl NormalizedName {
    fn of(label: &str) -> Self {
        let plain = label.trim().to_lowercase().replace(['.', '_'], "-");
        let (provider, model) = plain.split_once('/').unwrap_or(("", &plain));
        Self { provider: provider.to_owned(), model: model.to_owned() }
    }

    /// The same model under its maker's name, if this is a reseller's name for it.
    fn under_maker(&self) -> Option<Self> {
        let (maker, model) = self.model.split_once('/').filter(|_| self.provider == RESELLER)?;
        let provider = MAKERS.iter().find(|(theirs, _)| *theirs == maker).map_or(maker, |(_, ours)| ours);
        Some(Self { provider: provider.to_owned(), model: model.to_owned() })
    }

    /// Whether this is `known`, or a dated or floating name of it. Another word after it makes it another model, which
    /// may cost ten times as much.
    fn is(&self, known: &Self) -> bool {
        self.provider == known.provider && self.model.strip_prefix(&known.model).is_some_and(is_version)
    }
}

/// Whether `rest` of a name only says which version: nothing, a day (`-20251001`, `-2025-08-07`, `-0813`), `-latest`.
fn is_version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@']) else { return rest.is_empty() };
    let mut dated = false;
    rest.split('-').all(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let fits = SUFFIXES.contains(&part) || (digits && (part.len() >= 4 || (dated && part.len() == 2)));
        dated |= digits;
        fits
    })
}

/// The most specific of the known models that `name` is.
fn longest<'a, T>(known: impl Iterator<Item = (&'a NormalizedName, T)>, name: &NormalizedName) -> Option<T> {
    known.filter(|(known, _)| name.is(known)).max_by_key(|(known, _)| known.model.len()).map(|(_, what)| what)
}

/// `table.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShippedTable {
    as_of: String,
    vendors: BTreeMap<String, Vendor>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendor {
    as_of: String,
    /// Where the prices stand, for whoever brings them up to date.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and a test that it is there"))]
    page: String,
    models: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    context_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    sees_images: bool,
    input_usd: UsdPerMillion,
    cached_usd: Option<UsdPerMillion>,
    cache_write_usd: Option<UsdPerMillion>,
    output_usd: UsdPerMillion,
    long: Option<LongContextPrices>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongContextPrices {
    above_tokens: u64,
    input_usd: UsdPerMillion,
    cached_usd: Option<UsdPerMillion>,
    cache_write_usd: Option<UsdPerMillion>,
    output_usd: UsdPerMillion,
}

impl ShippedTable {
    fn facts(&self, name: &NormalizedName) -> ModelFacts {
        let nothing = ModelFacts {
            context_tokens: None,
            max_output_tokens: None,
            sees_images: None,
            rates: None,
            source: PriceSource::Unknown,
        };
        if FREE.contains(&name.provider.as_str()) {
            return ModelFacts { rates: Some(Rates::FREE), source: PriceSource::Own, ..nothing };
        }
        let maker = name.under_maker();
        let name = maker.as_ref().unwrap_or(name);
        let Some(vendor) = self.vendors.get(&name.provider) else { return nothing };
        let known: Vec<(NormalizedName, &Entry)> = vendor
            .models
            .iter()
            .map(|(model, entry)| (NormalizedName::of(&format!("{}/{model}", name.provider)), entry))
            .collect();
        longest(known.iter().map(|(known, entry)| (known, *entry)), name).map_or(nothing, |entry| ModelFacts {
            context_tokens: entry.context_tokens,
            max_output_tokens: entry.max_output_tokens,
            sees_images: Some(entry.sees_images),
            rates: Some(entry.rates()),
            source: PriceSource::List(vendor.as_of.clone()),
        })
    }
}

impl Entry {
    fn rates(&self) -> Rates {
        Rates {
            input: rate(self.input_usd),
            cached: rate(self.cached_usd.unwrap_or(self.input_usd)),
            cache_write: rate(self.cache_write_usd.unwrap_or(self.input_usd)),
            output: rate(self.output_usd),
            long: self.long.as_ref().map(|long| LongRates {
                above_tokens: long.above_tokens,
                input: rate(long.input_usd),
                cached: rate(long.cached_usd.unwrap_or(long.input_usd)),
                cache_write: rate(long.cache_write_usd.unwrap_or(long.input_usd)),
                output: rate(long.output_usd),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
