//! What a check says, and the report of all.

use std::fmt;

use serde::Serialize;

use hob_core::domain::redactor::Redactor;
use hob_core::domain::text::one_line;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// The config file.
    Config,
    /// Who may read it.
    Permissions,
    /// The data directory.
    Data,
    /// Room on the disk.
    Disk,
    /// How many files may be open.
    Files,
    /// The machine's clock.
    Clock,
    /// The time zone.
    Zone,
    Database,
    /// Whether Hob runs.
    Daemon,
    Models,
    /// The platforms.
    Channels,
    /// What commands can be kept from.
    Sandbox,
    /// Meaning in the memory's search.
    Embeddings,
    /// The mailboxes of people.
    Mail,
    /// The MCP servers.
    Mcp,
    /// Who says answers aloud.
    Speech,
    /// Calendars and address books.
    Calendars,
    /// The household's Home Assistant.
    Home,
    /// What is to be done later.
    Schedules,
    Service,
    Backup,
}

impl Check {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 21] = [
        Self::Config,
        Self::Permissions,
        Self::Data,
        Self::Disk,
        Self::Files,
        Self::Clock,
        Self::Zone,
        Self::Database,
        Self::Daemon,
        Self::Models,
        Self::Channels,
        Self::Sandbox,
        Self::Embeddings,
        Self::Mail,
        Self::Mcp,
        Self::Speech,
        Self::Calendars,
        Self::Home,
        Self::Schedules,
        Self::Service,
        Self::Backup,
    ];

    /// The name for `--only`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Permissions => "permissions",
            Self::Data => "data",
            Self::Disk => "disk",
            Self::Files => "files",
            Self::Clock => "clock",
            Self::Zone => "zone",
            Self::Database => "database",
            Self::Daemon => "daemon",
            Self::Models => "models",
            Self::Channels => "channels",
            Self::Sandbox => "sandbox",
            Self::Embeddings => "embeddings",
            Self::Mail => "mail",
            Self::Mcp => "mcp",
            Self::Speech => "speech",
            Self::Calendars => "calendars",
            Self::Home => "home",
            Self::Schedules => "schedules",
            Self::Service => "service",
            Self::Backup => "backup",
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Good to know; nothing need be done.
    Note,
    /// Hob works, and not as well as it could, or not for long.
    Warn,
    /// Something does not work.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub verdict: Verdict,
    /// Which check found it.
    pub check: &'static str,
    pub what: String,
    /// What to do; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: Check, what: impl Into<String>) -> Self {
        Self { verdict: Verdict::Ok, check: check.as_str(), what: what.into(), fix: None }
    }

    /// Good to know.
    pub fn note(check: Check, what: impl Into<String>) -> Self {
        Self { verdict: Verdict::Note, check: check.as_str(), what: what.into(), fix: None }
    }

    /// Hob works, and this should be seen to.
    pub fn warn(check: Check, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warn, check: check.as_str(), what: what.into(), fix: Some(fix.into()) }
    }

    /// This does not work.
    pub fn fail(check: Check, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, check: check.as_str(), what: what.into(), fix: Some(fix.into()) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What others say may have lines of its own; a finding is one.
        let what = one_line(&self.what);
        write!(f, "{:<4} {}: {what}", self.verdict, self.check)?;
        self.fix.iter().try_for_each(|fix| write!(f, "; {fix}"))
    }
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub worst: Verdict,
    /// Each finding, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Of what was found.
    pub fn of(findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
        Self { worst, findings }
    }

    /// The same without what must not be seen.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let hide = |text: String| redactor.redact(&text).into_owned();
        let findings = self.findings.into_iter();
        let findings =
            findings.map(|finding| Finding { what: hide(finding.what), fix: finding.fix.map(hide), ..finding });
        Self { worst: self.worst, findings: findings.collect() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        let count = |verdict| self.findings.iter().filter(|finding| finding.verdict == verdict).count();
        match (count(Verdict::Fail), count(Verdict::Warn)) {
            (0, 0) => writeln!(f, "All is well."),
            (0, warns) => writeln!(f, "Hob can work; {warns} to see to."),
            (fails, 0) => writeln!(f, "{fails} to be mended."),
            (fails, warns) => writeln!(f, "{fails} to be mended, {warns} to see to."),
        }
    }
}
