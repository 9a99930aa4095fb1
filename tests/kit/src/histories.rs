//! Arbitrary histories, much worse than any that Hob writes: for every law about what goes to a model.

use hob_core::domain::ids::{CallId, FileId};
use hob_model::message::{Image, MediaType, Message, Picture, ReplyPart, Sealed, ToolCall, ToolResult, UserPart};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::validate::sample;

/// The models that took part; a conversation may change between them at any reply.
pub const MODELS: &[&str] = &["openai/one", "anthropic/two", "gemini/three", "ollama/four"];

/// Ids that several runs use.
const IDS: &[&str] = &["0.0", "0.1", "1.0", "call_ä", ""];
const NAMES: &[&str] = &["look", "recall", "3-d.print", "", "näme with spaces", "-x"];
const ARGUMENTS: &[&str] =
    &["{}", "{\"at\": \"Köln\"}", "", " ", "[1]", "{\"cut\": ", "\"word\"", "{\"x\":1e999}", "null"];
/// Texts that say nothing.
const BLANK: &[&str] = &["", " ", "\n\t", "\u{a0}", "\u{0}"];

/// Any history: orphans anywhere, repeated ids, empty turns, other models' seals, pictures, broken calls.
pub fn histories(len_max: usize) -> impl Strategy<Value = Vec<Message>> {
    vec(message(), 0..=len_max)
}

/// What is left of a history after a trim at any place.
pub fn trimmed(len_max: usize) -> impl Strategy<Value = Vec<Message>> {
    (histories(len_max), any::<proptest::sample::Index>()).prop_map(|(mut history, cut)| {
        let cut = cut.index(history.len() + 1);
        history.drain(..cut);
        history
    })
}

/// A conversation in good order, whose every reply is of any of [`MODELS`]: the provider was switched in the middle.
pub fn switched(runs_max: usize) -> impl Strategy<Value = Vec<Message>> {
    vec(run(), 0..=runs_max).prop_map(|runs| runs.concat())
}

/// A run: the user, some cycles of calls with their results, and words at its end.
fn run() -> impl Strategy<Value = Vec<Message>> {
    let cycle = (select(MODELS), words(), 1..3_usize);
    (words(), vec(cycle, 0..3), select(MODELS), words()).prop_map(|(asked, cycles, model, told)| {
        let mut messages = vec![Message::user(asked)];
        for (number, (model, said, calls)) in (0..).zip(cycles) {
            let ids: Vec<_> = (0..calls).map(|index| CallId::new(number, index)).collect();
            let mut parts = vec![seal(model, &said), ReplyPart::text(said.clone())];
            parts.extend(ids.iter().map(|id| {
                ReplyPart::Call(ToolCall { id: id.clone(), name: "look".to_owned(), arguments: "{}".to_owned() })
            }));
            messages.push(Message::Assistant { parts });
            messages.extend(ids.into_iter().map(|call| {
                Message::Tool(ToolResult { call, name: "look".to_owned(), text: said.clone(), is_error: false })
            }));
        }
        messages.push(Message::Assistant { parts: vec![seal(model, &told), ReplyPart::text(told)] });
        messages
    })
}

pub fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        4 => vec(user_part(), 0..3).prop_map(|parts| Message::User { parts }),
        5 => vec(reply_part(), 0..4).prop_map(|parts| Message::Assistant { parts }),
        4 => (select(IDS), text(), any::<bool>()).prop_map(|(id, text, is_error)| {
            let (call, name) = (CallId(id.to_owned()), "look".to_owned());
            Message::Tool(ToolResult { call, name, text, is_error })
        }),
    ]
}

fn user_part() -> impl Strategy<Value = UserPart> {
    let kind = select(&[MediaType::Jpeg, MediaType::Png, MediaType::Gif, MediaType::WebP][..]);
    prop_oneof![
        4 => text().prop_map(UserPart::text),
        1 => (kind, any::<bool>()).prop_map(|(media_type, empty)| {
            UserPart::Image(Image::new(media_type, if empty { "" } else { sample(media_type.as_str()) }))
        }),
        1 => select(&["", "a.png", "a\"]\n"][..]).prop_map(|name| {
            let (hash, name) = (String::new(), name.to_owned());
            UserPart::Picture(Picture { file: FileId(1), hash, media_type: MediaType::Png, name, bytes: 1 })
        }),
    ]
}

fn reply_part() -> impl Strategy<Value = ReplyPart> {
    prop_oneof![
        3 => text().prop_map(ReplyPart::text),
        3 => (select(IDS), select(NAMES), select(ARGUMENTS)).prop_map(|(id, name, arguments)| {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            ReplyPart::Call(ToolCall { id: CallId(id.to_owned()), name, arguments })
        }),
        1 => (select(MODELS), words()).prop_map(|(model, data)| seal(model, &data)),
    ]
}

fn seal(model: &str, data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: model.to_owned(), kind: "thinking".to_owned(), data: format!(" {data}\n") })
}

/// Perhaps nothing, perhaps with space around it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![1 => select(BLANK).prop_map(str::to_owned), 3 => words(), 1 => words().prop_map(|text| format!(" {text}\n"))]
}

/// Words that stand nowhere else.
fn words() -> impl Strategy<Value = String> {
    "[a-zé]{8}"
}
