//! A value among words: from the beginning of a token to the end of one.

/// Does it stand there, and is it no part of something longer?
pub(super) fn is_in(value: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let value: Vec<char> = value.chars().collect();
    let Some(last_start) = text.len().checked_sub(value.len()) else { return false };
    let is_bare = value.iter().all(|c| c.is_alphanumeric() || *c == ' ');
    (0..=last_start).any(|at| {
        let end = at + value.len();
        text.get(at..end) == Some(value.as_slice())
            && !goes_on(text[..at].iter().rev().copied(), value.first().copied(), is_bare)
            && !goes_on(text[end..].iter().copied(), value.last().copied(), is_bare)
    })
}

/// Does a token go on beyond its edge? `outside` are the characters from there.
///
/// Where words are not set apart by spaces, a word of another script ends a bare name or number; an address goes on.
pub(super) fn goes_on(outside: impl Iterator<Item = char>, edge: Option<char>, is_bare: bool) -> bool {
    let mut has_joined = false;
    for c in outside {
        if is_joiner(c) {
            has_joined = true;
            continue;
        }
        let other_script = is_bare && !has_joined && edge.is_some_and(|edge| edge.is_ascii() && is_unspaced(c));
        return is_word(c) && !other_script;
    }
    false
}

/// What stands within addresses, paths, numbers and names that are put together.
fn is_joiner(c: char) -> bool {
    matches!(
        c,
        '.' | '_'
            | '-'
            | '+'
            | '@'
            | '/'
            | '\\'
            | ':'
            | '%'
            | '&'
            | '='
            | '#'
            | '~'
            | '?'
            | '!'
            | '$'
            | '*'
            | '|'
            | '\u{2010}'..='\u{2015}' | '\u{2212}'
    )
}

/// A letter, a digit, or a mark upon one: whatever is not known to stand between words.
pub(super) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let is_between = matches!(
        u32::from(c),
        0xA1 | 0xA7 | 0xAB | 0xB6 | 0xB7 | 0xBB | 0xBF | 0x20A0..=0x20CF | 0x2010..=0x205E | 0x3000..=0x303F | 0xFF01..=0xFF0F
            | 0xFF1A..=0xFF20 | 0x60C | 0x61B | 0x61F | 0x6D4 | 0x964 | 0x965 | 0x5BE | 0x5C0 | 0x5C3 | 0xA2..=0xA5
    );
    !is_between && !c.is_whitespace()
}

/// Scripts that set no spaces between words, or hang endings on them.
fn is_unspaced(c: char) -> bool {
    matches!(
        u32::from(c),
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0x20000..=0x3FFFF
    )
}

/// Does it stand there in groups, such as `DE89 3704 …`, and is it no part of a longer row of them?
pub(super) fn is_grouped_in(value: &str, text: &str) -> bool {
    let value = compact(value);
    let groups: Vec<&str> = text.split(' ').map(bare).collect();
    let raw: Vec<&str> = text.split(' ').collect();
    (0..groups.len()).any(|from| {
        let mut so_far = String::new();
        for to in from..groups.len() {
            so_far.push_str(&compact(groups[to]));
            if so_far == value {
                return to == from || (!is_group_before(&raw, from) && !is_group_after(&raw, to));
            }
            // A sign that ends a sentence ends the row as well.
            if !value.starts_with(&so_far) || so_far.is_empty() || ends(raw[to]) {
                return false;
            }
        }
        false
    })
}

/// A piece without what is set around it: quotes, brackets, the sign that ends a sentence.
fn bare(piece: &str) -> &str {
    piece.trim_matches(|c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '(' | ')' | '[' | ']' | '`' | '“' | '”' | '„')
    })
}

fn compact(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-')).flat_map(char::to_uppercase).collect()
}

fn ends(piece: &str) -> bool {
    piece.ends_with([',', ';', '.', ':', '!', '?', ')', '"'])
}

/// Might the piece before or behind be one more group?
fn is_group_before(pieces: &[&str], from: usize) -> bool {
    let before = from.checked_sub(1).and_then(|at| pieces.get(at));
    before.is_some_and(|piece| !ends(piece) && is_group(piece))
}

fn is_group_after(pieces: &[&str], to: usize) -> bool {
    !ends(pieces[to]) && pieces.get(to + 1).is_some_and(|piece| is_group(bare(piece)))
}

fn is_group(piece: &str) -> bool {
    piece.chars().any(|c| c.is_ascii_digit())
}
