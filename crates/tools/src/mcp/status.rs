//! How a server is, in words for people.

use jiff::Timestamp;

/// How a server is at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerState {
    /// It has not told its tools yet.
    Unknown,
    /// It is started when it is needed.
    Idle,
    /// It is there.
    Ready,
    /// It asks for a login.
    NeedsLogin,
    /// It does not do what it is asked for.
    Failing {
        /// Since when.
        since: Timestamp,
        /// What went wrong the last time.
        why: String,
    },
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerStatus {
    pub(super) name: String,
    pub(super) state: ServerState,
    /// How many of its tools are on offer, as far as they are known.
    pub(super) tools: Option<usize>,
    /// Those that have changed since they were first known.
    pub(super) changed: Vec<String>,
    /// Those that were classed when they were described otherwise.
    pub(super) stale: Vec<String>,
}

impl ServerStatus {
    /// On one line.
    pub(super) fn line(&self, now: Timestamp) -> String {
        let tools = match self.tools {
            Some(1) => ", 1 tool".to_owned(),
            Some(tools) => format!(", {tools} tools"),
            None => String::new(),
        };
        let state = match &self.state {
            ServerState::Unknown => "not asked yet".to_owned(),
            ServerState::Idle => "idle".to_owned(),
            ServerState::Ready => "ready".to_owned(),
            ServerState::NeedsLogin => format!("needs a login: hob mcp login {}", self.name),
            ServerState::Failing { since, why } => {
                format!("failing for {} ({why})", span(now.duration_since(*since).as_secs()))
            }
        };
        let changed = match self.changed.as_slice() {
            [] => String::new(),
            tools => format!("; says something else than at first of: {}", tools.join(", ")),
        };
        let stale = match self.stale.as_slice() {
            [] => String::new(),
            tools => format!("; to be classed anew: {}", tools.join(", ")),
        };
        format!("mcp {}: {state}{tools}{changed}{stale}", self.name)
    }
}

fn span(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{} s", seconds.max(0)),
        60..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_a_server_is_told_on_a_line() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let line = |state: ServerState, tools: Option<usize>, changed: &[&str]| {
            let changed = changed.iter().map(|name| (*name).to_owned()).collect();
            ServerStatus { name: "notes".to_owned(), state, tools, changed, stale: Vec::new() }.line(at(10_000))
        };
        let stale = ServerStatus {
            name: "notes".to_owned(),
            state: ServerState::Idle,
            tools: Some(2),
            changed: vec!["add".to_owned()],
            stale: vec!["add".to_owned()],
        };
        let failing = |since| ServerState::Failing { since: at(since), why: "it ended (exit status: 1)".to_owned() };
        let lines = [
            line(ServerState::Unknown, None, &[]),
            line(ServerState::Idle, Some(1), &[]),
            line(ServerState::Ready, Some(9), &["add", "get"]),
            line(ServerState::NeedsLogin, Some(2), &[]),
            line(failing(9_990), None, &[]),
            line(failing(9_000), Some(2), &[]),
            line(failing(0), Some(2), &[]),
            stale.line(at(10_000)),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        mcp notes: not asked yet
        mcp notes: idle, 1 tool
        mcp notes: ready, 9 tools; says something else than at first of: add, get
        mcp notes: needs a login: hob mcp login notes, 2 tools
        mcp notes: failing for 10 s (it ended (exit status: 1))
        mcp notes: failing for 16 min (it ended (exit status: 1)), 2 tools
        mcp notes: failing for 2 h (it ended (exit status: 1)), 2 tools
        mcp notes: idle, 2 tools; says something else than at first of: add; to be classed anew: add
        ");
    }
}
