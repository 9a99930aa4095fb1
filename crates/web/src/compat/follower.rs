//! Follows a message until it is answered, for as long as its client listens.

use std::sync::Arc;
use std::time::Duration;

use crate::app_state::AppState;
use crate::chat::channel::{ChatActivity, ChatWatcher, conversation};
use crate::compat::answer_stream::AnswerStream;
use crate::compat::progress::{self, MessageProgress};
use crate::compat::target::RequestTarget;
use hob_core::domain::ids::RunId;
use hob_core::render::speech::spoken_alone;
use hob_store::error::StoreError;

/// What is written within this time is told together.
const TOGETHER: Duration = Duration::from_millis(20);
/// It is looked at so often even if nobody has said that something changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What happened.
#[derive(Debug)]
pub(crate) enum FollowEvent {
    /// This was said, and more may come.
    More(String),
    Over(Box<MessageProgress>),
    /// Hob stops.
    Stopping,
}

pub(crate) struct MessageFollower {
    app: Arc<AppState>,
    place: RequestTarget,
    scene: ChatWatcher,
    /// So many changes were looked at.
    looked: Option<u64>,
    run: Option<RunId>,
    teller: AnswerStream,
    /// What is being written is told as well.
    grows: bool,
    /// It is read aloud.
    aloud: bool,
    over: Option<Box<MessageProgress>>,
    /// What stands below a question.
    how_to_answer: String,
}

impl MessageFollower {
    /// From before the message is handed in, so that nothing is missed.
    pub(crate) fn begin(app: &Arc<AppState>, place: RequestTarget, streams: bool, how_to_answer: String) -> Self {
        let (app, scene) = (Arc::clone(app), app.page.watch(&place.chat));
        let aloud = conversation(&place.chat).is_aloud();
        // Of what is only half written it is not known yet what of it is a sign.
        let grows = streams && !aloud;
        let (looked, run, over, teller) = (None, None, None, AnswerStream::default());
        Self { app, place, scene, looked, run, teller, grows, aloud, over, how_to_answer }
    }

    /// What was said next.
    pub(crate) async fn next(&mut self) -> Result<FollowEvent, StoreError> {
        loop {
            if let Some(seen) = self.over.take() {
                return Ok(FollowEvent::Over(seen));
            }
            let is_time = self.looked.is_none() || self.wait().await;
            if is_time && self.app.stop.is_cancelled() {
                return Ok(FollowEvent::Stopping);
            }
            let scene = self.scene.current_activity();
            let seen = if is_time || self.looked != Some(scene.changes) || self.run.is_none() {
                self.looked = Some(scene.changes);
                self.app.router.store.look(async |tx| progress::load_progress(tx, &self.place).await).await?
            } else {
                None
            };
            let told = self.emit(scene, seen);
            if !told.is_empty() {
                return Ok(FollowEvent::More(told));
            }
        }
    }

    /// Until something happens; true: it is time to look, whatever happened.
    async fn wait(&mut self) -> bool {
        let is_time = tokio::select! {
            () = self.app.stop.cancelled() => return true,
            () = self.scene.changed() => false,
            () = tokio::time::sleep(LOOK_EVERY) => true,
        };
        if !is_time {
            tokio::time::sleep(TOGETHER).await;
        }
        is_time
    }

    fn emit(&mut self, scene: ChatActivity, seen: Option<MessageProgress>) -> String {
        let redactor = &self.app.router.redactor;
        let mut told = String::new();
        self.run = seen.as_ref().and_then(|seen| seen.run).or(self.run);
        if let Some((_, text)) = scene.growing.filter(|(run, _)| self.grows && Some(*run) == self.run) {
            told.extend(self.teller.grow(&redactor.redact(&text)));
        }
        let Some(mut seen) = seen else { return told };
        for words in &mut seen.words {
            words.text = redactor.redact(&words.text).into_owned();
            if words.is_question {
                words.text = format!("{}\n\n{}", words.text, self.how_to_answer);
            }
            if self.aloud {
                words.text = spoken_alone(&words.text);
            }
            told.extend(self.teller.emit_text(words));
        }
        if seen.is_over {
            self.over = Some(Box::new(seen));
        }
        told
    }
}
