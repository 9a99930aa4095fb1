//! Takes secrets out of a text by their shape. Pure; what looks like none is left as it is.
//!
//! Start at [`redact`].

use crate::domain::redactor::REDACTED;

/// Keys that begin so, and the least number of characters that follow.
const PREFIXES: [(&str, usize); 19] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("gsk_", 16),
    ("xai-", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
];

/// Words whose value is a secret, where one is given to them.
const NAMES: [&str; 9] =
    ["password", "passwd", "passphrase", "token", "secret", "api_key", "apikey", "api-key", "access_key"];

/// The least length of what is taken for a secret behind such a word.
const VALUE_CHARS_MIN: usize = 4;

/// The word in [`REDACTED`], which is no value.
const MARK: &str = "redacted";

/// The text without secrets.
pub fn redact(text: &str) -> String {
    let text = without_pem(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut named = false;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if !word.is_empty() {
            let secret = is_secret(word) || (named && word != MARK && word.chars().count() >= VALUE_CHARS_MIN);
            out.push_str(if secret { REDACTED } else { word });
            named = is_name(word) && assigns(after);
        }
        let gap = after.find(is_token).unwrap_or(after.len());
        let (between, next) = after.split_at(gap);
        out.push_str(between);
        rest = next;
    }
    out
}

/// Of what keys are made: everything else ends one. `:` is in bot tokens, and is looked at apart.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~' | '!' | '$' | '%' | '*' | '^' | '#')
}

/// Does a value follow, as in `password = x`, `token: x` or `"secret":"x"`?
fn assigns(after: &str) -> bool {
    let between: String = after.chars().take_while(|c| !is_token(*c)).collect();
    let marks = between.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    let one_line = !between.contains('\n');
    one_line && (marks.starts_with('=') || marks.starts_with(':'))
}

fn is_name(word: &str) -> bool {
    let word = word.trim_matches(['-', '_']).to_ascii_lowercase();
    NAMES.iter().any(|name| word.ends_with(name))
}

fn is_secret(word: &str) -> bool {
    is_prefixed(word) || is_jwt(word) || is_bot_half(word)
}

fn is_prefixed(word: &str) -> bool {
    PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix).is_some_and(|key| key.chars().filter(char::is_ascii_alphanumeric).count() >= *least)
    })
}

/// Three parts in URL-safe Base64, of which the first two are JSON objects.
fn is_jwt(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 3 && parts[0].len() > 10 && parts[..2].iter().all(|part| part.starts_with("eyJ"))
}

/// The part of a Telegram bot's token behind the colon: `AA` and 33 more.
fn is_bot_half(word: &str) -> bool {
    word.len() == 35
        && word.starts_with("AA")
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// The same text, with `-----BEGIN … KEY-----` blocks taken out whole, closed or not.
fn without_pem(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        let (before, block) = rest.split_at(start);
        out.push_str(before);
        let end = block.find("-----END ").and_then(|at| {
            let tail = &block[at + "-----END ".len()..];
            tail.find("-----").map(|close| at + "-----END ".len() + close + "-----".len())
        });
        out.push_str(REDACTED);
        rest = end.map_or("", |end| &block[end..]);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_shape() {
        let bot = format!("123456789:AA{}", "x".repeat(33));
        let table = [
            ("key sk-abcdefghijklmnop1234, ok", "key [redacted], ok"),
            ("sk-short", "sk-short"),
            ("ghp_abcdefghijklmnopqrst", "[redacted]"),
            ("ghp_abcdefghijklmnopqrs", "ghp_abcdefghijklmnopqrs"),
            ("xoxb-1234567890-ab", "[redacted]"),
            ("(AKIAIOSFODNN7EXAMPLE)", "([redacted])"),
            ("AKIAIOSFODNN7EXAMPL", "AKIAIOSFODNN7EXAMPL"),
            (bot.as_str(), "123456789:[redacted]"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_", "[redacted]"),
            ("eyJhbGciOiJIUzI1NiJ9.abc.abc", "eyJhbGciOiJIUzI1NiJ9.abc.abc"),
            ("password=hunter2", "password=[redacted]"),
            ("Password: hunter2.", "Password: [redacted]"),
            ("the password is long", "the password is long"),
            (r#"{"api_key": "abcd", "n": 1}"#, r#"{"api_key": "[redacted]", "n": 1}"#),
            ("DB_PASSWORD='p4ss'", "DB_PASSWORD='[redacted]'"),
            ("token: abc", "token: abc"),
            ("token = \"[redacted]\"", "token = \"[redacted]\""),
            ("tokens: 4000", "tokens: 4000"),
            ("password:\nnext line", "password:\nnext line"),
            ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a [redacted] b"),
            ("a -----BEGIN PRIVATE KEY-----\nMII", "a [redacted]"),
            ("", ""),
            ("Grüße, 3 €", "Grüße, 3 €"),
        ];
        for (text, expected) in table {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_breaks_and_a_second_look_changes_nothing(text in "\\PC{0,200}") {
            let once = redact(&text);
            proptest::prop_assert_eq!(redact(&once), once);
        }
    }
}
