//! What of a found memory answers: `recall` also tells what only stands near it, which a better reader puts to use.
//!
//! Never: guessing. A line that has none of the words is shown only where nothing has them, and only if that was asked for.

use crate::offline::intent::{self, Intent};

/// How much of a word must be the same, without its last s: "bins" finds "bin", "birthday" finds "birthdays".
const ROOT_CHARS: usize = 4;

/// The lines of a result that answer; with `facts`, what was said only where no fact is known.
pub(super) fn answering<'a>(result: &'a str, query: &str, facts: bool) -> Vec<&'a str> {
    let lines = result.lines().map(str::trim_end).filter(|line| line.starts_with("- "));
    let (said, known): (Vec<&str>, Vec<&str>) = lines.partition(|line| words_said(line).is_some());
    if facts && !known.is_empty() {
        return known;
    }
    let roots = roots(query);
    let tells = |line: &&str| words_said(line).is_some_and(|words| !is_request(words));
    let telling: Vec<&str> = said.into_iter().filter(tells).collect();
    let has_word = |line: &&str| {
        let text = words_said(line).unwrap_or_default().to_lowercase();
        roots.iter().any(|root| text.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(root)))
    };
    let with_words: Vec<&str> = telling.iter().copied().filter(has_word).collect();
    let said = if with_words.is_empty() && !facts { telling } else { with_words };
    [known, said].concat()
}

/// What somebody said, of `- 2026-05-03, Anna: "…" (after: "…")`; none: it is a fact.
fn words_said(line: &str) -> Option<&str> {
    let day = line.strip_prefix("- ")?.get(..10)?;
    let is_day = day.chars().enumerate().all(|(at, c)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() });
    let (_, words) = line.split_once(": \"")?;
    let words = words.split_once("\" (after: ").map_or(words, |(words, _)| words);
    is_day.then(|| words.strip_suffix('"').unwrap_or(words))
}

/// Whether it asks Hob for something, and so tells nothing.
fn is_request(words: &str) -> bool {
    !matches!(intent::parse(words).0, Intent::Unknown | Intent::Remember(_))
}

/// The beginnings of the words that are looked for.
fn roots(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let root = |word: &str| word.to_lowercase().trim_end_matches('s').chars().take(ROOT_CHARS).collect::<String>();
    words.map(root).filter(|root| !root.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_found_that_answers_which_has_the_words() {
        let bins = "- 2026-05-03: \"the bin goes out on Tuesday\"";
        let asked = "- 2026-05-03: \"what do you know about the bins?\"";
        let beside = "- 2026-05-03, Bo: \"soup was fine\" (after: \"Anna: the bins?\")";
        let fact = "- bins: on Tuesday (2026-05-03)";
        let table = [
            (vec![bins, asked, beside], true, vec![bins]),
            (vec![bins, asked, beside], false, vec![bins]),
            (vec![beside, asked], true, vec![]),
            (vec![beside, asked], false, vec![beside]),
            (vec![fact, bins, beside], true, vec![fact]),
            (vec![fact, bins, beside], false, vec![fact, bins]),
            (vec!["Nothing found."], true, vec![]),
        ];
        for (lines, facts, expected) in table {
            assert_eq!(answering(&lines.join("\n"), "bins", facts), expected, "{lines:?} {facts}");
        }
    }
}
