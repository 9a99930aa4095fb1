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
//! Start at [`fit`]; what a model writes is read by [`read`].

use crate::domain::plan::{Doubt, Intended, Planned, Step, Whence};
use crate::policy::arguments::shown::{last_word, steers, words};
use crate::policy::arguments::{Written, parse};
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

/// Which of a tool's arguments only say something, where nothing but their names tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// None: each of them steers.
    #[default]
    None,
    /// These.
    Of(&'static [&'static str]),
    /// Those that are called so.
    ByName,
}

impl Content {
    /// Does the argument of this name only say something? What is not known steers.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Of(names) => names.contains(&name),
            Self::ByName => last_word(name).is_some_and(|word| SAYS.contains(&word.as_str())) && !steers(name),
        }
    }
}

/// Does this tool's name say that it keeps what is to come: an entry of a calendar, a reminder? When such a thing is, is all
/// that steers it, where nobody else takes part.
#[must_use]
pub fn keeps_times(tool: &str) -> bool {
    words(tool.rsplit_once("__").map_or(tool, |(_, own)| own)).iter().any(|word| TIMES.contains(&word.as_str()))
}

/// A plan cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It has no such form.
    #[error("it needs steps, each with a tool and its arguments")]
    Shapeless,
    /// It is too long.
    #[error("at most {STEPS_MAX} steps and {CHARS_MAX} characters fit")]
    TooLong,
}

/// The steps that a model wrote, and of each value that it names nobody who has said it yet.
///
/// # Errors
/// When it is no plan.
pub fn read(arguments: &str) -> Result<Vec<Step>, Unread> {
    if arguments.chars().count() > CHARS_MAX {
        return Err(Unread::TooLong);
    }
    let Some(Written::Object(members)) = parse(arguments) else { return Err(Unread::Shapeless) };
    let steps = members.into_iter().find(|(name, _)| name == "steps");
    let Some((_, Written::List(steps))) = steps else { return Err(Unread::Shapeless) };
    if steps.len() > STEPS_MAX {
        return Err(Unread::TooLong);
    }
    steps.into_iter().map(step).collect::<Option<Vec<_>>>().filter(|steps| !steps.is_empty()).ok_or(Unread::Shapeless)
}

fn step(written: Written) -> Option<Step> {
    let Written::Object(members) = written else { return None };
    let (mut tool, mut arguments) = (None, Vec::new());
    for (name, value) in members {
        match (name.as_str(), value) {
            ("tool", Written::Text(name)) => tool = Some(name.trim().to_owned()),
            ("arguments", Written::Object(members)) => {
                arguments = members.into_iter().map(|(name, value)| Planned { name, value: intended(value) }).collect();
            }
            // What is not understood may have meant something.
            _ => return None,
        }
    }
    Some(Step { tool: tool.filter(|tool| !tool.is_empty())?, content: Vec::new(), arguments })
}

fn intended(value: Written) -> Intended {
    match value {
        Written::Object(members) if members.len() == 1 && members[0].0 == FROM => {
            Intended::From(members.into_iter().map(|(_, words)| shown(&words)).collect())
        }
        value => look(&value).unwrap_or_else(|| Intended::Is { written: value.json(), whence: None }),
    }
}

/// The call that is to find a value.
fn look(value: &Written) -> Option<Intended> {
    let Written::Object(members) = value else { return None };
    let of = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let (Some(Written::Text(tool)), Some(Written::Object(with)), 2) = (of(FROM), of(WITH), members.len()) else {
        return None;
    };
    let is = |(name, value): &(String, Written)| {
        let value = Intended::Is { written: value.json(), whence: None };
        Planned { name: name.clone(), value }
    };
    let arguments = with.iter().map(is).collect();
    Some(Intended::Found(Box::new(Step { tool: tool.trim().to_owned(), content: Vec::new(), arguments })))
}

