//! A reply that is being written, as HTML that only grows: a block that is whole is told once, the one that is still open again
//! and again, as far as it has changed. Pure.
//!
//! Never: a second parser. What a browser puts in is what Hob's renderer made, here and when the reply is there whole.

use std::sync::Arc;

use serde::Serialize;

use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::ChannelKind;
use hob_core::render::{completed, finished, render};

/// More of a reply that is being written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(super) struct GrowingEvent {
    /// Whose reply.
    pub run: i64,
    /// How much of it was told before, in UTF-16 units; zero: it begins anew.
    pub at: usize,
    /// What comes then.
    pub text: String,
    /// As safe HTML, the blocks that are whole since: they stay as they are.
    pub blocks: String,
    /// So much of the HTML of the open block is as it was, in UTF-16 units …
    pub keep: usize,
    /// … and this comes behind it.
    pub open: String,
}

/// What was told of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamedReply {
    run: RunId,
    text: Arc<str>,
    /// So many bytes of it are in blocks that are whole.
    whole: usize,
    /// The HTML of the open block.
    open: String,
}

/// What there is to tell of a reply as it stands now, and what is told then; none: nothing new.
pub(super) fn more(told: Option<StreamedReply>, run: RunId, text: Arc<str>) -> (StreamedReply, Option<GrowingEvent>) {
    let before = told.filter(|told| told.run == run && text.starts_with(&*told.text));
    let before = before.unwrap_or_else(|| StreamedReply { run, text: Arc::from(""), whole: 0, open: String::new() });
    let Some(new) = text.get(before.text.len()..).filter(|new| !new.is_empty()) else { return (before, None) };
    let rest = text.get(before.whole..).unwrap_or_default();
    // As at the terminal it is decided line by line: what half a line is, its rest may change.
    let lines = rest.rfind('\n').map_or("", |end| rest.get(..=end).unwrap_or_default());
    let (blocks, open) = rest.split_at_checked(finished(lines)).unwrap_or(("", rest));
    let (html, open_html) = (html(blocks), html(&completed(open)));
    let same = same_beginning(&before.open, &open_html);
    let event = GrowingEvent {
        run: run.0,
        at: before.text.encode_utf16().count(),
        text: new.to_owned(),
        blocks: html,
        keep: open_html.get(..same).unwrap_or_default().encode_utf16().count(),
        open: open_html.get(same..).unwrap_or_default().to_owned(),
    };
    let whole = before.whole + blocks.len();
    (StreamedReply { run, text, whole, open: open_html }, Some(event))
}

/// Markdown as the page shows it.
fn html(markdown: &str) -> String {
    render(markdown, Capabilities::of(ChannelKind::Web)).into_iter().map(|chunk| chunk.markup).collect()
}

/// How many bytes both begin with.
fn same_beginning(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().zip(other.chars());
    pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, a), _)| at + a.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser shows that takes every event.
    #[derive(Default)]
    struct Browser {
        blocks: String,
        open: Vec<u16>,
    }

    impl Browser {
        fn take(&mut self, event: &GrowingEvent) {
            if event.at == 0 {
                *self = Self::default();
            }
            self.blocks += &event.blocks;
            self.open.truncate(event.keep);
            self.open.extend(event.open.encode_utf16());
        }

        fn shows(&self) -> String {
            self.blocks.clone() + &String::from_utf16(&self.open).unwrap()
        }
    }

    /// A text in pieces of so many characters, as a browser sees it in the end, and how much HTML it was told.
    fn grown(text: &str, step: usize) -> (String, usize) {
        let (mut told, mut browser, mut bytes, mut so_far) = (None, Browser::default(), 0, String::new());
        let signs: Vec<char> = text.chars().collect();
        for piece in signs.chunks(step) {
            so_far.extend(piece);
            let (now, event) = more(told.take(), RunId(1), Arc::from(so_far.as_str()));
            told = Some(now);
            let event = event.unwrap();
            bytes += event.blocks.len() + event.open.len();
            browser.take(&event);
        }
        (browser.shows(), bytes)
    }

    const REPLY: &str = "# Plan\n\nA *first* paragraph <b>ä</b> 🎃 that\ngoes on.\n\n* one\n* two\n  * three\n\n1. a\n2. b\n\n\
        | Day | Dinner |\n|---|---|\n| Mon | Soup |\n| Tue | Noodles |\n\n```rust\nfn main() {}\n\nlet x = 1;\n```\n\n> said\n\nEnd.";

    #[test]
    fn f8_what_grew_looks_like_what_is_there_in_the_end() {
        for step in [1, 2, 7, 50, 10_000] {
            assert_eq!(grown(REPLY, step).0, html(REPLY), "in pieces of {step}");
        }
    }

    /// What a reader sees of HTML, without its blanks.
    fn seen(html: &str) -> String {
        let (mut text, mut is_tag) = (String::new(), false);
        for sign in html.chars() {
            match sign {
                '<' => is_tag = true,
                '>' => is_tag = false,
                sign if !is_tag && !sign.is_whitespace() => text.push(sign),
                _ => {}
            }
        }
        text
    }

    #[test]
    fn f8_what_is_seen_of_a_reply_only_grows() {
        const RICH: &str = "Say **bold and *both* at** once, `ls **` ~~not~~ and [a page](https://a.example/b_c).\n- one **two**\n\
            - [x] ***three***\n\n1. a\n2. __b__\n\nWords:\n\n| Day | **Dinner** |\n|---|---|\n| Mon | `Soup` |\n\n```sh\nls -l *\n```\n\
            ### End\n2 * 3 and a_b_c.";
        let whole = seen(&html(RICH));
        let ends = RICH.char_indices().map(|(at, sign)| at + sign.len_utf8());
        for end in ends {
            let (so_far, _) = grown(RICH.get(..end).unwrap(), 5);
            let now = seen(&so_far);
            assert!(whole.starts_with(&now), "{:?} shows {now:?}", &RICH[..end]);
        }
    }

    #[test]
    fn f8_a_long_block_is_not_told_again_with_every_word() {
        let code = format!("```\n{}", "let x = 1;\n".repeat(2_000));
        let (_, bytes) = grown(&code, 11);
        assert!(bytes < code.len() * 4, "{bytes} of {}", code.len());
    }

    #[test]
    fn f8_nothing_new_is_not_told_and_another_reply_begins_anew() {
        let (told, event) = more(None, RunId(1), Arc::from("One.\n\nTwo"));
        let event = event.unwrap();
        assert_eq!((event.at, &*event.blocks, &*event.open), (0, "<p>One.</p>\n", "<p>Two</p>\n"));
        let (told, event) = more(Some(told), RunId(1), Arc::from("One.\n\nTwo"));
        assert_eq!(event, None);
        let (_, event) = more(Some(told), RunId(2), Arc::from("One.\n\nTwo"));
        assert_eq!(event.unwrap().at, 0);
    }
}
