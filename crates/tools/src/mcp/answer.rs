//! What a server answered, in words for the model, within bounds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::OutputFile;

/// The most that is kept of one answer, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// What stands for content of a kind that came after this was written.
const UNKNOWN: &str = "[something that cannot be shown]";

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolAnswer {
    /// Its words.
    pub(super) text: String,
    /// Whether it says that the call failed.
    pub(super) failed: bool,
    /// The pictures, sounds and other files in it.
    pub(super) files: Vec<OutputFile>,
    /// What of it is for machines.
    pub(super) structured: Option<Value>,
}

impl ToolAnswer {
    /// What a result says.
    pub(super) fn of(result: &CallToolResult) -> Self {
        let mut text = BoundedText::default();
        result.content.iter().for_each(|block| text.add(&block_text(block)));
        // Who sends both says the same twice.
        if let Some(structured) = result.structured_content.as_ref().filter(|_| text.kept.is_empty()) {
            text.add(&structured.to_string());
        }
        let failed = result.is_error == Some(true);
        let text =
            text.into_text(if failed { "It failed, and did not say why." } else { "Done; it answered nothing." });
        let structured = result.structured_content.clone();
        Self { text, failed, files: result.content.iter().filter_map(file).collect(), structured }
    }

    /// What of it is for machines: its structured part, else its text.
    pub(super) fn for_machines(&self) -> String {
        self.structured.as_ref().map_or_else(|| self.text.clone(), Value::to_string)
    }
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => bytes("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => bytes("sound", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                bytes(uri, mime_type.as_deref().unwrap_or("bytes"), blob)
            }
            _ => UNKNOWN.to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let about = link.description.as_deref().or(link.title.as_deref()).unwrap_or(&link.name);
            format!("[{}]: {about}", link.uri)
        }
        _ => UNKNOWN.to_owned(),
    }
}

/// The file that a block is, under a name that says what it is.
fn file(block: &ContentBlock) -> Option<OutputFile> {
    let (name, base64) = match block {
        ContentBlock::Image(image) => (file_name("picture", &image.mime_type), &image.data),
        ContentBlock::Audio(audio) => (file_name("sound", &audio.mime_type), &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let path = uri.split(['?', '#']).next().unwrap_or_default();
                let last = path.rsplit('/').next().filter(|last| last.contains('.'));
                let name = last.map(str::to_owned);
                (name.unwrap_or_else(|| file_name("file", mime_type.as_deref().unwrap_or_default())), blob)
            }
            _ => return None,
        },
        _ => return None,
    };
    // Some write it in lines; what is none even so is told of in words, and is not a file.
    let base64: String = base64.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(base64).ok().filter(|bytes| !bytes.is_empty())?;
    Some(OutputFile { name, bytes })
}

/// `picture.png` for `image/png`.
fn file_name(what: &str, mime: &str) -> String {
    let kind = mime.split(';').next().unwrap_or_default();
    let end = kind.split_once('/').map_or("", |(_, end)| end.split('+').next().unwrap_or_default());
    let end = end.trim_start_matches("x-");
    let is_plain = !end.is_empty() && end.len() <= 8 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { format!("{what}.{end}") } else { what.to_owned() }
}

/// What no model is shown in words: `[image, image/png, 12 KB]`.
fn bytes(what: &str, kind: &str, base64: &str) -> String {
    let size = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{what}, {kind}, {} KB]", size.div_ceil(1_000))
}

/// Words, one block below the other, up to the bound.
#[derive(Default)]
struct BoundedText {
    kept: String,
    left_out: usize,
}

impl BoundedText {
    fn add(&mut self, words: &str) {
        if !self.kept.is_empty() && self.left_out == 0 {
            self.kept.push('\n');
        }
        let room = BYTES_MAX.saturating_sub(self.kept.len());
        let fits = words.floor_char_boundary(room);
        self.kept.push_str(&words[..fits]);
        self.left_out += words.len() - fits;
    }

    fn into_text(self, otherwise: &str) -> String {
        match self.left_out {
            _ if self.kept.trim().is_empty() => otherwise.to_owned(),
            0 => self.kept,
            bytes => format!("{}\n… {bytes} bytes left out …", self.kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(result: Value) -> ToolAnswer {
        ToolAnswer::of(&serde_json::from_value(result).unwrap())
    }

    #[test]
    fn each_kind_of_content_is_told_in_words() {
        let all = said(json!({ "content": [
            { "type": "text", "text": "One." },
            { "type": "image", "data": "x".repeat(16_000), "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "demo://1", "text": "Hello" } },
            { "type": "resource", "resource": { "uri": "demo://2", "mimeType": "a/b", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "demo://3", "name": "three", "description": "The third" },
        ]}));
        insta::assert_snapshot!(all.text, @"
        One.
        [image, image/png, 12 KB]
        [sound, audio/wav, 1 KB]
        [demo://1]
        Hello
        [demo://2, a/b, 1 KB]
        [demo://3]: The third
        ");
        assert!(!all.failed);
        let files: Vec<(&str, usize)> = all.files.iter().map(|file| (file.name.as_str(), file.bytes.len())).collect();
        assert_eq!(files, [("picture.png", 12_000), ("sound.wav", 3), ("file.b", 3)]);
    }

    #[test]
    fn c6_a_file_is_named_by_its_address_or_its_kind_and_must_be_one() {
        let blob = |uri: &str, blob: &str| {
            let block =
                json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "image/svg+xml", "blob": blob } });
            said(json!({ "content": [block] })).files.pop().map(|file| (file.name, file.bytes))
        };
        assert_eq!(blob("file:///a/plan.pdf?x=1", "QU\nJD").unwrap(), ("plan.pdf".to_owned(), b"ABC".to_vec()));
        assert_eq!(blob("demo://2", "QUJD").unwrap().0, "file.svg");
        assert_eq!(blob("demo://2", "?"), None);
    }

    #[test]
    fn what_is_structured_is_told_where_nothing_else_is() {
        let structured = || json!({ "a": [1] });
        assert_eq!(said(json!({ "content": [], "structuredContent": structured() })).text, r#"{"a":[1]}"#);
        let both = json!({ "content": [{ "type": "text", "text": "A." }], "structuredContent": structured() });
        assert_eq!(said(both).text, "A.");
        assert_eq!(said(json!({ "content": [] })).text, "Done; it answered nothing.");
        let failed = said(json!({ "content": [], "isError": true }));
        assert_eq!((failed.text.as_str(), failed.failed), ("It failed, and did not say why.", true));
    }

    #[test]
    fn an_answer_is_kept_up_to_a_megabyte() {
        let long = "ä".repeat(BYTES_MAX);
        let said = said(json!({ "content": [{ "type": "text", "text": long }, { "type": "text", "text": "more" }] }));
        assert!(said.text.ends_with("ä\n… 1048580 bytes left out …"), "{}", &said.text[said.text.len() - 60..]);
        assert!(said.text.len() < BYTES_MAX + 60);
    }
}
