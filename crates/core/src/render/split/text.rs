//! Where a text is cut: at a line's end, else after a sentence, else between words, and only then within a word.

use unicode_segmentation::UnicodeSegmentation;

use crate::render::document::Span;
use crate::render::parse::trim;
use crate::render::split::last_that;

/// What ends at a place; later is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Word,
    Sentence,
    Line,
}

/// A place in a text, by the bytes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CutPoint {
    boundary: Boundary,
    at: usize,
}

/// Cuts a text of which not everything `fits`. The text holds at most `most` chars that could; it is cut within a word
/// only if it `must` be. None if nothing fits;
/// else what fits, which is no longer in the spans.
pub(super) fn cut(
    spans: &mut Vec<Span>,
    most: usize,
    must: bool,
    fits: &dyn Fn(Vec<Span>) -> bool,
) -> Option<Vec<Span>> {
    let window: String = spans.iter().flat_map(|span| span.text.chars()).take(most + 1).collect();
    let fits_at = |at: usize| {
        let head = head(spans, at);
        !head.is_empty() && fits(head)
    };
    let at = between_words(&window, &fits_at).or_else(|| if must { within_word(&window, &fits_at) } else { None })?;
    let taken = head(spans, at);
    remove(spans, at);
    Some(taken)
}

/// The best place between words.
fn between_words(window: &str, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let cuts = cuts(window);
    let last = last_that(0, cuts.len().checked_sub(1)?, &|index| cuts.get(index).is_some_and(|cut| fits(cut.at)))?;
    let far = cuts.get(last)?.at;
    // A place in the first half would make a needlessly short chunk.
    let near = cuts.iter().take(last + 1).filter(|cut| cut.at * 2 >= far);
    near.max_by_key(|cut| (cut.boundary, cut.at)).map(|cut| cut.at)
}

/// The last place between what a reader sees as signs; only a sign that alone is too long is cut itself.
pub(super) fn within_word(window: &str, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    // The window's last sign may go on behind it.
    let graphemes: Vec<usize> = window.grapheme_indices(true).map(|(at, _)| at).filter(|at| *at > 0).collect();
    let chars = || window.char_indices().map(|(at, _)| at).filter(|at| *at > 0).collect::<Vec<_>>();
    last_fitting(&graphemes, fits).or_else(|| last_fitting(&chars(), fits))
}

fn last_fitting(places: &[usize], fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    let last = last_that(0, places.len().checked_sub(1)?, &|index| places.get(index).is_some_and(|at| fits(*at)))?;
    places.get(last).copied()
}

/// The places between words.
fn cuts(window: &str) -> Vec<CutPoint> {
    let mut cuts = Vec::new();
    let mut before: Option<char> = None;
    // The last sign that is neither white nor closes something.
    let mut sentence = false;
    let mut signs = window.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        if !sign.is_whitespace() {
            if before.is_some_and(|before| matches!(before, '。' | '！' | '？') && apart(before, sign)) {
                cuts.push(CutPoint { boundary: Boundary::Sentence, at });
            }
            sentence = ends_sentence(sign) || (sentence && closes(sign));
            before = Some(sign);
            continue;
        }
        let mut line = sign == '\n';
        let mut last = sign;
        while let Some((_, white)) = signs.next_if(|(_, next)| next.is_whitespace()) {
            line |= white == '\n';
            last = white;
        }
        let whole = before.is_some_and(|before| apart(before, sign));
        if whole && signs.peek().is_some_and(|(_, next)| apart(last, *next)) {
            let boundary = match (line, sentence) {
                (true, _) => Boundary::Line,
                (false, true) => Boundary::Sentence,
                (false, false) => Boundary::Word,
            };
            cuts.push(CutPoint { boundary, at });
        }
        before = Some(last);
        sentence = false;
    }
    cuts
}

fn ends_sentence(sign: char) -> bool {
    matches!(sign, '.' | '!' | '?' | '…' | ':' | ';' | '。' | '！' | '？' | '؟')
}

fn closes(sign: char) -> bool {
    matches!(sign, ')' | ']' | '"' | '\'' | '”' | '’' | '“' | '»' | '«' | '」')
}

/// Whether two signs in a row are two for the reader, too.
fn apart(one: char, other: char) -> bool {
    let mut both = String::from(one);
    both.push(other);
    both.is_ascii() || both.graphemes(true).count() > 1
}

/// The text before a place, without the white around it.
fn head(spans: &[Span], at: usize) -> Vec<Span> {
    let mut head = Vec::new();
    let mut left = at;
    for span in spans {
        if left < span.text.len() {
            if left > 0 {
                head.push(span.like(span.text.split_at(left).0));
            }
            break;
        }
        left -= span.text.len();
        head.push(span.clone());
    }
    trim(&mut head);
    head
}

/// Takes the text before a place away, and the white behind it.
fn remove(spans: &mut Vec<Span>, at: usize) {
    let mut left = at;
    let whole = spans.iter().take_while(|span| {
        let within = left >= span.text.len();
        left -= if within { span.text.len() } else { 0 };
        within
    });
    let whole = whole.count();
    spans.drain(..whole);
    if let Some(first) = spans.first_mut() {
        first.text.drain(..left);
    }
    trim(spans);
}
