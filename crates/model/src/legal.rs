//! Makes any history legal for the model that is asked (row A9): the last step before the wire, after any trim.
//!
//! Common ground, because some provider refuses the rest and none refuses this: roles alternate, the user begins, the
//! user or tool results end; every call is answered once, in order, right behind it; ids are nine letters and digits;
//! arguments are an object; nothing is empty. Per provider, as [`HistoryRules`]: names, and which pictures are seen. Per
//! model: what it sealed. Where the system prompt stands is the dialect's: a message first for OpenAI and Ollama, a
//! field of its own for Anthropic and Gemini.
//!
//! Never: I/O, or an opinion about what is worth keeping; what it adds or leaves out is only what a provider would refuse.
//! Start at [`legalize`].

use crate::legal::turns::{Turn, Turns};
use crate::message::{MediaType, Message};

mod fit;
#[cfg(test)]
mod tests;
mod turns;

/// What the model is told of a call that was never answered.
pub const INTERRUPTED: &str = "[interrupted: this call has no result; it may or may not have taken effect]";
/// Stands for a result without text.
pub const NO_OUTPUT: &str = "[no output]";
/// Stands for the user's last message, if it says nothing.
pub const EMPTY_MESSAGE: &str = "[empty message]";
/// Stands for a picture that the model cannot see.
pub const UNSEEN_IMAGE: &str = "[an image that you cannot see]";
/// Stands before a history that starts with the model's own words.
pub const OMITTED: &str = "[the conversation up to here is left out]";
/// Asks for more after a history that ends with the model's own words.
pub const CONTINUE: &str = "[please continue]";

/// Stands for a picture with this name that the model cannot see.
pub fn hidden_picture_note(name: &str) -> String {
    if name.is_empty() { UNSEEN_IMAGE.to_owned() } else { format!("[picture {name:?}: this model cannot see it]") }
}

/// What one provider takes, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRules {
    /// The longest name of a tool. Its characters are ASCII letters, digits, `_` and `-`: all providers take these.
    pub name_len_max: usize,
    /// What a tool's name begins with.
    pub name_start: NameStart,
    /// The kinds of pictures it sees.
    pub images: &'static [MediaType],
}

/// What a tool's name begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStart {
    /// Any character that may stand in it.
    Any,
    /// An ASCII letter or `_`.
    LetterOrUnderscore,
}

/// OpenAI's chat completions, and the many that follow it.
///
/// Names: `^[a-zA-Z0-9_-]{1,64}$` (API reference, `function.name`). Pictures: PNG, JPEG, WebP, GIF (guide "Images and
/// vision").
pub const OPENAI: HistoryRules = HistoryRules {
    name_len_max: 64,
    name_start: NameStart::Any,
    images: &[MediaType::Jpeg, MediaType::Png, MediaType::Gif, MediaType::WebP],
};
/// Anthropic's Messages: `^[a-zA-Z0-9_-]{1,64}$` (guide "Tool use"; some models take 128); JPEG, PNG, GIF, WebP
/// (guide "Vision").
pub const ANTHROPIC: HistoryRules = OPENAI;
/// Gemini's generateContent.
///
/// Names: "must start with a letter or an underscore … max length of 64" (`FunctionDeclaration`; newer pages say 128).
/// Pictures: PNG, JPEG, WebP, HEIC, HEIF, no GIF (guide "Image understanding").
pub const GEMINI: HistoryRules = HistoryRules {
    name_len_max: 64,
    name_start: NameStart::LetterOrUnderscore,
    images: &[MediaType::Jpeg, MediaType::Png, MediaType::WebP],
};
/// Ollama's chat: no rule for names, so OpenAI's; JPEG, PNG, WebP (what its server decodes: ollama/ollama 2457, 12951,
/// 17755).
pub const OLLAMA: HistoryRules = HistoryRules {
    name_len_max: 64,
    name_start: NameStart::Any,
    images: &[MediaType::Jpeg, MediaType::Png, MediaType::WebP],
};

impl HistoryRules {
    /// A tool's name as the provider takes it: what does not fit becomes `_`. For names on offer as well.
    pub fn legal_name(&self, name: &str) -> String {
        fit::name(name, self)
    }
}

/// For whom a history is made legal.
#[derive(Debug, Clone, Copy)]
pub struct HistoryTarget<'a> {
    /// What its provider takes.
    pub rules: &'a HistoryRules,
    /// Its label: what another model sealed is left out.
    pub model: &'a str,
    /// Whether it takes pictures: else words stand in for them.
    pub sees_images: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegalHistory {
    /// The messages; each call's result follows in the calls' order, under ids of nine letters and digits.
    pub messages: Vec<Message>,
    /// How many of them stem wholly from messages that were stable, and stay as they are whatever is said next.
    pub stable: usize,
}

/// The same conversation, as the target takes it; a legal history comes back as it is.
///
/// * Neighbours of one role are one message, their texts a blank line apart; it starts with the user and ends with the
///   user or with tool results.
/// * Each call is followed by its one result, in the order of the calls, and words that stood behind the call come
///   after that. Results that belong to no call are dropped, calls without result get [`INTERRUPTED`].
/// * Ids count through the whole history, so that those of different runs never collide.
/// * No text is blank, names fit the rules, arguments are a JSON object.
/// * What the target sealed stays in its place, byte for byte; what others sealed goes.
/// * The last user message is never dropped.
pub fn legalize(history: &[Message], stable: usize, target: &HistoryTarget<'_>) -> LegalHistory {
    let turns = Turns::of(history, target);
    let starts_inside = matches!(turns.list.first(), Some(Turn::Assistant(_)));
    let complete = match turns.list.last() {
        Some(Turn::User(_)) => true,
        Some(Turn::Assistant(said)) => !said.results.is_empty(),
        None => false,
    };
    let stable = match turns.stable(stable) {
        0 => 0,
        count => count + usize::from(starts_inside),
    };
    let mut messages = Vec::with_capacity(history.len() + 2);
    if starts_inside {
        messages.push(Message::user(OMITTED));
    }
    turns.list.into_iter().for_each(|turn| turn.into_messages(&mut messages));
    if !complete {
        messages.push(Message::user(CONTINUE));
    }
    LegalHistory { messages, stable }
}
