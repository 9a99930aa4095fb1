//! What a person sees of a call's arguments: line by line, without escapes, what steers the call first and whole.
//!
//! A member's place is by the words of its name. That is a courtesy: a name that tells nothing stands among the others, in the
//! order in which they were written, and what is left out of a long one is said and goes along as a file.

use std::collections::BTreeSet;

use crate::policy::arguments::{WrittenValue, parse};
use crate::policy::invisible::marked;

/// Words of names of members that say where, to whom, when or how much.
const STEERING: [&str; 84] = [
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "receiver",
    "receivers",
    "participant",
    "participants",
    "attendee",
    "attendees",
    "guest",
    "guests",
    "member",
    "members",
    "user",
    "users",
    "username",
    "person",
    "contact",
    "owner",
    "from",
    "sender",
    "address",
    "addresses",
    "email",
    "emails",
    "mail",
    "phone",
    "iban",
    "bic",
    "account",
    "beneficiary",
    "payee",
    "url",
    "urls",
    "uri",
    "link",
    "href",
    "host",
    "hostname",
    "domain",
    "port",
    "server",
    "endpoint",
    "webhook",
    "amount",
    "sum",
    "total",
    "price",
    "cost",
    "currency",
    "quantity",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "folder",
    "source",
    "destination",
    "dest",
    "target",
    "command",
    "cmd",
    "program",
    "time",
    "date",
    "when",
    "start",
    "end",
    "due",
    "until",
    "entity",
    "device",
    "channel",
    "repo",
    "branch",
    "action",
    "method",
    "key",
    "role",
];
/// Names of amounts of money.
const MONEY: [&str; 6] = ["amount", "price", "payee", "beneficiary", "iban", "payment"];
/// So much of what steers is shown whole, in characters.
const STEERING_CHARS_MAX: usize = 2_000;
const REST_CHARS_MAX: usize = 1_200;
/// Of a value that is cut, so much of its beginning,
const HEAD_CHARS: usize = 300;
/// and so much of its end.
const TAIL_CHARS: usize = 150;
/// The most characters of a member's name.
const NAME_CHARS_MAX: usize = 80;

/// A value that is neither a list nor an object, and the way to it.
struct ArgumentLeaf {
    name: String,
    value: String,
    steers: bool,
}

/// Arguments as a person sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayedArguments {
    /// The lines.
    pub text: String,
    /// All of it, where the lines leave something out.
    pub whole: Option<String>,
}

pub fn shown(written: &str) -> DisplayedArguments {
    let leaves = leaves(written);
    if leaves.is_empty() {
        return DisplayedArguments { text: "(no arguments)".to_owned(), whole: None };
    }
    let (first, rest): (Vec<&ArgumentLeaf>, Vec<&ArgumentLeaf>) = leaves.iter().partition(|leaf| leaf.steers);
    let steering = within(&first, STEERING_CHARS_MAX);
    let mut lines = steering.lines;
    // Where to a long value leads may stand in its middle.
    let not_whole = steering.left_out + steering.cut;
    if not_whole > 0 {
        lines.push(format!(
            "NOT SHOWN WHOLE: {not_whole} that may say to whom, where, when or how much. Read them before you say yes."
        ));
    }
    let others = within(&rest, REST_CHARS_MAX);
    lines.extend(others.lines);
    if others.left_out > 0 {
        lines.push(format!("… {} more", others.left_out));
    }
    let is_whole = not_whole + others.left_out + others.cut == 0;
    let all = || leaves.iter().map(|leaf| line(&leaf.name, &leaf.value)).collect::<Vec<_>>().join("\n");
    DisplayedArguments { text: lines.join("\n"), whole: (!is_whole).then(all) }
}

/// What there is room for.
struct FittedLines {
    lines: Vec<String>,
    /// Of these values only the ends are among the lines.
    cut: usize,
    /// These are not among them.
    left_out: usize,
}

