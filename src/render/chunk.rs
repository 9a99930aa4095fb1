//! Cuts plain text into chunks that a platform takes, in the platform's own unit.

use unicode_segmentation::UnicodeSegmentation;

use crate::domain::inbound::ChannelKind;

/// What a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units (Telegram).
    Utf16,
    /// Unicode scalar values.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
}

/// How long one message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    max: usize,
    unit: Unit,
}

impl Limit {
    /// At most `max` of `unit`, but never so few that one char would not fit.
    #[must_use]
    pub fn new(max: usize, unit: Unit) -> Self {
        let largest_char = match unit {
            Unit::Utf16 => 2,
            Unit::Chars => 1,
            Unit::Bytes => 4,
        };
        Self { max: max.max(largest_char), unit }
    }

    /// The same limit, or `least` if that is more.
    #[must_use]
    pub fn at_least(self, least: usize) -> Self {
        Self { max: self.max.max(least), unit: self.unit }
    }

    /// How many units a message may have.
    #[must_use]
    pub fn max(self) -> usize {
        self.max
    }

    /// The text's length in this limit's unit.
    #[must_use]
    pub fn measure(self, text: &str) -> usize {
        match self.unit {
            _ if text.is_ascii() => text.len(),
            Unit::Utf16 => text.encode_utf16().count(),
            Unit::Chars => text.chars().count(),
            Unit::Bytes => text.len(),
        }
    }

    /// Whether the text is one message.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        self.measure(text) <= self.max
    }
}

/// Telegram's limit for one message, in UTF-16 code units.
const TELEGRAM_MESSAGE_UTF16_MAX: usize = 4096;

/// A terminal takes everything; the bound only keeps one row of the outbox from being huge.
const TERMINAL_MESSAGE_BYTES_MAX: usize = 1 << 20;

/// How long one message of a channel may be.
#[must_use]
pub fn limit(channel: ChannelKind) -> Limit {
    match channel {
        ChannelKind::Telegram => Limit::new(TELEGRAM_MESSAGE_UTF16_MAX, Unit::Utf16),
        ChannelKind::Terminal => Limit::new(TERMINAL_MESSAGE_BYTES_MAX, Unit::Bytes),
    }
}

/// What a reader sees as one character; or one char of such a cluster that alone exceeds the limit.
struct Cluster<'a> {
    text: &'a str,
    size: usize,
    blank: bool,
    newline: bool,
}

impl<'a> Cluster<'a> {
    fn new(text: &'a str, limit: Limit) -> Self {
        Self {
            text,
            size: limit.measure(text),
            blank: text.chars().all(char::is_whitespace),
            newline: text.contains(['\n', '\r', '\u{2028}', '\u{2029}']),
        }
    }
}

/// Cuts `text` into chunks within `limit`: at the end of a paragraph, else of a line, else of a word.
///
/// Chunks hold the text in order; only whitespace at the cuts and around the text is lost (a line's indentation is
/// kept). A cut falls inside a grapheme cluster only where the cluster alone exceeds the limit. No chunk is blank, so
/// blank text has no chunks.
#[must_use]
pub fn chunks(text: &str, limit: Limit) -> Vec<String> {
    let mut clusters = clusters(text, limit);
    clusters.truncate(clusters.iter().rposition(|cluster| !cluster.blank).map_or(0, |last| last + 1));
    let mut chunks = Vec::new();
    let mut at = after_blank_lines(&clusters, 0);
    while at < clusters.len() {
        let full = at + fitting(&clusters[at..], limit);
        let rest = &clusters[at..];
        if rest.iter().take(full - at).all(|cluster| cluster.blank) {
            at += blank_run(rest);
            continue;
        }
        let cut = if full == clusters.len() { full } else { at + best_cut(rest, full - at) };
        let end = clusters[at..cut].iter().rposition(|cluster| !cluster.blank).map_or(cut, |last| at + last + 1);
        chunks.push(clusters[at..end].iter().map(|cluster| cluster.text).collect());
        at = after_cut(&clusters, cut);
    }
    chunks
}

fn clusters(text: &str, limit: Limit) -> Vec<Cluster<'_>> {
    let mut clusters = Vec::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        let cluster = Cluster::new(grapheme, limit);
        if cluster.size <= limit.max {
            clusters.push(cluster);
        } else {
            let chars = grapheme.split("").filter(|char| !char.is_empty());
            clusters.extend(chars.map(|char| Cluster::new(char, limit)));
        }
    }
    clusters
}

/// How many clusters from the start fit.
fn fitting(clusters: &[Cluster<'_>], limit: Limit) -> usize {
    let mut size = 0;
    let over = clusters.iter().position(|cluster| {
        size += cluster.size;
        size > limit.max
    });
    over.unwrap_or(clusters.len())
}

/// How many blank clusters the slice starts with.
fn blank_run(clusters: &[Cluster<'_>]) -> usize {
    clusters.iter().position(|cluster| !cluster.blank).unwrap_or(clusters.len())
}

/// The start of the first line from `at` on that is not blank, its indentation included; `at` if it is in that line.
fn after_blank_lines(clusters: &[Cluster<'_>], at: usize) -> usize {
    let run = blank_run(&clusters[at..]);
    clusters[at..at + run].iter().rposition(|cluster| cluster.newline).map_or(at, |last| at + last + 1)
}

/// Where the next chunk starts: a cut at a line's end keeps the next line's indentation, one between words no blank.
fn after_cut(clusters: &[Cluster<'_>], cut: usize) -> usize {
    let next = after_blank_lines(clusters, cut);
    if next == cut { cut + blank_run(&clusters[cut..]) } else { next }
}

/// What ends where a run of blanks begins; later is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Word,
    Line,
    Paragraph,
}

/// Where to cut within the first `full` clusters, of which not all are blank.
///
/// The best boundary in the second half wins; one in the first half only counts where the second has none, lest
/// a short first paragraph make a tiny chunk.
fn best_cut(clusters: &[Cluster<'_>], full: usize) -> usize {
    let mut best: Option<(bool, Boundary, usize)> = None;
    for cut in (1..=full).filter(|cut| clusters[*cut].blank && !clusters[cut - 1].blank) {
        let run = blank_run(&clusters[cut..]);
        let boundary = match clusters[cut..cut + run].iter().filter(|cluster| cluster.newline).count() {
            0 => Boundary::Word,
            1 => Boundary::Line,
            _ => Boundary::Paragraph,
        };
        best = best.max(Some((cut * 2 >= full, boundary, cut)));
    }
    best.map_or(full, |(_, _, cut)| cut)
}

#[cfg(test)]
mod tests;
