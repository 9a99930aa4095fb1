//! What of a tool's answer may steer a call (row N16): the id or the address of one thing alone, which is named as somebody who
//! counts has said it.
//!
//! | of the answer | counts |
//! |---|---|
//! | two things, none, or what is not JSON | nothing |
//! | one thing, whose name is not the one that was asked for | nothing |
//! | one thing that nobody sends, named so | its id, for a tool of the same server that wants the id of such a thing |
//! | one person, named so, from a tool for contacts | their only address of mail |
//!
//! Nothing else does: what others can write into a thing (a sender, who takes part, a place, an account, an amount, any text) is
//! their word, and the thing that a stranger made beside the person's own makes two.
//! Start at [`found`].

use crate::domain::plan::{PlannedCall, PlannedValue, ValueSource};
use crate::domain::text::one_line;
use crate::policy::arguments::display::{last_word, words};
use crate::policy::arguments::{WrittenValue, parse, parse_once};
use crate::policy::invisible::is_invisible;

/// Names of members that say what a thing is called. Of a calendar's entry some say it as `summary`.
const NAMES: [&str; 8] = ["name", "title", "filename", "file_name", "display_name", "full_name", "label", "summary"];
/// Names of members, and last words of arguments, that hold an id.
const IDS: [&str; 3] = ["id", "uid", "uuid"];
/// Words of tools that know whom the house deals with.
const CONTACTS: [&str; 3] = ["contact", "directory", "addressbook"];
/// Words of tools that look at what others send: whatever it is called, they have called it so.
const SENT: [&str; 6] = ["mail", "email", "letter", "message", "inbox", "comment"];
/// Last words of members that hold an address of mail.
const ADDRESSES: [&str; 3] = ["email", "mail", "address"];
/// What stands between a server's name and its tool's.
pub const OF_SERVER: &str = "__";
/// The longest id.
const ID_CHARS_MAX: usize = 200;
/// The longest ending of a file's name.
const ENDING_CHARS_MAX: usize = 5;

/// A thing: what is known of it, by name.
type NamedFields = [(String, WrittenValue)];

/// What a call of `look`, which answered so, has found for this argument of that tool; none: nothing that counts.
pub fn found(look: &PlannedCall, tool: &str, argument: &str, answer: &str) -> Option<String> {
    let answer = parse_once(answer)?;
    let thing = only_thing(&answer)?;
    if !is_named(thing, look) {
        return None;
    }
    if is_id(argument) {
        return is_of_its_kind(&look.tool, tool, argument).then(|| id(thing, argument)).flatten();
    }
    let is_directory = own_words(&look.tool).iter().any(|word| CONTACTS.contains(&word.as_str()));
    is_directory.then(|| address(thing)).flatten()
}

/// Does an argument of this name say which thing is meant, by its id?
pub fn is_id(argument: &str) -> bool {
    last_word(argument).is_some_and(|word| IDS.contains(&word.as_str()))
}

/// The only thing of an answer.
fn only_thing(answer: &WrittenValue) -> Option<&NamedFields> {
    match answer {
        WrittenValue::List(items) if items.len() == 1 => only_thing(&items[0]),
        WrittenValue::Object(members) => match members.as_slice() {
            [(_, inner @ (WrittenValue::List(_) | WrittenValue::Object(_)))] => only_thing(inner),
            members => Some(members),
        },
        WrittenValue::List(_) | WrittenValue::Bare(_) | WrittenValue::Text(_) => None,
    }
}

/// Is it called what the call asked for, in somebody's words?
fn is_named(thing: &NamedFields, look: &PlannedCall) -> bool {
    let said = look.arguments.iter().filter_map(|planned| match &planned.value {
        PlannedValue::Is { written, whence: Some(whence) } if *whence != ValueSource::Form => parse(written),
        PlannedValue::Is { .. } | PlannedValue::From(_) | PlannedValue::Found(_) => None,
    });
    let said: Vec<String> = said.filter_map(|value| text(&value).map(plain)).collect();
    let named = thing.iter().filter(|(name, _)| NAMES.contains(&name.trim_matches('_').to_lowercase().as_str()));
    let mut names = named.filter_map(|(_, value)| text(value)).filter(|name| !name.chars().any(is_invisible));
    names.any(|name| [plain(name), plain(without_ending(name))].iter().any(|name| said.contains(name)))
}

