//! How much a message matters, by rule, when it is stored (row A1).
//!
//! | what | score |
//! |---|---|
//! | to begin with | 0.3 |
//! | it asks to be remembered, or says never, always, important | + 0.4 |
//! | it tells of the speaker: I am, my, we have | + 0.2 |
//! | it is a mere greeting, thanks or one word | 0.1 |

/// The score, from 0 to 1.
#[must_use]
pub fn score(text: &str) -> f64 {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let says = |list: &[&str]| words.iter().any(|word| list.contains(word));
    if words.len() <= 1 || (words.len() <= 3 && says(&["hi", "hello", "hallo", "thanks", "danke", "ok"])) {
        return 0.1;
    }
    let mut score: f64 = 0.3;
    if says(&["remember", "important", "never", "always", "merke", "wichtig", "nie", "immer"]) {
        score += 0.4;
    }
    if says(&["i", "my", "we", "our", "ich", "mein", "meine", "wir", "unser", "unsere"]) {
        score += 0.2;
    }
    score.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn a1_scores_by_the_table() {
        for (text, expected) in [
            ("", 0.1),
            ("ok thanks", 0.1),
            ("what is the weather like", 0.3),
            ("my sister is called Anna", 0.5),
            ("remember the milk please", 0.7),
            ("remember that my birthday is on 3 May", 0.9),
        ] {
            assert!((score(text) - expected).abs() < 1e-9, "{text}: {}", score(text));
        }
    }
}
