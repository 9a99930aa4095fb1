//! Does a field of a form ask for a secret? Its name, its title, its description and what the server says of the form are looked at.

use serde_json::Value;

use crate::domain::elicitation::field::{Field, FieldKind};

/// What names a secret wherever it stands: in small letters, without anything between the words.
const SECRETS: [&str; 16] = [
    "password",
    "passwort",
    "kennwort",
    "passwd",
    "passphrase",
    "passcode",
    "apikey",
    "accesskey",
    "privatekey",
    "creditcard",
    "cardnumber",
    "onetimecode",
    "recoverycode",
    "securitycode",
    "verificationcode",
    "seedphrase",
];
/// What does so where words are to be typed.
const OF_WORDS: [&str; 3] = ["secret", "token", "credential"];
/// What does so as the name of a field, and is anything in a sentence.
const SHORT: [&str; 6] = ["pin", "otp", "totp", "2fa", "cvv", "cvc"];
/// The same where words are to be typed.
const SHORT_OF_WORDS: [&str; 2] = ["key", "pwd"];
/// The most words that one name is made of.
const WORDS_MAX: usize = 3;

/// Does it, with what is said of the form?
pub(super) fn asks_for_one(field: &Field, schema: &Value, message: &str) -> bool {
    let (of_words, short_of_words) = match field.kind {
        FieldKind::Words { .. } => (&OF_WORDS[..], &SHORT_OF_WORDS[..]),
        FieldKind::Number { .. } => (&[][..], &[][..]),
        // Nothing is typed that its server has not written.
        FieldKind::YesNo | FieldKind::OneOf { .. } | FieldKind::SomeOf { .. } => return false,
    };
    let said = |key: &str| schema[key].as_str().unwrap_or_default();
    let names = [field.name.as_str(), said("title")].map(joined).concat();
    let about = [said("description"), message].map(joined).concat();
    let has = |names: &[String], secrets: &[&str]| names.iter().any(|name| is_one_of(name, secrets));
    said("format") == "password"
        || [&names, &about].iter().any(|said| has(said, &SECRETS) || has(said, of_words))
        || has(&names, &SHORT)
        || has(&names, short_of_words)
}

fn is_one_of(name: &str, secrets: &[&str]) -> bool {
    secrets.contains(&name) || name.strip_suffix('s').is_some_and(|one| secrets.contains(&one))
}

/// The words of a name or a sentence, each by itself, and joined with those that follow it: `apiKey`, `api_key` and `API key` are
/// the same.
fn joined(text: &str) -> Vec<String> {
    let (mut words, mut word, mut was_small) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if !c.is_alphanumeric() || (was_small && c.is_uppercase()) {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        was_small = c.is_lowercase();
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    (1..=WORDS_MAX).flat_map(|count| words.windows(count).map(<[String]>::concat)).collect()
}