/// A call that is to find a value, in words: `search_events for "dentist"`.
#[must_use]
pub fn look_words(look: &Step) -> String {
    let said = look.arguments.iter().filter(|planned| !look.content.contains(&planned.name));
    let value = |planned: &Planned| match &planned.value {
        Intended::Is { written, .. } => parse(written).map(|value| shown(&value)),
        Intended::From(_) | Intended::Found(_) => None,
    };
    let said: Vec<String> = said.filter_map(value).collect();
    if said.is_empty() { look.tool.clone() } else { format!("{} for \"{}\"", look.tool, said.join(", ")) }
}

/// What of this call nobody who counts has said; none: it is not the one that was planned. `found` says what of an argument
/// was found, as a text.
#[must_use]
pub fn fit(step: &Step, (tool, arguments): (&str, &str), found: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Doubt>> {
    let Some(Written::Object(members)) = parse(arguments) else { return None };
    if step.tool != tool {
        return None;
    }
    let of = |name: &str| step.arguments.iter().find(|planned| planned.name == name).map(|planned| &planned.value);
    let says = |name: &String, value: &Written| step.content.contains(name) && matches!(value, Written::Text(_));
    let (mut doubts, mut is_steered) = (Vec::new(), false);
    for (name, value) in &members {
        let doubt = |planned: &str| Doubt {
            argument: marked(name),
            value: shown(value),
            planned: planned.to_owned(),
            read_in: None,
        };
        match of(name) {
            Some(Intended::Is { written, .. }) if !is(written, value) => return None,
            Some(_) | None if says(name, value) => {}
            None if is_nothing(value) => {}
            None => return None,
            Some(Intended::Is { whence: Some(whence), .. }) => is_steered |= *whence != Whence::Form,
            Some(Intended::Is { whence: None, .. }) => doubts.push(doubt("")),
            Some(Intended::Found(look)) => match found(name) {
                Some(found) if is_text(&found, value) => is_steered = true,
                Some(_) => return None,
                None => doubts.push(doubt(&look_words(look))),
            },
            Some(Intended::From(words)) => doubts.push(doubt(words)),
        }
    }
    let is_there = |planned: &Planned| {
        members.iter().any(|(name, _)| *name == planned.name)
            || step.content.contains(&planned.name)
            || is_none(planned)
    };
    let is_whole = step.arguments.iter().all(is_there);
    (is_whole && (is_steered || !doubts.is_empty())).then_some(doubts)
}

fn is(written: &str, value: &Written) -> bool {
    parse(written).is_some_and(|planned| planned.is_same(value))
}

/// Is it this text or number, alone or as the only one of a list?
fn is_text(text: &str, value: &Written) -> bool {
    match value {
        Written::Text(other) | Written::Bare(other) => other == text,
        Written::List(items) => items.len() == 1 && !matches!(items[0], Written::List(_)) && is_text(text, &items[0]),
        Written::Object(_) => false,
    }
}

/// Does it leave everything as it would be without it?
fn is_nothing(value: &Written) -> bool {
    match value {
        Written::Bare(bare) => bare == "null",
        Written::List(items) => items.is_empty(),
        Written::Text(_) | Written::Object(_) => false,
    }
}

fn is_none(planned: &Planned) -> bool {
    match &planned.value {
        Intended::Is { written, .. } => parse(written).is_some_and(|value| is_nothing(&value)),
        Intended::From(_) | Intended::Found(_) => false,
    }
}

/// A value as people see it, on one line.
fn shown(value: &Written) -> String {
    let text = match value {
        Written::Text(text) => text.clone(),
        Written::Bare(_) | Written::List(_) | Written::Object(_) => value.json(),
    };
    let line = marked(&text).replace('\n', " ⟨U+000A⟩ ");
    if line.chars().nth(SHOWN_CHARS_MAX).is_none() {
        return line;
    }
    line.chars().take(SHOWN_CHARS_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
