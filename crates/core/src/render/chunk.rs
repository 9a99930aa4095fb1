//! Cuts plain text into chunks that a platform takes, in the platform's own unit.

use unicode_segmentation::UnicodeSegmentation;

use crate::domain::capabilities::Limit;

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
        if cluster.size <= limit.max() {
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
        size > limit.max()
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
