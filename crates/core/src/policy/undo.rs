//! Which effects can be taken back, and how their inverse is made (row N16).
//!
//! | the call | then |
//! |---|---|
//! | it is about money; its tool sends or spends, by its name | nothing takes it back |
//! | an address of mail, a link, a long number or a key is in it: somebody else may be told | nothing takes it back |
//! | its tool deletes, by its name | it is taken back only if the tool itself knows that it can be, and it is not graded lower |
//! | any other, of a tool that names its inverse | it can be taken back, as long as each argument of the inverse is known |
//!
//! Arguments of an inverse come from the call itself, or are a plain value of the answer: an id. Never: an inverse that is itself a
//! message or spends; a text of the answer; a tool that the answer names. Start at [`can_be_taken_back`] and [`UndoRule::resolve`].

use std::collections::BTreeMap;

use crate::domain::tools::Risk;
use crate::domain::undo::InverseCall;
use crate::policy::arguments::display::{last_word, names_money, words};
use crate::policy::arguments::{WrittenValue, parse, parse_once};
use crate::policy::lookup;
use crate::policy::sources::leads;

/// Words of tools that tell somebody something, or spend: neither is taken back, and neither takes anything back.
const OUTGOING: [&str; 24] = [
    "answer",
    "buy",
    "call",
    "donate",
    "forward",
    "invite",
    "message",
    "notify",
    "order",
    "pay",
    "payment",
    "post",
    "publish",
    "purchase",
    "refund",
    "reply",
    "send",
    "share",
    "sms",
    "submit",
    "transaction",
    "transfer",
    "tweet",
    "withdraw",
];
/// Words of tools that delete.
const DELETING: [&str; 11] =
    ["cancel", "clear", "delete", "destroy", "drop", "empty", "erase", "purge", "remove", "trash", "wipe"];
/// Last words of arguments that say which thing is meant, besides ids.
const THINGS: [&str; 10] = ["calendar", "device", "entity", "entry", "event", "file", "item", "path", "record", "task"];
/// What stands before a name that is looked up in the answer …
const OF_ANSWER: &str = "$.";
const OF_CALL: &str = "$call.";
/// The longest value that is taken from an answer.
const VALUE_CHARS_MAX: usize = 200;

/// Does the name of a tool say that it tells somebody something, or spends?
pub fn is_outgoing(tool: &str) -> bool {
    has_word(tool, &OUTGOING)
}

/// Is this call known to be one that can be taken back, where its tool says how? Then it is graded lower.
pub fn can_be_taken_back(tool: &str, arguments: &str, risk: Risk) -> bool {
    !has_word(tool, &DELETING) && tells_nobody(tool, arguments, risk)
}

/// Does it neither spend anything nor tell somebody something? Else nothing takes it back.
pub fn tells_nobody(tool: &str, arguments: &str, risk: Risk) -> bool {
    let is_told = || parse(arguments).is_none_or(|value| leads_on(&value));
    !is_outgoing(tool) && risk != Risk::Spend && !names_money(arguments) && !is_told()
}

/// Does an argument of this name say which of the things that there are is meant? Whoever chooses that may choose any.
pub fn names_a_thing(argument: &str) -> bool {
    lookup::is_id(argument) || last_word(argument).is_some_and(|word| THINGS.contains(&word.as_str()))
}

fn has_word(tool: &str, known: &[&str]) -> bool {
    let own = tool.rsplit_once("__").map_or(tool, |(_, own)| own);
    words(own).iter().any(|word| known.contains(&word.as_str()))
}

fn leads_on(value: &WrittenValue) -> bool {
    match value {
        WrittenValue::Bare(text) | WrittenValue::Text(text) => !leads(text).is_empty(),
        WrittenValue::List(items) => items.iter().any(leads_on),
        WrittenValue::Object(members) => members.iter().any(|(_, value)| leads_on(value)),
    }
}

/// Where an argument of an inverse comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentSource {
    /// A member of the answer.
    Answer(Vec<String>),
    /// An argument of the call.
    Call(Vec<String>),
}

impl ArgumentSource {
    /// The source that is written so; none: it is none.
    pub fn parse(written: &str) -> Option<Self> {
        let path = |path: &str| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            path.iter().all(|name| !name.is_empty() && name.trim() == name).then_some(path)
        };
        match written.strip_prefix(OF_CALL) {
            Some(rest) => path(rest).map(Self::Call),
            None => path(written.strip_prefix(OF_ANSWER)?).map(Self::Answer),
        }
    }
}

/// How the inverse of a tool's calls is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRule {
    /// The tool that takes its effect back.
    pub tool: String,
    pub with: BTreeMap<String, ArgumentSource>,
}

impl UndoRule {
    /// Why it cannot be for this tool; none: it can.
    pub fn problem(&self, of: &str) -> Option<&'static str> {
        if is_outgoing(of) || has_word(of, &DELETING) {
            return Some("sends, spends or deletes by its name, and nothing takes that back");
        }
        if is_outgoing(&self.tool) {
            return Some("names an inverse that sends or spends, expected one that does neither");
        }
        self.with.is_empty().then_some("gives its inverse no argument, expected at least one")
    }

    /// The inverse of a call that was answered so; none: an argument is not known.
    pub fn resolve(&self, arguments: &str, answer: &str) -> Option<InverseCall> {
        let (call, answer) = (parse(arguments)?, parse_once(answer));
        let value = |source: &ArgumentSource| match source {
            ArgumentSource::Call(path) => member(&call, path).filter(|value| !is_null(value)).cloned(),
            ArgumentSource::Answer(path) => member(answer.as_ref()?, path).filter(|value| is_id(value)).cloned(),
        };
        let with = self.with.iter().map(|(name, source)| Some((name.clone(), value(source)?)));
        let arguments = WrittenValue::Object(with.collect::<Option<Vec<_>>>()?).json();
        Some(InverseCall { tool: self.tool.clone(), arguments })
    }
}

