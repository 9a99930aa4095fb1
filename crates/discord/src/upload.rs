//! A file on its way out, as a form; and buttons.

use serenity::builder::{CreateActionRow, CreateAttachment, CreateButton};
use serenity::model::application::ButtonStyle;

use crate::call::Body;
use hob_core::domain::outgoing::{Choice, DeliveryError, Outgoing, OutgoingFile};

/// How many buttons stand in a row, and how many rows.
const ROW: usize = 5;
/// How long a button's label may be, in characters.
const LABEL_CHARS_MAX: usize = 80;
/// How long what comes back may be.
const TOKEN_CHARS_MAX: usize = 100;
/// How the words that end a part begin.
const BOUNDARY: &str = "hob-form-boundary";

/// A file with its content.
pub(super) struct Upload<'a> {
    file: &'a OutgoingFile,
    content: Vec<u8>,
}

impl<'a> Upload<'a> {
    /// The file of a message, if it has one.
    pub(super) async fn of(message: &'a Outgoing) -> Result<Option<Self>, DeliveryError> {
        let Some(file) = &message.file else {
            return Ok(None);
        };
        let content = tokio::fs::read(&file.path).await;
        let content =
            content.map_err(|error| DeliveryError::Refused { why: format!("the file cannot be read: {error}") })?;
        Ok(Some(Self { file, content }))
    }

    /// What the payload says of it: its name. The content stands in its own part of the form.
    pub(super) fn described(&self) -> CreateAttachment {
        CreateAttachment::bytes(Vec::new(), self.file.name.clone())
    }

    /// The form of this payload with the file.
    pub(super) fn form(&self, payload: &[u8]) -> Body {
        let boundary = boundary(&[payload, &self.content]);
        let name = quoted(&self.file.name);
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n"
        );
        let middle = format!(
            "\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"{name}\"\r\nContent-Type: {}\r\n\r\n",
            self.file.mime
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let bytes = [head.as_bytes(), payload, middle.as_bytes(), &self.content, tail.as_bytes()].concat();
        Body { content_type: format!("multipart/form-data; boundary={boundary}"), bytes }
    }
}

/// A file's name within quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that does not stand in the contents.
fn boundary(contents: &[&[u8]]) -> String {
    let stands = |boundary: &str| {
        contents.iter().any(|content| content.windows(boundary.len()).any(|window| window == boundary.as_bytes()))
    };
    let mut boundary = BOUNDARY.to_owned();
    let mut number = 0_u64;
    while stands(&boundary) {
        number += 1;
        boundary = format!("{BOUNDARY}-{number}");
    }
    boundary
}

/// The buttons, in rows; those that find no place stand in the text.
pub(super) fn rows(choices: &[Choice]) -> Vec<CreateActionRow> {
    let fitting: Vec<&Choice> =
        choices.iter().filter(|choice| choice.token.chars().count() <= TOKEN_CHARS_MAX).take(ROW * ROW).collect();
    let button = |choice: &&Choice| {
        let mut label: String = choice.label.chars().take(LABEL_CHARS_MAX).collect();
        if label.len() < choice.label.len() {
            label.pop();
            label.push('…');
        }
        CreateButton::new(choice.token.clone()).label(label).style(ButtonStyle::Secondary)
    };
    fitting.chunks(ROW).map(|row| CreateActionRow::Buttons(row.iter().map(button).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_content_cannot_end_its_part() {
        assert_eq!(boundary(&[b"plain"]), BOUNDARY);
        let nasty = format!("--{BOUNDARY}--\r\n--{BOUNDARY}-1");
        assert_eq!(boundary(&[b"plain", nasty.as_bytes()]), format!("{BOUNDARY}-2"));
        assert_eq!(quoted("a\"\r\nb"), "a%22%0D%0Ab");
    }

    #[test]
    fn k2_buttons_stand_five_in_a_row_within_the_limits() {
        let choice = |number: usize| Choice { label: "x".repeat(number * 30), token: format!("t{number}") };
        let choices: Vec<Choice> = (1..=30).map(choice).collect();
        let rows = serde_json::to_value(rows(&choices)).unwrap();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 5);
        let label = |at: usize| rows[0]["components"][at]["label"].as_str().unwrap().chars().count();
        assert_eq!((label(0), label(1), label(2)), (30, 60, 80));
        assert_eq!(rows[4]["components"][4]["custom_id"], "t25");
    }
}
