//! What is said between Hob and a model, in Hob's own words. This encoding is stored: change it only by adding.
//!
//! Never: a provider's words. What only one provider understands is [`Sealed`].
//! Start at [`Message`]; the stored shapes are at the end of the file.

mod stored;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use hob_core::domain::ids::{CallId, FileId};
use hob_core::domain::origin::{Origin, OriginSource};

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the run.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them: perhaps not even JSON.
    pub arguments: String,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What the model is told.
    pub text: String,
    /// Whether it failed (row D5).
    pub is_error: bool,
}

/// A picture that came with a message, by reference: so it stands in journals and histories, which hold no bytes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The record of the file. Where that is gone, nobody is shown the picture any more.
    pub file: FileId,
    /// The SHA-256 of its content.
    pub hash: String,
    /// What it is, by its content.
    pub media_type: MediaType,
    pub name: String,
    pub bytes: u64,
}

/// The pictures of one message, in order. It takes little room, as most messages have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Picture>", into = "Vec<Picture>")]
pub struct Pictures(Option<Box<AtLeastOne>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AtLeastOne {
    pictures: Vec<Picture>,
}

impl Pictures {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn as_slice(&self) -> &[Picture] {
        self.0.as_ref().map_or(&[], |some| some.pictures.as_slice())
    }
}

impl From<Vec<Picture>> for Pictures {
    fn from(pictures: Vec<Picture>) -> Self {
        Self((!pictures.is_empty()).then(|| Box::new(AtLeastOne { pictures })))
    }
}

impl From<Pictures> for Vec<Picture> {
    fn from(pictures: Pictures) -> Self {
        pictures.0.map(|some| some.pictures).unwrap_or_default()
    }
}

/// A picture as it is sent: with its bytes. It is made of a [`Picture`] when a request is, and for that one alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub media_type: MediaType,
    /// The file.
    pub base64: Base64,
    /// Its name, for those who cannot see it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Picture {
    /// Where what stands in it comes from: nobody vouches for that, whoever sends it.
    pub fn source(&self) -> OriginSource {
        OriginSource::new(Origin::File, &self.name)
    }
}

impl Image {
    /// A picture without a name.
    pub fn new(media_type: MediaType, base64: impl Into<Base64>) -> Self {
        Self { media_type, base64: base64.into(), name: String::new() }
    }
}

/// Bytes in standard Base64. Clones share them: a request is copied on its way, and pictures are large.
#[derive(Clone, PartialEq, Eq)]
pub struct Base64(Arc<str>);

impl Base64 {
    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Base64 {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Base64 {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} characters)", self.0.len())
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}

/// The kinds of pictures that every provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    WebP,
}

impl MediaType {
    /// Its registered name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// What a provider wants back as it sent it: thinking and its signatures (row E12).
///
/// It belongs before the part that follows it, is read by nobody but the dialect that made it, shown to nobody, and
/// sent to no other model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The label of the model that made it.
    pub model: String,
    /// The dialect's name for it.
    pub kind: String,
    /// Its bytes.
    pub data: String,
}

/// A piece of what a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum UserPart {
    /// Words.
    Text { text: String },
    /// A picture, with its bytes.
    Image(Image),
    /// A picture, by reference.
    Picture(Picture),
}

/// A piece of what a model says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ReplyPart {
    /// Words.
    Text { text: String },
    /// A wish to call a tool.
    Call(ToolCall),
    /// What only its maker understands.
    Sealed(Sealed),
}

impl UserPart {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ReplyPart {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "stored::Message", into = "stored::Message")]
pub enum Message {
    /// Said by a person, or by Hob in the person's place.
    User {
        /// In order.
        parts: Vec<UserPart>,
    },
    /// Said by the model.
    Assistant {
        /// In order.
        parts: Vec<ReplyPart>,
    },
    /// The result of one call.
    Tool(ToolResult),
}

impl Message {
    /// A person's words.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![UserPart::text(text)] }
    }

    /// A person's words, with the pictures that came with them.
    pub fn user_with(text: impl Into<String>, pictures: &[Picture]) -> Self {
        let pictures = pictures.iter().cloned().map(UserPart::Picture);
        Self::User { parts: std::iter::once(UserPart::text(text)).chain(pictures).collect() }
    }

    /// The pictures in it, as far as they stand there by reference.
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        let parts = match self {
            Self::User { parts } => parts.as_slice(),
            Self::Assistant { .. } | Self::Tool(_) => &[],
        };
        parts.iter().filter_map(|part| match part {
            UserPart::Picture(picture) => Some(picture),
            UserPart::Text { .. } | UserPart::Image(_) => None,
        })
    }

    /// A model's words and calls.
    pub fn assistant(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self::Assistant { parts: reply_parts(text.into(), calls) }
    }

    /// The words in it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::User { parts } => joined(parts.iter().filter_map(|part| match part {
                UserPart::Text { text } => Some(text.as_str()),
                UserPart::Image(_) | UserPart::Picture(_) => None,
            })),
            Self::Assistant { parts } => reply_text(parts),
            Self::Tool(result) => Cow::Borrowed(&result.text),
        }
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = match self {
            Self::Assistant { parts } => parts.as_slice(),
            Self::User { .. } | Self::Tool(_) => &[],
        };
        reply_calls(parts)
    }
}

/// Tokens of one call, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, from the cache or not.
    pub input_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
    /// Of those read, how many came from the provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Of those read, how many were written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of those written, how many were thinking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Adds another call's tokens; a provider's absurd number stays a number.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done, or wants tools.
    #[default]
    End,
    /// Cut off by the output limit.
    MaxTokens,
    /// The provider withheld the rest.
    ContentFilter,
}

/// A whole reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "stored::Completion", into = "stored::Completion")]
pub struct Completion {
    /// What was said, in order; the calls' ids are the provider's, not yet unique.
    pub parts: Vec<ReplyPart>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// How long it took, from sending to the end, in milliseconds.
    pub latency_ms: u64,
}

impl Completion {
    /// Words and calls, ended regularly.
    pub fn from_text_and_calls(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self { parts: reply_parts(text.into(), calls), ..Self::default() }
    }

    /// The words, without reasoning.
    pub fn text(&self) -> Cow<'_, str> {
        reply_text(&self.parts)
    }

    /// The calls, in the model's order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        reply_calls(&self.parts)
    }
}

fn reply_parts(text: String, calls: Vec<ToolCall>) -> Vec<ReplyPart> {
    let words = (!text.is_empty()).then_some(ReplyPart::Text { text });
    words.into_iter().chain(calls.into_iter().map(ReplyPart::Call)).collect()
}

/// The words in parts of a reply.
pub fn reply_text(parts: &[ReplyPart]) -> Cow<'_, str> {
    joined(parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some(text.as_str()),
        ReplyPart::Call(_) | ReplyPart::Sealed(_) => None,
    }))
}

pub fn reply_calls(parts: &[ReplyPart]) -> impl Iterator<Item = &ToolCall> {
    parts.iter().filter_map(|part| match part {
        ReplyPart::Call(call) => Some(call),
        ReplyPart::Text { .. } | ReplyPart::Sealed(_) => None,
    })
}

fn joined<'a>(mut texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let Some(first) = texts.next() else {
        return Cow::Borrowed("");
    };
    texts.fold(Cow::Borrowed(first), |all, text| Cow::Owned(all.into_owned() + text))
}

#[cfg(test)]
mod tests;
