//! What a message says: in Telegram's HTML, and plain for when Telegram refuses that. Pure.

use teloxide::types::ParseMode;

use crate::call::CallError;
use hob_core::render::clean::clean;

/// The words of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageText {
    pub(super) plain: String,
    markup: Option<String>,
}

impl MessageText {
    /// Without what no message can hold.
    pub(super) fn of(plain: &str, markup: Option<&str>) -> Self {
        Self { plain: clean(plain).into_owned(), markup: markup.map(|markup| clean(markup).into_owned()) }
    }

    /// With a note above; the note has no sign that HTML knows.
    pub(super) fn with_note(&self, note: &str) -> Self {
        let noted = |text: &String| format!("{note}\n{text}");
        Self { plain: noted(&self.plain), markup: self.markup.as_ref().map(noted) }
    }

    /// As it is sent.
    pub(super) fn text_and_mode(&self) -> (&str, Option<ParseMode>) {
        match &self.markup {
            Some(markup) => (markup, Some(ParseMode::Html)),
            None => (&self.plain, None),
        }
    }

    /// Whether Telegram refused the markup. It goes then, and the words can be sent plain.
    pub(super) fn is_refused(&mut self, error: &CallError) -> bool {
        let refused = self.markup.is_some() && is_markup_error(error);
        if refused {
            self.markup = None;
        }
        refused
    }
}

/// Whether markup can be why: it is no HTML that Telegram knows, its entities are too many, or nothing is left of the text.
fn is_markup_error(error: &CallError) -> bool {
    let CallError::Api { status: 400, description, .. } = error else { return false };
    let said = description.to_lowercase();
    ["entit", "parse", "too long", "too_long", "text is empty", "must be non-empty"]
        .iter()
        .any(|sign| said.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, description: &str) -> bool {
        let error = CallError::Api { status, description: description.to_owned(), retry_after: None, migrate_to: None };
        let mut words = MessageText::of("a < b", Some("a &lt; b"));
        assert_eq!(words.text_and_mode(), ("a &lt; b", Some(ParseMode::Html)));
        let refused = words.is_refused(&error);
        assert_eq!(words.text_and_mode().0 == "a < b", refused, "{description}");
        assert!(!words.is_refused(&error) || !refused, "once");
        refused
    }

    #[test]
    fn k2_only_what_markup_can_cause_is_sent_plain() {
        assert!(refused(400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"));
        assert!(refused(400, "Bad Request: ENTITIES_TOO_LONG"));
        assert!(refused(400, "Bad Request: message is too long"));
        assert!(refused(400, "Bad Request: message text is empty"));
        assert!(!refused(400, "Bad Request: chat not found"));
        assert!(!refused(400, "Bad Request: message thread not found"));
        assert!(!refused(403, "Forbidden: can't parse entities"));
    }
}
