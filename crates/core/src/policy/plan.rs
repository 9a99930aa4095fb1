//! What a plan is worth (row N16): which call is the one that was planned, and what of it nobody who counts has said.
//!
//! | of an argument that steers | then the call is |
//! |---|---|
//! | planned with this value, which somebody who counts has said | as planned |
//! | to be found by a call that the plan names, and found so by [`lookup`](crate::policy::lookup) | as planned |
//! | planned with this value, which nobody has said; or to be found otherwise | as planned, but for that: a person is shown it |
//! | planned with another value, or another was found; not planned; planned, and missing | another call |
//!
//! An argument that only says something may be whatever was read, unless the plan says what it is, or the text leads somebody on
//! ([`leads`](crate::policy::sources::leads)). A call that no value of
//! somebody's steers was planned by nobody.
//! Start at [`unvouched_values`]; what a model writes is read by [`read`].

use crate::domain::plan::{PlannedArgument, PlannedCall, PlannedValue, UnvouchedValue, ValueSource};
use crate::domain::text::cut;
use crate::policy::arguments::display::{last_word, steers, words};
use crate::policy::arguments::{WrittenValue, parse};
use crate::policy::invisible::marked;

/// So many calls a plan may name.
const STEPS_MAX: usize = 20;
/// The most characters of all that it says.
const CHARS_MAX: usize = 16_000;
/// The most characters of a value that is shown.
const SHOWN_CHARS_MAX: usize = 300;
/// The member of what is only to be found later …
const FROM: &str = "from";
/// … and the one beside it, where a call is to find it: that call's arguments.
const WITH: &str = "with";
/// Last words of names of arguments that only say something.
const SAYS: [&str; 14] = [
    "body",
    "caption",
    "comment",
    "content",
    "contents",
    "description",
    "memo",
    "message",
    "note",
    "notes",
    "subject",
    "summary",
    "text",
    "title",
];

/// Words of tools that keep what is to come.
const TIMES: [&str; 6] = ["alarm", "appointment", "calendar", "event", "meeting", "reminder"];

/// Does an argument of this name only say something, where nothing but its name tells? What is not known steers.
pub fn is_content_by_name(argument: &str) -> bool {
    last_word(argument).is_some_and(|word| SAYS.contains(&word.as_str())) && !steers(argument)
}

/// Does this tool's name say that it keeps what is to come: an entry of a calendar, a reminder? When such a thing is, is all
/// that steers it, where nobody else takes part.
pub fn keeps_times(tool: &str) -> bool {
    words(tool.rsplit_once("__").map_or(tool, |(_, own)| own)).iter().any(|word| TIMES.contains(&word.as_str()))
}

/// A plan cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanParseError {
    /// It has no such form.
    #[error("it needs steps, each with a tool and its arguments")]
    Shapeless,
    /// It is too long.
    #[error("at most {STEPS_MAX} steps and {CHARS_MAX} characters fit")]
    TooLong,
}

/// The steps that a model wrote, and of each value that it names nobody who has said it yet.
pub fn read(arguments: &str) -> Result<Vec<PlannedCall>, PlanParseError> {
    if arguments.chars().count() > CHARS_MAX {
        return Err(PlanParseError::TooLong);
    }
    let Some(WrittenValue::Object(members)) = parse(arguments) else { return Err(PlanParseError::Shapeless) };
    let steps = members.into_iter().find(|(name, _)| name == "steps");
    let Some((_, WrittenValue::List(steps))) = steps else { return Err(PlanParseError::Shapeless) };
    if steps.len() > STEPS_MAX {
        return Err(PlanParseError::TooLong);
    }
    steps
        .into_iter()
        .map(step)
        .collect::<Option<Vec<_>>>()
        .filter(|steps| !steps.is_empty())
        .ok_or(PlanParseError::Shapeless)
}

fn step(written: WrittenValue) -> Option<PlannedCall> {
    let WrittenValue::Object(members) = written else { return None };
    let (mut tool, mut arguments) = (None, Vec::new());
    for (name, value) in members {
        match (name.as_str(), value) {
            ("tool", WrittenValue::Text(name)) => tool = Some(name.trim().to_owned()),
            ("arguments", WrittenValue::Object(members)) => {
                arguments =
                    members.into_iter().map(|(name, value)| PlannedArgument { name, value: intended(value) }).collect();
            }
            // What is not understood may have meant something.
            _ => return None,
        }
    }
    Some(PlannedCall { tool: tool.filter(|tool| !tool.is_empty())?, content: Vec::new(), arguments })
}

fn intended(value: WrittenValue) -> PlannedValue {
    match value {
        WrittenValue::Object(members) if members.len() == 1 && members[0].0 == FROM => {
            PlannedValue::From(members.into_iter().map(|(_, words)| shown(&words)).collect())
        }
        value => lookup_call(&value).unwrap_or_else(|| PlannedValue::Is { written: value.json(), whence: None }),
    }
}

