//! A model that is told no secret of this Hob, and that tells none: what goes to it, its reply, the words of the reply while
//! they come, and its errors are without them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::error::ModelError;
use crate::message::{Completion, Message, ReplyPart, UserPart};
use crate::provider::{ModelCheck, Provider, Request, Sink};
use hob_core::domain::lock::lock;
use hob_core::domain::redactor::{RedactedStream, Redactor};

/// The model behind it, without secrets.
pub(crate) struct RedactingProvider {
    inner: Arc<dyn Provider>,
    redactor: Redactor,
}

impl RedactingProvider {
    /// `inner`, which neither hears nor tells what `redactor` finds.
    pub(crate) fn new(inner: Arc<dyn Provider>, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

#[async_trait]
impl Provider for RedactingProvider {
    fn label(&self) -> &str {
        self.inner.label()
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let request = clean_request(&self.redactor, request);
        let shown = RedactingSink { sink, stream: Mutex::new(self.redactor.stream()) };
        match self.inner.complete(&request, &shown).await {
            Ok(completion) => {
                shown.end();
                let parts = clean_parts(&self.redactor, completion.parts);
                Ok(Completion { parts, ..completion })
            }
            Err(mut error) => {
                self.redactor.redact_in_place(&mut error.message);
                Err(error)
            }
        }
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        self.inner.check().await.map_err(|mut error| {
            self.redactor.redact_in_place(&mut error.message);
            error
        })
    }
}

/// A sink behind which no secret is seen, however the pieces are cut.
struct RedactingSink<'a> {
    sink: &'a dyn Sink,
    stream: Mutex<RedactedStream>,
}

impl RedactingSink<'_> {
    fn end(&self) {
        let rest = lock(&self.stream).finish();
        self.show(&rest);
    }

    fn show(&self, text: &str) {
        if !text.is_empty() {
            self.sink.delta(text);
        }
    }
}

impl Sink for RedactingSink<'_> {
    fn delta(&self, text: &str) {
        let ready = lock(&self.stream).push(text);
        self.show(&ready);
    }
}

/// The request without secrets. Most have none, and are not copied.
fn clean_request<'a>(redactor: &Redactor, request: &'a Request) -> Cow<'a, Request> {
    let is_clean = redactor.is_clean(&request.system)
        && request.tools.iter().all(|tool| redactor.is_clean(&tool.description))
        && request.messages.iter().all(|message| is_clean_message(redactor, message));
    if is_clean { Cow::Borrowed(request) } else { Cow::Owned(cleaned(redactor, request.clone())) }
}

fn is_clean_message(redactor: &Redactor, message: &Message) -> bool {
    match message {
        Message::User { parts } => parts.iter().all(|part| match part {
            UserPart::Text { text } => redactor.is_clean(text),
            UserPart::Image(_) | UserPart::Picture(_) => true,
        }),
        Message::Assistant { parts } => parts.iter().all(|part| match part {
            ReplyPart::Text { text } => redactor.is_clean(text),
            ReplyPart::Call(call) => redactor.is_clean(&call.arguments),
            ReplyPart::Sealed(sealed) => redactor.is_clean(&sealed.data),
        }),
        Message::Tool(result) => redactor.is_clean(&result.text),
    }
}

fn cleaned(redactor: &Redactor, mut request: Request) -> Request {
    redactor.redact_in_place(&mut request.system);
    let mut tools = request.tools.to_vec();
    for tool in &mut tools {
        redactor.redact_in_place(&mut tool.description);
    }
    request.tools = tools.into();
    for message in &mut request.messages {
        match message {
            Message::User { parts } => {
                for part in parts {
                    if let UserPart::Text { text } = part {
                        redactor.redact_in_place(text);
                    }
                }
            }
            Message::Assistant { parts } => *parts = clean_parts(redactor, std::mem::take(parts)),
            Message::Tool(result) => redactor.redact_in_place(&mut result.text),
        }
    }
    request
}

/// What is sealed cannot be changed: it is left out where a secret stands in it.
fn clean_parts(redactor: &Redactor, mut parts: Vec<ReplyPart>) -> Vec<ReplyPart> {
    for part in &mut parts {
        match part {
            ReplyPart::Text { text } => redactor.redact_in_place(text),
            ReplyPart::Call(call) => redactor.redact_in_place(&mut call.arguments),
            ReplyPart::Sealed(_) => {}
        }
    }
    parts.retain(|part| !matches!(part, ReplyPart::Sealed(sealed) if !redactor.is_clean(&sealed.data)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use crate::message::{Sealed, ToolCall, ToolResult};
    use hob_core::domain::ids::CallId;
    use hob_core::domain::secret::Secret;

    const KEY: &str = "sk-live-0123456789";

    /// Repeats what it heard, piece by piece, with the key before it.
    struct EchoProvider;

    #[async_trait]
    impl Provider for EchoProvider {
        fn label(&self) -> &str {
            "a/parrot"
        }

        async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
            let heard: Vec<String> = request.messages.iter().map(|message| message.text().into_owned()).collect();
            let words = format!("{KEY} {} {}", request.system, heard.join(" "));
            if heard.is_empty() {
                return Err(ModelError::new(ErrorClass::Auth, format!("wrong key {KEY}")));
            }
            for piece in words.as_bytes().chunks(5) {
                sink.delta(std::str::from_utf8(piece).unwrap());
            }
            let arguments = format!("{{\"key\":\"{KEY}\"}}");
            let call = ToolCall { id: CallId::new(1, 0), name: "note".to_owned(), arguments };
            let seal = |data: &str| {
                ReplyPart::Sealed(Sealed { model: "a".to_owned(), kind: "k".to_owned(), data: data.to_owned() })
            };
            let parts = vec![seal(KEY), seal("plain"), ReplyPart::text(words), ReplyPart::Call(call)];
            Ok(Completion { parts, ..Completion::default() })
        }
    }

    #[derive(Default)]
    struct RecordingSink(Mutex<String>);

    impl Sink for RecordingSink {
        fn delta(&self, text: &str) {
            self.0.lock().unwrap().push_str(text);
        }
    }

    fn request(messages: Vec<Message>) -> Request {
        Request { system: format!("My key: {KEY}."), messages, ..Request::default() }
    }

    #[tokio::test]
    async fn a_model_neither_hears_nor_tells_a_secret() {
        let redactor = Redactor::new(&[Secret::new(KEY.to_owned())]).unwrap();
        let model = RedactingProvider::new(Arc::new(EchoProvider), redactor);
        let result =
            ToolResult { call: CallId::new(1, 0), name: "n".to_owned(), text: KEY.to_owned(), is_error: false };
        let messages = vec![Message::user(format!("mine: {KEY}")), Message::Tool(result)];
        let seen = RecordingSink::default();
        let completion = model.complete(&request(messages), &seen).await.unwrap();
        let words = "[redacted] My key: [redacted]. mine: [redacted] [redacted]";
        assert_eq!(completion.text(), words);
        assert_eq!(*seen.0.lock().unwrap(), words, "streamed, too");
        assert_eq!(completion.calls().next().unwrap().arguments, r#"{"key":"[redacted]"}"#);
        assert_eq!(completion.parts.len(), 3, "what was sealed with it is gone");
        let error = model.complete(&request(Vec::new()), &seen).await.unwrap_err();
        assert_eq!(error.message, "wrong key [redacted]");
    }
}
