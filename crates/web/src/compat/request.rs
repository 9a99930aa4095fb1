//! What a client asks, and what of it Hob takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::access::hash;
use crate::chat::intake::FILES_MAX;
use crate::compat::error::CompatError;
use crate::compat::responses::{ALOUD, Model};

/// So much of a hash tells things apart.
pub(super) const PRINT_CHARS: usize = 24;

/// A request for an answer. What is not named here is not looked at: `temperature`, `max_tokens`, `tools` and the like are
/// Hob's own affair.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct CompletionRequest {
    /// `hob`, or `hob-voice`, whose answers are read aloud.
    #[schema(pattern = "^hob(-voice)?$")]
    model: String,
    /// All that was said. Hob takes the user's last message; what stands before it tells which conversation it is.
    #[schema(min_items = 1)]
    messages: Vec<ChatMessage>,
    /// As server-sent events.
    stream: Option<bool>,
    /// What else is streamed.
    stream_options: Option<StreamOptions>,
    /// For whom: conversations of different users are different ones.
    user: Option<String>,
    /// One answer.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u64>,
    /// None.
    #[schema(value_type = Option<Vec<String>>, max_items = 0)]
    stop: Option<Value>,
    /// `auto` or `none`: Hob's own tools are Hob's affair.
    #[schema(value_type = Option<ToolChoice>)]
    tool_choice: Option<Value>,
    /// Text.
    response_format: Option<ResponseFormat>,
    /// No.
    #[schema(value_type = Option<AlwaysFalse>)]
    logprobs: Option<bool>,
    /// Text.
    #[schema(value_type = Option<Vec<ResponseKind>>)]
    modalities: Option<Vec<String>>,
}

/// What may be said of tools.
#[derive(Debug, utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes a field")]
pub(crate) enum ToolChoice {
    Auto,
    None,
}

/// What answers are.
#[derive(Debug, utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes a field")]
pub(crate) enum ResponseKind {
    Text,
}

/// Something that is not to be had.
#[derive(Debug, utoipa::ToSchema)]
#[schema(value_type = bool, default = false)]
#[expect(dead_code, reason = "it describes a field")]
pub(crate) struct AlwaysFalse(bool);

/// What else is streamed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct StreamOptions {
    /// What it took, at the end.
    include_usage: Option<bool>,
}

/// What the answer is.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ResponseFormat {
    /// `text`.
    #[serde(rename = "type")]
    #[schema(value_type = ResponseKind)]
    kind: String,
}

/// Something that was said.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ChatMessage {
    /// `user`; what `system`, `developer` and `tool` say is not looked at.
    role: String,
    /// What.
    content: Option<Content>,
}

/// What somebody says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum Content {
    /// Words.
    Words(String),
    /// Words, pictures and files.
    Parts(Vec<ContentPart>),
}

/// A part of what somebody says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ContentPart {
    /// `text`, `image_url` or `file`.
    #[serde(rename = "type")]
    kind: String,
    /// The words.
    text: Option<String>,
    /// The picture.
    image_url: Option<ImageUrl>,
    /// The file.
    file: Option<FilePart>,
}

/// A picture.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ImageUrl {
    /// A `data:` URL: what lies elsewhere is not fetched.
    url: String,
}

/// A file.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct FilePart {
    /// Its name.
    filename: Option<String>,
    /// A `data:` URL.
    file_data: Option<String>,
}

pub(super) type NamedFile = (String, Vec<u8>);

/// What Hob takes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedRequest {
    /// What tells apart conversations that began otherwise.
    pub(super) opening: String,
    /// What was answered first, if this is not the beginning.
    pub(super) first_answer: Option<String>,
    /// What tells this request apart from others.
    pub(super) print: String,
    /// The last message.
    pub(super) text: String,
    pub(super) files: Vec<NamedFile>,
    /// As server-sent events.
    pub(super) streams: bool,
    /// With what it took at the end.
    pub(super) tells_usage: bool,
    /// The answer is read aloud.
    pub(super) aloud: bool,
}

impl CompletionRequest {
    /// A request's body.
    pub(super) fn parse(body: &[u8]) -> Result<Self, CompatError> {
        let broken =
            |error| CompatError::invalid(None, format!("We could not parse the JSON body of your request: {error}."));
        serde_json::from_slice(body).map_err(broken)
    }

