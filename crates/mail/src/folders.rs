//! The folders of a mailbox, and what each is for: as the server says (RFC 6154) or the owner, never by its name.

use std::collections::BTreeMap;
use std::fmt;

use async_imap::imap_proto::{MailboxDatum, NameAttribute, Response};

use hob_email::command::converse;
use hob_email::connect::{ImapSession, MailboxError};

/// So many folders are named where one is not there.
const NAMED_MAX: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderRole {
    /// Letters that are being written.
    Drafts,
    /// Copies of what was sent.
    Sent,
    /// What is done with.
    Archive,
    /// What nobody wanted.
    Junk,
    /// What is thrown away.
    Trash,
    /// All letters, wherever they lie.
    All,
}

impl FolderRole {
    /// As IMAP writes it; people and the model write it so, too.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drafts => "\\Drafts",
            Self::Sent => "\\Sent",
            Self::Archive => "\\Archive",
            Self::Junk => "\\Junk",
            Self::Trash => "\\Trash",
            Self::All => "\\All",
        }
    }

    fn of(attribute: &NameAttribute<'_>) -> Option<Self> {
        Some(match attribute {
            NameAttribute::Drafts => Self::Drafts,
            NameAttribute::Sent => Self::Sent,
            NameAttribute::Archive => Self::Archive,
            NameAttribute::Junk => Self::Junk,
            NameAttribute::Trash => Self::Trash,
            NameAttribute::All => Self::All,
            _ => return None,
        })
    }
}

/// A folder that letters can lie in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name, as people read it.
    pub name: String,
    /// What it is for, if anybody says.
    pub role: Option<FolderRole>,
}

/// All of them, as the server lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders(Vec<Folder>);

impl Folders {
    /// The folder of this name or role.
    pub fn find(&self, named: &str) -> Option<&Folder> {
        let named = named.trim();
        let is_inbox = |name: &str| name.eq_ignore_ascii_case("INBOX");
        let by_role = || self.0.iter().find(|one| one.role.is_some_and(|r| r.as_str().eq_ignore_ascii_case(named)));
        let is = |one: &&Folder| one.name == named || is_inbox(named) && is_inbox(&one.name);
        self.0.iter().find(is).or_else(by_role)
    }

    pub fn of_role(&self, role: FolderRole) -> Option<&Folder> {
        self.0.iter().find(|one| one.role == Some(role))
    }

    /// Those whose role is known.
    pub fn with_roles(&self) -> impl Iterator<Item = &Folder> {
        self.0.iter().filter(|one| one.role.is_some())
    }

    /// The owner's word goes before the server's.
    fn settle(mut self, settled: &BTreeMap<FolderRole, String>) -> Self {
        for folder in &mut self.0 {
            folder.role = folder.role.filter(|role| !settled.contains_key(role));
            let own = settled.iter().find(|(_, name)| **name == folder.name).map(|(role, _)| *role);
            folder.role = own.or(folder.role);
        }
        self
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |one: &Folder| match one.role {
            Some(role) => format!("{} ({})", one.name, role.as_str()),
            None => one.name.clone(),
        };
        let named: Vec<String> = self.0.iter().take(NAMED_MAX).map(name).collect();
        let more = if self.0.len() > NAMED_MAX { " and more" } else { "" };
        write!(f, "{}{more}", named.join(", "))
    }
}

/// Asks the server which there are; `settled` is what the owner says of them.
pub(crate) async fn list(
    session: &mut ImapSession,
    settled: &BTreeMap<FolderRole, String>,
) -> Result<Folders, MailboxError> {
    let able = session.capabilities().await?;
    let how = if able.has_str("SPECIAL-USE") && able.has_str("LIST-EXTENDED") { " RETURN (SPECIAL-USE)" } else { "" };
    let mut all = Vec::new();
    converse(session, &[format!("LIST \"\" \"*\"{how}")], |response| {
        if let Response::MailboxData(MailboxDatum::List(listed)) = response {
            let closed = listed.name_attributes.iter().any(|attribute| matches!(attribute, NameAttribute::NoSelect));
            let role = listed.name_attributes.iter().find_map(FolderRole::of);
            let name = utf7::decode(&listed.name);
            // What could not be written back as it is would be another folder.
            if !closed && !name.chars().any(char::is_control) {
                all.push(Folder { name, role });
            }
        }
    })
    .await?;
    Ok(Folders(all).settle(settled))
}

/// A folder's name as IMAP takes it, for a call of the library, which puts it into quotes.
pub(crate) fn on_the_wire(name: &str) -> String {
    utf7::encode(name)
}