/// The lines of these that there is room for, in their order. Where not all fit whole, long values are cut, and short ones go
/// before long ones: nothing long crowds a name or a sum out.
fn within(leaves: &[&ArgumentLeaf], chars_max: usize) -> FittedLines {
    let chars = |line: &String| line.chars().count();
    let mut lines: Vec<String> = leaves.iter().map(|leaf| line(&leaf.name, &leaf.value)).collect();
    let is_too_much = lines.iter().map(chars).sum::<usize>() > chars_max;
    if is_too_much {
        lines = leaves.iter().map(|leaf| line(&leaf.name, &ends(&leaf.value))).collect();
    }
    let mut shortest: Vec<usize> = (0..lines.len()).collect();
    shortest.sort_by_key(|index| chars(&lines[*index]));
    let mut room = chars_max;
    let fits = |index: &usize| match room.checked_sub(chars(&lines[*index])) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let fitting: BTreeSet<usize> = shortest.into_iter().take_while(fits).collect();
    let cut = fitting.iter().filter(|index| is_too_much && is_long(&leaves[**index].value)).count();
    let left_out = lines.len() - fitting.len();
    FittedLines { lines: fitting.into_iter().map(|index| std::mem::take(&mut lines[index])).collect(), cut, left_out }
}

/// All of a call, as one line.
pub fn on_one_line(written: &str) -> String {
    let all: Vec<String> = leaves(written).iter().map(|leaf| format!("{}={:?}", leaf.name, leaf.value)).collect();
    all.join(" ")
}

/// Does it name an amount of money, or who gets it?
pub fn names_money(written: &str) -> bool {
    leaves(written).iter().any(|leaf| words(&leaf.name).iter().any(|word| MONEY.contains(&word.as_str())))
}

fn leaves(written: &str) -> Vec<ArgumentLeaf> {
    let mut leaves = Vec::new();
    match parse(written) {
        Some(parsed) => gather(&parsed, String::new(), &mut leaves),
        // It is not JSON: no tool takes it.
        None => leaves.push(ArgumentLeaf { name: "(not JSON)".to_owned(), value: marked(written), steers: false }),
    }
    leaves
}

fn gather(value: &WrittenValue, name: String, leaves: &mut Vec<ArgumentLeaf>) {
    let mut leaf = |value: String| {
        leaves.push(ArgumentLeaf { name: name.clone(), value, steers: steers(&name) });
    };
    match value {
        WrittenValue::Bare(bare) => leaf(bare.clone()),
        WrittenValue::Text(text) => leaf(marked(text)),
        WrittenValue::List(items) if items.is_empty() => leaf("(none)".to_owned()),
        WrittenValue::List(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, format!("{name}[{}]", index + 1), leaves);
            }
        }
        WrittenValue::Object(members) if members.is_empty() && !name.is_empty() => leaf("(empty)".to_owned()),
        WrittenValue::Object(members) => {
            for (member, value) in members {
                let member: String = marked(member).replace(['\n', ':'], " ").chars().take(NAME_CHARS_MAX).collect();
                let name = if name.is_empty() { member } else { format!("{name}.{member}") };
                gather(value, name, leaves);
            }
        }
    }
}

/// Does a name say that its member tells where, to whom, when or how much?
pub fn steers(name: &str) -> bool {
    words(name).iter().any(|word| STEERING.contains(&word.as_str()))
}

pub fn last_word(name: &str) -> Option<String> {
    words(name).into_iter().rfind(|word| !word.is_empty())
}

/// The words of a name: `dueDate`, `due_date` and `items[1].due` all have `due`.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// A member on its line. Lines of its own stand behind a bar: no value passes for another member.
fn line(name: &str, value: &str) -> String {
    if value.contains('\n') {
        let lines: Vec<String> = value.split('\n').map(|line| format!("  | {line}")).collect();
        return format!("{name}:\n{}", lines.join("\n"));
    }
    format!("{name}: {value}")
}

fn is_long(value: &str) -> bool {
    value.chars().nth(HEAD_CHARS + TAIL_CHARS).is_some()
}

