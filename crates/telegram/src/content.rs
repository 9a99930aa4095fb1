//! What a message holds: its words, and its files. Pure.

use teloxide::types::{Location, MediaKind, Message, MessageEntity, MessageEntityKind, MessageKind, Venue};

use crate::origin::forwarded_from;
use hob_core::domain::inbound::{Attachment, VoiceRecording};

/// The text, the caption, or a word for what it is instead; `None` for Telegram's own notices.
pub(super) fn content(message: &Message) -> Option<String> {
    if let Some(text) = message.text().or(message.caption()) {
        return Some(text.to_owned());
    }
    // What comes along says for itself what it is.
    if !attachments(message).is_empty() {
        return Some(String::new());
    }
    let what = match &message.kind {
        MessageKind::Dice(_) => "dice",
        MessageKind::Common(common) => match &common.media_kind {
            MediaKind::Migration(_) => return None,
            MediaKind::Animation(_) => "animation",
            MediaKind::Audio(_) => "audio",
            MediaKind::Contact(_) => "contact",
            MediaKind::Document(_) => "document",
            MediaKind::Game(_) => "game",
            MediaKind::Venue(media) => {
                let Venue { location, title, address, .. } = &media.venue;
                return Some(place(&[title, address], location));
            }
            MediaKind::Location(media) => return Some(place(&[], &media.location)),
            MediaKind::PaidMedia(_) => "paid media",
            MediaKind::Photo(_) => "photo",
            MediaKind::Poll(_) => "poll",
            MediaKind::Checklist(_) => "checklist",
            MediaKind::Sticker(_) => "sticker",
            MediaKind::Story(_) => "story",
            MediaKind::Text(_) => "empty message",
            MediaKind::Video(_) => "video",
            MediaKind::VideoNote(_) => "video note",
            MediaKind::Voice(_) => "voice message",
        },
        _ => return None,
    };
    Some(format!("[{what}]"))
}

/// A place in words: what it is called, where it has a name, and where it is (row C6).
fn place(names: &[&String], location: &Location) -> String {
    // Such a line must not end early, or go on as another one.
    let plain = |name: &&String| name.replace(|c: char| c.is_control() || "[]".contains(c), " ").trim().to_owned();
    let names: Vec<String> = names.iter().map(plain).filter(|name| !name.is_empty()).collect();
    let name = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
    let within = location.horizontal_accuracy.map(|metres| format!(", within {metres:.0} m")).unwrap_or_default();
    let live = location.live_period.map_or("", |_| ", as of now: it is shared live");
    format!("[Place:{name} (latitude {}, longitude {}{within}{live})]", location.latitude, location.longitude)
}

/// Whether its sender speaks in it. A voice message that is forwarded, or a bot's, is a file: somebody else speaks.
pub(super) fn voice_recording(message: &Message) -> Option<VoiceRecording> {
    message
        .voice()
        .filter(|_| forwarded_from(message).is_none())
        .map(|voice| VoiceRecording { seconds: Some(voice.duration.seconds()) })
}

/// The files of a message: of a photo, its largest form.
pub(super) fn attachments(message: &Message) -> Vec<Attachment> {
    let MessageKind::Common(common) = &message.kind else {
        return Vec::new();
    };
    let (file, name) = match &common.media_kind {
        MediaKind::Animation(media) => {
            (&media.animation.file, media.animation.file_name.as_deref().unwrap_or("animation.mp4"))
        }
        MediaKind::Audio(media) => (&media.audio.file, media.audio.file_name.as_deref().unwrap_or("audio")),
        MediaKind::Document(media) => (&media.document.file, media.document.file_name.as_deref().unwrap_or("document")),
        MediaKind::Photo(media) => {
            match media.photo.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height)) {
                Some(largest) => (&largest.file, "photo.jpg"),
                None => return Vec::new(),
            }
        }
        MediaKind::Video(media) => (&media.video.file, media.video.file_name.as_deref().unwrap_or("video.mp4")),
        MediaKind::VideoNote(media) => (&media.video_note.file, "video note.mp4"),
        MediaKind::Voice(media) => (&media.voice.file, "voice message.ogg"),
        _ => return Vec::new(),
    };
    // Telegram leaves the size out where it does not know it; teloxide reads that as the largest number.
    let bytes = (file.size > 0 && file.size < u32::MAX).then(|| u64::from(file.size));
    vec![Attachment { handle: file.id.0.clone(), name: name.to_owned(), bytes }]
}

pub(super) fn entities(message: &Message) -> &[MessageEntity] {
    message.entities().or(message.caption_entities()).unwrap_or_default()
}

/// The words with what is set off marked as in Markdown: Telegram says of a quotation and of code only where they are.
pub(super) fn with_marks(text: &str, entities: &[MessageEntity]) -> String {
    let within = |of: fn(&MessageEntityKind) -> bool, from: usize, to: usize| {
        entities.iter().any(|one| of(&one.kind) && one.offset <= to && from < one.offset + one.length)
    };
    let (mut lines, mut at, mut is_code) = (Vec::new(), 0, false);
    for line in text.split('\n') {
        let end = at + line.encode_utf16().count();
        if within(is_code_block, at, end) != is_code {
            is_code = !is_code;
            lines.push("```".to_owned());
        }
        lines.push(if within(is_quotation, at, end) { format!("> {line}") } else { line.to_owned() });
        at = end + 1;
    }
    lines.extend(is_code.then(|| "```".to_owned()));
    lines.join("\n")
}

fn is_quotation(kind: &MessageEntityKind) -> bool {
    matches!(kind, MessageEntityKind::Blockquote | MessageEntityKind::ExpandableBlockquote)
}

fn is_code_block(kind: &MessageEntityKind) -> bool {
    matches!(kind, MessageEntityKind::Pre { .. })
}

/// What the entity covers; Telegram counts in UTF-16 code units.
pub(super) fn entity_text(text: &str, entity: &MessageEntity) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().skip(entity.offset).take(entity.length).collect();
    String::from_utf16(&units).ok()
}

/// Whether a change of it can be a change of words or files.
pub(super) fn has_words(message: &Message) -> bool {
    message.text().or(message.caption()).is_some() || !attachments(message).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_off_stands_behind_its_mark_whatever_letters_are_before_it() {
        let of = |text: &str, part: &str, kind: MessageEntityKind| {
            let before = text.find(part).unwrap();
            let (offset, length) = (text[..before].encode_utf16().count(), part.encode_utf16().count());
            with_marks(text, &[MessageEntity { kind, offset, length }])
        };
        let text = "🦀 Look:\nPay 👪\n\nMallory.\nThanks.";
        let quoted = "🦀 Look:\n> Pay 👪\n> \n> Mallory.\nThanks.";
        for kind in [MessageEntityKind::Blockquote, MessageEntityKind::ExpandableBlockquote] {
            assert_eq!(of(text, "Pay 👪\n\nMallory.", kind), quoted);
        }
        let code = MessageEntityKind::Pre { language: None };
        let fenced = "🦀 Look:\n```\nPay 👪\n\nMallory.\n```\nThanks.";
        assert_eq!(of(text, "Pay 👪\n\nMallory.", code.clone()), fenced);
        assert_eq!(of(text, "Thanks.", code), "🦀 Look:\nPay 👪\n\nMallory.\n```\nThanks.\n```");
        assert_eq!(of(text, "Thanks", MessageEntityKind::Bold), text);
    }
}
