//! A field of a form: what it takes, how that is said to a person, and what their words stand for.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use url::Url;

use crate::domain::text::{self, cut};
use crate::policy::invisible::marked;

/// The most values that a field offers.
const CHOICES_MAX: usize = 40;
/// The most characters of a name, a value, or what else stands on a line.
const LINE_CHARS_MAX: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// How the person reads it.
    pub title: String,
    /// Without it there is no answer.
    pub required: bool,
    /// What it takes.
    pub kind: FieldKind,
    /// What it is where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FieldKind {
    Words {
        /// The fewest characters.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
    },
    Number {
        whole: bool,
        /// The least.
        min: Option<Number>,
        /// The most.
        max: Option<Number>,
    },
    /// Yes or no.
    YesNo,
    OneOf {
        /// The values, each with its name.
        choices: Vec<Choice>,
    },
    /// Several of these.
    SomeOf {
        /// The values, each with its name.
        choices: Vec<Choice>,
        /// The fewest.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
    },
}

/// A value that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is answered.
    pub value: String,
    /// What the person reads.
    pub label: String,
}

impl Field {
    /// By its schema; none: it takes what nobody could say in words.
    pub(super) fn read(name: &str, schema: &Value, required: bool) -> Option<Self> {
        let title = schema["title"].as_str().or(schema["description"].as_str()).unwrap_or(name);
        let title = one_line(title).replace(':', "");
        let title = if title.is_empty() { one_line(name) } else { title };
        let kind = FieldKind::read(schema)?;
        let default = Some(&schema["default"]).filter(|default| kind.takes(default)).cloned();
        Some(Self { name: name.to_owned(), title, required, kind, default })
    }

    /// Does a person who says this mean it?
    pub(super) fn is_called(&self, said: &str) -> bool {
        self.title.to_lowercase() == said || self.name.to_lowercase() == said
    }

    /// What it takes, in words.
    pub(super) fn wanted(&self) -> String {
        let what = self.kind.wanted();
        let default = self.default.as_ref().map(|default| match default {
            Value::String(text) => one_line(text),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            other => one_line(&other.to_string()),
        });
        match (default, self.required) {
            (Some(default), _) => format!("{what} ({default})"),
            (None, true) => what,
            (None, false) => format!("{what}; may be left out"),
        }
    }
}

impl FieldKind {
    fn read(schema: &Value) -> Option<Self> {
        let (bound, number) = (|key: &str| schema[key].as_u64(), |key: &str| schema[key].as_number().cloned());
        Some(match schema["type"].as_str()? {
            "string" if schema.get("enum").is_some() || schema.get("oneOf").is_some() => {
                Self::OneOf { choices: choices(schema)? }
            }
            "string" => {
                let format = schema["format"].as_str().map(str::to_owned);
                Self::Words { min: bound("minLength"), max: bound("maxLength"), format }
            }
            kind @ ("number" | "integer") => {
                Self::Number { whole: kind == "integer", min: number("minimum"), max: number("maximum") }
            }
            "boolean" => Self::YesNo,
            "array" => {
                Self::SomeOf { choices: choices(&schema["items"])?, min: bound("minItems"), max: bound("maxItems") }
            }
            _ => return None,
        })
    }

    fn wanted(&self) -> String {
        match self {
            Self::Words { min, max, format } => {
                let what = match format.as_deref() {
                    Some("email") => "an e-mail address",
                    Some("uri") => "an address of the web",
                    Some("date") => "a day, like 2027-05-03",
                    Some("date-time") => "a moment, like 2027-05-03T08:30:00Z",
                    _ => "words",
                };
                let chars = |count: &Option<u64>| count.map(|count| format!("{count} characters"));
                format!("{what}{}", between(chars(min), chars(max)))
            }
            Self::Number { whole, min, max } => {
                let what = if *whole { "a whole number" } else { "a number" };
                format!("{what}{}", between(min.as_ref().map(Number::to_string), max.as_ref().map(Number::to_string)))
            }
            Self::YesNo => "yes or no".to_owned(),
            Self::OneOf { choices } => format!("one of {}", labels(choices)),
            Self::SomeOf { choices, min, max } => {
                let count = |count: &Option<u64>| count.map(|count| count.to_string());
                format!("some of {}, with commas between{}", labels(choices), between(count(min), count(max)))
            }
        }
    }