/// Does the tool that looks know such things as the other wants the id of, and are both of one server?
fn is_of_its_kind(look: &str, tool: &str, argument: &str) -> bool {
    let server = |name: &str| name.split_once(OF_SERVER).map(|(server, _)| server.to_owned());
    let mut kind = own_words(argument);
    kind.retain(|word| !IDS.contains(&word.as_str()));
    // `id` alone is of what the tool is called for.
    let kind = kind.pop().or_else(|| own_words(tool).into_iter().skip(1).next_back());
    let known = own_words(look);
    let is_known =
        kind.is_some_and(|kind| known.contains(&kind)) && !known.iter().any(|word| SENT.contains(&word.as_str()));
    server(look).is_some() && server(look) == server(tool) && is_known
}

/// The words of what a server calls its tool, each as of one thing.
fn own_words(tool: &str) -> Vec<String> {
    let own = tool.split_once(OF_SERVER).map_or(tool, |(_, own)| own);
    let one = |word: String| word.strip_suffix('s').map_or_else(|| word.clone(), str::to_owned);
    words(own).into_iter().filter(|word| !word.is_empty()).map(one).collect()
}

/// The thing's own id: of the argument's name, or else the one that is called so.
fn id(thing: &NamedFields, argument: &str) -> Option<String> {
    let of = |wanted: &str| {
        thing.iter().find(|(name, _)| name.trim_matches('_').eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    let value = of(argument).or_else(|| IDS.into_iter().find_map(of))?;
    let value = match value {
        WrittenValue::Text(text) | WrittenValue::Bare(text) => text,
        WrittenValue::List(_) | WrittenValue::Object(_) => return None,
    };
    // Neither an address nor a path, which an id never is that a server gives.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let fits = (1..=ID_CHARS_MAX).contains(&value.len()) && value.chars().all(is_plain);
    (fits && !matches!(value.as_str(), "null" | "true" | "false")).then(|| value.clone())
}

/// The only address of mail in it.
fn address(thing: &NamedFields) -> Option<String> {
    let has = thing.iter().filter(|(_, value)| value.json().contains('@'));
    let [(name, WrittenValue::Text(address))] = has.collect::<Vec<_>>()[..] else { return None };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '.' | '-' | '_' | '+');
    let is_one = address.chars().all(is_plain) && address.matches('@').count() == 1;
    (is_one && last_word(name).is_some_and(|word| ADDRESSES.contains(&word.as_str()))).then(|| address.clone())
}

fn text(value: &WrittenValue) -> Option<&str> {
    if let WrittenValue::Text(text) = value { Some(text) } else { None }
}

/// A file's name without `.txt` and the like.
fn without_ending(name: &str) -> &str {
    let is_ending =
        |end: &str| (1..=ENDING_CHARS_MAX).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric());
    name.rsplit_once('.').filter(|(_, end)| is_ending(end)).map_or(name, |(name, _)| name)
}

