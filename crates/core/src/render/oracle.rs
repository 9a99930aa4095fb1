//! What the platforms would say of chunks, for the tests and for the fuzz target in `fuzz/`; there only with these.

use crate::domain::capabilities::{Capabilities, Limit, Markup, Unit};
use crate::domain::inbound::ChannelKind;
use crate::render::{Chunk, UNITS_MIN, finished, render, validators};

/// Any text: every chunk of it is taken by its platform, and what is finished of it is shown as it would be with the rest.
///
/// # Panics
/// When a law does not hold.
pub fn laws(text: &str) {
    for capabilities in limited() {
        for chunk in render(text, &capabilities) {
            let told = shown(&chunk, &capabilities);
            assert!(told.is_ok(), "{capabilities:?}: {told:?}\n{}", chunk.markup);
        }
    }
    for capabilities in [
        *Capabilities::of(ChannelKind::Email),
        *Capabilities::of(ChannelKind::Web),
        Capabilities::terminal(true, Some(40)),
    ] {
        let chunks = render(text, &capabilities);
        assert!(chunks.len() <= 1, "it has no limit");
        if matches!(capabilities.markup, Markup::MailHtml | Markup::WebHtml) {
            for chunk in chunks {
                let told = validators::html(&chunk.markup);
                assert!(told.is_ok(), "{told:?}\n{}", chunk.markup);
            }
        }
    }
    let matrix = Capabilities::of(ChannelKind::Matrix);
    for limit in [matrix.limit, Some(Limit::new(UNITS_MIN, Unit::Bytes))] {
        for chunk in render(text, &Capabilities { limit, ..*matrix }) {
            let told = validators::html(&chunk.markup);
            assert!(told.is_ok(), "{told:?}\n{}", chunk.markup);
        }
    }
    assert!(text.is_char_boundary(finished(text)));
}

/// The platforms with a limit, each also with the least.
pub(super) fn limited() -> Vec<Capabilities> {
    let all = [
        *Capabilities::of(ChannelKind::Telegram),
        *Capabilities::of(ChannelKind::Slack),
        Capabilities::slack_text(),
        *Capabilities::of(ChannelKind::Discord),
    ];
    let least = |capabilities: Capabilities| {
        let unit = if capabilities.markup == Markup::DiscordMarkdown { Unit::Chars } else { Unit::Utf16 };
        Capabilities { limit: Some(Limit::new(UNITS_MIN, unit)), ..capabilities }
    };
    all.into_iter().flat_map(|capabilities| [capabilities, least(capabilities)]).collect()
}

/// What a reader sees of a chunk, which the platform has taken.
pub(super) fn shown(chunk: &Chunk, capabilities: &Capabilities) -> Result<String, String> {
    let limit = capabilities.limit.ok_or("no limit")?;
    let within = |text: &str| {
        if limit.fits(text) && !text.trim().is_empty() {
            Ok(())
        } else {
            Err(format!("{} of {limit:?}", limit.measure(text)))
        }
    };
    match capabilities.markup {
        Markup::TelegramHtml => {
            let text = validators::telegram(&chunk.markup)?;
            within(&text)?;
            within(&chunk.plain)?;
            Ok(text)
        }
        Markup::SlackBlocks => {
            let sections = validators::sections(&chunk.markup);
            assert!(!sections.is_empty() && sections.len() <= 50);
            let total: usize = sections.iter().map(|text| text.encode_utf16().count()).sum();
            assert!(total <= 10_000 && chunk.plain.encode_utf16().count() <= 10_000);
            let mut text = String::new();
            for section in sections {
                within(&section)?;
                text += &validators::slack(&section)?;
            }
            Ok(text)
        }
        Markup::SlackMrkdwn => {
            within(&chunk.markup)?;
            within(&chunk.plain)?;
            validators::slack(&chunk.plain)?;
            validators::slack(&chunk.markup)
        }
        Markup::DiscordMarkdown => {
            within(&chunk.markup)?;
            within(&chunk.plain)?;
            validators::discord(&chunk.markup)
        }
        _ => Err("no limit".to_owned()),
    }
}
