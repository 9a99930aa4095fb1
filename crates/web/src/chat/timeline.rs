//! What was said in a conversation, in order: from two tables that each only grow.

use serde::Serialize;

use crate::chat::channel::conversation;
use hob_core::domain::ids::SessionId;
use hob_core::domain::outgoing::Choice;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::web_chat::{self, AttachmentRow, ChatPosition, IdRange, OpenMessage, ReplyRow, UserMessageRow};

/// So many messages are shown at once.
pub(crate) const PAGE: i64 = 50;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Author {
    /// A person.
    Person,
    /// Hob.
    Hob,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Button {
    /// What it says.
    pub label: String,
    /// What pressing it sends.
    pub token: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct FileLink {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it is, by its content.
    pub mime: String,
    /// Its size.
    pub bytes: i64,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Message {
    /// `i12`: it came in; `o34`: it went out.
    pub id: String,
    /// What the page called it when it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Who.
    pub author: Author,
    /// Their name.
    pub name: String,
    /// The words, without markup.
    pub text: String,
    /// The words as safe HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    /// What became of a person's message: `queued`, `running`, `waiting`, `completed`, `failed`, `cancelled`, `withdrawn`,
    /// `joined`, `command`, `answer` or `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The buttons under it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
    /// The files that go with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileLink>,
    /// The message whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

impl From<UserMessageRow> for Message {
    fn from(said: UserMessageRow) -> Self {
        Self {
            id: format!("i{}", said.id.0),
            client_id: Some(said.external_id),
            author: Author::Person,
            name: said.name,
            text: said.text,
            html: None,
            at: said.at,
            run: said.run.map(|run| run.0),
            state: Some(said.state.unwrap_or(said.disposition)),
            buttons: Vec::new(),
            files: Vec::new(),
            replaces: None,
        }
    }
}

impl From<ReplyRow> for Message {
    fn from(answered: ReplyRow) -> Self {
        let choices: Vec<Choice> = serde_json::from_str(&answered.choices).unwrap_or_else(|error| {
            tracing::warn!(outbox = answered.id.0, %error, "buttons cannot be read");
            Vec::new()
        });
        let file = answered.file.zip(answered.file_name).zip(answered.file_mime.zip(answered.file_bytes));
        Self {
            id: format!("o{}", answered.id.0),
            client_id: None,
            author: Author::Hob,
            name: "Hob".to_owned(),
            text: answered.text,
            html: answered.markup,
            at: answered.at,
            run: answered.run.map(|run| run.0),
            state: None,
            buttons: choices.into_iter().map(|Choice { label, token }| Button { label, token }).collect(),
            files: file.into_iter().map(|((id, name), (mime, bytes))| FileLink { id, name, mime, bytes }).collect(),
            replaces: answered.replaces.map(|id| format!("o{}", id.0)),
        }
    }
}

/// A message whose run is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct OpenRun {
    /// The run.
    pub run: i64,
    /// The message that it answers.
    pub message: String,
    /// What the page called that.
    pub client_id: String,
    /// `queued`, `running` or `waiting`.
    pub state: String,
    /// The message's words.
    pub text: String,
}

impl From<OpenMessage> for OpenRun {
    fn from(open: OpenMessage) -> Self {
        let OpenMessage { run, inbound, external_id, state, text } = open;
        Self { run: run.0, message: format!("i{}", inbound.0), client_id: external_id, state, text }
    }
}

/// How far somebody has read: the last message that came in, and the last that went out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct ReadPosition {
    /// Of what people said.
    pub(crate) said: i64,
    /// Of what Hob said.
    pub(crate) answered: i64,
}

impl ReadPosition {
    /// `12-34`, as events are called.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (said, answered) = text.split_once('-')?;
        Some(Self { said: said.parse().ok()?, answered: answered.parse().ok()? })
    }

    /// The same as text.
    pub(crate) fn into_text(self) -> String {
        format!("{}-{}", self.said, self.answered)
    }
}

/// A part of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Timeline {
    /// What was said, the oldest first.
    pub(crate) messages: Vec<Message>,
    /// What is at work or waits its turn.
    pub(crate) open: Vec<OpenRun>,
    /// Up to where this goes.
    pub(crate) upto: ReadPosition,
    /// Before where older messages are; none: there are none.
    pub(crate) older: Option<ReadPosition>,
}

