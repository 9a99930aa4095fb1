//! The models of this Hob, by name, in the order in which they are tried.
//!
//! Never: a model without its breaker.
//! Start at [`Catalog`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::ErrorClass;
use crate::guarded_provider::{self, BreakerMonitor, Credential, GuardedProvider};
use crate::metered_provider::Metering;
use crate::provider::Provider;
use hob_core::domain::clock::Clock;
use hob_core::domain::redactor::Redactor;

#[cfg(test)]
mod tests;

/// A model under the names by which it can be chosen.
pub struct ModelEntry {
    /// `primary`, `fast`, `smart` or `fallback`.
    pub role: &'static str,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The account on which it is asked; none: one of its own.
    pub credential: Option<Credential>,
}

impl ModelEntry {
    /// A model on an account of its own.
    pub fn new(role: &'static str, provider: Arc<dyn Provider>) -> Self {
        Self { role, provider, credential: None }
    }

    /// The same model on the account of `credential`, together with the others of that account.
    #[must_use]
    pub fn with_credential(self, credential: Option<Credential>) -> Self {
        Self { credential, ..self }
    }
}

/// A model that is not asked at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableModel {
    /// The model.
    pub label: String,
    /// What went wrong with it.
    pub why: ErrorClass,
    /// How long it still rests; nothing where a call is finding out whether it works again.
    pub remaining: Duration,
}

impl fmt::Display for UnavailableModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.remaining.is_zero() {
            return write!(f, "{} is being tried again ({})", self.label, self.why);
        }
        write!(f, "{} for {} s ({})", self.label, guarded_provider::seconds(self.remaining), self.why)
    }
}

struct CatalogModel {
    role: &'static str,
    guarded: GuardedProvider,
}

impl CatalogModel {
    fn label(&self) -> &str {
        self.guarded.label()
    }

    /// What stands behind the provider's name.
    fn model(&self) -> &str {
        self.label().split_once('/').map_or(self.label(), |(_, model)| model)
    }
}

/// All models; the first is the primary one.
pub struct Catalog {
    models: Vec<CatalogModel>,
    watch: BreakerMonitor,
    /// Words of the owner's own, in lower case, and the labels that they stand for.
    aliases: BTreeMap<String, String>,
}

impl Catalog {
    /// A catalogue with `primary` and `others`, in this order; `clock` tells how long one rests.
    pub fn new(primary: ModelEntry, others: Vec<ModelEntry>, clock: Arc<dyn Clock>) -> Self {
        Self::with_breakers(primary, others, BreakerMonitor::new(clock))
    }

    /// The same with the breakers of a catalogue before it: what rests on an account goes on resting there.
    pub fn with_breakers(primary: ModelEntry, others: Vec<ModelEntry>, watch: BreakerMonitor) -> Self {
        let known = |entry: ModelEntry| CatalogModel {
            role: entry.role,
            guarded: GuardedProvider::new(entry.provider, entry.credential, watch.clone()),
        };
        Self { models: std::iter::once(primary).chain(others).map(known).collect(), watch, aliases: BTreeMap::new() }
    }

    /// The same catalogue, with words of the owner's own for labels. Ours (roles, labels) go before them.
    #[must_use]
    pub fn with_aliases(mut self, aliases: impl IntoIterator<Item = (String, String)>) -> Self {
        self.aliases.extend(aliases.into_iter().map(|(alias, label)| (alias.to_lowercase(), label)));
        self
    }

    /// The same catalogue, whose models neither hear nor tell what `redactor` finds.
    #[must_use]
    pub fn redacting(self, redactor: &Redactor) -> Self {
        let models =
            self.models.into_iter().map(|known| CatalogModel { guarded: known.guarded.redacting(redactor), ..known });
        Self { models: models.collect(), ..self }
    }

    /// The same catalogue, whose models' calls are counted and traced.
    #[must_use]
    pub fn metered(self, metering: &Metering) -> Self {
        let models =
            self.models.into_iter().map(|known| CatalogModel { guarded: known.guarded.metered(metering), ..known });
        Self { models: models.collect(), ..self }
    }

    pub fn watch(&self) -> BreakerMonitor {
        self.watch.clone()
    }

    /// The model with this label; it answers [`ErrorClass::Resting`] while it is left alone.
    pub fn get(&self, label: &str) -> Option<Arc<dyn Provider>> {
        self.find(label).map(|known| Arc::new(known.guarded.clone()) as Arc<dyn Provider>)
    }

    /// The model with this label, to be asked truly even while it rests: for a chain of which nobody else answers.
    pub fn get_forced(&self, label: &str) -> Option<Arc<dyn Provider>> {
        self.find(label).map(|known| Arc::new(known.guarded.ignoring_breaker()) as Arc<dyn Provider>)
    }

    /// The label that a person's word stands for: a role, a label, its last part, an alias, or a piece of one label
    /// alone. Case does not matter.
    pub fn resolve(&self, word: &str) -> Option<&str> {
        self.exact(word).or_else(|| match self.candidates(word)[..] {
            [label] => Some(label),
            _ => None,
        })
    }

    /// The labels of which the word is a piece: what a person may have meant.
    pub fn candidates(&self, word: &str) -> Vec<&str> {
        let word = word.trim().to_lowercase();
        let mut labels: Vec<&str> = Vec::new();
        for known in &self.models {
            let is_piece = !word.is_empty() && known.label().to_lowercase().contains(&word);
            if is_piece && !labels.contains(&known.label()) {
                labels.push(known.label());
            }
        }
        labels
    }

    /// Whom to ask, in order: the session's choice or the primary one, then the fallbacks. A choice that is no longer
    /// configured is not replaced by one that looks like it.
    pub fn chain(&self, choice: Option<&str>) -> Vec<String> {
        let first =
            choice.and_then(|choice| self.exact(choice)).or_else(|| self.labels().next().map(|(_, label)| label));
        let fallbacks = self.labels().filter(|(role, _)| *role == "fallback").map(|(_, label)| label);
        let mut chain: Vec<String> = Vec::new();
        for label in first.into_iter().chain(fallbacks) {
            if !chain.iter().any(|known| known == label) {
                chain.push(label.to_owned());
            }
        }
        chain
    }

    /// Role and label of each, in order.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.models.iter().map(|known| (known.role, known.label()))
    }

    /// The first role in which the model with this label stands.
    pub fn role(&self, label: &str) -> Option<&'static str> {
        self.find(label).map(|known| known.role)
    }

    /// The label of the first model in this role.
    pub fn by_role(&self, role: &str) -> Option<&str> {
        self.models.iter().find(|known| known.role == role).map(CatalogModel::label)
    }

    /// The models that rest now, each once.
    pub fn states(&self) -> Vec<UnavailableModel> {
        let mut states: Vec<UnavailableModel> = Vec::new();
        for known in &self.models {
            let Some(resting) = known.guarded.resting() else { continue };
            if states.iter().all(|state| state.label != known.label()) {
                let label = known.label().to_owned();
                states.push(UnavailableModel { label, why: resting.why, remaining: resting.remaining });
            }
        }
        states
    }

    fn find(&self, label: &str) -> Option<&CatalogModel> {
        self.models.iter().find(|known| known.label() == label)
    }

    /// What a word stands for as a whole.
    fn exact(&self, word: &str) -> Option<&str> {
        let word = word.trim().to_lowercase();
        let is_meant = |known: &&CatalogModel| {
            known.role == word || known.label().to_lowercase() == word || known.model().to_lowercase() == word
        };
        let alias = || self.find(self.aliases.get(&word)?);
        self.models.iter().find(is_meant).or_else(alias).map(CatalogModel::label)
    }
}
