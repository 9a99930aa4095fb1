//! What a letter leaves behind so that it can be answered: to whom, under which subject, in which thread.
//!
//! The e-mail channel makes it and reads it; whoever decides whether an answer may go out looks at its addresses.

use serde::{Deserialize, Serialize};

/// Somebody a letter goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mailbox {
    /// How they are called, as their letters say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Their address, in lower case.
    pub address: String,
}

/// What is needed to answer a letter. It is stored with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Envelope {
    /// The letter's own Message-ID, without `<>`.
    pub message_id: String,
    /// Those of the letters before it, oldest first.
    pub references: Vec<String>,
    /// What it is about.
    pub subject: String,
    /// To whom an answer goes.
    pub to: Vec<Mailbox>,
    /// Who gets a copy of it.
    pub cc: Vec<Mailbox>,
    /// How its writer is called, before what is quoted.
    pub author: String,
    /// When it was written, as a reader sees that.
    pub written: String,
    /// Its first lines, to be quoted.
    pub quote: Vec<String>,
}

impl Envelope {
    /// As it is stored.
    pub fn encode(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// As it was stored; none: it is not a letter's.
    pub fn decode(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The same, to these addresses alone.
    pub fn only(&self, addresses: &[&str]) -> Self {
        let kept = |all: &[Mailbox]| -> Vec<Mailbox> {
            all.iter().filter(|mailbox| addresses.contains(&mailbox.address.as_str())).cloned().collect()
        };
        let (mut to, mut cc) = (kept(&self.to), kept(&self.cc));
        if to.is_empty() {
            to.append(&mut cc);
        }
        Self { to, cc, ..self.clone() }
    }

    /// Whether it begins a conversation: it answers nothing that anybody wrote.
    pub fn is_first(&self) -> bool {
        self.written.is_empty()
    }

    /// The addresses of all who would get an answer.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        self.to.iter().chain(&self.cc).map(|mailbox| mailbox.address.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_what_was_stored_is_read_again() {
        let ada = Mailbox { name: Some("Ada".to_owned()), address: "ada@example.org".to_owned() };
        let bob = Mailbox { name: None, address: "bob@example.org".to_owned() };
        let envelope = Envelope { subject: "Tea".to_owned(), to: vec![ada], cc: vec![bob], ..Envelope::default() };
        let read = envelope.encode().and_then(|text| Envelope::decode(&text)).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(read.recipients().collect::<Vec<_>>(), ["ada@example.org", "bob@example.org"]);
        // What a later version adds, or an earlier one left out, is no obstacle.
        assert_eq!(Envelope::decode("{\"subject\":\"x\",\"new\":1}").unwrap().subject, "x");
        assert_eq!(Envelope::decode("no letter"), None);
    }
}