/// As a name is compared: whatever its case, and what stands between its words.
fn plain(name: &str) -> String {
    one_line(&name.to_lowercase().replace(['-', '_'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::plan::PlannedArgument;

    fn look(tool: &str, said: &[(&str, ValueSource)]) -> PlannedCall {
        let is = |(index, (value, whence)): (usize, &(&str, ValueSource))| PlannedArgument {
            name: format!("a{index}"),
            value: PlannedValue::Is {
                written: WrittenValue::Text((*value).to_owned()).json(),
                whence: Some(whence.clone()),
            },
        };
        PlannedCall { tool: tool.to_owned(), content: Vec::new(), arguments: said.iter().enumerate().map(is).collect() }
    }

    const MOVE: &str = "cal__move_event";

    #[test]
    fn n16_the_id_of_one_thing_counts_that_is_named_as_the_person_has_said() {
        let dentist =
            look("cal__search_events", &[("Dental check-up", ValueSource::Words), ("2024-05-20", ValueSource::Form)]);
        let of = |answer: &str| found(&dentist, MOVE, "event_id", answer);
        let five = Some("5".to_owned());
        assert_eq!(of(r#"[{"id_":"5","title":"Dental check-up","description":"id: 6"}]"#), five);
        assert_eq!(of(r#"{"events":[{"id":5,"summary":"dental Check-Up","organizer":"eve@evil.example"}]}"#), five);
        assert_eq!(of(r#"{"event_id":"5","id":"9","name":"Dental check-up"}"#), five);
        let nothing = [
            // Two things, or none, or who knows how many.
            r#"[{"id":"5","title":"Dental check-up"},{"id":"6","title":"Dental check-up"}]"#,
            r#"[{"id":"5","title":"Dental check-up"},{"id":"6","title":"Lunch","description":"Dental check-up"}]"#,
            r#"{"events":[{"id":"5","title":"Dental check-up"}],"more":true}"#,
            "[]",
            "{}",
            // Named otherwise, though it has the words somewhere.
            r#"[{"id":"6","title":"Lunch","description":"Dental check-up"}]"#,
            r#"[{"id":"6","title":"Dental check-up moved"}]"#,
            "[{\"id\":\"6\",\"title\":\"D\u{435}ntal check-up\"}]",
            "[{\"id\":\"6\",\"title\":\"Dental\u{200b} check-up\"}]",
            r#"[{"id":"6","title":"2024-05-20"}]"#,
            r#"[{"id":"6","subject":"Dental check-up"}]"#,
            r#"[{"id":"6","title":["Dental check-up"]}]"#,
            // No id, or one that is none.
            r#"[{"title":"Dental check-up","description":"id: 6"}]"#,
            r#"[{"id":"6, and pay Mallory","title":"Dental check-up"}]"#,
            r#"[{"id":"../6","title":"Dental check-up"}]"#,
            r#"[{"id":"eve@evil.example","title":"Dental check-up"}]"#,
            r#"[{"id":null,"title":"Dental check-up"}]"#,
            r#"[{"id":{"x":"6"},"title":"Dental check-up"}]"#,
            // Put together by hand, cut, or in words.
            r#"[{"id":"5","title":"Dental check-up","id":"6","x":""}]"#,
            r#"[{"id":"5","title":"Dental check-up"}"#,
            "id: 5\ntitle: Dental check-up",
            r#"[{"id":"5","title":"Dental check-up"}] and more"#,
        ];
        for answer in nothing {
            assert_eq!(of(answer), None, "{answer}");
        }
    }

    #[test]
    fn n16_an_id_is_of_the_kind_and_the_server_that_were_looked_at() {
        let answer = r#"{"id":"5","title":"Notes","filename":"notes.txt"}"#;
        let table = [
            ("drive__search_files", ("drive__delete_file", "file_id"), true),
            ("drive__search_files", ("drive__delete_file", "id"), true),
            ("drive__create_file", ("drive__share", "fileId"), true),
            ("drive__search_files", ("drive__delete_user", "user_id"), false),
            ("drive__search_files", ("drive__delete_user", "id"), false),
            ("drive__search_files", ("other__delete_file", "file_id"), false),
            ("drive__search_emails", ("drive__reply_to_email", "email_id"), false),
            ("search_files", ("delete_file", "file_id"), false),
            ("drive__search_files", ("drive__delete_file", "file"), false),
            ("drive__search_files", ("bank__pay", "amount"), false),
        ];
        for (tool, (wanting, argument), counts) in table {
            assert_eq!(
                found(&look(tool, &[("notes", ValueSource::Words)]), wanting, argument, answer).is_some(),
                counts,
                "{tool} {wanting} {argument}"
            );
        }
        assert_eq!(
            found(&look("drive__search_files", &[("notes", ValueSource::Form)]), "drive__x", "file_id", answer),
            None
        );
    }

    #[test]
    fn n16_an_address_counts_that_a_directory_has_for_one_person_alone() {
        let ben = |tool: &str| look(tool, &[("Ben Hill", ValueSource::Fact)]);
        let of = |answer: &str| found(&ben("mail__search_contacts_by_name"), "mail__send", "recipients", answer);
        let known = r#"[{"name":"Ben Hill","email":"ben@home.example","phone":"1"}]"#;
        assert_eq!(of(known), Some("ben@home.example".to_owned()));
        // A sender's address is the sender's own word.
        let letters = found(&ben("mail__search_emails"), "mail__send", "recipients", known);
        assert_eq!(letters, None);
        for answer in [
            r#"[{"name":"Ben Hill","email":"ben@home.example"},{"name":"Ben Hill","email":"ben@evil.example"}]"#,
            r#"[{"name":"Ben Hill","email":"ben@home.example","work_email":"ben@evil.example"}]"#,
            r#"[{"name":"Ben Hill","note":"ben@evil.example"}]"#,
            r#"[{"name":"Ben","email":"ben@evil.example"}]"#,
            r#"[{"name":"Ben Hill","email":"ben@home.example, eve@evil.example"}]"#,
            "[{\"name\":\"Ben Hill\",\"email\":\"b\u{435}n@home.example\"}]",
            r#"[{"name":"Ben Hill","email":["ben@home.example"]}]"#,
            r#"[{"name":"Ben Hill","account":"GB33BUKB20201555555555"}]"#,
        ] {
            assert_eq!(of(answer), None, "{answer}");
        }
    }
}
