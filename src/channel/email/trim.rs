//! What is new in a letter: without the letters that it quotes, and without its signature.

/// A letter's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trimmed {
    /// What is new.
    pub(super) text: String,
    /// Lines that were quoted and are left out.
    pub(super) quoted: usize,
}

/// At most so many lines may an "On … wrote:" be long, as programs break it.
const ATTRIBUTION_LINES: usize = 3;

/// Words of an attribution, which ends with a colon, in the languages of common programs.
const WROTE: [&str; 11] = [
    "wrote",
    "schrieb",
    "a écrit",
    "escribió",
    "ha scritto",
    "schreef",
    "escreveu",
    "skrev",
    "napisał",
    "написал",
    "kirjoitti",
];
/// Words that begin one: without one of these a line that ends like one is somebody's own.
const BEGINS: [&str; 14] =
    ["on ", "am ", "le ", "el ", "il ", "op ", "em ", "den ", "w dniu ", "dnia ", "la ", "at ", "ke ", "pe "];

/// Lines after which nothing is new.
const DIVIDERS: [&str; 8] = [
    "-----original message-----",
    "----- original message -----",
    "-----ursprüngliche nachricht-----",
    "________________________________",
    "-------- original message --------",
    "----- forwarded message -----",
    "-----message d'origine-----",
    "-----mensaje original-----",
];

/// The new words of a plain text. One that is all quoted is left as it is: somebody sends on what they read.
pub(super) fn trim(text: &str) -> Trimmed {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = end_of_new(&lines);
    let mut kept: Vec<&str> = Vec::with_capacity(end);
    let mut quoted = lines.get(end..).unwrap_or_default().iter().filter(|line| !line.is_empty()).count();
    let own = lines.get(..end).unwrap_or_default();
    let mut at = 0;
    while let Some(line) = own.get(at) {
        let attribution = attribution_at(own, at).filter(|length| {
            own.get(at + length..)
                .unwrap_or_default()
                .iter()
                .find(|line| !line.is_empty())
                .is_none_or(|line| is_quoted(line))
        });
        if let Some(length) = attribution {
            quoted += length;
            at += length;
            continue;
        }
        if is_quoted(line) {
            quoted += 1;
        } else {
            kept.push(line);
        }
        at += 1;
    }
    let new = joined(&kept);
    if new.is_empty() { Trimmed { text: text.trim().to_owned(), quoted: 0 } } else { Trimmed { text: new, quoted } }
}

/// The first line that belongs to an older letter as a whole, or to the signature.
fn end_of_new(lines: &[&str]) -> usize {
    let ends = |at: usize| -> bool {
        let line = lines.get(at).copied().unwrap_or_default();
        // RFC 3676: `-- ` alone; the space at its end is gone here.
        line == "--" || is_divider(line) || is_outlook_block(lines, at)
    };
    (0..lines.len()).find(|at| ends(*at)).unwrap_or(lines.len())
}

fn is_divider(line: &str) -> bool {
    let lower = line.trim().trim_matches('*').to_lowercase();
    DIVIDERS.contains(&lower.as_str())
}

fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// `From: … Sent: … To: … Subject: …`, one below the other, as Outlook puts them before what it quotes.
fn is_outlook_block(lines: &[&str], at: usize) -> bool {
    let key = |at: usize| {
        let line = lines.get(at).copied().unwrap_or_default().trim().replace('*', "").to_lowercase();
        line.split_once(':').map(|(key, _)| key.trim().to_owned())
    };
    let is = |at: usize, keys: &[&str]| key(at).is_some_and(|key| keys.contains(&key.as_str()));
    if !is(at, &["from", "von", "de", "da", "van", "från"]) {
        return false;
    }
    let then = (at + 1..at + 5).filter(|at| {
        is(
            *at,
            &[
                "sent", "to", "subject", "date", "cc", "gesendet", "an", "betreff", "envoyé", "à", "objet", "enviado",
                "para", "asunto",
            ],
        )
    });
    then.count() >= 2
}

