//! What a call would take out of the house, and whether it stands in a text: an address as a whole, a word as a word.
//!
//! Never: a part of either. Each beginning of a long address would be an address of its own, and which of them is asked for
//! tells its host something. Start at [`Mention::stands_in`].

use url::Url;

/// How an address that is no bare name begins.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// The longest piece of a text that is taken for an address, in bytes.
const PIECE_BYTES_MAX: usize = 16_000;

/// What somebody may have said.
#[derive(Debug, Clone, Copy)]
pub enum Mention<'a> {
    /// This address, without a fragment.
    Address(&'a Url),
    Word(&'a str),
}

impl Mention<'_> {
    /// Does the text name it, whole?
    pub fn stands_in(&self, text: &str) -> bool {
        match self {
            Self::Address(url) => {
                address_candidates(text).any(|piece| forms(piece).into_iter().any(|form| names(form, url)))
            }
            Self::Word(word) => {
                let word = word.to_lowercase();
                text.split(|c: char| !c.is_alphanumeric()).any(|other| other.to_lowercase() == word)
            }
        }
    }

    /// Might whoever wrote the text have brought it up, if only as a part of something?
    pub fn is_hinted_in(&self, text: &str) -> bool {
        match self {
            Self::Address(url) => text.contains(url.as_str().trim_end_matches('/')) || self.stands_in(text),
            Self::Word(_) => self.stands_in(text),
        }
    }
}

/// The pieces of a text that may be addresses: what stands between spaces, quotes and the like, and between a link's words and
/// its target. A backslash is a text's way to write the character behind it.
fn address_candidates(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`' | '|'));
    let parts = parts.flat_map(|part| part.split("]("));
    parts
        .filter(|part| part.len() <= PIECE_BYTES_MAX && part.contains(['.', ':']))
        .map(|part| part.chars().filter(|c| *c != '\\').collect())
}

/// The piece as the address that it is, and the same without what ends a sentence. Only its first address counts: those
/// within are parts of it.
fn forms(piece: String) -> [String; 2] {
    let lower = piece.to_ascii_lowercase();
    let begins = SCHEMES.iter().filter_map(|scheme| lower.find(scheme)).min();
    let whole = match begins {
        // In the middle of a word no address begins.
        Some(at) if piece[..at].ends_with(|c: char| c.is_alphanumeric() || c == '%') => "",
        Some(at) if piece[..at].ends_with('\'') => piece[at..].split('\'').next().unwrap_or_default(),
        Some(at) => &piece[at..],
        None => piece.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '['),
    };
    let whole = balanced(whole);
    let ended = whole.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
    [whole.to_owned(), ended.to_owned()]
}

/// Its path, without one slash at the end.
fn path(url: &Url) -> &str {
    url.path().strip_suffix('/').unwrap_or(url.path())
}

/// Up to the bracket that closes one which was opened before it.
fn balanced(text: &str) -> &str {
    let (mut round, mut square) = (0_usize, 0_usize);
    for (at, c) in text.char_indices() {
        let open = match c {
            '(' | '[' => {
                *(if c == '(' { &mut round } else { &mut square }) += 1;
                continue;
            }
            ')' => &mut round,
            ']' => &mut square,
            _ => continue,
        };
        match open.checked_sub(1) {
            Some(left) => *open = left,
            None => return &text[..at],
        }
    }
    text
}

/// Is it this address? What people leave out does not count: the scheme, one slash at the end, and what is behind `#`.
fn names(form: String, url: &Url) -> bool {
    let has_scheme =
        SCHEMES.iter().any(|scheme| form.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)));
    if !has_scheme && !form.contains('.') && !form.starts_with('[') {
        return false;
    }
    let form = if has_scheme { form } else { format!("https://{form}") };
    let Ok(named) = Url::parse(&form) else { return false };
    named.username().is_empty()
        && named.password().is_none()
        && named.host() == url.host()
        && named.port() == url.port()
        && path(&named) == path(url)
        && named.query() == url.query()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(address: &str, text: &str) -> bool {
        Mention::Address(&Url::parse(address).unwrap()).stands_in(text)
    }

    #[test]
    fn an_address_stands_there_whole_or_not_at_all() {
        let long = "https://evil.example/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?q=bbbbbbbbbbbbbbbbbbbb";
        let text = format!("See {long}, please.");
        assert!(stands(long, &text));
        let at = |end: usize| long[..end].to_owned();
        for end in "https://evil.example".len()..long.len() {
            assert!(!stands(&at(end), &text), "{}", at(end));
        }
        for inner in ["https://b.example/x", "https://b.example/"] {
            assert!(!stands(inner, "https://evil.example/?to=https://b.example/x"), "a part of another");
            assert!(!stands(inner, "xhttps://b.example/x and %2Fhttps://b.example/"));
        }
    }

    #[test]
    fn an_address_is_found_as_people_and_pages_write_it() {
        for (address, text) in [
            ("https://a.example/p?id=7", "Look at (https://a.example/p?id=7)."),
            ("https://a.example/p?id=7", "[a page](https://a.example/p?id=7), [another](https://b.example/)"),
            ("https://b.example/", "[a page](https://a.example/p?id=7),[another](https://b.example)"),
            ("https://a.example/p", r#"{"url":"https:\/\/a.example\/p"}"#),
            ("https://a.example/p", "<https://A.example/p#part>"),
            ("https://a.example/p/", "https://a.example/p"),
            ("https://a.example/p", "url=https://a.example/p/"),
            ("https://a.example/p", "href='https://a.example/p' or"),
            ("https://a.example/p", "**https://a.example/p**"),
            ("https://a.example/x_(y)", "https://a.example/x_(y)"),
            ("https://a.example/x_(y)", "[z](https://a.example/x_(y))"),
            ("https://a.example/x_y", r"https://a.example/x\_y"),
            ("https://news.example/", "on news.example, today"),
            ("https://news.example/a", "news.example/a"),
            ("http://192.168.1.9/state", "at http://192.168.1.9/state!"),
            ("https://xn--bcher-kva.example/", "https://BÜCHER.example/"),
        ] {
            assert!(stands(address, text), "{address} in {text}");
        }
    }

    #[test]
    fn what_is_spelt_otherwise_is_another_address() {
        for (address, text) in [
            ("https://a.example/%61", "https://a.example/a"),
            ("https://a.example/a", "https://a.example/%61"),
            ("https://a.example/A", "https://a.example/a"),
            ("https://a.example/a//", "https://a.example/a"),
            ("https://a.example/a?", "https://a.example/a"),
            ("https://a.example/a?b", "https://a.example/a"),
            ("https://a.example/a", "https://a.example/a?b"),
            ("https://a.example:8443/a", "https://a.example/a"),
            ("https://b.a.example/", "https://a.example/"),
            ("https://a.example/", "https://b.a.example/"),
            ("https://a.example/", "mail ada@a.example"),
            ("https://a.example/", "https://ada:pw@a.example/"),
            ("https://a.example/", "https://a.example.evil/"),
            ("https://a.example./", "https://a.example/"),
            ("https://a.example/x,", "https://a.example/x,,,,"),
        ] {
            assert!(!stands(address, text), "{address} in {text}");
        }
    }

    #[test]
    fn a_word_is_a_word() {
        let has = |word: &str| Mention::Word(word).stands_in("Order no. 4711, for Ada: Grüße!");
        assert!(has("4711") && has("ada") && has("ORDER") && has("grüße"));
        assert!(!has("47") && !has("rde") && !has("no. 4711") && !has("Ad"));
    }
}
