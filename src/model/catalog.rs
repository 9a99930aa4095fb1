//! The models of this Hob, by name, in the order in which they are tried.

use std::sync::Arc;

use crate::model::provider::Provider;

/// A model under the names by which it can be chosen.
pub struct Entry {
    /// `primary`, `fast`, `smart` or `fallback`.
    pub role: &'static str,
    /// The model.
    pub provider: Arc<dyn Provider>,
}

/// All models; the first is the primary one.
pub struct Catalog {
    entries: Vec<Entry>,
}

impl Catalog {
    /// A catalogue with `primary` and `others`, in this order.
    #[must_use]
    pub fn new(primary: Arc<dyn Provider>, others: Vec<Entry>) -> Self {
        let mut entries = vec![Entry { role: "primary", provider: primary }];
        entries.extend(others);
        Self { entries }
    }

    /// The model with this label.
    #[must_use]
    pub fn get(&self, label: &str) -> Option<Arc<dyn Provider>> {
        self.entries.iter().find(|entry| entry.provider.label() == label).map(|entry| Arc::clone(&entry.provider))
    }

    /// The label that a person's word stands for: a role, a label, or a label's last part.
    #[must_use]
    pub fn resolve(&self, word: &str) -> Option<&str> {
        let word = word.trim();
        self.entries
            .iter()
            .find(|entry| {
                let label = entry.provider.label();
                entry.role == word || label == word || label.split_once('/').is_some_and(|(_, model)| model == word)
            })
            .map(|entry| entry.provider.label())
    }

    /// Whom to ask, in order: the session's choice or the primary one, then the fallbacks.
    #[must_use]
    pub fn chain(&self, choice: Option<&str>) -> Vec<String> {
        let first =
            choice.and_then(|choice| self.resolve(choice)).or_else(|| self.labels().next().map(|(_, label)| label));
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
        self.entries.iter().map(|entry| (entry.role, entry.provider.label()))
    }
}