/// The call that is to find a value.
fn lookup_call(value: &WrittenValue) -> Option<PlannedValue> {
    let WrittenValue::Object(members) = value else { return None };
    let of = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let (Some(WrittenValue::Text(tool)), Some(WrittenValue::Object(with)), 2) = (of(FROM), of(WITH), members.len())
    else {
        return None;
    };
    let is = |(name, value): &(String, WrittenValue)| {
        let value = PlannedValue::Is { written: value.json(), whence: None };
        PlannedArgument { name: name.clone(), value }
    };
    let arguments = with.iter().map(is).collect();
    Some(PlannedValue::Found(Box::new(PlannedCall { tool: tool.trim().to_owned(), content: Vec::new(), arguments })))
}

/// A call that is to find a value, in words: `search_events for "dentist"`.
pub fn look_words(look: &PlannedCall) -> String {
    let said = look.arguments.iter().filter(|planned| !look.content.contains(&planned.name));
    let value = |planned: &PlannedArgument| match &planned.value {
        PlannedValue::Is { written, .. } => parse(written).map(|value| shown(&value)),
        PlannedValue::From(_) | PlannedValue::Found(_) => None,
    };
    let said: Vec<String> = said.filter_map(value).collect();
    if said.is_empty() { look.tool.clone() } else { format!("{} for \"{}\"", look.tool, said.join(", ")) }
}

/// What of this call nobody who counts has said; none: it is not the one that was planned. `found` says what of an argument
/// was found, as a text.
pub fn unvouched_values(
    step: &PlannedCall,
    tool: &str,
    arguments: &str,
    found: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<UnvouchedValue>> {
    let Some(WrittenValue::Object(members)) = parse(arguments) else { return None };
    if step.tool != tool {
        return None;
    }
    let of = |name: &str| step.arguments.iter().find(|planned| planned.name == name).map(|planned| &planned.value);
    let says =
        |name: &String, value: &WrittenValue| step.content.contains(name) && matches!(value, WrittenValue::Text(_));
    let (mut doubts, mut is_steered) = (Vec::new(), false);
    for (name, value) in &members {
        let doubt = |planned: &str| UnvouchedValue {
            argument: marked(name),
            value: shown(value),
            planned: planned.to_owned(),
            read_in: None,
        };
        match of(name) {
            Some(PlannedValue::Is { written, .. }) if !is_value(written, value) => return None,
            Some(_) | None if says(name, value) => {}
            None if is_nothing(value) => {}
            None => return None,
            Some(PlannedValue::Is { whence: Some(whence), .. }) => is_steered |= *whence != ValueSource::Form,
            Some(PlannedValue::Is { whence: None, .. }) => doubts.push(doubt("")),
            Some(PlannedValue::Found(look)) => match found(name) {
                Some(found) if is_text(&found, value) => is_steered = true,
                Some(_) => return None,
                None => doubts.push(doubt(&look_words(look))),
            },
            Some(PlannedValue::From(words)) => doubts.push(doubt(words)),
        }
    }
    let is_there = |planned: &PlannedArgument| {
        members.iter().any(|(name, _)| *name == planned.name)
            || step.content.contains(&planned.name)
            || is_none(planned)
    };
    let is_whole = step.arguments.iter().all(is_there);
    (is_whole && (is_steered || !doubts.is_empty())).then_some(doubts)
}

fn is_value(written: &str, value: &WrittenValue) -> bool {
    parse(written).is_some_and(|planned| planned.is_same(value))
}

/// Is it this text or number, alone or as the only one of a list?
fn is_text(text: &str, value: &WrittenValue) -> bool {
    match value {
        WrittenValue::Text(other) | WrittenValue::Bare(other) => other == text,
        WrittenValue::List(items) => {
            items.len() == 1 && !matches!(items[0], WrittenValue::List(_)) && is_text(text, &items[0])
        }
        WrittenValue::Object(_) => false,
    }
}

/// Does it leave everything as it would be without it?
fn is_nothing(value: &WrittenValue) -> bool {
    match value {
        WrittenValue::Bare(bare) => bare == "null",
        WrittenValue::List(items) => items.is_empty(),
        WrittenValue::Text(_) | WrittenValue::Object(_) => false,
    }
}

fn is_none(planned: &PlannedArgument) -> bool {
    match &planned.value {
        PlannedValue::Is { written, .. } => parse(written).is_some_and(|value| is_nothing(&value)),
        PlannedValue::From(_) | PlannedValue::Found(_) => false,
    }
}

/// A value as people see it, on one line.
fn shown(value: &WrittenValue) -> String {
    let text = match value {
        WrittenValue::Text(text) => text.clone(),
        WrittenValue::Bare(_) | WrittenValue::List(_) | WrittenValue::Object(_) => value.json(),
    };
    let line = marked(&text).replace('\n', " ⟨U+000A⟩ ");
    cut(&line, SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests;
