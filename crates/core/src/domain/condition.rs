//! What of Hob does not work as it should, for whoever asks: `/status`, `/health`, the log and the owner's chat (row N9).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::domain::inbound::ChannelKind;

/// What can be in a bad state by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemPart {
    /// The config file as a whole: what runs is not what stands in it.
    Config,
    /// What is kept of good configs: it cannot be written.
    LastGood,
    /// A section of the config that cannot be used, e.g. `telegram` or `tools.switch_light`: it is off.
    Section(String),
    /// A section that is on, and set so that it cannot do what it is there for.
    Setting(String),
    /// An account on a platform.
    Channel {
        kind: ChannelKind,
        /// The account's name.
        account: String,
    },
    /// The models: none answers, or one stands in.
    Model,
    /// Meaning in the memory's search.
    Embeddings,
    /// Room on the disk.
    Disk,
    Database,
    Backup,
}

impl fmt::Display for SystemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str("config"),
            Self::LastGood => f.write_str("last good config"),
            Self::Section(name) | Self::Setting(name) => write!(f, "[{name}]"),
            Self::Channel { kind, account } => write!(f, "{kind} ({account})"),
            Self::Model => f.write_str("model"),
            Self::Embeddings => f.write_str("embeddings"),
            Self::Disk => f.write_str("disk"),
            Self::Database => f.write_str("database"),
            Self::Backup => f.write_str("backup"),
        }
    }
}

/// What is wrong with a part. It holds no secret, and nothing that a stranger wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub since: Timestamp,
    /// What happened, and where, in one line.
    pub what: String,
    /// What whoever runs Hob can do about it.
    pub fix: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.fix)
    }
}

/// All troubles of this process; whoever has a clone sees and tells the same.
#[derive(Debug, Clone)]
pub struct Conditions(Arc<watch::Sender<BTreeMap<SystemPart, Trouble>>>);

impl Default for Conditions {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeMap::new())))
    }
}

impl Conditions {
    /// A part is in trouble; gives whether that is news. The same trouble told again keeps its beginning.
    pub fn report(&self, part: SystemPart, trouble: Trouble) -> bool {
        self.0.send_if_modified(|all| match all.get_mut(&part) {
            Some(known) if known.what == trouble.what && known.fix == trouble.fix => false,
            Some(known) => {
                *known = Trouble { since: known.since, ..trouble };
                true
            }
            None => {
                all.insert(part, trouble);
                true
            }
        })
    }

    /// A part works again; gives what had been wrong.
    pub fn clear(&self, part: &SystemPart) -> Option<Trouble> {
        let mut gone = None;
        self.0.send_if_modified(|all| {
            gone = all.remove(part);
            gone.is_some()
        });
        gone
    }

    /// Everything that is wrong now.
    pub fn all(&self) -> BTreeMap<SystemPart, Trouble> {
        self.0.borrow().clone()
    }

    /// Whether a part is in trouble now.
    pub fn has(&self, part: &SystemPart) -> bool {
        self.0.borrow().contains_key(part)
    }

    /// Hears of every change from now on.
    pub fn subscribe(&self) -> watch::Receiver<BTreeMap<SystemPart, Trouble>> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(second: i64, what: &str) -> Trouble {
        let since = Timestamp::from_second(second).unwrap();
        Trouble { since, what: what.to_owned(), fix: "free some".to_owned() }
    }

    #[test]
    fn n9_a_trouble_is_news_once_keeps_its_beginning_and_ends() {
        let conditions = Conditions::default();
        let mut heard = conditions.subscribe();
        assert!(conditions.report(SystemPart::Disk, trouble(1, "9 MB left")));
        assert!(!conditions.report(SystemPart::Disk, trouble(5, "9 MB left")));
        assert_eq!((conditions.has(&SystemPart::Disk), conditions.has(&SystemPart::Model)), (true, false));
        assert!(conditions.report(SystemPart::Disk, trouble(7, "5 MB left")));
        assert_eq!(conditions.all()[&SystemPart::Disk], trouble(1, "5 MB left"));
        assert!(heard.has_changed().unwrap());
        heard.mark_unchanged();
        assert_eq!(conditions.clear(&SystemPart::Disk), Some(trouble(1, "5 MB left")));
        assert_eq!(conditions.clear(&SystemPart::Disk), None);
        assert!(heard.has_changed().unwrap());
        assert!(conditions.all().is_empty());
    }
}