fn member<'a>(value: &'a WrittenValue, path: &[String]) -> Option<&'a WrittenValue> {
    path.iter().try_fold(value, |value, wanted| match value {
        WrittenValue::Object(members) => members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value),
        WrittenValue::Bare(_) | WrittenValue::Text(_) | WrittenValue::List(_) => None,
    })
}

fn is_null(value: &WrittenValue) -> bool {
    *value == WrittenValue::Bare("null".to_owned())
}

/// A name that a machine gives, and no words.
fn is_id(value: &WrittenValue) -> bool {
    match value {
        WrittenValue::Text(text) | WrittenValue::Bare(text) => {
            (1..=VALUE_CHARS_MAX).contains(&text.len())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@/=+".contains(c))
                && !matches!(text.as_str(), "null" | "true" | "false")
        }
        WrittenValue::List(_) | WrittenValue::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(with: &[(&str, &str)]) -> UndoRule {
        let with = with.iter().map(|(name, from)| ((*name).to_owned(), ArgumentSource::parse(from).unwrap()));
        UndoRule { tool: "cal__delete_event".to_owned(), with: with.collect() }
    }

    #[test]
    fn n16_an_inverse_is_made_of_the_call_and_of_plain_values_of_its_answer() {
        let both = rule(&[("id", "$.event.id"), ("calendar", "$call.calendar")]);
        let call = r#"{"calendar":"home","title":"Lunch"}"#;
        let inverse = both.resolve(call, r#"{"event":{"id":"e-5","title":"Lunch"}}"#).unwrap();
        assert_eq!(inverse.arguments, r#"{"calendar":"home","id":"e-5"}"#);
        assert_eq!(
            both.resolve(call, r#"{"event":{"id":12345678901234567890}}"#).unwrap().arguments,
            r#"{"calendar":"home","id":12345678901234567890}"#
        );
        for answer in [
            // Missing, or no id: words, nothing, many.
            r#"{"id":"e-5"}"#,
            r#"{"event":{"id":null}}"#,
            r#"{"event":{"id":true}}"#,
            r#"{"event":{"id":""}}"#,
            r#"{"event":{"id":"5, and pay Mallory"}}"#,
            "{\"event\":{\"id\":\"5\u{200b}\"}}",
            r#"{"event":{"id":["5","6"]}}"#,
            r#"{"event":{"id":{"x":"5"}}}"#,
            // Put together by hand, a list, or no JSON.
            r#"{"event":{"id":"5","title":"x","id":"6"}}"#,
            r#"[{"event":{"id":"5"}}]"#,
            r#"{"event":{"id":"5"}} and more"#,
            "Done.",
        ] {
            assert_eq!(both.resolve(call, answer), None, "{answer}");
        }
        assert_eq!(both.resolve(r#"{"calendar":null}"#, r#"{"event":{"id":"5"}}"#), None);
        assert_eq!(both.resolve("{}", r#"{"event":{"id":"5"}}"#), None);
    }

    #[test]
    fn n16_money_messages_and_deletion_are_never_taken_back() {
        let of = |tool: &str, arguments: &str| can_be_taken_back(tool, arguments, Risk::Send);
        assert!(of("cal__create_event", r#"{"title":"Lunch","start":"2030-05-20 10:00"}"#));
        assert!(of("mail__move_letter", r#"{"id":"5","folder":"Bills"}"#));
        assert!(of("lights__turn_on", r#"{"entity":"kitchen"}"#));
        for tool in
            ["mail__send_email", "bank__pay", "drive__delete_file", "cal__cancelEvent", "chat__postMessage", "x__reply"]
        {
            assert!(!of(tool, "{}"), "{tool}");
        }
        assert!(tells_nobody("calendar_cancel", r#"{"entry":"Lunch"}"#, Risk::Write), "it may be offered");
        for arguments in [
            // Who is invited gets a letter; who is told of a page may open it.
            r#"{"title":"Lunch","participants":["ben@home.example"]}"#,
            r#"{"title":"Lunch","note":"see evil.example/x"}"#,
            r#"{"title":"Lunch","note":{"deep":["call +49 170 1234567"]}}"#,
            r#"{"amount":5}"#,
            r#"{"title":"#,
        ] {
            assert!(!of("cal__create_event", arguments), "{arguments}");
        }
        assert!(!can_be_taken_back("cal__create_event", "{}", Risk::Spend));
    }

    #[test]
    fn n16_which_thing_is_meant_is_told_from_how_it_is_to_be() {
        assert!(["event_id", "entry", "entityId", "path", "calendar"].into_iter().all(names_a_thing));
        assert!(!["start", "title", "place", "filename", "event_title"].into_iter().any(names_a_thing));
    }

    #[test]
    fn n16_a_rule_names_an_inverse_that_tells_nobody() {
        let with = rule(&[("id", "$.id")]);
        assert_eq!(with.problem("create_event"), None);
        assert!(with.problem("send_letter").is_some() && with.problem("delete_event").is_some());
        assert!(UndoRule { tool: "send_letter".to_owned(), ..with.clone() }.problem("create_event").is_some());
        assert!(UndoRule { with: BTreeMap::new(), ..with }.problem("create_event").is_some());
        for wrong in ["", "id", "$", "$.", "$.a..b", "$. a", "$call.", "$[0]", "x$.a"] {
            assert_eq!(ArgumentSource::parse(wrong), None, "{wrong}");
        }
    }
}
