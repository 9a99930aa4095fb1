//! How a channel fares: noted where it receives, read by `/status` and `/health`.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::inbound::ChannelKind;
use crate::domain::lock::lock;

/// Whether a channel can be relied upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// Not yet connected since the start.
    Connecting,
    /// It hears.
    Connected,
    /// It seems connected, and nothing came back in time: it is being rebuilt.
    Deaf,
    /// It does not hear, and tries again.
    Down {
        why: String,
    },
    Closed {
        why: String,
    },
}

impl Liveness {
    /// The name in `/health` and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Deaf => "deaf",
            Self::Down { .. } => "down",
            Self::Closed { .. } => "closed",
        }
    }
}

/// A receive loop's sign of life, whatever the platform does: a loop that waits out an outage lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pulse {
    /// How often it has come round.
    pub turns: u64,
    /// How long it may take until it comes round again.
    pub within: Duration,
}

/// How a channel fares at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelHealth {
    /// Whether it hears.
    pub liveness: Liveness,
    /// Who Hob is there, once known.
    pub name: Option<String>,
    /// When the platform was last heard, from the receive path itself: an answer to a poll, a heartbeat's echo.
    pub heard_at: Option<Timestamp>,
    /// When a message last came.
    pub message_at: Option<Timestamp>,
    /// When something was last sent there, since the start.
    pub sent_at: Option<Timestamp>,
    /// Why what came in is not stored.
    pub stuck: Option<String>,
    /// How many messages were ignored since the start, though they were for Hob: their senders are not let in.
    pub ignored: u64,
    /// Whether what receives is at work; none: nothing here has to come round.
    pub pulse: Option<Pulse>,
    pub now: Timestamp,
}

/// An account, and how it fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountHealth {
    pub channel: ChannelKind,
    /// Its name in the config.
    pub account: String,
    /// How it fares.
    pub health: ChannelHealth,
}

impl ChannelHealth {
    /// Of a channel that is simply there or not, such as a terminal.
    pub fn plain(liveness: Liveness, now: Timestamp) -> Self {
        let (heard_at, message_at, sent_at) = (None, None, None);
        Self { liveness, name: None, heard_at, message_at, sent_at, stuck: None, ignored: 0, pulse: None, now }
    }
}

impl fmt::Display for ChannelHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.liveness {
            Liveness::Connecting => f.write_str("connecting")?,
            Liveness::Connected => f.write_str("connected")?,
            Liveness::Deaf => f.write_str("deaf: nothing has come back in time")?,
            Liveness::Down { why } => write!(f, "not connected: {why}")?,
            Liveness::Closed { why } => write!(f, "closed: {why}")?,
        }
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        let since = |then: Timestamp| self.now.duration_since(then).as_secs().max(0);
        if let Some(heard) = self.heard_at {
            write!(f, "; last heard {} s ago", since(heard))?;
        }
        match self.message_at {
            Some(message) => write!(f, "; last message {} s ago", since(message))?,
            None if self.name.is_some() || self.heard_at.is_some() => f.write_str("; no message yet")?,
            None => {}
        }
        if let Some(sent) = self.sent_at {
            write!(f, "; last sent {} s ago", since(sent))?;
        }
        if self.ignored > 0 {
            write!(f, "; {} ignored since the start, the log says whose and why", self.ignored)?;
        }
        if let Some(why) = &self.stuck {
            write!(f, "; messages wait: {why}")?;
        }
        Ok(())
    }
}

/// What a channel's receive path notes.
#[derive(Debug, Default)]
pub struct Monitor(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    name: Option<String>,
    heard_at: Option<Timestamp>,
    message_at: Option<Timestamp>,
    /// Why nothing comes in.
    trouble: Option<String>,
    /// Why what came in is not stored.
    stuck: Option<String>,
    ignored: u64,
    pulse: Pulse,
}

impl Monitor {
    /// The platform said who Hob is there; e.g. `@hob_bot`.
    pub fn identified(&self, name: &str) {
        let mut state = lock(&self.0);
        state.name = Some(name.to_owned());
        state.trouble = None;
    }

    /// The platform was heard on the receive path; gives what had been wrong until then.
    pub fn heard(&self, now: Timestamp) -> Option<String> {
        let mut state = lock(&self.0);
        state.heard_at = Some(now);
        state.trouble.take()
    }

    /// A message came, and its sender is not let in.
    pub fn ignored(&self) {
        lock(&self.0).ignored += 1;
    }

    /// A message came and is stored.
    pub fn message(&self, now: Timestamp) {
        let mut state = lock(&self.0);
        state.message_at = Some(now);
        state.stuck = None;
    }

    /// Nothing comes in.
    pub fn troubled(&self, why: String) {
        lock(&self.0).trouble = Some(why);
    }

    /// What came in is not stored.
    pub fn stuck(&self, why: String) {
        lock(&self.0).stuck = Some(why);
    }

    /// What receives has come round, and does so again within this time at the latest: it waits for nothing longer.
    pub fn turned(&self, within: Duration) {
        let mut state = lock(&self.0);
        state.pulse = Pulse { turns: state.pulse.turns.wrapping_add(1), within };
    }

    /// How it fares; silence of more than `silence_max` means that it is deaf.
    pub fn health(&self, now: Timestamp, silence_max: Duration) -> ChannelHealth {
        let state = lock(&self.0);
        let silence = state.heard_at.map(|heard| now.duration_since(heard));
        let is_long = |silence: jiff::SignedDuration| silence.unsigned_abs() > silence_max && silence.is_positive();
        let liveness = match (&state.trouble, silence) {
            (Some(why), _) => Liveness::Down { why: why.clone() },
            (None, Some(silence)) if is_long(silence) => Liveness::Deaf,
            (None, Some(_)) => Liveness::Connected,
            (None, None) => Liveness::Connecting,
        };
        ChannelHealth {
            liveness,
            name: state.name.clone(),
            heard_at: state.heard_at,
            message_at: state.message_at,
            sent_at: None,
            stuck: state.stuck.clone(),
            ignored: state.ignored,
            pulse: Some(state.pulse),
            now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn n11_says_what_is_so() {
        let monitor = Monitor::default();
        let line = |second| monitor.health(at(second), Duration::from_secs(60)).to_string();
        insta::assert_snapshot!(line(0), @"connecting");
        monitor.troubled("401 Unauthorized".to_owned());
        insta::assert_snapshot!(line(1), @"not connected: 401 Unauthorized");
        monitor.identified("@hob_bot");
        monitor.heard(at(10));
        insta::assert_snapshot!(line(12), @"connected (@hob_bot); last heard 2 s ago; no message yet");
        monitor.message(at(10));
        insta::assert_snapshot!(line(12), @"connected (@hob_bot); last heard 2 s ago; last message 2 s ago");
        monitor.stuck("the disk is full".to_owned());
        insta::assert_snapshot!(line(12), @"connected (@hob_bot); last heard 2 s ago; last message 2 s ago; messages wait: the disk is full");
        insta::assert_snapshot!(line(99), @"deaf: nothing has come back in time (@hob_bot); last heard 89 s ago; last message 89 s ago; messages wait: the disk is full");
    }
}
