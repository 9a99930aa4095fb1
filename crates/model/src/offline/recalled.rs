//! What of a found memory answers: `recall` also tells what only stands near it, which a better reader puts to use.
//!
//! Never: guessing. A line that has none of the words is shown only where nothing has them, and only if that was asked for.

use jiff::civil::Date;

use crate::offline::intent::{self, Intent};

/// How much of a word must be the same, without its last s: "bins" finds "bin", "birthday" finds "birthdays".
const ROOT_CHARS: usize = 4;

/// The lines of a result that answer; with `facts`, what was said only where no fact is known.
pub(super) fn answering<'a>(result: &'a str, query: &str, facts: bool) -> Vec<&'a str> {
    let lines = result.lines().map(str::trim_end).filter(|line| line.starts_with("- "));
    let (said, known): (Vec<&str>, Vec<&str>) = lines.partition(|line| quoted_words(line).is_some());
    if facts && !known.is_empty() {
        return known;
    }
    let roots = roots(query);
    let tells = |line: &&str| quoted_words(line).is_some_and(|words| !is_request(words));
    let telling: Vec<&str> = said.into_iter().filter(tells).collect();
    let has_word = |line: &&str| {
        let text = quoted_words(line).unwrap_or_default().to_lowercase();
        roots.iter().any(|root| text.split(|c: char| !c.is_alphanumeric()).any(|word| word.starts_with(root)))
    };
    let with_words: Vec<&str> = telling.iter().copied().filter(has_word).collect();
    let said = if with_words.is_empty() && !facts { telling } else { with_words };
    [known, said].concat()
}

/// Something that was told, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecalledLine<'a> {
    pub(super) day: Option<Date>,
    /// Who said it; none: whoever asks.
    pub(super) by: Option<&'a str>,
    pub(super) words: &'a str,
}

/// How a name is asked for: what is named counts.
const NAMING: &[&str] = &["call", "name", "heiß", "heis"];

/// The most that is told in answer to a question.
const BEST_MAX: usize = 3;

/// What has the most words of a question; what was said goes before the fact that was made of it. None, if nothing has any.
pub(super) fn best<'a>(result: &'a str, query: &str) -> Vec<RecalledLine<'a>> {
    let (naming, subject): (Vec<String>, Vec<String>) =
        roots(query).into_iter().partition(|root| NAMING.contains(&root.as_str()));
    let hits = |told: &str| {
        let lower = told.to_lowercase();
        let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
        let of =
            |roots: &[String]| roots.iter().filter(|root| words.iter().any(|word| word.starts_with(*root))).count();
        // One word in common of many is not an answer.
        let about = of(&subject);
        if about * 2 > subject.len() { about + of(&naming) } else { 0 }
    };
    let lines = result.lines().map(str::trim_end).filter(|line| line.starts_with("- "));
    let told = lines.filter_map(|line| match quoted_words(line) {
        Some(words) => (!is_request(words)).then(|| (false, spoken_line(line, words))),
        None => Some((true, fact(line))),
    });
    let mut told: Vec<(usize, bool, RecalledLine<'a>)> =
        told.map(|(is_fact, told)| (hits(told.words), is_fact, told)).filter(|(hits, ..)| *hits > 0).collect();
    let most = told.iter().map(|(hits, ..)| *hits).max().unwrap_or(0);
    told.retain(|(hits, ..)| *hits == most);
    if told.iter().any(|(_, is_fact, _)| !is_fact) {
        told.retain(|(_, is_fact, _)| !is_fact);
    }
    told.into_iter().map(|(_, _, told)| told).take(BEST_MAX).collect()
}

fn spoken_line<'a>(line: &'a str, words: &'a str) -> RecalledLine<'a> {
    let by = line
        .get(12..)
        .and_then(|rest| rest.strip_prefix(", "))
        .and_then(|rest| rest.split_once(": \""))
        .map(|(by, _)| by);
    RecalledLine { day: line.get(2..12).and_then(|day| day.parse().ok()), by, words: intent::without_remember(words) }
}

/// Of `- my cat: called Miso (2026-05-03)`.
fn fact(line: &str) -> RecalledLine<'_> {
    let words = line.trim_start_matches("- ");
    let dated = words.rsplit_once(" (").and_then(|(words, day)| Some((words, day.get(..10)?.parse().ok()?)));
    let (words, day) = dated.map_or((words, None), |(words, day)| (words, Some(day)));
    RecalledLine { day, by: None, words }
}

/// What somebody said, of `- 2026-05-03, Anna: "…" (after: "…")`; none: it is a fact.
fn quoted_words(line: &str) -> Option<&str> {
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
    fn what_has_the_most_words_of_a_question_answers_it() {
        let told = |lines: &[&str], query: &str| {
            let lines = lines.join("\n");
            let words =
                best(&lines, query).into_iter().map(|told| format!("{:?} {:?} {}", told.day, told.by, told.words));
            words.collect::<Vec<_>>()
        };
        let said = "- 2026-05-03: \"remember that my cat is called Miso\"";
        let fact = "- my cat: called Miso (2026-05-03)";
        let other = "- 2026-05-04, Anna: \"the cat was at the vet\" (after: \"where?\")";
        let asked = "- 2026-05-05: \"what is my cat called?\"";
        let day = "Some(2026-05-03) None";
        assert_eq!(told(&[asked, fact, said, other], "cat called"), [format!("{day} my cat is called Miso")]);
        assert_eq!(told(&[asked, fact, other], "cat called"), [format!("{day} my cat: called Miso")]);
        assert_eq!(told(&[other], "vet"), ["Some(2026-05-04) Some(\"Anna\") the cat was at the vet"]);
        assert_eq!(told(&[said], "cat name"), [format!("{day} my cat is called Miso")]);
        assert!(told(&[asked, said, fact, other], "dog called").is_empty());
        assert!(told(&[said], "called").is_empty(), "of what?");
    }

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
