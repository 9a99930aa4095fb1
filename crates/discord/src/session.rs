//! A session with the gateway: when it goes on, when another begins, when only an operator can help. Pure.

use std::time::Duration;

use serenity::constants::close_codes;
use tokio::time::Instant;

/// So many attempts to resume may fail in a row; then a new session begins.
const RESUMES_MAX: u32 = 3;
/// So often nobody may be reached where the session goes on; then it is tried where any session begins.
const NOWHERE_MAX: u32 = 3;
/// Discord keeps a session for some minutes. To resume a later one would only cost time.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Where the switch is that most bots miss.
const CONTENT_SWITCH: &str = "in Discord's developer portal switch on Bot → Privileged Gateway Intents → Message Content \
                              Intent, and save";

/// A session that can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: String,
    /// Where it goes on.
    pub(super) address: Option<String>,
    /// Up to where all has been handed in.
    pub(super) seq: u64,
}

/// How far a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionStage {
    /// Nobody greeted: that says nothing about the session.
    Nowhere,
    /// The gateway greeted, and did not get ready.
    Greeted,
    Ready,
}

/// What becomes of a session whose connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionFate {
    /// It goes on where it was.
    Stays,
    /// It goes on where any session begins.
    Moves,
    /// Another has to begin.
    Ends,
}

/// The attempts to go on with a session since it was last ready.
#[derive(Debug, Default)]
pub(super) struct ResumeAttempts {
    refused: u32,
    nowhere: u32,
    since: Option<Instant>,
}

impl ResumeAttempts {
    /// One more connection is over.
    pub(super) fn connection_ended(&mut self, came: ConnectionStage, now: Instant) -> SessionFate {
        match came {
            ConnectionStage::Ready => *self = Self { since: Some(now), ..Self::default() },
            ConnectionStage::Greeted => (self.refused, self.nowhere) = (self.refused + 1, 0),
            ConnectionStage::Nowhere => self.nowhere += 1,
        }
        let since = *self.since.get_or_insert(now);
        if self.refused >= RESUMES_MAX || now.duration_since(since) > KEPT_FOR {
            SessionFate::Ends
        } else if self.nowhere >= NOWHERE_MAX {
            SessionFate::Moves
        } else {
            SessionFate::Stays
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The session goes on with another connection.
    Resume(String),
    /// Another session has to begin.
    Fresh(String),
    /// It is not tried again soon: what is wrong, and what to do.
    Refused(String),
    /// Nothing came back in time: the connection is deaf, the session goes on.
    Deaf(String),
}

impl ConnectionEnd {
    /// Why, in words.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Resume(why) | Self::Fresh(why) | Self::Refused(why) | Self::Deaf(why) => why,
        }
    }
}

/// What a close of the other side means.
pub(super) fn closed(code: Option<u16>, reason: &str) -> ConnectionEnd {
    let Some(code) = code else {
        return ConnectionEnd::Resume(reason.to_owned());
    };
    match code {
        close_codes::AUTHENTICATION_FAILED => ConnectionEnd::Refused(bad_token()),
        close_codes::DISALLOWED_GATEWAY_INTENTS => ConnectionEnd::Refused(missing_content()),
        close_codes::INVALID_GATEWAY_INTENTS | close_codes::INVALID_SHARD | 4012 => {
            ConnectionEnd::Refused(format!("Discord refuses how Hob connects ({code} {reason}): Hob needs an update"))
        }
        close_codes::SHARDING_REQUIRED => ConnectionEnd::Refused(
            "the bot is in more servers than one connection may serve (4011): remove it from some".to_owned(),
        ),
        close_codes::NOT_AUTHENTICATED | 4006 | close_codes::INVALID_SEQUENCE | close_codes::SESSION_TIMEOUT => {
            ConnectionEnd::Fresh(format!("the session is over ({code} {reason})"))
        }
        code => ConnectionEnd::Resume(format!("the connection was closed ({code} {reason})")),
    }
}

/// The token is not known.
pub(super) fn bad_token() -> String {
    "Discord does not know this bot token: make another in the developer portal (Bot → Reset Token), write it into \
     `bot_token` and restart Hob"
        .to_owned()
}

/// The bot may not read what is written.
pub(super) fn missing_content() -> String {
    format!("the bot may not read messages: {CONTENT_SWITCH}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_says_how_it_goes_on() {
        let table = [
            (None, "resume"),
            (Some(1000), "resume"),
            (Some(1006), "resume"),
            (Some(4000), "resume"),
            (Some(4001), "resume"),
            (Some(4008), "resume"),
            (Some(4003), "fresh"),
            (Some(4006), "fresh"),
            (Some(4007), "fresh"),
            (Some(4009), "fresh"),
            (Some(4004), "refused"),
            (Some(4010), "refused"),
            (Some(4011), "refused"),
            (Some(4012), "refused"),
            (Some(4013), "refused"),
            (Some(4014), "refused"),
        ];
        for (code, expected) in table {
            let name = match closed(code, "because") {
                ConnectionEnd::Resume(_) => "resume",
                ConnectionEnd::Fresh(_) => "fresh",
                ConnectionEnd::Refused(_) => "refused",
                ConnectionEnd::Deaf(_) => "deaf",
            };
            assert_eq!(name, expected, "{code:?}");
        }
    }

    #[test]
    fn a_session_ends_by_a_refusal_or_by_time_but_by_no_outage() {
        use {ConnectionStage::*, SessionFate::*};
        let table = [
            (vec![Ready], vec![Stays]),
            // Without a network for a while.
            (vec![Ready, Nowhere, Nowhere, Nowhere, Nowhere], vec![Stays, Stays, Stays, Moves, Moves]),
            (vec![Ready, Greeted, Greeted, Greeted], vec![Stays, Stays, Stays, Ends]),
            // What was not even answered is not a refusal.
            (vec![Greeted, Nowhere, Greeted, Nowhere, Greeted], vec![Stays, Stays, Stays, Stays, Ends]),
            (vec![Greeted, Greeted, Ready, Greeted], vec![Stays; 4]),
        ];
        let now = Instant::now();
        for (connections, expected) in table {
            let mut attempts = ResumeAttempts::default();
            let fates: Vec<SessionFate> =
                connections.iter().map(|came| attempts.connection_ended(*came, now)).collect();
            assert_eq!(fates, expected, "{connections:?}");
        }
        let mut attempts = ResumeAttempts::default();
        assert_eq!(attempts.connection_ended(Ready, now), Stays);
        assert_eq!(attempts.connection_ended(Nowhere, now + KEPT_FOR), Stays);
        assert_eq!(attempts.connection_ended(Nowhere, now + KEPT_FOR + Duration::from_secs(1)), Ends);
    }

    #[test]
    fn what_an_operator_must_do_is_told_exactly() {
        insta::assert_snapshot!(closed(Some(4014), "").why(), @"the bot may not read messages: in Discord's developer portal switch on Bot → Privileged Gateway Intents → Message Content Intent, and save");
        insta::assert_snapshot!(closed(Some(4004), "").why(), @"Discord does not know this bot token: make another in the developer portal (Bot → Reset Token), write it into `bot_token` and restart Hob");
    }
}