/// How many lines long an attribution is that begins here.
fn attribution_at(lines: &[&str], at: usize) -> Option<usize> {
    let first = lines.get(at)?.trim_start().to_lowercase();
    if !BEGINS.iter().any(|begin| first.starts_with(begin)) {
        return None;
    }
    (1..=ATTRIBUTION_LINES).find(|length| {
        let Some(all) = lines.get(at..at + length) else { return false };
        let whole = all.join(" ").trim().to_lowercase();
        whole.ends_with(':') && WROTE.iter().any(|wrote| whole.contains(wrote))
    })
}

/// The lines, with no empty ones around them and never two together.
fn joined(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut empty = 0;
    for line in lines {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim().to_owned()
}

/// `format=flowed` (RFC 3676): lines that end with a space go on in the next one.
pub(super) fn unflowed(text: &str, delsp: bool) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'>').count();
        let bare = line.get(depth..).unwrap_or_default();
        let bare = bare.strip_prefix(' ').unwrap_or(bare);
        let signature = bare == "-- ";
        if open == Some(depth) && !signature {
            whole.push_str(bare);
        } else {
            if !whole.is_empty() {
                whole.push('\n');
            }
            if depth > 0 {
                whole.push_str(&">".repeat(depth));
                whole.push(' ');
            }
            whole.push_str(bare);
        }
        let flows = bare.ends_with(' ') && !signature;
        if flows && delsp {
            whole.pop();
        }
        open = flows.then_some(depth);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(text: &str) -> (String, usize) {
        let Trimmed { text, quoted } = trim(text);
        (text, quoted)
    }

    #[test]
    fn n14_only_what_is_new_is_left() {
        for (letter, expected, quoted) in [
            ("Yes.\n\nOn Mon, 1 Jan 2026 at 10:00, Hob <hob@x.example> wrote:\n> Tea?\n> Or not?\n", "Yes.", 3),
            ("Ja.\n\nAm 01.01.2026 um 10:00 schrieb\nHob <hob@x.example>:\n> Tee?", "Ja.", 3),
            ("Ja.\n\nAm 01.01.2026 um 10:00 schrieb Hob:\n\n> Tee?", "Ja.", 2),
            (
                "On Mon, 1 Jan 2026, somebody with a long name\n<long@x.example> wrote:\n> Tea?\n\nYes, please.",
                "Yes, please.",
                3,
            ),
            ("> Tea?\nYes.\n> Milk?\nNo.", "Yes.\nNo.", 2),
            ("Fine.\n\n-----Original Message-----\nFrom: Hob\nTea?", "Fine.", 3),
            ("Fine.\n\nFrom: Hob <hob@x.example>\nSent: Monday\nTo: Ada\nSubject: Tea\n\nTea?", "Fine.", 5),
            ("Fine.\n\n**Von:** Hob\n**Gesendet:** Montag\n**An:** Ada\n\nTee?", "Fine.", 4),
            ("Yes.\n-- \nAda Example\nDirector of Tea", "Yes.", 3),
            // Somebody's own words that only look so.
            ("On Monday she wrote:\nDear all.", "On Monday she wrote:\nDear all.", 0),
            ("From: here to there\nIt is far.", "From: here to there\nIt is far.", 0),
            // Nothing but what somebody else wrote.
            ("> Tea?\n> Now?", "> Tea?\n> Now?", 0),
            ("", "", 0),
        ] {
            assert_eq!(new(letter), (expected.to_owned(), quoted), "{letter:?}");
        }
    }

    #[test]
    fn n14_flowing_lines_are_one() {
        for (text, delsp, expected) in [
            ("one \ntwo\nthree", false, "one two\nthree"),
            ("Donau \ndampf", true, "Donaudampf"),
            ("> a \n> b\nc", false, "> a b\nc"),
            ("> a \nb", false, "> a \nb"),
            (" > no quote", false, "> no quote"),
            ("x \n-- \nAda", false, "x \n-- \nAda"),
        ] {
            assert_eq!(unflowed(text, delsp), expected, "{text:?}");
        }
    }
}
