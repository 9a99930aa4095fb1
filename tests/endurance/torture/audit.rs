//! What must be true of what Telegram and the file system saw:
//!
//! * every message has exactly one last word, and it is the right one; a repetition only if it is marked as one;
//! * nothing else is said twice, and nothing that should not be said at all;
//! * the last words of a chat come in the order of its messages;
//! * a line is in the file once for each message that wanted it, unless a person was asked: then at most once, and
//!   once more for each time that they said "run it again".

use std::collections::{BTreeMap, BTreeSet};

use crate::torture::person::{MessageMeaning, PersonLog, read};
use crate::torture::town::Harness;
use hob_testkit::fake_telegram::world::Message;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct AuditReport {
    pub(crate) messages: usize,
    pub(crate) answers: usize,
    pub(crate) repeats: usize,
    pub(crate) questions: usize,
    /// What is not as it must be.
    pub(crate) wrong: Vec<String>,
}

pub(crate) fn audit(town: &Harness, talks: &[PersonLog]) -> AuditReport {
    let mut found = AuditReport::default();
    let files = ["effects", "safe"].map(|file| count(town.lines(file)));
    for talk in talks {
        let messages = town.telegram.look(|world| world.chat(talk.person).by_bot().cloned().collect::<Vec<_>>());
        let wrong = found.wrong.len();
        audit_chat(&mut found, talk, &messages);
        audit_files(&mut found, talk, &messages, &files);
        if found.wrong.len() > wrong {
            let chat = town.telegram.look(|world| world.chat(talk.person).clone());
            let lines =
                chat.messages.iter().map(|m| format!("  {} from {} to {:?}: {}", m.id, m.from, m.reply_to, m.text));
            found.wrong.extend(lines);
        }
    }
    found
}

fn count(lines: Vec<String>) -> BTreeMap<String, usize> {
    lines.into_iter().fold(BTreeMap::new(), |mut counts, line| {
        *counts.entry(line).or_default() += 1;
        counts
    })
}

fn audit_chat(found: &mut AuditReport, talk: &PersonLog, messages: &[Message]) {
    found.messages += talk.said.len();
    found.questions += talk.questions;
    let mut unmarked = BTreeSet::new();
    let mut order = Vec::new();
    for message in messages {
        let (meaning, marked) = read(message);
        found.repeats += usize::from(marked);
        if meaning == MessageMeaning::Strange {
            found.wrong.push(format!("{}: strange: {}", talk.person, message.text));
        }
        let what = (message.reply_to, message.text.clone(), message.keyboard.clone());
        if !marked && message.reply_to.is_some() && !unmarked.insert(what) {
            found.wrong.push(format!("{}: said twice without a mark: {}", talk.person, message.text));
        }
        if meaning == MessageMeaning::Final {
            order.extend(message.reply_to.filter(|about| !order.contains(about)));
            let name = message.reply_to.and_then(|about| talk.said.get(&about)).map(|(name, _)| name.as_str());
            let right = message.text.contains("Given up.")
                || name.is_some_and(|name| message.text.ends_with(&format!("answer {name}")));
            if !right {
                found.wrong.push(format!("{}: the wrong answer to {name:?}: {}", talk.person, message.text));
            }
        }
    }
    found.answers += order.len();
    if order.iter().ne(talk.said.keys()) {
        let wanted: Vec<_> = talk.said.keys().collect();
        found.wrong.push(format!("{}: answered {order:?}, not {wanted:?}", talk.person));
    }
}

fn audit_files(found: &mut AuditReport, talk: &PersonLog, messages: &[Message], files: &[BTreeMap<String, usize>; 2]) {
    let given_up = |id: i64| messages.iter().any(|m| m.reply_to == Some(id) && m.text.contains("Given up."));
    for (id, (name, how)) in &talk.said {
        let [effects, safe] = files.each_ref().map(|file| file.get(name).copied().unwrap_or(0));
        let again = talk.again.iter().filter(|about| *about == id).count();
        let right = match *how {
            "effect" if talk.asked.contains(id) => effects <= 1 + again && safe == 0,
            "effect" => effects == 1 && safe == 0,
            "safe" => (safe >= 1 || given_up(*id)) && effects == 0,
            _ => effects == 0 && safe == 0,
        };
        if !right {
            found.wrong.push(format!("{name} {how}: {effects} effects, {safe} safe, run again {again} times"));
        }
    }
}
