//! Characters that a server has cut in two, joined again.
//!
//! JSON writes a character beyond the first 65,536 as two halves (`\ud83d\ude00`). A server that cuts its model's words at
//! tokens may put one half into an event and the other into the next, and may lose one. No half is text, so an event with
//! a lone one could not be read at all.
//! Never: a change of an event that has no lone half.
//! Start at [`SurrogateHalves::whole`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;

use serde_json::Value;

/// A lone half stands for itself, while an event is read, as a character that nobody has a use for: these are as many as
/// there are halves.
const STAND_INS: u32 = 0x0010_F800;
/// The first half's values begin here …
const HIGH: u32 = 0xD800;
/// … the second's here …
const LOW: u32 = 0xDC00;
const HALVES_END: u32 = 0xE000;
/// What stands under these comes whole: the arguments of a call, as an object.
const WHOLE: [&str; 3] = ["args", "arguments", "input"];
/// What is shown for a half that stays alone.
const LOST: char = '\u{fffd}';

/// The first halves whose second ones are to come, by the place in the event.
#[derive(Debug, Default)]
pub(crate) struct SurrogateHalves(BTreeMap<String, char>);

impl SurrogateHalves {
    /// An event without lone halves: a first half at the end of a text waits for the next event's text in its place.
    pub(crate) fn join_halves(&mut self, event: String) -> String {
        let marked = with_stand_ins(&event);
        if matches!(marked, Cow::Borrowed(_)) && self.0.is_empty() {
            return event;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&marked) else { return event };
        self.walk(&mut String::new(), &mut value, false);
        value.to_string()
    }

