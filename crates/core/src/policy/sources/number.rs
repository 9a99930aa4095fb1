//! Numbers by their amount.

use crate::policy::arguments::{Decimal, decimal};
use crate::policy::sources::token::goes_on;

/// The amount that a value is, if it is one and nothing else: what begins with a zero is the name of something.
pub(super) fn of(value: &str) -> Option<Decimal> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = all_digits(whole) && all_digits(part) && (whole == "0" || !whole.starts_with('0'));
    is_number.then(|| decimal(value)).flatten()
}

/// Does the text have a number of this amount?
pub(super) fn is_in(number: &Decimal, text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if !chars[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = end_of(&chars, at);
        let minus = at > 0 && chars[at - 1] == '-' && !goes_on(chars[..at].iter().rev().copied(), None, true);
        let written: String = chars[at..end].iter().collect();
        let edges = [chars.get(at), chars.get(end.saturating_sub(1))].map(|edge| edge.copied());
        let is_whole = !goes_on(chars[..at].iter().rev().copied(), edges[0], true)
            && !goes_on(chars[end..].iter().copied(), edges[1], true);
        let plain = plain(&written).map(|plain| if minus { format!("-{plain}") } else { plain });
        if is_whole && plain.and_then(|plain| decimal(&plain)).as_ref() == Some(number) {
            return true;
        }
        at = end;
    }
    false
}

/// The end of the number that begins here: digits, and separators between digits.
fn end_of(chars: &[char], from: usize) -> usize {
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut end = from;
    while digit(end) || (chars.get(end).is_some_and(|c| matches!(c, '.' | ',' | '\'' | '’')) && digit(end + 1)) {
        end += 1;
    }
    end
}

/// The same with a point before its part, and nothing between its thousands; none: it can be read in two ways, or in none.
///
/// Groups of three are thousands. Else the last separator stands before the part.
fn plain(written: &str) -> Option<String> {
    let is_separator = |c: char| matches!(c, '.' | ',' | '\'' | '’');
    let groups: Vec<&str> = written.split(is_separator).collect();
    let signs: Vec<char> = written.chars().filter(|c| is_separator(*c)).collect();
    let (first, rest) = groups.split_first()?;
    if rest.is_empty() {
        return Some((*first).to_owned());
    }
    let is_grouped = |groups: &[&str], signs: &[char]| {
        groups.iter().all(|group| group.len() == 3)
            && (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && signs.windows(2).all(|pair| pair[0] == pair[1])
    };
    if is_grouped(rest, &signs) {
        return Some(groups.concat());
    }
    let (part, thousands) = rest.split_last()?;
    let (point, between) = signs.split_last()?;
    let is_part = matches!(point, '.' | ',') && between.iter().all(|sign| sign != point);
    let fits = is_part && (thousands.is_empty() || is_grouped(thousands, between));
    fits.then(|| format!("{first}{}.{part}", thousands.concat()))
}
