//! What the operator says of an MCP server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::sandbox::program_sandbox::ProgramAccess;
use hob_core::domain::network::NamedPlace;
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;
use hob_core::domain::tool_class::ArgumentRole;
use hob_core::domain::tools::Approval;
use hob_core::policy::plan::is_content_by_name;
use hob_core::policy::undo::UndoRule;

/// A server, as configured and validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub way: ServerTransport,
    /// Whether the operator vouches for what it says: its answers, and its descriptions of its tools.
    pub trusted_output: bool,
    /// Whether its own word on which of its tools change nothing is believed.
    pub trusted_annotations: bool,
    /// Whether it learns with each call whose conversation it is, and whether the run is tainted.
    pub meta: bool,
    /// Who may have its tools called.
    pub role: Role,
    /// Whether a person has to approve each call; none: as the tool is.
    pub approval: Option<Approval>,
    /// How what its tools do is taken back, by the server's own names.
    pub undo: BTreeMap<String, UndoRule>,
    /// What arguments of its tools are, as the owner says, by the server's own names.
    pub arguments: BTreeMap<String, BTreeMap<String, ArgumentRole>>,
    /// Which of its tools are on offer; none: all.
    pub allow: Vec<String>,
    /// Which are not, even so.
    pub deny: Vec<String>,
    /// How long it may take to start and to tell its tools.
    pub start_within: Duration,
    /// How long a call may take.
    pub call_within: Duration,
    /// How long it is kept when nobody calls it.
    pub idle: Duration,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// By its standard input and output.
    Program {
        /// The program and its arguments.
        vector: Vec<String>,
        /// What it finds in its environment besides the usual.
        environment: Vec<(String, Secret)>,
        /// Where it runs, unless in its own folder.
        dir: PathBuf,
        /// What it may reach; none: it is outside the sandbox.
        own: Option<ProgramAccess>,
    },
    /// By HTTP.
    Address {
        /// Where it is.
        url: String,
        /// The token that goes with each request.
        bearer: Option<Secret>,
        /// Further headers.
        headers: Vec<(String, Secret)>,
        /// How Hob logs in there, if it is asked to.
        login: LoginSettings,
    },
}

/// How Hob logs in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginSettings {
    /// Who Hob is there, and with which secret; none: it registers itself.
    pub client: Option<(String, Option<Secret>)>,
    /// Where browsers are sent afterwards.
    pub redirect: String,
    /// What may be asked besides the public network and the server itself.
    pub private: Vec<NamedPlace>,
}

impl Settings {
    /// Which server this is, whatever it is called: what was known of another counts for nothing.
    pub(super) fn identity(&self) -> String {
        let parts = match &self.way {
            ServerTransport::Program { vector, .. } => vector.clone(),
            ServerTransport::Address { url, .. } => vec![url.clone()],
        };
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Is this tool of the server's to be on offer?
    pub(super) fn offers(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.allow.is_empty() || named(&self.allow)) && !named(&self.deny)
    }

    /// Does this argument of a tool only say something? As the owner says; where nothing is said, its name tells.
    pub(super) fn is_content(&self, tool: &str, argument: &str) -> bool {
        let said = self.arguments.get(tool).and_then(|arguments| arguments.get(argument));
        said.map_or_else(|| is_content_by_name(argument), |role| *role == ArgumentRole::Content)
    }
}

fn fits(pattern: &str, tool: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == tool, |start| tool.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::program;

    #[test]
    fn what_is_denied_is_not_on_offer_though_it_is_allowed() {
        let offers = |allow: &[&str], deny: &[&str], tool: &str| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            Settings { allow: owned(allow), deny: owned(deny), ..program(&["x"]) }.offers(tool)
        };
        assert!(offers(&[], &[], "read"));
        assert!(offers(&["read_*"], &[], "read_file") && !offers(&["read_*"], &[], "write_file"));
        assert!(offers(&["read"], &[], "read") && !offers(&["read"], &[], "read_file"));
        assert!(!offers(&["read*"], &["read_secret"], "read_secret") && !offers(&[], &["*"], "read"));
    }

    #[test]
    fn n16_an_owner_says_which_arguments_steer_and_what_is_not_said_their_names_tell() {
        let (steering, content) = (ArgumentRole::Steering, ArgumentRole::Content);
        let of = |tool: &str, said: &[(&str, ArgumentRole)]| {
            (tool.to_owned(), said.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect())
        };
        let arguments = [of("add", &[("details", content), ("title", steering)])];
        let settings = Settings { arguments: arguments.into(), ..program(&["x"]) };
        for (tool, argument, is_content) in [
            ("add", "details", true),
            ("add", "title", false),
            ("add", "note", true),
            ("add", "to", false),
            // Said of another tool, or of a name that only looks like it.
            ("add_entry", "details", false),
            ("add_entry", "title", true),
            ("add", "Details", false),
            ("add", "det\u{430}ils", false),
        ] {
            assert_eq!(settings.is_content(tool, argument), is_content, "{tool} {argument}");
        }
    }

    #[test]
    fn another_command_is_another_server() {
        let identity = |vector: &[&str]| program(vector).identity();
        assert_eq!(identity(&["a", "b"]), identity(&["a", "b"]));
        assert_ne!(identity(&["a", "b"]), identity(&["ab"]));
        assert_ne!(identity(&["a", "b"]), identity(&["a", "c"]));
    }
}