    /// What Hob takes of it, for whoever has this key.
    pub(super) fn asked(&self, key: i64) -> Result<ParsedRequest, CompatError> {
        self.check()?;
        let Some(last) = self.messages.last().filter(|last| last.role == "user") else {
            return Err(CompatError::invalid(
                Some("messages"),
                "The last of 'messages' must be the user's: Hob answers that.",
            ));
        };
        let first = self.messages.iter().find(|message| message.role == "user");
        let user = self.user.as_deref().unwrap_or_default();
        let opening = print(&[&key.to_string(), user, &first.map(ChatMessage::print).unwrap_or_default()]);
        let answer = self.messages.iter().find(|message| message.role == "assistant");
        let said: Vec<String> = self.messages.iter().map(ChatMessage::print).collect();
        let said = [std::slice::from_ref(&opening), said.as_slice()].concat();
        let (text, files) = last.text_and_files()?;
        Ok(ParsedRequest {
            opening,
            first_answer: answer.map(ChatMessage::words),
            print: print(&said.iter().map(String::as_str).collect::<Vec<_>>()),
            text,
            files,
            streams: self.stream.unwrap_or(false),
            tells_usage: self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false),
            aloud: self.model == ALOUD,
        })
    }

    /// What would make an answer another than the client means it is refused; what only colours it is not looked at.
    fn check(&self) -> Result<(), CompatError> {
        if Model::named(&self.model).is_none() {
            return Err(CompatError::no_model(&self.model));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(CompatError::unsupported("n", "Hob gives one answer: 'n' can only be 1."));
        }
        let stops = match &self.stop {
            None | Some(Value::Null) => false,
            Some(Value::Array(all)) => !all.is_empty(),
            Some(_) => true,
        };
        if stops {
            return Err(CompatError::unsupported(
                "stop",
                "Unsupported parameter: 'stop' is not supported with this model.",
            ));
        }
        let chosen = self.tool_choice.as_ref().filter(|choice| !choice.is_null());
        if chosen.is_some_and(|choice| !matches!(choice.as_str(), Some("auto" | "none"))) {
            return Err(CompatError::unsupported(
                "tool_choice",
                "Hob uses its own tools by itself: 'tool_choice' can only be 'auto' or 'none'.",
            ));
        }
        if self.response_format.as_ref().is_some_and(|format| format.kind != "text") {
            return Err(CompatError::unsupported(
                "response_format",
                "Hob answers in words: 'response_format' can only be text.",
            ));
        }
        if self.logprobs == Some(true) {
            return Err(CompatError::unsupported(
                "logprobs",
                "Unsupported parameter: 'logprobs' is not supported with this model.",
            ));
        }
        if self.modalities.iter().flatten().any(|kind| kind != "text") {
            return Err(CompatError::unsupported("modalities", "Hob answers in words: 'modalities' can only be text."));
        }
        Ok(())
    }
}

impl ChatMessage {
    fn parts(&self) -> &[ContentPart] {
        match &self.content {
            Some(Content::Parts(parts)) => parts,
            Some(Content::Words(_)) | None => &[],
        }
    }

    /// Its words alone.
    fn words(&self) -> String {
        if let Some(Content::Words(words)) = &self.content {
            return words.clone();
        }
        self.parts().iter().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
    }

    /// All of it, as far as it tells it apart from others.
    fn print(&self) -> String {
        let of = |part: &ContentPart| {
            let picture = part.image_url.as_ref().map(|image| image.url.as_str());
            let file = part.file.as_ref().and_then(|file| file.file_data.as_deref());
            print(&[picture.unwrap_or_default(), file.unwrap_or_default()])
        };
        let files: Vec<String> = self.parts().iter().filter(|part| part.kind != "text").map(of).collect();
        print(&[&self.role, &self.words(), &files.concat()])
    }

    /// What Hob is handed.
    fn text_and_files(&self) -> Result<(String, Vec<NamedFile>), CompatError> {
        let mut files = Vec::new();
        for part in self.parts() {
            let file = match part.kind.as_str() {
                "text" => continue,
                "image_url" => part.image_url.as_ref().map(|image| (None, image.url.as_str())),
                "file" => {
                    part.file.as_ref().and_then(|file| Some((file.filename.as_deref(), file.file_data.as_deref()?)))
                }
                other => {
                    let told = format!("Content of type {other:?} is not supported: text, image_url and file are.");
                    return Err(CompatError::invalid(Some("messages"), told));
                }
            };
            let (name, url) = file.ok_or_else(|| {
                CompatError::invalid(Some("messages"), format!("Content of type {:?} needs its data.", part.kind))
            })?;
            let (kind, bytes) = data(url)?;
            let name = name.map_or_else(|| format!("{}.{kind}", files.len() + 1), str::to_owned);
            files.push((name, bytes));
        }
        if files.len() > FILES_MAX {
            return Err(CompatError::invalid(
                Some("messages"),
                format!("{FILES_MAX} files in one message are the most."),
            ));
        }
        Ok((self.words(), files))
    }
}

