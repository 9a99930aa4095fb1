//! Which addresses may become links, and the bare ones in a text.

use std::rc::Rc;

use url::Url;

use crate::render::document::{Span, Style};

/// The schemes that a link may have. What a browser or a client would run or open from the disk is not among them.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

/// What a bare address begins with.
const BARE: [&str; 2] = ["https://", "http://"];

/// A longer bare address stays text.
const BARE_BYTES_MAX: usize = 2_048;

/// The address to link to, in ASCII without spaces, quotes and brackets; none if it is not absolute or not safe.
pub(super) fn safe(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    if !SCHEMES.contains(&url.scheme()) {
        return None;
    }
    let plain = |sign: char| sign.is_ascii_graphic() && !matches!(sign, '<' | '>' | '"' | '\'' | '`' | '\\' | '|');
    let as_written = address.trim();
    if as_written.chars().all(plain) {
        return Some(as_written.to_owned());
    }
    let mut encoded = String::with_capacity(url.as_str().len());
    for sign in url.as_str().chars() {
        match sign {
            '|' => encoded.push_str("%7C"),
            '\'' => encoded.push_str("%27"),
            '`' => encoded.push_str("%60"),
            '\\' => encoded.push_str("%5C"),
            sign if plain(sign) => encoded.push(sign),
            // `Url` leaves none of these; what it would leave is not an address.
            _ => return None,
        }
    }
    Some(encoded)
}

/// Whether a link's text is its address already, so that the reader needs no other.
pub(super) fn shows(label: &str, address: &str) -> bool {
    let label = label.trim().trim_end_matches('/');
    let address = address.trim_end_matches('/');
    let bare = ["mailto:", "tel:", "https://", "http://"].into_iter().find_map(|scheme| address.strip_prefix(scheme));
    label == address || bare == Some(label)
}

/// Makes links of the bare addresses in spans that are neither links nor code.
pub(super) fn found(spans: Vec<Span>) -> Vec<Span> {
    if !spans.iter().any(|span| span.text.contains("://")) {
        return spans;
    }
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        if span.link.is_some() || span.style.has(Style::CODE) {
            out.push(span);
        } else {
            find(&span, &mut out);
        }
    }
    out
}

/// Cuts one span at the addresses in it.
fn find(span: &Span, out: &mut Vec<Span>) {
    let mut before = String::new();
    let mut rest = span.text.as_str();
    while let Some((text, from)) = next(rest) {
        before.push_str(text);
        let end = from.find(|sign: char| sign.is_whitespace() || "<>\"`".contains(sign)).unwrap_or(from.len());
        let (run, behind) = from.split_at(end);
        let (address, after) = from.split_at(without_stops(run));
        let glued = before.chars().next_back().is_some_and(char::is_alphanumeric);
        match safe(address).filter(|_| !glued && address.len() <= BARE_BYTES_MAX) {
            Some(link) => {
                if !before.is_empty() {
                    out.push(span.like(std::mem::take(&mut before)));
                }
                out.push(Span { text: address.to_owned(), style: span.style, link: Some(Rc::from(link)) });
                rest = after;
            }
            None => {
                // Past the run, so that each is looked at once.
                before.push_str(run);
                rest = behind;
            }
        }
    }
    before.push_str(rest);
    if !before.is_empty() {
        out.push(span.like(before));
    }
}

/// The text before the next bare address, and the text from it on.
fn next(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = text.split_at(from).1.find("://").map(|at| from + at) {
        let (before, _) = text.split_at(at);
        let after = at + 3;
        for scheme in BARE {
            if before.ends_with(scheme.trim_end_matches("://")) {
                return Some(text.split_at(after - scheme.len()));
            }
        }
        from = after;
    }
    None
}

/// The length of an address without the full stop, or the bracket, that belongs to the sentence around it.
fn without_stops(address: &str) -> usize {
    let open = address.matches('(').count();
    let mut close = address.matches(')').count();
    let mut end = address.len();
    for sign in address.chars().rev() {
        match sign {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '|' | '\u{2026}' => {}
            ')' if close > open => close -= 1,
            _ => break,
        }
        end -= sign.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reader_may_follow_is_a_link() {
        for (address, link) in [
            ("https://example.org", Some("https://example.org")),
            ("HTTPS://example.org/a_(b)?c=d&e#f", Some("HTTPS://example.org/a_(b)?c=d&e#f")),
            ("https://bücher.example/ä b|'c", Some("https://xn--bcher-kva.example/%C3%A4%20b%7C%27c")),
            ("mailto:anna@example.org", Some("mailto:anna@example.org")),
            ("javascript:alert(1)", None),
            ("java\nscript:alert(1)", None),
            (" data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("tg://user?id=1", None),
            ("/relative", None),
            ("#part", None),
            ("", None),
        ] {
            assert_eq!((address, safe(address).as_deref()), (address, link));
        }
    }

    #[test]
    fn bare_addresses_end_where_the_sentence_goes_on() {
        let links = |text: &str| -> Vec<String> {
            let spans = found(vec![Span::plain(text)]);
            assert_eq!(spans.iter().map(|span| span.text.as_str()).collect::<String>(), text);
            spans.into_iter().filter(|span| span.link.is_some()).map(|span| span.text).collect()
        };
        assert_eq!(
            links("see https://a.example/b_c, or (http://d.example/e)."),
            ["https://a.example/b_c", "http://d.example/e"]
        );
        assert_eq!(links("https://de.example/wiki/Hof_(Saale)"), ["https://de.example/wiki/Hof_(Saale)"]);
        assert_eq!(links("xhttps://no.example ftp://no.example https:// :// end"), Vec::<String>::new());
    }
}
