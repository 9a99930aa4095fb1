//! Who wrote the last messages: Discord does not say whose message was deleted.

use std::collections::BTreeMap;

use crate::wire::Id;
use hob_core::domain::inbound::Sender;

/// So many messages are remembered.
const MESSAGES_MAX: usize = 2_000;

/// The authors of the last messages.
#[derive(Debug, Default)]
pub(super) struct AuthorCache(BTreeMap<Id, Sender>);

impl AuthorCache {
    pub(super) fn remember_author(&mut self, message: Id, sender: &Sender) {
        self.0.insert(message, sender.clone());
        if self.0.len() > MESSAGES_MAX {
            // Ids grow with time.
            self.0.pop_first();
        }
    }

    pub(super) fn of(&self, message: Id) -> Option<Sender> {
        self.0.get(&message).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_are_remembered() {
        let mut authors = AuthorCache::default();
        let sender = Sender { external_id: "7".to_owned(), name: "Ada".to_owned() };
        let id = |number: usize| Id::parse(&number.to_string()).unwrap();
        (1..=MESSAGES_MAX + 1).for_each(|number| authors.remember_author(id(number), &sender));
        assert_eq!((authors.of(id(1)), authors.of(id(2))), (None, Some(sender)));
    }
}
