//! `[mcp.NAME]`: MCP servers whose tools the model may call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::load::LoadNote;
use crate::problem::Finding;
use crate::tools::ApprovalConfig;
use crate::{check, key_path, sandbox_keys, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;
use hob_core::domain::tool_class::ArgumentRole;
use hob_core::policy::invisible::marked;
use hob_core::policy::undo::{ArgumentSource, UndoRule};

/// The longest name of a server: its tools are named after it.
const NAME_CHARS_MAX: usize = 32;
/// Headers that the protocol itself sets.
const OWN_HEADERS: [&str; 8] = [
    "accept",
    "authorization",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// An MCP server: a program on this machine, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<McpConfig>)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct McpConfig {
    /// The program and its arguments, run without a shell; it speaks MCP on standard input and output. Either this or url.
    #[schemars(length(max = 256), example = ["npx", "-y", "@modelcontextprotocol/server-memory"])]
    #[schemars(extend("x-goes" = true))]
    pub command: Vec<String>,
    /// The server's address, for MCP over streamable HTTP. Either this or command.
    #[schemars(length(min = 1, max = 2000), example = &"https://mcp.example.org/mcp")]
    #[schemars(extend("x-goes" = true))]
    pub url: Option<String>,
    /// What the program finds in its environment besides PATH, HOME and the language. The values are secrets.
    #[schemars(example = example_environment())]
    pub env: BTreeMap<String, Secret>,
    /// Whether the program runs in the sandbox: then it reaches its folder, what its command names, and nothing else of
    /// yours.
    pub sandbox: bool,
    /// In the sandbox: whether the program has the network.
    pub network: bool,
    /// In the sandbox: more that the program may read, as absolute paths.
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// In the sandbox: more folders that the program may read and write, as absolute paths.
    #[schemars(length(max = 64))]
    pub write_dirs: Vec<PathBuf>,
    /// Where the program runs, as an absolute path; in the sandbox it may write there. Without it: a folder of its own in the
    /// data directory, or the data directory itself for one outside the sandbox.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/notes")]
    #[schemars(extend("x-goes" = true))]
    pub working_dir: Option<PathBuf>,
    /// The token that is sent to the address.
    #[schemars(length(min = 1, max = 4000), example = &"example-token")]
    pub bearer: Option<Secret>,
    /// Who Hob is for whoever issues the address's tokens. Without it Hob registers itself there, when a person logs in.
    #[schemars(length(min = 1, max = 2000), example = &"hob-household")]
    pub client_id: Option<String>,
    /// The secret that belongs to client_id, if it has one.
    #[schemars(length(min = 1, max = 4000), example = &"example-secret")]
    pub client_secret: Option<Secret>,
    /// Further headers that are sent to the address. The values are secrets.
    #[schemars(example = example_headers())]
    pub headers: BTreeMap<String, Secret>,
    /// Whether you vouch for what it says: its results, and what it says of its tools, taint no run then.
    pub trusted_output: bool,
    /// Whether its own word on which of its tools change nothing is believed: those need no approval then.
    pub trusted_annotations: bool,
    /// Whether each call tells it, as `_meta`, which conversation it is for (`hob/session`) and whether the run has read what
    /// nobody vouches for (`hob/untrusted`).
    pub meta: bool,
    /// Who may have its tools called: guest, user, admin or owner, and all above.
    pub role: Role,
    /// Whether a person has to approve each call. Without it: ask, but for what changes nothing by trusted_annotations.
    #[schemars(example = &"ask")]
    pub approval: Option<ApprovalConfig>,
    /// Which of its tools are on offer, by the server's own names, or beginnings of names with a `*` behind. None: all.
    #[schemars(length(max = 500), inner(length(min = 1, max = 256)), example = ["read_*", "search"])]
    pub allow: Vec<String>,
    /// Which of them are not, even so.
    #[schemars(length(max = 500), inner(length(min = 1, max = 256)), example = ["delete_*"])]
    pub deny: Vec<String>,
    /// How what its tools do is taken back for an hour, by the server's own names: the tool that does it, and where each of its
    /// arguments comes from, `$.name` of the answer or `$call.name` of the call. Not for what sends, spends or deletes.
    #[schemars(extend("maxProperties" = 100), example = example_undo())]
    pub undo: BTreeMap<String, UndoConfig>,
    /// What the arguments of its tools are, by the server's own names: `content` only says something, `steering` says to whom,
    /// where, when, how much or which. Without it names tell: text, note, title and the like are content, all else steers.
    #[schemars(extend("maxProperties" = 500), example = example_arguments())]
    pub arguments: BTreeMap<String, BTreeMap<String, ArgumentRole>>,
    /// Seconds that it has to start and to tell its tools. The first start by npx or uvx includes a download.
    #[schemars(range(min = 1, max = 600))]
    pub start_timeout_secs: u64,
    /// Seconds that a call may take.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_secs: u64,
}

/// The call that takes something back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<UndoConfig>)]
pub struct UndoConfig {
    /// The tool, by the server's own name.
    #[schemars(length(min = 1, max = 256), example = &"delete_event")]
    pub tool: String,
    /// Each of its arguments, and where it comes from.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 32), example = example_with())]
    pub with: BTreeMap<String, String>,
}

impl UndoConfig {
    /// The rule that it is, and what of it cannot be.
    pub fn rule(&self, key: &str, of: &str) -> (UndoRule, Vec<Finding>) {
        let (mut with, mut found) = (BTreeMap::new(), Vec::new());
        for (name, written) in &self.with {
            if let Some(source) = ArgumentSource::parse(written) {
                with.insert(name.clone(), source);
                continue;
            }
            let key = key_path::child(&key_path::child(key, "with"), name);
            let why =
                "is no place where an argument comes from, expected `$.name` of the answer or `$call.name` of the call";
            found.push(Finding::new(&key, why, "write one of these"));
        }
        let rule = UndoRule { tool: self.tool.clone(), with };
        if found.is_empty() {
            let fix = "remove it";
            found.extend(rule.problem(of).map(|why| Finding::new(key, why, fix)));
        }
        (rule, found)
    }
}

fn example_with() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("id", "$.id")])
}

