//! What was said in a run, with a hash that grows along: requests are known by it.

use serde::Serialize;

use crate::machine::digest::Digest;
use hob_core::domain::ids::UserId;
use hob_model::message::Message;
use hob_model::tokens;

/// The scheme of request digests: a changed recipe takes a new name and is not compared with the old one.
pub(crate) const REQUEST_SCHEME: &str = "request1";

/// A message of the transcript.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptEntry<'a> {
    pub message: &'a Message,
    /// Who said it, where a person did.
    pub author: Option<UserId>,
    /// How many tokens it is, as counted here.
    pub tokens: u64,
}

/// The run's own messages, with a hash that grows along.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    messages: Vec<Message>,
    marks: Vec<(Option<UserId>, u64)>,
    digest: Digest,
    bytes: u64,
    tokens: u64,
}

impl Default for Transcript {
    fn default() -> Self {
        Self { messages: Vec::new(), marks: Vec::new(), digest: Digest::of(REQUEST_SCHEME, &[]), bytes: 0, tokens: 0 }
    }
}

impl Transcript {
    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages with who said them, where a person did, and how many tokens each is.
    pub fn entries(&self) -> impl Iterator<Item = TranscriptEntry<'_>> {
        let entry = |(message, (author, tokens)): (_, &(Option<UserId>, u64))| TranscriptEntry {
            message,
            author: *author,
            tokens: *tokens,
        };
        self.messages.iter().zip(&self.marks).map(entry)
    }

    /// The hash of all of it, in order.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Its size as it is stored.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its tokens, as counted here.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Adds one that no person said.
    pub fn push(&mut self, message: Message) {
        self.add(message, None);
    }

    /// Adds a person's words.
    pub(crate) fn push_from(&mut self, user: UserId, text: String) {
        self.push_said(user, Message::user(text));
    }

    /// Adds what a person said, with what came along.
    pub(crate) fn push_said(&mut self, user: UserId, message: Message) {
        self.add(message, Some(user));
    }

    fn add(&mut self, message: Message, author: Option<UserId>) {
        let body = canonical(&message);
        self.digest = Digest::of(REQUEST_SCHEME, &[self.digest.0.as_bytes(), &body]);
        self.bytes += body.len() as u64;
        let tokens = tokens::message(&message);
        self.tokens += tokens;
        self.messages.push(message);
        self.marks.push((author, tokens));
    }
}

/// The bytes that stand for a value in a digest.
#[expect(clippy::expect_used, reason = "maps have string keys and nothing else in these types can fail to encode")]
pub(super) fn canonical<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data encodes")
}
