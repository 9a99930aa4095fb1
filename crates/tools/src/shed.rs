//! The tools that are there at the moment: the built-in ones, and families of others that come and go while Hob runs.
//!
//! Never: a change under somebody's hands. Who asks for the tools gets them as they are now, and keeps them so.
//! Start at [`Tools`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::Tool;
use crate::registry::Registry;

/// All tools there are, now.
pub struct Tools {
    /// What is always there; its names are taken.
    base: Registry,
    families: Mutex<BTreeMap<String, Vec<Arc<dyn Tool>>>>,
    now: ArcSwap<Registry>,
}

impl Tools {
    /// These, and whatever is published later.
    #[must_use]
    pub fn new(base: Registry) -> Self {
        let now = ArcSwap::from_pointee(base.clone());
        Self { base, families: Mutex::default(), now }
    }

    /// The tools as they are now.
    #[must_use]
    pub fn now(&self) -> Arc<Registry> {
        self.now.load_full()
    }

    /// From now on these are the tools of `family`, instead of those that it had; none: it is gone. A tool whose name is
    /// taken, or that no model could be told of, is left out and told of in the log.
    pub fn publish(&self, family: &str, tools: Vec<Arc<dyn Tool>>) {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.is_empty() {
            families.remove(family);
        } else {
            families.insert(family.to_owned(), tools);
        }
        let mut all = self.base.clone();
        for (family, tools) in &*families {
            for tool in tools {
                all = all.joined_by(family, Arc::clone(tool));
            }
        }
        self.now.store(Arc::new(all));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::tests::tool;

    #[test]
    fn n10_families_come_and_go_and_cost_nobody_else() {
        let plain = || json!({ "type": "object" });
        let shed = Tools::new(Registry::default().with(tool("recall", plain())));
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
