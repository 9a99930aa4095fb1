//! Where else words may go: what the config names.

use std::collections::BTreeMap;

use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::{Principal, Role, Trust};

/// Conversations by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(pub BTreeMap<String, Conversation>);

impl Addresses {
    /// The conversation with this name, if `caller` may write there.
    ///
    /// # Errors
    /// Why not, in words for the model.
    pub fn find(&self, caller: &Principal, name: &str) -> Result<&Conversation, String> {
        if caller.role < Role::Owner || caller.trust == Trust::Untrusted {
            return Err("Only the owner may have me write to other conversations.".to_owned());
        }
        let known = |(known, _): &(&String, &Conversation)| known.eq_ignore_ascii_case(name.trim());
        self.0.iter().find(known).map(|(_, conversation)| conversation).ok_or_else(|| {
            let names = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let names = if names.is_empty() { "none".to_owned() } else { names };
            format!(
                "There is no destination {name:?}. There are: {names}. The owner can name more under [destinations]."
            )
        })
    }
}