fn example_undo() -> serde_json::Value {
    serde_json::json!({ "create_event": { "tool": "delete_event", "with": { "id": "$.id" } } })
}

fn example_arguments() -> serde_json::Value {
    serde_json::json!({ "create_event": { "agenda": "content", "title": "steering" } })
}

fn example_environment() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("MEMORY_FILE_PATH", "/srv/notes/memory.json")])
}

fn example_headers() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("X-Api-Key", "example-key")])
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            url: None,
            env: BTreeMap::new(),
            sandbox: sandbox_keys::within(),
            network: true,
            read_dirs: Vec::new(),
            write_dirs: Vec::new(),
            working_dir: None,
            bearer: None,
            client_id: None,
            client_secret: None,
            headers: BTreeMap::new(),
            trusted_output: false,
            trusted_annotations: false,
            meta: true,
            role: Role::default(),
            approval: None,
            allow: Vec::new(),
            deny: Vec::new(),
            undo: BTreeMap::new(),
            arguments: BTreeMap::new(),
            start_timeout_secs: 60,
            timeout_secs: 120,
        }
    }
}

impl McpConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::from_iter(self.way());
        for (index, element) in self.command.iter().enumerate() {
            if element.contains('\0') {
                let why = "has a NUL character, expected text";
                found.push(Finding::new(key_path::item("command", index), why, "remove it"));
            }
        }
        if self.command.first().is_some_and(String::is_empty) {
            let why = "is empty, expected a program";
            found.push(Finding::new(key_path::item("command", 0), why, "write its path"));
        }
        found.extend(self.url.iter().filter_map(|url| values::check_http_url("url", url)));
        for (name, value) in &self.env {
            let key = key_path::child("env", name);
            if !is_variable(name) {
                let why = "cannot name a variable, expected letters, digits and `_`, and no digit at the beginning";
                found.push(Finding::new(&key, why, "rename it"));
            }
            if value.expose().contains('\0') {
                found.push(Finding::new(&key, "has a NUL character, expected text", "remove it"));
            }
        }
        found.extend(self.working_dir.iter().filter_map(|dir| values::absolute_path("working_dir", dir)));
        found.extend(sandbox_keys::folders([("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)]));
        found.extend(self.undo.iter().flat_map(|(of, undo)| undo.rule(&key_path::child("undo", of), of).1));
        for (tool, arguments) in &self.arguments {
            let hides = |name: &&String| name.is_empty() || marked(name) != **name;
            let why =
                "is empty or has characters that do not show, expected the name of an argument as its server writes it";
            let at = |name: &String| key_path::child(&key_path::child("arguments", tool), name);
            found.extend(arguments.keys().filter(hides).map(|name| Finding::new(at(name), why, "write it anew")));
        }
        found.extend(self.bearer.iter().filter_map(|token| values::header_secret("bearer", token.expose())));
        if self.client_secret.is_some() && self.client_id.is_none() {
            let why = "belongs to nobody, expected client_id beside it";
            found.push(Finding::new("client_secret", why, "set client_id, or remove it"));
        }
        if self.client_id.is_some() && (self.url.is_none() || self.bearer.is_some()) {
            let why = "is for a login, expected an address under url, and no bearer";
            found.push(Finding::new("client_id", why, "remove it").with("bearer"));
        }
        for (name, value) in &self.headers {
            let key = key_path::child("headers", name);
            found.extend(header(&key, name));
            found.extend(values::header_secret(&key, value.expose()));
        }
        found
    }

    /// What is said of arguments that the server `name` does not have: `known` are those of its tools, by its own names.
    pub fn unknown_arguments(&self, name: &str, known: &BTreeMap<String, Vec<String>>) -> Vec<LoadNote> {
        let section = key_path::child(&key_path::child("mcp", name), "arguments");
        let note = |key: String, what: &str, named: &str, there: Vec<&str>| LoadNote {
            key,
            line: None,
            what: what.to_owned(),
            fix: match check::nearest(named, there.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", there.join(", ")),
            },
        };
        let of = |(tool, said): (&String, &BTreeMap<String, ArgumentRole>)| {
            let key = key_path::child(&section, tool);
            let Some(there) = known.get(tool) else {
                return vec![note(
                    key,
                    "is no tool of this server's",
                    tool,
                    known.keys().map(String::as_str).collect(),
                )];
            };
            let there: Vec<&str> = there.iter().map(String::as_str).collect();
            let unknown = said.keys().filter(|argument| !there.contains(&argument.as_str()));
            let what = "is no argument of this tool's, so nothing is said of any";
            unknown.map(|argument| note(key_path::child(&key, argument), what, argument, there.clone())).collect()
        };
        self.arguments.iter().flat_map(of).collect()
    }

    /// It is a program or an address, and has nothing that belongs to the other.
    fn way(&self) -> Option<Finding> {
        let one = |why: &str, fix: &str| Some(Finding::new("command", why, fix).with("url"));
        match (self.command.is_empty(), &self.url) {
            (true, None) => one("is missing, expected a program, or an address under url", "set one of the two"),
            (false, Some(_)) => one("stands beside url, expected one of the two", "remove one"),
            (false, None) if self.bearer.is_some() || !self.headers.is_empty() => {
                let why = "has nobody to be sent to, expected an address under url";
                let key = if self.bearer.is_some() { "bearer" } else { "headers" };
                Some(Finding::new(key, why, "remove it, or give the program what it needs under env"))
            }
            (true, Some(_)) if !self.env.is_empty() || self.working_dir.is_some() => {
                let key = if self.env.is_empty() { "working_dir" } else { "env" };
                Some(Finding::new(key, "is for programs, and this server is an address", "remove it"))
            }
            (true, Some(_)) | (false, None) => None,
        }
    }
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What keeps `name` from being a header of the operator's own.
fn header(key: &str, name: &str) -> Option<Finding> {
    let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !word {
        return Some(Finding::new(key, "cannot name a header, expected letters, digits and `-`", "rename it"));
    }
    let own = OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
    let fix = "remove it; a token for `Authorization` goes under bearer";
    own.then(|| Finding::new(key, "is a header that Hob sets itself, expected another", fix))
}

/// What keeps `name` from naming a server: its tools are called `name__tool`.
pub(super) fn validate_name(name: &str) -> Option<Finding> {
    let fine =
        values::is_name(name) && name.len() <= NAME_CHARS_MAX && !name.contains("__") && !name.ends_with(['_', '-']);
    let why = "cannot name a server, expected a letter, then up to 31 letters, digits, `-` or single `_`, and none of \
               these two at the end";
    (!fine).then(|| Finding::new(key_path::key(name), why, "rename it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let told = |text: &str| {
            let config: McpConfig = toml::from_str(text).unwrap();
            let found = config.validate();
            found.iter().map(|finding| format!("{finding:?}")).collect::<Vec<_>>().join("\n")
        };
        for fine in [
            "command = ['x']\nenv = { A_B = '1' }\nworking_dir = '/srv'",
            "url = 'http://127.0.0.1:8/mcp'\nbearer = 'abc'\nheaders = { X-Key = 'v' }",
            "url = 'http://h'\nclient_id = 'a'\nclient_secret = 'b'",
            "command = ['x']\n[arguments.add]\ndetails = 'content'\ntitle = 'steering'",
            "command = ['x']\n[undo.create_event]\ntool = 'delete_event'\nwith = { id = '$.event.id', at = '$call.at' }",
        ] {
            assert_eq!(told(fine), "", "{fine}");
        }
        for (wrong, key) in [
            ("", "command"),
            ("command = ['x']\nurl = 'http://h'", "command"),
            ("command = ['']", "command[1]"),
            ("command = ['x']\n[undo.create]\ntool = 'delete'\nwith = { id = 'id' }", "undo.create.with.id"),
            ("command = ['x']\n[undo.create]\ntool = 'delete'\nwith = {}", "undo.create"),
            ("command = ['x']\n[undo.send_mail]\ntool = 'delete'\nwith = { id = '$.id' }", "undo.send_mail"),
            ("command = ['x']\n[undo.delete]\ntool = 'create'\nwith = { id = '$.id' }", "undo.delete"),
            ("command = ['x']\n[undo.create]\ntool = 'send_mail'\nwith = { id = '$.id' }", "undo.create"),
            ("command = ['x']\n[arguments.add]\n\"no\u{200b}te\" = 'content'", "arguments.add"),
            ("command = ['x']\n[arguments.add]\n'' = 'content'", "arguments.add"),
            ("command = ['x']\nbearer = 'abc'", "bearer"),
            ("command = ['x']\nheaders = { X-Key = 'v' }", "headers"),
            ("url = 'http://h'\nenv = { A = 'b' }", "env"),
            ("url = 'http://h'\nworking_dir = '/srv'", "working_dir"),
            ("command = ['x']\nclient_id = 'a'", "client_id"),
            ("url = 'http://h'\nbearer = 'b'\nclient_id = 'a'", "client_id"),
            ("url = 'http://h'\nclient_secret = 'a'", "client_secret"),
            ("url = 'ftp://h'", "url"),
            ("url = 'http://me:pw@h'", "url"),
            ("command = ['x']\nenv = { 'A=B' = '1' }", "env"),
            ("url = 'http://h'\nheaders = { authorization = 'v' }", "headers.authorization"),
            ("url = 'http://h'\nheaders = { 'a b' = 'v' }", "headers"),
            ("url = 'http://h'\nheaders = { X-Key = \"v\\nw\" }", "headers.X-Key"),
        ] {
            assert!(told(wrong).contains(&format!("\"{key}")), "{wrong}: {}", told(wrong));
        }
    }

    #[test]
    fn n16_what_is_said_of_an_argument_that_there_is_not_is_told_with_the_one_that_may_be_meant() {
        let text =
            "[arguments.add]\ndetials = 'content'\ntitle = 'steering'\nx = 'content'\n[arguments.ad]\nnote = 'content'";
        let config: McpConfig = toml::from_str(text).unwrap();
        let of = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let known = BTreeMap::from([("add".to_owned(), of(&["details", "title"])), ("drop".to_owned(), of(&["id"]))]);
        let told = config.unknown_arguments("notes", &known).iter().map(ToString::to_string).collect::<Vec<_>>();
        insta::assert_snapshot!(told.join("\n"), @"
        mcp.notes.arguments.ad is no tool of this server's; did you mean `add`?
        mcp.notes.arguments.add.detials is no argument of this tool's, so nothing is said of any; did you mean `details`?
        mcp.notes.arguments.add.x is no argument of this tool's, so nothing is said of any; there are: details, title
        ");
        let wrong = toml::from_str::<McpConfig>("[arguments.add]\ndetails = 'contents'").unwrap_err().to_string();
        assert!(wrong.contains("expected `steering` or `content`"), "{wrong}");
    }

    #[test]
    fn names_leave_room_for_their_tools() {
        for (name, fine) in [
            ("memory", true),
            ("my_files-2", true),
            ("a__b", false),
            ("a_", false),
            ("a-", false),
            ("9", false),
            ("a.b", false),
        ] {
            assert_eq!(validate_name(name).is_none(), fine, "{name}");
        }
        assert!(validate_name(&"a".repeat(32)).is_none() && validate_name(&"a".repeat(33)).is_some());
    }
}
