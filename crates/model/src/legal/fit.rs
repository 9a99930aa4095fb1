//! Makes one piece of a message fit: a name, arguments, an id, a picture.
//!
//! Never: a look at the messages around it.
//! Start at [`user_parts`].

use serde_json::{Map, Value};

use crate::legal::{HistoryRules, HistoryTarget, NameStart, hidden_picture_note};
use crate::message::{Image, Picture, UserPart};
use hob_core::domain::ids::CallId;

/// How long ids are: what the strictest provider (Mistral) takes.
const ID_LEN: usize = 9;

/// A name that the provider takes: other characters become `_`.
pub(super) fn name(name: &str, rules: &HistoryRules) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let bad_start =
        rules.name_start == NameStart::LetterOrUnderscore && name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let start = bad_start.then_some('_');
    let rest = name.chars().map(|c| if fits(c) { c } else { '_' });
    let name: String = start.into_iter().chain(rest).take(rules.name_len_max).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Arguments that are a JSON object; others are kept as a string in one.
pub(super) fn arguments(arguments: &str) -> String {
    if arguments == "{}" || serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return arguments.to_owned();
    }
    if blank(arguments) {
        return "{}".to_owned();
    }
    let kept = Map::from_iter([("not_json".to_owned(), Value::String(arguments.to_owned()))]);
    Value::Object(kept).to_string()
}

/// The id of the history's `place`th call: nine letters and digits.
pub(super) fn id(place: usize) -> CallId {
    let digits = format!("{place:05}");
    let letters = "call".chars().take(ID_LEN.saturating_sub(digits.len()));
    CallId(letters.chain(digits.chars()).collect())
}

/// What a person said, without what says nothing; texts that become neighbours are a blank line apart.
pub(super) fn user_parts(parts: &[UserPart], target: &HistoryTarget<'_>) -> Vec<UserPart> {
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            UserPart::Text { text } if blank(text) => {}
            UserPart::Text { text } => add_text(&mut kept, text),
            UserPart::Image(image) if is_picture_visible(image, target) => kept.push(part.clone()),
            UserPart::Image(Image { name, .. }) | UserPart::Picture(Picture { name, .. }) => {
                add_text(&mut kept, &hidden_picture_note(name));
            }
        }
    }
    kept
}

/// Adds words to a person's.
pub(super) fn add_text(parts: &mut Vec<UserPart>, words: &str) {
    match parts.last_mut() {
        Some(UserPart::Text { text }) => {
            text.reserve(words.len() + 2);
            text.push_str("\n\n");
            text.push_str(words);
        }
        Some(UserPart::Image(_) | UserPart::Picture(_)) | None => parts.push(UserPart::text(words)),
    }
}

fn is_picture_visible(image: &Image, target: &HistoryTarget<'_>) -> bool {
    target.sees_images && target.rules.images.contains(&image.media_type) && !blank(image.base64.as_str())
}

/// Nothing to read in it. Control characters are no words either: Anthropic's check counts some of them as space.
pub(super) fn blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}