/// The same within quotes, for a command of our own.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", utf7::encode(name).replace('\\', "\\\\").replace('"', "\\\""))
}

/// IMAP's own way to write names (RFC 3501, 5.1.3).
mod utf7 {
    /// As people read it. What is not written as it should be stays as it is.
    pub(super) fn decode(wire: &str) -> String {
        let mut text = String::new();
        let mut rest = wire;
        while let Some((before, after)) = rest.split_once('&') {
            text.push_str(before);
            let Some((packed, next)) = after.split_once('-') else {
                text.push('&');
                text.push_str(after);
                return text;
            };
            match packed {
                "" => text.push('&'),
                packed => match unpacked(packed) {
                    Some(words) => text.push_str(&words),
                    None => text.extend(["&", packed, "-"]),
                },
            }
            rest = next;
        }
        text.push_str(rest);
        text
    }

    /// As IMAP takes it. No control character has a place in it.
    pub(super) fn encode(name: &str) -> String {
        let mut wire = String::new();
        let mut open: Vec<u16> = Vec::new();
        for c in name.chars().filter(|c| !c.is_control()) {
            if c.is_ascii() {
                close(&mut wire, &mut open);
                wire.push(c);
                wire.extend((c == '&').then_some('-'));
            } else {
                open.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            }
        }
        close(&mut wire, &mut open);
        wire
    }

    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

    fn close(wire: &mut String, open: &mut Vec<u16>) {
        if open.is_empty() {
            return;
        }
        wire.push('&');
        let bits: Vec<bool> =
            open.drain(..).flat_map(|unit| (0..16).rev().map(move |bit| (unit >> bit) & 1 == 1)).collect();
        for six in bits.chunks(6) {
            let value = (0..6).fold(0, |value, at| (value << 1) | usize::from(six.get(at).copied().unwrap_or(false)));
            wire.push(char::from(DIGITS.get(value).copied().unwrap_or(b'A')));
        }
        wire.push('-');
    }

    fn unpacked(packed: &str) -> Option<String> {
        let mut bits: Vec<bool> = Vec::new();
        for byte in packed.bytes() {
            let value = DIGITS.iter().position(|digit| *digit == byte)?;
            bits.extend((0..6).rev().map(|bit| (value >> bit) & 1 == 1));
        }
        let units =
            bits.chunks_exact(16).map(|unit| unit.iter().fold(0_u16, |value, bit| (value << 1) | u16::from(*bit)));
        String::from_utf16(&units.collect::<Vec<_>>()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_imap_wants_them_and_read_as_people_do() {
        for (name, wire) in [
            ("INBOX", "INBOX"),
            ("Entwürfe", "Entw&APw-rfe"),
            ("Gesendet & weg", "Gesendet &- weg"),
            ("~peter/mail/日本語/台北", "~peter/mail/&ZeVnLIqe-/&U,BTFw-"),
            ("😀", "&2D3eAA-"),
        ] {
            assert_eq!((utf7::encode(name), utf7::decode(wire)), (wire.to_owned(), name.to_owned()));
        }
        assert_eq!(utf7::encode("a\r\nb"), "ab");
        for odd in ["a&b", "a&!-b"] {
            assert_eq!(utf7::decode(odd), odd);
        }
        assert_eq!(quoted("a\"b\\"), "\"a\\\"b\\\\\"");
    }

    #[test]
    fn a_role_is_what_the_server_or_the_owner_says() {
        let folder = |name: &str, role| Folder { name: name.to_owned(), role };
        let all =
            || Folders(vec![folder("INBOX", None), folder("Drafts", None), folder("Sent", Some(FolderRole::Sent))]);
        let none = BTreeMap::new();
        assert_eq!(all().settle(&none).of_role(FolderRole::Drafts), None, "a name says nothing");
        let own = BTreeMap::from([(FolderRole::Drafts, "Drafts".to_owned()), (FolderRole::Sent, "INBOX".to_owned())]);
        let settled = all().settle(&own);
        assert_eq!(settled.of_role(FolderRole::Drafts).map(|one| one.name.as_str()), Some("Drafts"));
        assert_eq!(settled.of_role(FolderRole::Sent).map(|one| one.name.as_str()), Some("INBOX"));
        assert_eq!(settled.find("\\drafts").map(|one| one.name.as_str()), Some("Drafts"));
        assert_eq!(settled.find("inbox").map(|one| one.name.as_str()), Some("INBOX"));
        assert_eq!((settled.find("drafts"), settled.find("Nowhere")), (None, None));
        assert_eq!(settled.to_string(), "INBOX (\\Sent), Drafts (\\Drafts), Sent");
    }
}
