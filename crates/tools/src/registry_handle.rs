//! The tools that are there at the moment: the built-in ones, and families of others that come and go while Hob runs.
//!
//! Never: a change under somebody's hands. Who asks for the tools gets them as they are now, and keeps them so.
//! Start at [`ToolRegistryHandle`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::registry::Registry;
use crate::{Tool, ToolSpec};
use hob_core::domain::lock::lock;
use hob_model::offered_tools::OfferedTools;

/// So many offers are remembered: one for each role and persona in an ordinary house.
const OFFERS_MAX: usize = 32;

/// All tools there are, now.
pub struct ToolRegistryHandle {
    /// What is always there; its names are taken.
    base: Registry,
    families: Mutex<BTreeMap<String, Vec<Arc<dyn Tool>>>>,
    now: ArcSwap<RegistrySnapshot>,
}

/// The tools, and what was made of them.
struct RegistrySnapshot {
    all: Arc<Registry>,
    offers: Mutex<BTreeMap<Vec<bool>, Arc<ToolOffer>>>,
}

impl RegistrySnapshot {
    fn of(all: Registry) -> Self {
        Self { all: Arc::new(all), offers: Mutex::default() }
    }
}

/// Some of the tools, as a model is shown them.
pub struct ToolOffer {
    /// The tools, with a `use_tool` that knows those that are shown on need.
    pub tools: Registry,
    /// What a request names.
    pub shown: OfferedTools,
}

impl ToolRegistryHandle {
    /// These, and whatever is published later.
    pub fn new(base: Registry) -> Self {
        let now = ArcSwap::from_pointee(RegistrySnapshot::of(base.clone()));
        Self { base, families: Mutex::default(), now }
    }

    /// The tools as they are now.
    pub fn now(&self) -> Arc<Registry> {
        Arc::clone(&self.now.load().all)
    }

    /// Those of them that are wanted. One run after another wants the same: what is made of them is made once.
    pub fn offer(&self, wanted: impl Fn(&ToolSpec) -> bool) -> Arc<ToolOffer> {
        let now = self.now.load();
        let key: Vec<bool> = now.all.specs().map(&wanted).collect();
        let mut offers = lock(&now.offers);
        if let Some(offer) = offers.get(&key) {
            return Arc::clone(offer);
        }
        if offers.len() >= OFFERS_MAX {
            offers.clear();
        }
        let tools = now.all.only(wanted).with_use_tool();
        let shown = tools.schemas().into();
        let offer = Arc::new(ToolOffer { tools, shown });
        offers.insert(key, Arc::clone(&offer));
        offer
    }

    /// From now on these are the tools of `family`, instead of those that it had; none: it is gone. A tool whose name is
    /// taken, or that no model could be told of, is left out and told of in the log.
    pub fn publish(&self, family: &str, tools: Vec<Arc<dyn Tool>>) {
        let mut families = lock(&self.families);
        if tools.is_empty() {
            families.remove(family);
        } else {
            families.insert(family.to_owned(), tools);
        }
        let mut all = self.base.clone();
        for (family, tools) in &*families {
            for tool in tools {
                all = all.with_family_tool(family, Arc::clone(tool));
            }
        }
        self.now.store(Arc::new(RegistrySnapshot::of(all)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::tests::tool;

    #[test]
    fn families_come_and_go_and_cost_nobody_else() {
        let plain = || json!({ "type": "object" });
        let shed = ToolRegistryHandle::new(Registry::default().with(tool("recall", plain())));
        let before = shed.now();
        shed.publish(
            "disk",
            vec![tool("look", plain()), tool("recall", plain()), tool("bad", json!({ "type": "no" }))],
        );
        shed.publish("zoo", vec![tool("feed", plain()), tool("look", plain()), tool("an ox", plain())]);
        assert_eq!(before.names(), ["recall"], "who asked before goes on with what there was");
        assert_eq!(shed.now().names(), ["feed", "look", "recall"]);
        let disk = shed.now().get("look").unwrap();
        shed.publish("disk", Vec::new());
        assert_eq!(shed.now().names(), ["feed", "look", "recall"]);
        assert!(!Arc::ptr_eq(&disk, &shed.now().get("look").unwrap()), "the other family's, now that the name is free");
        shed.publish("zoo", vec![tool("groom", plain())]);
        assert_eq!(shed.now().names(), ["groom", "recall"]);
    }
}