/// Beginning and end of what is too long.
fn ends(value: &str) -> String {
    if !is_long(value) {
        return value.to_owned();
    }
    let chars = value.chars().count();
    let left_out = chars - HEAD_CHARS - TAIL_CHARS;
    let head: String = value.chars().take(HEAD_CHARS).collect();
    let tail: String = value.chars().skip(chars - TAIL_CHARS).collect();
    format!("{head} ⟨… {left_out} characters …⟩ {tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_first_and_whole() {
        let body = format!("Dear all,\n{}\nrecipients: mum@example.org", "x".repeat(5_000));
        let arguments = serde_json::json!({ "body": body, "subject": "Hi", "recipients": ["eve@evil.example", "a@b"] });
        let DisplayedArguments { text, whole } = shown(&arguments.to_string());
        let text = text.replace(&"x".repeat(290), "X").replace(&"x".repeat(122), "Y");
        insta::assert_snapshot!(text, @"
        recipients[1]: eve@evil.example
        recipients[2]: a@b
        body:
          | Dear all,
          | X ⟨… 4588 characters …⟩ Y
          | recipients: mum@example.org
        subject: Hi
        ");
        assert!(whole.unwrap().contains(&"x".repeat(5_000)));
    }

    #[test]
    fn nothing_crowds_out_what_steers_and_no_item_passes_for_two() {
        let long: Vec<String> = (0..9).map(|n| format!(r#""to_{n}": "{}""#, "x".repeat(1_000))).collect();
        let DisplayedArguments { text, whole } =
            shown(&format!(r#"{{{}, "recipient": "eve@evil.example"}}"#, long.join(",")));
        assert!(text.contains("recipient: eve@evil.example\n"), "{text}");
        assert!(text.contains("\nNOT SHOWN WHOLE: 9 that may say to whom,"), "four are cut, five left out: {text}");
        assert!(whole.unwrap().contains(&format!("to_8: {}", "x".repeat(1_000))));
        let many: Vec<String> = (0..300).map(|n| format!("{n}@b.example")).collect();
        let DisplayedArguments { text, whole } = shown(&serde_json::json!({ "recipients": many }).to_string());
        assert!(text.contains("\nNOT SHOWN WHOLE: 2"), "{text}");
        assert!(whole.unwrap().contains("recipients[300]: 299@b.example"));
        assert_eq!(shown(r#"{"to":["a@b] [c@d"]}"#).text, "to[1]: a@b] [c@d");
    }

    #[test]
    fn a_value_that_steers_and_is_cut_is_counted_in_the_warning() {
        let command = format!("ls {}; rm -r ~; {}", "a".repeat(1_500), "b".repeat(700));
        let DisplayedArguments { text, whole } = shown(&serde_json::json!({ "command": command }).to_string());
        assert!(text.contains("characters …⟩") && !text.contains("rm -r"), "{text}");
        assert!(text.contains("\nNOT SHOWN WHOLE: 1 that may say to whom,"), "{text}");
        assert!(whole.unwrap().contains("rm -r ~"));
        let DisplayedArguments { text, whole } =
            shown(&serde_json::json!({ "command": "c".repeat(1_500) }).to_string());
        assert!(!text.contains("NOT SHOWN") && whole.is_none(), "what fits is shown whole: {text}");
    }

    #[test]
    fn a_short_call_is_shown_whole_and_as_it_was_written() {
        let written = r#"{"note":"a \"b\"\\ \u202e c","amount":123456789012345678901234567890,"to":{"iban":"DE1"},"x":[{"y":1.50},null],"e":{},"l":[]}"#;
        let DisplayedArguments { text, whole } = shown(written);
        insta::assert_snapshot!(text, @r#"
        amount: 123456789012345678901234567890
        to.iban: DE1
        note: a "b"\ ⟨U+202E⟩ c
        x[1].y: 1.50
        x[2]: null
        e: (empty)
        l: (none)
        "#);
        assert_eq!(whole, None);
        assert_eq!(shown("{}").text, "(no arguments)");
        assert_eq!(shown("{oops\u{200b}").text, "(not JSON): {oops⟨U+200B⟩");
    }

    #[test]
    fn many_members_are_counted_and_go_along_as_a_file() {
        let many: serde_json::Map<String, serde_json::Value> =
            (0..500).map(|n| (format!("n{n:03}"), "v".repeat(20).into())).collect();
        let DisplayedArguments { text, whole } = shown(&serde_json::Value::Object(many).to_string());
        assert!(
            text.chars().count() < REST_CHARS_MAX + 100 && text.lines().last().unwrap().ends_with(" more"),
            "{text}"
        );
        assert_eq!(whole.unwrap().lines().count(), 500);
    }

    #[test]
    fn a_call_is_told_in_a_line() {
        assert_eq!(on_one_line(r#"{"b":1,"a":"x\ny"}"#), r#"b="1" a="x\ny""#);
        assert!(names_money(r#"{"payment":{"amount":3}}"#) && !names_money(r#"{"to":"a"}"#));
    }
}