    /// Is it a value of this kind?
    fn takes(&self, value: &Value) -> bool {
        let within = |count: usize, min: &Option<u64>, max: &Option<u64>| {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
        };
        let is_among = |choices: &[Choice], value: &Value| {
            value.as_str().is_some_and(|value| choices.iter().any(|one| one.value == value))
        };
        match (self, value) {
            (Self::Words { min, max, format }, Value::String(text)) => {
                within(text.chars().count(), min, max) && has_format(text, format.as_deref())
            }
            (Self::Number { whole, min, max }, Value::Number(number)) => {
                let (of, is_whole) = (number.as_f64(), number.is_i64() || number.is_u64());
                let above = min.as_ref().is_none_or(|min| of >= min.as_f64());
                let below = max.as_ref().is_none_or(|max| of <= max.as_f64());
                above && below && (is_whole || !whole)
            }
            (Self::YesNo, Value::Bool(_)) => true,
            (Self::OneOf { choices }, value) => is_among(choices, value),
            (Self::SomeOf { choices, min, max }, Value::Array(all)) => {
                within(all.len(), min, max) && all.iter().all(|one| is_among(choices, one))
            }
            _ => false,
        }
    }

    /// The value that words stand for.
    pub(super) fn value(&self, words: &str) -> Option<Value> {
        let chosen = |choices: &[Choice], said: &str| {
            let said = said.trim().to_lowercase();
            let is_meant = |one: &&Choice| one.label.to_lowercase() == said || one.value.to_lowercase() == said;
            choices.iter().find(is_meant).map(|one| Value::String(one.value.clone()))
        };
        let value = match self {
            Self::Words { .. } => Value::String(words.to_owned()),
            Self::Number { whole: true, .. } => Value::from(words.parse::<i64>().ok()?),
            Self::Number { .. } => Value::Number(words.replace(',', ".").parse().ok()?),
            Self::YesNo => Value::Bool(yes_no(&words.to_lowercase())?),
            Self::OneOf { choices } => chosen(choices, words)?,
            Self::SomeOf { choices, .. } => {
                words.split(',').map(|one| chosen(choices, one)).collect::<Option<Vec<_>>>()?.into()
            }
        };
        self.takes(&value).then_some(value)
    }
}

/// The values of `oneOf`, `anyOf` or `enum`; none: there are none, too many, or some that are no words.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let named = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let values: Vec<(&Value, &Value)> = match (named, schema["enum"].as_array()) {
        (Some(named), _) => named.iter().map(|one| (&one["const"], &one["title"])).collect(),
        (None, Some(plain)) => {
            let names = &schema["enumNames"];
            plain.iter().enumerate().map(|(at, value)| (value, &names[at])).collect()
        }
        (None, None) => return None,
    };
    let choice = |(value, label): (&Value, &Value)| {
        let value = value.as_str()?;
        let label = one_line(label.as_str().unwrap_or(value)).replace(',', "");
        Some(Choice { value: value.to_owned(), label })
    };
    let all = values.into_iter().map(choice).collect::<Option<Vec<_>>>()?;
    (1..=CHOICES_MAX).contains(&all.len()).then_some(all)
}

fn labels(choices: &[Choice]) -> String {
    choices.iter().map(|one| one.label.as_str()).collect::<Vec<_>>().join(", ")
}

fn between(min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (None, None) => String::new(),
        (Some(min), None) => format!(", {min} at least"),
        (None, Some(max)) => format!(", {max} at most"),
        (Some(min), Some(max)) => format!(", from {min} to {max}"),
    }
}

fn has_format(text: &str, format: Option<&str>) -> bool {
    match format {
        Some("email") => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
        Some("uri") => Url::parse(text).is_ok(),
        Some("date") => text.parse::<Date>().is_ok(),
        Some("date-time") => text.parse::<Timestamp>().is_ok(),
        _ => true,
    }
}

pub(super) fn yes_no(said: &str) -> Option<bool> {
    match said {
        "yes" | "y" | "ok" | "true" | "done" => Some(true),
        "no" | "n" | "false" => Some(false),
        _ => None,
    }
}

/// Anybody's words on one line, with nothing in them that hides.
pub(super) fn one_line(words: &str) -> String {
    marked(&cut(&text::one_line(words), LINE_CHARS_MAX))
}
