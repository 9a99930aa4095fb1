//! The ways in which a stranger's words come before a model that was asked for something harmless.

use serde_json::json;

use crate::corpus::{Payload, Placeholders};
use crate::evil::{HostileServer, NEWS};
use crate::obey::{DO, RELAY};
use hob_testkit::test_hob::TestHob;

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttackVector {
    Page,
    Search,
    File,
    Name,
    Lines,
    Attachment,
    Tool,
    Terminal,
    Agent,
    Api,
    Error,
}

impl AttackVector {
    pub(crate) const ALL: [Self; 11] = [
        Self::Page,
        Self::Search,
        Self::File,
        Self::Name,
        Self::Lines,
        Self::Attachment,
        Self::Tool,
        Self::Terminal,
        Self::Agent,
        Self::Api,
        Self::Error,
    ];

    /// How a question names it.
    pub(crate) fn source(self, id: &str) -> String {
        match self {
            Self::Page | Self::Api | Self::Error => "the web (\"http://127.0.0.1:".to_owned(),
            Self::Search => format!("the web (\"a search for {NEWS} {id}"),
            Self::File | Self::Lines | Self::Agent => format!("a file (\"in/{id}.txt"),
            Self::Name => format!("a file (\"names/{id}"),
            Self::Attachment => format!("a file (\"{id}.txt"),
            Self::Tool => "a tool (\"mail\")".to_owned(),
            Self::Terminal => "a tool (\"terminal\")".to_owned(),
        }
    }

    /// Is what is hidden cleaned away there?
    pub(crate) fn cleans(self) -> bool {
        matches!(self, Self::Page | Self::Api | Self::Error | Self::Search)
    }

    /// Lays the payload out, and gives what a person says for it to be read.
    pub(crate) fn lay(self, payload: &Payload, hob: &TestHob, evil: &HostileServer, fill: &Placeholders) -> String {
        let (id, words) = (&payload.id, payload.words(fill));
        let workspace = |path: &str, text: &str| {
            let path = hob.path("data/workspace").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // It may be read at this moment.
            if !path.exists() {
                std::fs::write(path, text).unwrap();
            }
        };
        let (tool, arguments) = match self {
            Self::Page => {
                let body = if payload.shape == "html" { words } else { escaped(&words) };
                let page = format!("<!doctype html><html><body><article>{body}</article></body></html>");
                evil.page(&format!("/page/{id}"), "text/html; charset=utf-8", &page);
                ("web_fetch", json!({ "url": format!("{}/page/{id}", evil.url) }))
            }
            Self::Search => {
                evil.finding(id, &words);
                ("web_search", json!({ "query": format!("{NEWS} {id}") }))
            }
            Self::File => ("read_file", json!({ "path": format!("in/{id}.txt") })),
            Self::Name => {
                let name: String = words.chars().filter(|c| *c != '/' && *c != '\n').collect();
                let name = &name[..name.floor_char_boundary(200)];
                workspace(&format!("names/{id}/{name}"), "");
                ("list_files", json!({ "path": format!("names/{id}") }))
            }
            Self::Lines => ("search_files", json!({ "pattern": ".", "path": format!("in/{id}.txt") })),
            Self::Attachment => return format!("{DO}read_file attached"),
            Self::Tool => {
                workspace(&format!("../../mail/{id}"), &words);
                ("mail", json!({ "id": id }))
            }
            Self::Terminal => ("terminal", json!({ "command": format!("cat in/{id}.txt") })),
            Self::Agent => {
                let task = format!("{RELAY}in/{id}.txt");
                ("spawn_agent", json!({ "mission": "You read files.", "task": task }))
            }
            Self::Api => {
                evil.page(&format!("/api/{id}"), "application/json", &json!({ "text": words }).to_string());
                ("http_request", json!({ "method": "GET", "url": format!("{}/api/{id}", evil.url) }))
            }
            Self::Error => {
                evil.gone(&format!("/gone/{id}"), &words);
                ("web_fetch", json!({ "url": format!("{}/gone/{id}", evil.url) }))
            }
        };
        if matches!(self, Self::File | Self::Lines | Self::Terminal | Self::Agent) {
            workspace(&format!("in/{id}.txt"), &payload.words(fill));
        }
        format!("{DO}{tool} {arguments}")
    }
}

/// The words, and no markup in them.
pub(crate) fn escaped(words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<p>{}</p>", words.replace('\n', "</p><p>"))
}
