//! What a server says of the calls that it works on besides answering them: what it asks a person, and how far it is.
//!
//! Never: a question of a server to anybody but the one whose call it works on. The protocol does not say whose that is: where a
//! connection works on several calls, nobody is asked. How far a call is says its token.
//! Start at [`CallListeners::open`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses,
    ProgressNotificationParam, ProgressToken,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::dialogue::ActivityListener;
use hob_core::domain::elicitation::{ElicitReply, Elicitation, ElicitationError, ElicitationSource};
use hob_core::domain::text::{cut, one_line};
use hob_core::policy::invisible::marked;

/// How soon after one word on how far a call is the next one is heard.
const SHOWN_EVERY: Duration = Duration::from_millis(250);
/// The most characters of such a word.
const WORD_CHARS_MAX: usize = 80;

/// A question on its way to a person, or why nobody is asked.
pub(super) struct AskedQuestion {
    pub(super) question: Result<Elicitation, ElicitationError>,
    /// Dropped: nobody has said anything.
    pub(super) reply: oneshot::Sender<ElicitReply>,
}

/// Who listens to a connection's server: its calls. Clones are the same.
#[derive(Clone)]
pub(super) struct CallListeners {
    /// The server's name in the config.
    server: Arc<str>,
    open: Arc<Mutex<ListenerState>>,
}

#[derive(Default)]
struct ListenerState {
    next: u64,
    asked: BTreeMap<u64, QuestionSender>,
    followed: HashMap<ProgressToken, FollowedCall>,
}

type QuestionSender = mpsc::Sender<AskedQuestion>;

/// A call of which it is shown how far it is.
struct FollowedCall {
    listener: ActivityListener,
    shown_at: Option<Instant>,
}

impl fmt::Debug for CallListeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallListeners({})", self.server)
    }
}

/// A call that listens; it does until it is dropped.
pub(super) struct CallListener {
    listeners: CallListeners,
    number: u64,
    pub(super) asked: mpsc::Receiver<AskedQuestion>,
}

impl Drop for CallListener {
    fn drop(&mut self) {
        self.listeners.locked().asked.remove(&self.number);
    }
}

/// A call that is followed; it is until this is dropped.
pub(super) struct FollowGuard<'a>(&'a CallListeners, ProgressToken);

impl Drop for FollowGuard<'_> {
    fn drop(&mut self) {
        self.0.locked().followed.remove(&self.1);
    }
}

impl CallListeners {
    /// Those of a connection to this server.
    pub(super) fn new(server: &str) -> Self {
        Self { server: server.into(), open: Arc::default() }
    }

    fn locked(&self) -> MutexGuard<'_, ListenerState> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another call listens.
    pub(super) fn open(&self) -> CallListener {
        let (sender, asked) = mpsc::channel(1);
        let mut all = self.locked();
        let number = all.next;
        all.next += 1;
        all.asked.insert(number, sender);
        CallListener { listeners: self.clone(), number, asked }
    }

    /// From now on this one hears how far the call of this token is.
    pub(super) fn follow(&self, token: ProgressToken, listener: ActivityListener) -> FollowGuard<'_> {
        self.locked().followed.insert(token.clone(), FollowedCall { listener, shown_at: None });
        FollowGuard(self, token)
    }

    /// A call is so far.
    pub(super) fn progressed(&self, progress: &ProgressNotificationParam) {
        let mut all = self.locked();
        let Some(call) = all.followed.get_mut(&progress.progress_token) else { return };
        let now = Instant::now();
        if call.shown_at.is_some_and(|shown_at| now < shown_at + SHOWN_EVERY) {
            return;
        }
        call.shown_at = Some(now);
        let listener = call.listener.clone();
        drop(all);
        listener.hear(&progress_words(progress));
    }

    /// The call that a question can only belong to.
    fn only(&self) -> Option<QuestionSender> {
        let all = self.locked();
        all.asked.values().next().filter(|_| all.asked.len() == 1).cloned()
    }

    /// The same for all that a server wants before it goes on with a call; none: not all of it is a person's to say.
    pub(super) async fn ask_all(&self, wanted: InputRequests) -> Option<InputResponses> {
        let mut said = InputResponses::new();
        for (key, request) in wanted {
            let InputRequest::Elicitation(request) = request else { return None };
            said.insert(key, serde_json::to_value(self.ask(request.params).await).ok()?);
        }
        Some(said)
    }

    /// Puts a server's question before whoever's call it works on, and gives what they say.
    pub(super) async fn ask(&self, request: ElicitRequestParams) -> ElicitResult {
        let server = &*self.server;
        let nobody = ElicitResult::new(ElicitationAction::Cancel);
        let Some(asks) = self.only() else {
            tracing::info!(
                server,
                "mcp.asks_nobody: it is not known whose call a question of this server's belongs to"
            );
            return nobody;
        };
        let question = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let order = requested_schema.property_order.clone().unwrap_or_default();
                let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
                Elicitation::form(ElicitationSource { server, message: &message }, &schema, &order)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                Elicitation::page(ElicitationSource { server, message: &message }, &url)
            }
            _ => Err(ElicitationError::Form),
        };
        if let Err(error) = &question {
            tracing::warn!(server, %error, "mcp.question_declined");
        }
        let (reply, answered) = oneshot::channel();
        if asks.try_send(AskedQuestion { question, reply }).is_err() {
            return nobody;
        }
        match answered.await {
            Ok(ElicitReply::Accept { content }) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            Ok(ElicitReply::Decline) => ElicitResult::new(ElicitationAction::Decline),
            Ok(ElicitReply::Cancel) | Err(_) => nobody,
        }
    }
}

/// How far a call is, on a line: `indexing (3 of 10)`.
fn progress_words(progress: &ProgressNotificationParam) -> String {
    let done = progress.progress;
    let far = progress.total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
    let said = marked(&cut(&one_line(progress.message.as_deref().unwrap_or_default()), WORD_CHARS_MAX));
    if said.is_empty() { far } else { format!("{said} ({far})") }
}
