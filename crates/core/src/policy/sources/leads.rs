//! What of a text leads somebody on who believes it (row N16): a link, an address of mail, the number of an account, a card or a
//! telephone, a key. Words may come from anywhere; these act.

use crate::policy::sources::{ACCOUNT_CHARS_MIN, is_account, is_moment, plain};

/// So many letters and digits in one piece are no word: a key, or the address of a wallet.
const KEY_CHARS_MIN: usize = 20;

/// The leads of a text, each once, in their order.
pub fn leads(text: &str) -> Vec<String> {
    let text = plain(text);
    let pieces: Vec<&str> = text.split(is_between).map(bare).filter(|piece| !piece.is_empty()).collect();
    let mut found: Vec<String> = Vec::new();
    let mut number: Vec<&str> = Vec::new();
    for piece in pieces.iter().copied().chain([""]) {
        if is_group(piece) {
            number.push(piece);
            continue;
        }
        found.extend(account(&std::mem::take(&mut number)));
        if is_link(piece) || is_address(piece) || is_key(piece) {
            found.push(piece.trim_end_matches('/').to_owned());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|lead| seen.insert(lead.clone()));
    found
}

/// Is it the address of a page, with or without its scheme?
pub fn is_link(text: &str) -> bool {
    let lower = text.to_lowercase();
    let host = lower.split(['/', '?', '#', ':']).next().unwrap_or_default();
    !text.contains(' ') && (lower.contains("://") || is_host(host))
}

fn is_address(piece: &str) -> bool {
    piece.split_once('@').is_some_and(|(name, host)| !name.is_empty() && is_host(&host.to_lowercase()))
}

/// Names with points between them, the last of letters.
fn is_host(text: &str) -> bool {
    let labels: Vec<&str> = text.split(['.', '。']).collect();
    let is_label = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    labels.len() > 1
        && labels.iter().all(is_label)
        && labels
            .last()
            .is_some_and(|last| last.chars().count() > 1 && last.chars().all(|c| c.is_alphabetic() || c == '-'))
}

fn is_key(piece: &str) -> bool {
    piece.chars().count() >= KEY_CHARS_MIN
        && piece.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && piece.contains(|c: char| c.is_ascii_digit())
        && piece.contains(|c: char| c.is_ascii_alphabetic())
}

/// A group of a long number; a day is none.
fn is_group(piece: &str) -> bool {
    piece.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '-' | '+'))
        && piece.contains(|c: char| c.is_ascii_digit())
        && !is_moment(piece)
}

fn account(groups: &[&str]) -> Option<String> {
    let whole = groups.join(" ");
    (whole.len() >= ACCOUNT_CHARS_MIN && is_account(&whole)).then_some(whole)
}

fn is_between(c: char) -> bool {
    matches!(c, ' ' | '<' | '>' | '"' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';')
}

/// Without what ends a sentence, or is set around a word.
fn bare(piece: &str) -> &str {
    piece.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '“' | '”' | '„' | '…'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n16_what_leads_somebody_on_is_found_in_a_text() {
        let cases: &[(&str, &[&str])] = &[
            ("See you on 2026-05-12 at 10:00, and bring 1,050.00 EUR.", &[]),
            ("It is e.g. the 3.5 kg bag, i.e. the U.S. one. Bye...", &[]),
            ("Click www.evil-252.com!", &["www.evil-252.com"]),
            ("(https://Evil.example/a?b=c), or evil.example/x.", &["https://Evil.example/a?b=c", "evil.example/x"]),
            ("[here](http://evil.example/) or evil。example", &["http://evil.example", "evil。example"]),
            ("evil\u{200b}.example, ｅｖｉｌ．example", &["evil.example"]),
            ("write to <ben@evil.example>", &["ben@evil.example"]),
            ("Card 4012 8888 8888 1881, passport AB1234567.", &["4012 8888 8888 1881", "AB1234567"]),
            ("US133000000121212121212 or +49 170 1234567", &["US133000000121212121212", "+49 170 1234567"]),
            ("bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh", &["bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh"]),
            ("a.example a.example", &["a.example"]),
        ];
        for (text, expected) in cases {
            assert_eq!(leads(text), *expected, "{text}");
        }
    }
}
