//! What is new in a letter: without the letters that it quotes, and without its signature. Where Hob has not had what it
//! quotes, that stays, marked as another's.

/// A letter's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrimmedText {
    /// What is new.
    pub(super) text: String,
    /// Lines that were quoted and are left out.
    pub(super) quoted: usize,
}

/// A letter with what it quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FullText {
    /// Its own words, and those of others, each line of these behind a `>`.
    pub(super) text: String,
    /// Lines of its signature, which are left out.
    pub(super) signature: usize,
}

/// What a letter quotes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotedLetter {
    /// The addresses of whoever is said to have written it, in lower case, and the line that says so.
    pub(super) addresses: Vec<String>,
    pub(super) said: String,
    /// How it begins, with that line.
    pub(super) beginning: String,
    /// It is sent on, and not what is answered.
    pub(super) is_sent_on: bool,
}

/// So many lines of what is quoted are its beginning …
const BEGINNING_LINES: usize = 8;
/// … and at most so many characters.
const BEGINNING_CHARS: usize = 500;
/// A signature has at most so many lines.
const SIGNATURE_LINES: usize = 8;
/// No address is longer.
const ADDRESS_BYTES_MAX: usize = 254;

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

/// Lines after which somebody else's letter is sent on; what is new may also stand below them.
const SENT_ON: [&str; 5] = [
    "---------- forwarded message ---------",
    "---------- forwarded message ----------",
    "begin forwarded message:",
    "anfang der weitergeleiteten nachricht:",
    "-------- weitergeleitete nachricht --------",
];
/// How the line of a block begins that says who wrote.
const FROM: [&str; 6] = ["from", "von", "de", "da", "van", "från"];
/// What stands before the subject of a letter that somebody sends on.
const SENT_ON_SUBJECTS: [&str; 8] = ["fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "vb:", "doorst:"];

/// Whether a subject says that somebody else's letter is sent on.
pub(super) fn is_sent_on(subject: &str) -> bool {
    let subject = subject.trim_start().to_lowercase();
    SENT_ON_SUBJECTS.iter().any(|begin| subject.starts_with(begin))
}

/// Is a plain text nothing but what it quotes?
pub(super) fn is_all_quoted(text: &str) -> bool {
    new_words(text).text.is_empty() && first_quote(text).is_some()
}

/// The new words of a plain text. One that is all quoted is left as it is: somebody sends on what they read.
pub(super) fn trim(text: &str) -> TrimmedText {
    let new = new_words(text);
    if new.text.is_empty() { TrimmedText { text: text.trim().to_owned(), quoted: 0 } } else { new }
}

fn new_words(text: &str) -> TrimmedText {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = end_of_new(&lines);
    let mut kept: Vec<&str> = Vec::with_capacity(end);
    let mut quoted = lines.get(end..).unwrap_or_default().iter().filter(|line| !line.is_empty()).count();
    let own = lines.get(..end).unwrap_or_default();
    let mut at = 0;
    while let Some(line) = own.get(at) {
        if let Some(length) = attribution_of_quote(own, at) {
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
    TrimmedText { text: joined(&kept), quoted }
}

/// A plain text without its signature; what it quotes stays, marked. `names` are those of its writer.
pub(super) fn without_signature(text: &str, names: &[String]) -> FullText {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let below = signature_below(&lines, names).unwrap_or(lines.len());
    let mut kept: Vec<String> = Vec::with_capacity(lines.len());
    let (mut signature, mut in_signature, mut in_others) = (0, false, false);
    for (at, line) in lines.iter().enumerate() {
        in_others = in_others || begins_quoted_letter(&lines, at);
        if at >= below {
            signature += usize::from(!line.is_empty());
        } else if in_others {
            kept.push(format!("> {line}").trim_end().to_owned());
        } else {
            // Below the signature there may stand what is quoted.
            in_signature =
                (in_signature || *line == "--") && !is_quoted(line) && attribution_of_quote(&lines, at).is_none();
            if in_signature {
                signature += usize::from(!line.is_empty());
            } else {
                kept.push((*line).to_owned());
            }
        }
    }
    while kept.last().is_some_and(|line| line == ">") {
        kept.pop();
    }
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    let kept = joined(&kept);
    if kept.is_empty() {
        FullText { text: text.trim().to_owned(), signature: 0 }
    } else {
        FullText { text: kept, signature }
    }
}

/// A plain text as it is, but that the letters which it quotes as a whole stand behind marks as well.
pub(super) fn marked(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let others = (0..lines.len()).find(|at| begins_quoted_letter(&lines, *at)).unwrap_or(lines.len());
    let mark = |(at, line): (usize, &&str)| match at >= others {
        true => format!("> {line}").trim_end().to_owned(),
        false => (*line).to_owned(),
    };
    lines.iter().enumerate().map(mark).collect::<Vec<_>>().join("\n")
}

/// Where the writer's own signature begins below what they quote, as many programs put it: at the end, and in their name. It
/// is left out, never taken for their words: the other's letter may end with such lines as well.
fn signature_below(lines: &[&str], names: &[String]) -> Option<usize> {
    let from = lines.len().saturating_sub(SIGNATURE_LINES + 1);
    let at = lines.iter().rposition(|line| *line == "--").filter(|at| *at >= from)?;
    let below = lines.get(at + 1..).unwrap_or_default().join("\n").to_lowercase();
    let mut words = below.split(|c: char| c.is_whitespace() || "<>()[],;:".contains(c));
    words.any(|word| names.iter().any(|name| name == word)).then_some(at)
}

/// What a text quotes first; none: it is all somebody's own.
pub(super) fn first_quote(text: &str) -> Option<QuotedLetter> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let first = (0..lines.len()).find(|at| {
        let line = lines.get(*at).copied().unwrap_or_default();
        is_quoted(line) || begins_quoted_letter(&lines, *at) || attribution_of_quote(&lines, *at).is_some()
    })?;
    let rest = lines.get(first..).unwrap_or_default();
    let said = match attribution_of_quote(&lines, first) {
        Some(length) => rest.iter().take(length).copied().collect::<Vec<_>>().join(" "),
        // The block of a letter's headers may stand below a divider.
        None => {
            let head = rest.iter().take(BEGINNING_LINES).map(|line| line.trim_start_matches(['>', ' ']));
            head.filter(|line| key(line).is_some_and(|key| FROM.contains(&key.as_str()))).take(1).collect()
        }
    };
    let addresses = said.split(|c: char| c.is_whitespace() || "<>()[]\\\"'*,;:".contains(c));
    let addresses = addresses
        .filter(|part| part.trim_matches('@').contains('@') && part.len() <= ADDRESS_BYTES_MAX)
        .map(str::to_lowercase)
        .collect();
    let beginning = rest.iter().filter(|line| !line.is_empty()).take(BEGINNING_LINES);
    let beginning = beginning.copied().collect::<Vec<_>>().join("\n");
    let is_sent_on = rest.first().is_some_and(|line| is_sent_on_line(line));
    Some(QuotedLetter { addresses, said, beginning: beginning.chars().take(BEGINNING_CHARS).collect(), is_sent_on })
}

/// Whether from this line on all is another letter's.
fn begins_quoted_letter(lines: &[&str], at: usize) -> bool {
    let line = lines.get(at).copied().unwrap_or_default();
    is_divider(line) || is_sent_on_line(line) || is_outlook_block(lines, at)
}

fn is_sent_on_line(line: &str) -> bool {
    SENT_ON.contains(&line.trim().to_lowercase().as_str())
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
    let is = |at: usize, keys: &[&str]| {
        key(lines.get(at).copied().unwrap_or_default()).is_some_and(|key| keys.contains(&key.as_str()))
    };
    if !is(at, &FROM) {
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

/// What stands before the colon of a block's line.
fn key(line: &str) -> Option<String> {
    let line = line.trim().replace('*', "").to_lowercase();
    line.split_once(':').map(|(key, _)| key.trim().to_owned())
}

/// How many lines long an attribution is that begins here, with what it quotes below it, or nothing.
fn attribution_of_quote(lines: &[&str], at: usize) -> Option<usize> {
    attribution_at(lines, at).filter(|length| {
        let below = lines.get(at + length..).unwrap_or_default();
        below.iter().find(|line| !line.is_empty()).is_none_or(|line| is_quoted(line))
    })
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
        let TrimmedText { text, quoted } = trim(text);
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
    fn n14_what_hob_never_had_stays_behind_marks() {
        for (letter, expected, signature) in [
            ("Yes.", "Yes.", 0),
            (
                "Please pay this.\n\n-----Original Message-----\nFrom: Shop\n\n> older\nPay 5 €.",
                "Please pay this.\n\n> -----Original Message-----\n> From: Shop\n>\n> > older\n> Pay 5 €.",
                0,
            ),
            (
                "Pay this.\n--\nAda\nDirector\n\nFrom: Shop <s@x.example>\nSent: Monday\nTo: Ada\n\nPay 5 €.",
                "Pay this.\n> From: Shop <s@x.example>\n> Sent: Monday\n> To: Ada\n>\n> Pay 5 €.",
                3,
            ),
            (
                "See below.\n\n---------- Forwarded message ---------\nFrom: Bob <b@x.example>\n\nTea?",
                "See below.\n\n> ---------- Forwarded message ---------\n> From: Bob <b@x.example>\n>\n> Tea?",
                0,
            ),
            (
                "Sum this up.\n-- \nAda\n\nOn Monday, Bob <b@x.example> wrote:\n> Tea?\n\n> Or not?",
                "Sum this up.\nOn Monday, Bob <b@x.example> wrote:\n> Tea?\n\n> Or not?",
                2,
            ),
            ("-- \nAda", "-- \nAda", 0),
            ("", "", 0),
        ] {
            let expected = FullText { text: expected.to_owned(), signature };
            assert_eq!(without_signature(letter, &[]), expected, "{letter:?}");
        }
    }

    #[test]
    fn n14_a_signature_below_a_quote_is_its_writers() {
        let names = ["ada".to_owned(), "ada@x.example".to_owned()];
        let quoted = "Pay this.\n\n-----Original Message-----\nFrom: Shop\n\nPay 5 €.";
        let kept = "Pay this.\n\n> -----Original Message-----\n> From: Shop\n>\n> Pay 5 €.";
        for (below, more, signature) in [
            ("-- \nAda, Director", "", 2),
            ("-- \nDirector <ada@x.example>", "", 2),
            // The other's own.
            ("-- \nThe shop", "\n>\n> --\n> The shop", 0),
            ("-- \nCanada Goose", "\n>\n> --\n> Canada Goose", 0),
        ] {
            let expected = FullText { text: format!("{kept}{more}"), signature };
            assert_eq!(without_signature(&format!("{quoted}\n\n{below}"), &names), expected, "{below}");
        }
    }

    #[test]
    fn n14_it_is_known_whom_a_letter_quotes_first() {
        for (letter, expected) in [
            ("Yes.\n\nOn Mon, 1 Jan 2026 at 10:00, Hob <Hob@x.example> wrote:\n> Tea?", Some(vec!["hob@x.example"])),
            (
                "Fine.\n\n-----Original Message-----\nFrom: Hob [mailto:hob@x.example]\nTo: ada@x.example",
                Some(vec!["hob@x.example"]),
            ),
            (
                "Fine.\n\n**From:** Shop \\<shop@x.example>\n**Sent:** Monday\n**To:** hob@x.example",
                Some(vec!["shop@x.example"]),
            ),
            ("Hm.\n> From: Bob <b@x.example>\n> Tea?", Some(vec!["b@x.example"])),
            ("Hm.\n> Tea?", Some(vec![])),
            ("Am Montag schrieb Hob:\n> Tee?", Some(vec![])),
            ("From: here to there", None),
            ("On Monday ada@x.example wrote:\nDear all.", None),
        ] {
            let found = first_quote(letter).map(|others| others.addresses);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(found, expected, "{letter:?}");
        }
        let found = first_quote("Pay.\n\n-----Original Message-----\n\nFrom: Shop <s@x.example>\n\nPay 5 €.").unwrap();
        assert_eq!(found.beginning, "-----Original Message-----\nFrom: Shop <s@x.example>\nPay 5 €.");
        assert_eq!(found.said, "From: Shop <s@x.example>");
    }

    #[test]
    fn n14_a_subject_says_what_is_sent_on() {
        for (subject, expected) in [
            ("Fwd: Offer", true),
            ("FW: Offer", true),
            (" WG: Angebot", true),
            ("Re: Fwd: Offer", false),
            ("Forward!", false),
        ] {
            assert_eq!(is_sent_on(subject), expected, "{subject}");
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