    fn walk(&mut self, place: &mut String, value: &mut Value, is_whole: bool) {
        let length = place.len();
        match value {
            Value::String(text) if is_whole => *text = rendered(join_stand_ins(text.chars())),
            Value::String(text) => self.text(place, text),
            Value::Array(all) => {
                for (index, value) in all.iter_mut().enumerate() {
                    place.extend(["/", &index.to_string()]);
                    self.walk(place, value, is_whole);
                    place.truncate(length);
                }
            }
            Value::Object(all) => {
                // Which of several calls or blocks it is stands beside the text.
                let index = all.get("index").and_then(Value::as_u64);
                for (key, value) in all.iter_mut() {
                    let which = index.map(|index| format!("{index}:")).unwrap_or_default();
                    let is_object = value.is_object();
                    place.extend(["/", &which, key]);
                    self.walk(place, value, is_whole || is_object && WHOLE.contains(&key.as_str()));
                    place.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, place: &str, text: &mut String) {
        // An empty one says nothing yet.
        if text.is_empty() {
            return;
        }
        let waiting = self.0.remove(place);
        let mut whole = join_stand_ins(waiting.into_iter().chain(text.chars()));
        if let Some(high) = whole.pop_if_high() {
            self.0.insert(place.to_owned(), high);
        }
        *text = rendered(whole);
    }
}

/// Characters, among them stand-ins of lone halves.
struct Characters(Vec<char>);

impl Characters {
    /// Takes the last one off, if it is a first half.
    fn pop_if_high(&mut self) -> Option<char> {
        self.0.pop_if(|c| stand_in_half(*c).is_some_and(|half| half < LOW))
    }
}

/// Characters as text, in which nothing stands in for a half.
fn rendered(all: Characters) -> String {
    all.0.into_iter().map(|c| if stand_in_half(c).is_some() { LOST } else { c }).collect()
}

/// Characters with each pair of stand-ins as what it stands for.
fn join_stand_ins(all: impl Iterator<Item = char>) -> Characters {
    let mut joined = Characters(Vec::new());
    for c in all {
        let low = stand_in_half(c).filter(|half| *half >= LOW);
        let whole = low.and_then(|low| {
            let high = joined.0.last().copied().and_then(stand_in_half).filter(|half| *half < LOW)?;
            char::from_u32(0x1_0000 + ((high - HIGH) << 10) + (low - LOW))
        });
        match whole {
            Some(whole) => {
                joined.0.pop();
                joined.0.push(whole);
            }
            None => joined.0.push(c),
        }
    }
    joined
}

/// The half that a character stands in for.
fn stand_in_half(c: char) -> Option<u32> {
    u32::from(c).checked_sub(STAND_INS).map(|offset| HIGH + offset).filter(|half| *half < HALVES_END)
}

/// JSON with a stand-in for each lone half.
fn with_stand_ins(json: &str) -> Cow<'_, str> {
    replaced(json, |half| char::from_u32(STAND_INS + half - HIGH).unwrap_or(LOST))
}

/// JSON in which no half stands alone, such as a call's arguments: these are JSON within the JSON of events.
pub(crate) fn repaired(json: String) -> String {
    match replaced(&json, |_half| LOST) {
        Cow::Borrowed(_) => json,
        Cow::Owned(repaired) => repaired,
    }
}

/// JSON with something else for each lone half.
fn replaced(json: &str, by: impl Fn(u32) -> char) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let start = at + found;
        let Some(first) = escaped(json, start) else {
            // Another escape, or its beginning.
            at = start + 2;
            continue;
        };
        at = start + 6;
        let is_pair = first < LOW && escaped(json, at).is_some_and(|second| second >= LOW);
        if is_pair {
            at += 6;
        } else {
            out.push_str(json.get(copied..start).unwrap_or_default());
            out.push(by(first));
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// The half that is written here as `\ud83d`.
fn escaped(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    (HIGH..HALVES_END).contains(&value).then_some(value)
}

impl Drop for SurrogateHalves {
    fn drop(&mut self) {
        if !mem::take(&mut self.0).is_empty() {
            tracing::debug!("a model's reply ended within a character");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(events: &[&str]) -> Vec<Value> {
        let mut halves = SurrogateHalves::default();
        events.iter().map(|event| serde_json::from_str(&halves.join_halves((*event).to_owned())).unwrap()).collect()
    }

    #[test]
    fn halves_are_joined_across_events() {
        for (events, expected) in [
            (vec![r#"{"t":"a\ud83d"}"#, r#"{"t":"\ude00b"}"#], vec![json!({"t": "a"}), json!({"t": "😀b"})]),
            // Nothing comes in between, or something elsewhere.
            (
                vec![r#"{"t":"\ud83d"}"#, r#"{"t":""}"#, r#"{"u":"x"}"#, r#"{"t":"\ude00"}"#],
                vec![json!({"t": ""}), json!({"t": ""}), json!({"u": "x"}), json!({"t": "😀"})],
            ),
            // What stays alone is replaced; nothing else is lost.
            (vec![r#"{"t":"a\ud83d"}"#, r#"{"t":"b"}"#], vec![json!({"t": "a"}), json!({"t": "\u{fffd}b"})]),
            (vec![r#"{"t":"a\ude00b\ud83dc"}"#], vec![json!({"t": "a\u{fffd}b\u{fffd}c"})]),
            // What comes whole is not waited for.
            (vec![r#"{"args":{"t":"a\ud83d"}}"#], vec![json!({"args": {"t": "a\u{fffd}"}})]),
            (vec![r#"{"args":"a\ud83d"}"#, r#"{"args":"\ude00"}"#], vec![json!({"args": "a"}), json!({"args": "😀"})]),
            // Two texts at once, each with its own half.
            (
                vec![
                    r#"{"c":[{"index":0,"t":"\ud83d"}],"d":"\ud83d"}"#,
                    r#"{"c":[{"index":1,"t":"x"}],"d":"\ude01"}"#,
                    r#"{"c":[{"index":0,"t":"\ude00"}]}"#,
                ],
                vec![
                    json!({"c": [{"index": 0, "t": ""}], "d": ""}),
                    json!({"c": [{"index": 1, "t": "x"}], "d": "😁"}),
                    json!({"c": [{"index": 0, "t": "😀"}]}),
                ],
            ),
        ] {
            assert_eq!(read(&events), expected, "{events:?}");
        }
    }

    #[test]
    fn what_has_no_lone_half_is_as_it_was() {
        for event in
            [r#"{"n":1e3, "t":"\ud83d\ude00 \\ud83d \n \u00e4 😀"}"#, "[DONE]", r#"{"t":"\"#, "", r#"{"t":"\ud8"#]
        {
            assert_eq!(SurrogateHalves::default().join_halves(event.to_owned()), event);
            assert_eq!(repaired(event.to_owned()), event);
        }
        assert_eq!(repaired(r#"{"a":"x\uD83Dy\ud83d\ude00"}"#.to_owned()), "{\"a\":\"x\u{fffd}y\\ud83d\\ude00\"}");
    }

    #[test]
    fn no_event_breaks_however_it_is_cut() {
        let event = r#"{"t":"\\\ud83d\\\ude00\ud83d\ude00\udc00\"","u":["\ud800"]}"#;
        for end in (0..=event.len()).filter(|end| event.is_char_boundary(*end)) {
            SurrogateHalves::default().join_halves(event[..end].to_owned());
            repaired(event[..end].to_owned());
        }
    }
}
