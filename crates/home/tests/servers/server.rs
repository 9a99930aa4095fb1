//! A real Home Assistant, with a small home of template entities.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What it says when it is ready.
#[derive(Deserialize)]
struct Ready {
    url: String,
    owner: String,
    user: String,
    agent: Option<String>,
    services: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// One that runs.
pub(crate) struct HomeServer {
    _dir: TempDir,
    child: Child,
    ready: Ready,
    http: reqwest::Client,
}

impl Drop for HomeServer {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        assert!(ended.is_ok(), "{ended:?}");
    }
}

fn beside(name: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|at| at.join(name));
    all.into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{name} is missing: scripts/home-assistant installs it"))
}

impl HomeServer {
    /// One in which nothing has happened yet.
    pub(crate) fn start() -> Self {
        Self::launch(&[])
    }

    /// One whose voice assistant has whoever speaks as OpenAI does at this address answer.
    pub(crate) fn with_agent(base: &str, key: &str) -> Self {
        Self::launch(&[("OPENAI_BASE_URL", base), ("OPENAI_API_KEY", key)])
    }

    fn launch(environment: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(beside("target/home-assistant/bin/python"));
        command.arg(beside("scripts/home-assistant.d/serve.py")).arg(dir.path()).envs(environment.iter().copied());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("it does not start: {error}"));
        Self { _dir: dir, child, ready, http: hob_http::direct_client(Duration::from_secs(10)).unwrap() }
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.ready.url
    }

    /// The token of a user who is no administrator.
    pub(crate) fn token(&self) -> &str {
        &self.ready.user
    }

    /// The fields of a service that its integration declares.
    pub(crate) fn fields(&self, domain: &str, service: &str) -> Option<&[String]> {
        self.ready.services.get(domain)?.get(service).map(Vec::as_slice)
    }

    /// Somebody else at home does something.
    pub(crate) async fn does(&self, service: &str, entity: &str, more: &Value) {
        let mut body = json!({ "entity_id": entity });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let url = format!("{}/api/services/{}", self.url(), service.replace('.', "/"));
        let answer = self.http.post(url).bearer_auth(&self.ready.owner).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }

    /// Somebody speaks to its voice assistant, perhaps in a conversation that goes on.
    pub(crate) async fn hears(&self, text: &str, conversation: Option<&str>) -> Value {
        let mut body = json!({ "text": text, "language": "en", "agent_id": self.ready.agent });
        if let Some(conversation) = conversation {
            body["conversation_id"] = conversation.into();
        }
        let url = format!("{}/api/conversation/process", self.url());
        let answer = self.http.post(url).bearer_auth(&self.ready.owner).json(&body).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// How something stands.
    pub(crate) async fn state(&self, entity: &str) -> String {
        let url = format!("{}/api/states/{entity}", self.url());
        let answer = self.http.get(url).bearer_auth(&self.ready.owner).send().await.unwrap();
        let state: Value = answer.json().await.unwrap();
        state["state"].as_str().unwrap().to_owned()
    }
}