/// What a `data:` URL holds, and of what kind it says it is.
fn data(url: &str) -> Result<(String, Vec<u8>), CompatError> {
    let held = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let Some((mime, encoded)) = held else {
        let told = "Pictures and files come as data URLs (data:image/png;base64,…): Hob fetches nothing here.";
        return Err(CompatError::invalid(Some("messages"), told));
    };
    let bytes = STANDARD.decode(encoded.trim());
    let bytes = bytes
        .map_err(|error| CompatError::invalid(Some("messages"), format!("A data URL cannot be read: {error}.")))?;
    let kind = mime.rsplit('/').next().unwrap_or_default();
    let kind: String = kind.chars().take_while(char::is_ascii_alphanumeric).take(8).collect();
    Ok((if kind.is_empty() { "bin".to_owned() } else { kind }, bytes))
}

/// What tells these words, in this order, apart from all others.
pub(super) fn print(words: &[&str]) -> String {
    let whole: String = words.iter().map(|word| format!("{}:{word}", word.len())).collect();
    let mut print = hash(&whole);
    print.truncate(PRINT_CHARS);
    print
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(body: &Value) -> Result<ParsedRequest, CompatError> {
        CompletionRequest::parse(body.to_string().as_bytes())?.asked(1)
    }

    #[test]
    fn what_changes_the_answer_is_refused_and_the_rest_is_not_looked_at() {
        let with = |name: &str, value: Value| {
            let mut body = json!({ "model": "hob", "messages": [{ "role": "user", "content": "Hi" }] });
            body[name] = value;
            asked(&body).map(|asked| asked.text)
        };
        for (name, value) in [
            ("temperature", json!(0.2)),
            ("tools", json!([{ "type": "function", "function": { "name": "x" } }])),
            ("tool_choice", json!("auto")),
            ("stop", json!(null)),
            ("stop", json!([])),
            ("n", json!(1)),
            ("logprobs", json!(false)),
            ("modalities", json!(["text"])),
            ("response_format", json!({ "type": "text" })),
            ("max_tokens", json!("many")),
        ] {
            assert_eq!(with(name, value.clone()).as_deref(), Ok("Hi"), "{name}: {value}");
        }
        for (name, value) in [
            ("model", json!("gpt-5")),
            ("model", json!(null)),
            ("messages", json!([])),
            ("messages", json!([{ "role": "assistant", "content": "Hi" }])),
            ("messages", json!([{ "role": "user", "content": [{ "type": "input_audio" }] }])),
            ("messages", json!([{ "role": "user", "content": [{ "type": "image_url" }] }])),
            (
                "messages",
                json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "https://x.example/a.png" } }] }]),
            ),
            ("tool_choice", json!("required")),
            ("tool_choice", json!({ "type": "function" })),
            ("stop", json!("\n")),
            ("n", json!(2)),
            ("n", json!(0)),
            ("logprobs", json!(true)),
            ("modalities", json!(["text", "audio"])),
            ("response_format", json!({ "type": "json_object" })),
        ] {
            assert!(with(name, value.clone()).is_err(), "{name}: {value}");
        }
    }

    #[test]
    fn a_history_that_is_sent_again_is_the_same_conversation() {
        let begun = asked(&json!({ "model": "hob", "messages": [
            { "role": "system", "content": "It is five." }, { "role": "user", "content": "Hi" },
        ] }));
        let later = asked(&json!({ "model": "hob", "messages": [
            { "role": "system", "content": "It is six." }, { "role": "user", "content": [{ "type": "text", "text": "Hi" }] },
            { "role": "assistant", "content": "Hello." }, { "role": "user", "content": "And now?" },
        ] }));
        let (begun, later) = (begun.unwrap(), later.unwrap());
        assert_eq!((&begun.opening, begun.first_answer), (&later.opening, None));
        assert_eq!((later.text.as_str(), later.first_answer.as_deref()), ("And now?", Some("Hello.")));
        assert_ne!(begun.print, later.print);
        let other = asked(&json!({ "model": "hob", "user": "ben", "messages": [{ "role": "user", "content": "Hi" }] }));
        assert_ne!(other.unwrap().opening, begun.opening);
    }

    #[test]
    fn pictures_come_along() {
        let parts = json!([
            { "type": "text", "text": "What" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGVsbG8=" } },
            { "type": "text", "text": "is it?" },
            { "type": "file", "file": { "filename": "a.txt", "file_data": "data:text/plain;base64,aGk=" } },
        ]);
        let asked = asked(&json!({ "model": "hob", "messages": [{ "role": "user", "content": parts }] })).unwrap();
        let files = vec![("1.png".to_owned(), b"hello".to_vec()), ("a.txt".to_owned(), b"hi".to_vec())];
        assert_eq!((asked.text.as_str(), asked.files), ("What\nis it?", files));
    }
}
