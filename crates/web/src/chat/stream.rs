//! What a browser hears of a conversation, as server-sent events.
//!
//! An event's id says how far its reader has come, so that a
//! connection that broke goes on where it was, without a gap and without a message twice.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, stream};
use serde::Serialize;
use tokio::time::Instant;

use crate::access::PageRole;
use crate::access::visitor::Visitor;
use crate::app_state::AppState;
use crate::chat::channel::{ChatWatcher, OpenWindow};
use crate::chat::reply_stream::{self, StreamedReply};
use crate::chat::timeline::{Message, OpenRun, ReadPosition, Timeline, TimelineQuery, TimelineRange};
use hob_core::domain::ids::RunId;
use hob_router::intake::Router;
use hob_store::error::StoreError;

/// What happens within this time is told together.
const TOGETHER: Duration = Duration::from_millis(40);
/// A conversation is looked at so often even if nobody has said that it changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A connection on which nothing is said is shown to be alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is at work or waits, as told.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct StateEvent {
    /// In order.
    pub(crate) open: Vec<OpenRun>,
}

/// How far a call is that is at work.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct StepEvent {
    /// In words on a line; none: nothing is said of that any more.
    #[schema(value_type = Option<String>)]
    pub(crate) text: Option<Arc<str>>,
}

/// Watches a conversation for one browser.
struct ChatStream {
    app: Arc<AppState>,
    visitor: Visitor,
    /// When it was last looked whether the visitor is still let in.
    let_in: Instant,
    chat: String,
    scene: ChatWatcher,
    mark: ReadPosition,
    open: Option<Vec<OpenRun>>,
    told: Option<StreamedReply>,
    step: Option<Arc<str>>,
    /// When the conversation was read, and after how many changes; none: not yet.
    read: Option<(Instant, u64)>,
    /// The owner looks: nobody need be told of it elsewhere.
    _window: Option<OpenWindow>,
}

/// What a visitor is told from `mark` on, until Hob stops or they are not let in any more.
pub(super) fn watch(
    app: Arc<AppState>,
    visitor: Visitor,
    chat: String,
    mark: ReadPosition,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (scene, let_in) = (app.page.watch(&chat), Instant::now());
    // A program that listens is nobody who looks.
    let looks = visitor.role == PageRole::Owner && visitor.visit.is_some();
    let window = looks.then(|| app.page.window());
    let watching = ChatStream {
        app,
        visitor,
        let_in,
        chat,
        scene,
        mark,
        open: None,
        told: None,
        step: None,
        read: None,
        _window: window,
    };
    let batches = stream::unfold(watching, |mut watching| async move {
        let events = watching.next().await?;
        Some((stream::iter(events.into_iter().map(Ok)), watching))
    });
    Sse::new(futures::StreamExt::flatten(batches)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

impl ChatStream {
    /// The next events, together; none: it is over.
    async fn next(&mut self) -> Option<Vec<Event>> {
        loop {
            if self.read.is_some() {
                tokio::select! {
                    () = self.app.stop.cancelled() => return None,
                    () = self.scene.changed() => {}
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
                tokio::time::sleep(TOGETHER).await;
            }
            if !self.is_still_authorized().await {
                return None;
            }
            let scene = self.scene.current_activity();
            let mut events = self.read_timeline(scene.changes).await;
            events.extend(self.growing_event(scene.growing));
            events.extend(self.step_event(scene.step));
            if !events.is_empty() {
                return Some(events);
            }
        }
    }

    /// Who logs out, or whose key is taken back, hears no more: looked at every so often.
    async fn is_still_authorized(&mut self) -> bool {
        if self.let_in.elapsed() < LOOK_EVERY {
            return true;
        }
        self.let_in = Instant::now();
        self.app.page_access.holds(self.visitor).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "who watches the page cannot be looked up");
            false
        })
    }

    /// What has come to the conversation since it was read, after so many changes. What only grows in memory is no reason to read it.
    async fn read_timeline(&mut self, changes: u64) -> Vec<Event> {
        if self.read.is_some_and(|(at, before)| before == changes && at.elapsed() < LOOK_EVERY) {
            return Vec::new();
        }
        self.read = Some((Instant::now(), changes));
        let look = TimelineQuery { chat: self.chat.clone(), part: TimelineRange::After(self.mark) };
        match self.app.router.store.look(async |tx| look.read(tx).await).await {
            Ok(timeline) => self.timeline_events(timeline),
            Err(error) => {
                tracing::warn!(%error, "a conversation cannot be read for the page");
                Vec::new()
            }
        }
    }

    fn timeline_events(&mut self, timeline: Timeline) -> Vec<Event> {
        if timeline.older.is_some() {
            // More than is told at once: the reader looks for itself.
            self.mark = timeline.upto;
            return vec![Event::default().event("gap").id(self.mark.into_text()).data("{}")];
        }
        let mut events = Vec::new();
        for message in &timeline.messages {
            self.mark = advanced_mark(self.mark, message);
            events.extend(event("message", message).map(|event| event.id(self.mark.into_text())));
        }
        if self.open.as_ref() != Some(&timeline.open) {
            events.extend(event("state", &StateEvent { open: timeline.open.clone() }));
            self.open = Some(timeline.open);
        }
        events
    }

    fn growing_event(&mut self, growing: Option<(RunId, Arc<str>)>) -> Option<Event> {
        let Some((run, text)) = growing else {
            self.told = None;
            return None;
        };
        let (told, more) = reply_stream::more(self.told.take(), run, text);
        self.told = Some(told);
        event("growing", &more?)
    }

    fn step_event(&mut self, step: Option<Arc<str>>) -> Option<Event> {
        if self.step == step {
            return None;
        }
        self.step.clone_from(&step);
        event("step", &StepEvent { text: step })
    }
}

/// The mark once this message is read.
fn advanced_mark(mark: ReadPosition, message: &Message) -> ReadPosition {
    let id = |prefix| message.id.strip_prefix(prefix).and_then(|id: &str| id.parse::<i64>().ok());
    ReadPosition {
        said: id("i").map_or(mark.said, |id| id.max(mark.said)),
        answered: id("o").map_or(mark.answered, |id| id.max(mark.answered)),
    }
}

fn event(name: &str, what: &impl Serialize) -> Option<Event> {
    match Event::default().event(name).json_data(what) {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::error!(%error, "an event has no form");
            None
        }
    }
}

/// Where a reader goes on: what the browser says it has, or what the page asks for, or the newest.
pub(super) async fn begin(router: &Router, chat: &str, said: Option<&str>) -> Result<ReadPosition, StoreError> {
    match said.and_then(ReadPosition::parse) {
        Some(mark) => Ok(mark),
        None => Ok(router
            .store
            .look(async |tx| TimelineQuery { chat: chat.to_owned(), part: TimelineRange::Newest }.read(tx).await)
            .await?
            .upto),
    }
}
