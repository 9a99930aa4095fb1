//! As much of a browser as the page's server can tell from one: a cookie, an origin, forms and streams.

use std::time::Duration;

use futures::StreamExt as _;
use hob_http::direct_client;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::TestHob;

/// Somebody's browser.
#[derive(Clone)]
pub(crate) struct Browser {
    pub(crate) root: String,
    client: Client,
    pub(crate) cookie: Option<String>,
}

/// A household whose page is served, and its address.
pub(crate) async fn hob(more: &str) -> TestHob {
    TestHob::running(&format!("[server]\nlisten = '127.0.0.1:0'\n{more}")).await
}

/// Where the page is.
pub(crate) async fn root(hob: &mut TestHob) -> String {
    root_logged(hob.process(), "server.listening").await
}

/// The address that a process tells with this event.
pub(crate) async fn root_logged(process: &mut HobProcess, event: &str) -> String {
    process.until_log(event).await;
    let log = process.log();
    let line = log.lines().find(|line| line.contains(event)).unwrap();
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    format!("http://{address}")
}

/// The key of the link that `hob web` prints.
pub(crate) async fn printed_key(hob: &mut TestHob) -> String {
    let output = hob_command(hob.home.path(), &["web"]).output().await.unwrap();
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    told.split("/login#").nth(1).unwrap_or_else(|| panic!("{output:?}")).split_whitespace().next().unwrap().to_owned()
}

impl Browser {
    /// One that nobody has logged in with.
    pub(crate) fn new(root: &str) -> Self {
        let client = direct_client(Duration::from_secs(20)).unwrap();
        Self { root: root.to_owned(), client, cookie: None }
    }

    /// The same, where the page is now.
    pub(crate) fn at(self, root: String) -> Self {
        Self { root, ..self }
    }

    /// One whose owner has logged in.
    pub(crate) async fn entered(hob: &mut TestHob) -> Self {
        let mut browser = Self::new(&root(hob).await);
        let key = printed_key(hob).await;
        assert_eq!(browser.enter(&key).await, "/");
        browser
    }

    /// Logs in; gives where that leads.
    pub(crate) async fn enter(&mut self, key: &str) -> String {
        let response = self
            .ask(Method::POST, "/login")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("key={key}"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        if let Some(cookie) = response.headers().get("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
            self.cookie = Some(cookie.split(';').next().unwrap().to_owned());
        }
        response.headers()["location"].to_str().unwrap().to_owned()
    }

    /// A request as the page itself makes it.
    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.bare(method, path).header("origin", &self.root);
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    /// A request without anything.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.root))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        json(self.ask(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn say(&self, chat: &str, id: &str, text: &str) -> Value {
        json(self.form(chat, id, text, None).send().await.unwrap()).await
    }

    /// A message as the page sends it.
    pub(crate) fn form(&self, chat: &str, id: &str, text: &str, file: Option<(&str, &str)>) -> RequestBuilder {
        const EDGE: &str = "edge-of-a-part";
        let part = |name: &str, more: &str, body: &str| {
            format!("--{EDGE}\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n{body}\r\n")
        };
        let mut body = [part("id", "", id), part("text", "", text)].concat();
        if let Some((name, bytes)) = file {
            body.push_str(&part("file", &format!("; filename=\"{name}\""), bytes));
        }
        body.extend(["--", EDGE, "--\r\n"]);
        self.ask(Method::POST, &format!("/api/chats/{chat}/messages"))
            .header("content-type", format!("multipart/form-data; boundary={EDGE}"))
            .body(body)
    }

    /// What happens in a conversation from now on, or from a mark on.
    pub(crate) async fn listen(&self, chat: &str, since: Option<&str>) -> EventStream {
        let request = self.ask(Method::GET, &format!("/api/chats/{chat}/events")).header("accept", "text/event-stream");
        let request = since.into_iter().fold(request, |request, mark| request.header("last-event-id", mark));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let bytes = response.bytes_stream().map(|bytes| bytes.ok().map(|bytes| bytes.to_vec()));
        EventStream { bytes: bytes.boxed(), rest: String::new() }
    }
}

/// The answer's body.
pub(crate) async fn json(response: Response) -> Value {
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, StatusCode::OK, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// A stream of events that is read.
pub(crate) struct EventStream {
    bytes: futures::stream::BoxStream<'static, Option<Vec<u8>>>,
    rest: String,
}

/// What was told.
#[derive(Debug, Clone)]
pub(crate) struct StreamEvent {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl EventStream {
    /// The next event; none: the stream is over.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.rest = rest;
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                if let Some(name) = field("event:") {
                    let data = serde_json::from_str(&field("data:").unwrap_or_default()).unwrap();
                    return Some(StreamEvent { name, id: field("id:"), data });
                }
                continue;
            }
            let more = within("more of a stream", self.bytes.next()).await??;
            self.rest += std::str::from_utf8(&more).unwrap();
        }
    }

    /// The next event that `wanted` takes; those before it are passed over.
    pub(crate) async fn until(&mut self, what: &str, mut wanted: impl FnMut(&StreamEvent) -> bool) -> StreamEvent {
        loop {
            let heard = self.next().await.unwrap_or_else(|| panic!("the stream ended without {what}"));
            if wanted(&heard) {
                return heard;
            }
        }
    }

    /// Until nothing more comes.
    pub(crate) async fn ended(&mut self) {
        while self.next().await.is_some() {}
    }

    /// Until the message with just these words: they may stand in its draft before.
    pub(crate) async fn says(&mut self, text: &str) -> StreamEvent {
        self.until(text, |heard| heard.name == "message" && heard.data["text"] == text).await
    }

    /// The next message of Hob's.
    pub(crate) async fn answer(&mut self) -> StreamEvent {
        self.until("an answer", |heard| heard.name == "message" && heard.data["author"] == "hob").await
    }
}