/// Reads a part of a conversation.
#[derive(Clone)]
pub(crate) struct TimelineQuery {
    pub(crate) chat: String,
    /// After this, or else before that, or else the newest.
    pub(crate) part: TimelineRange,
}

/// Which part is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineRange {
    Newest,
    /// What came after that.
    After(ReadPosition),
    /// What stands before that.
    Before(ReadPosition),
}

impl TimelineQuery {
    pub(crate) async fn read(&self, tx: &mut Tx) -> Result<Timeline, StoreError> {
        let key = conversation(&self.chat).session_key();
        match web_chat::place(tx, &key.0).await? {
            Some(place) => self.of(tx, place).await,
            None => Ok(Timeline::default()),
        }
    }

    async fn of(&self, tx: &mut Tx, place: ChatPosition) -> Result<Timeline, StoreError> {
        let ChatPosition { session, said_upto, answered_upto } = place;
        let whole = (ReadPosition::default(), ReadPosition { said: i64::MAX, answered: i64::MAX });
        let (after, before) = match self.part {
            TimelineRange::Newest => whole,
            TimelineRange::After(mark) => (mark, whole.1),
            TimelineRange::Before(mark) => (whole.0, mark),
        };
        // What was deleted is shown to nobody, wherever they begin.
        let after = ReadPosition { said: after.said.max(said_upto), answered: after.answered.max(answered_upto) };
        let between = |after, before| IdRange { after, before, limit: PAGE };
        let said = web_chat::said(tx, session, between(after.said, before.said)).await?;
        let answered = web_chat::answered(tx, session, between(after.answered, before.answered)).await?;
        let open = web_chat::open(tx, session).await?;
        let mut timeline = merge_newest(said, answered, after, before, open);
        for file in attached(tx, session, &timeline).await? {
            let id = format!("i{}", file.inbound.0);
            let link = FileLink { id: file.id, name: file.name, mime: file.mime, bytes: file.bytes };
            timeline.messages.iter_mut().filter(|message| message.id == id).for_each(|message| {
                // The line that tells the model of it tells people nothing.
                let told = format!(": id {}, for read_file and send_file]", file.id);
                let own = message.text.lines().filter(|line| !(line.starts_with("[File ") && line.ends_with(&told)));
                message.text = own.collect::<Vec<_>>().join("\n");
                message.files.push(link.clone());
            });
        }
        Ok(timeline)
    }
}

/// The files that came with what is shown.
async fn attached(tx: &mut Tx, session: SessionId, shown: &Timeline) -> Result<Vec<AttachmentRow>, StoreError> {
    let came = shown.messages.iter().filter_map(|message| message.id.strip_prefix('i')?.parse::<i64>().ok());
    let (Some(first), Some(last)) = (came.clone().min(), came.max()) else { return Ok(Vec::new()) };
    let limit = PAGE.saturating_mul(10);
    web_chat::attached(tx, session, IdRange { after: first - 1, before: last.saturating_add(1), limit }).await
}

/// The newest of both, in order. What is left out is older than all that is shown, so that nothing is passed over.
fn merge_newest(
    mut said: Vec<UserMessageRow>,
    mut answered: Vec<ReplyRow>,
    after: ReadPosition,
    before: ReadPosition,
    open: Vec<OpenMessage>,
) -> Timeline {
    let upto = ReadPosition {
        said: said.first().map_or(after.said, |first| first.id.0),
        answered: answered.first().map_or(after.answered, |first| first.id.0),
    };
    let is_full = |count: usize| i64::try_from(count).is_ok_and(|count| count >= PAGE);
    let from_said = said.last().filter(|_| is_full(said.len())).map(|last| last.at);
    let from_answered = answered.last().filter(|_| is_full(answered.len())).map(|last| last.at);
    // Of a kind that goes on before what was read, the other kind is shown only as far back.
    let from = from_said.max(from_answered);
    if let Some(from) = from {
        said.retain(|one| one.at >= from);
        answered.retain(|one| one.at >= from);
    }
    let older = from.map(|_| ReadPosition {
        said: said.last().map_or(before.said, |last| last.id.0),
        answered: answered.last().map_or(before.answered, |last| last.id.0),
    });
    let mut messages: Vec<Message> =
        said.into_iter().rev().map(Message::from).chain(answered.into_iter().rev().map(Message::from)).collect();
    messages.sort_by_key(|message| message.at);
    Timeline { messages, open: open.into_iter().map(OpenRun::from).collect(), upto, older }
}
