//! What a look before a schedule's run comes to (row F1): what is looked at, and what a check's output says.
//!
//! Never: output taken for an answer that it does not give. What is in none of the forms is a failure, and is told.
//! Start at [`judge`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// The word by which a check says that there is nothing to do.
const NO_WORK: &str = "NO_WORK";

/// What is looked at before a schedule is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LookTarget {
    /// A command is run, in the sandbox of the terminal's; it says whether there is something to do.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// It may use the network.
        #[serde(default)]
        network: bool,
    },
    /// A page is read: there is something to do when it says something else than the last time.
    Page {
        /// Its address.
        url: String,
    },
    /// Something at home is followed: there is something to do when it becomes so.
    Entity(EntityWatch),
    /// The calendars of whoever made the schedule are read: what is on is said.
    Today,
}

/// What is followed, and what it is to become.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntityWatch {
    /// Its id.
    pub entity: String,
    /// What it is to become.
    pub until: EntityCondition,
    /// So many minutes it has to stay so.
    #[serde(default)]
    pub minutes: u32,
    /// Each time, not the next time alone.
    #[serde(default)]
    pub again: bool,
}

/// What something is to become.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityCondition {
    /// Anything else than it is.
    Another,
    State(String),
    /// More than this, in thousandths.
    Above(i64),
    /// Less than this, in thousandths.
    Below(i64),
}

impl fmt::Display for EntityCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |thousandths: i64| {
            format!(
                "{}{}.{:03}",
                if thousandths < 0 { "-" } else { "" },
                thousandths.unsigned_abs() / 1_000,
                thousandths.unsigned_abs() % 1_000
            )
        };
        let number = |thousandths: i64| whole(thousandths).trim_end_matches('0').trim_end_matches('.').to_owned();
        match self {
            Self::Another => f.write_str("it changes"),
            Self::State(state) => write!(f, "it is {state:?}"),
            Self::Above(than) => write!(f, "it is above {}", number(*than)),
            Self::Below(than) => write!(f, "it is below {}", number(*than)),
        }
    }
}

impl fmt::Display for EntityWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} until {}", self.entity, self.until)?;
        match self.minutes {
            0 => Ok(()),
            minutes => write!(f, " for {minutes} min"),
        }
    }
}

/// The task that is done by saying what is on.
const TODAY: &str = "/today";

impl LookTarget {
    /// What is looked at for a task that no model has to do; none: one has to.
    pub fn of_task(task: &str) -> Option<Self> {
        (task.trim() == TODAY).then_some(Self::Today)
    }

    /// Is it looked at as soon as it is wanted, so that it is known what it was like then?
    pub fn is_followed(&self) -> bool {
        matches!(self, Self::Entity(_))
    }

    /// Is it over with once it has found something to do?
    pub fn is_once(&self) -> bool {
        matches!(self, Self::Entity(watch) if !watch.again)
    }
}

impl fmt::Display for LookTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { command, .. } => write!(f, "by the command {:?}", command.join(" ")),
            Self::Page { url } => write!(f, "at {url}"),
            Self::Entity(watch) => watch.fmt(f),
            Self::Today => f.write_str("at the calendars"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnd {
    /// With this code; none: a signal ended it.
    Exited(Option<i32>),
    /// It was ended after so many seconds.
    TimedOut(u64),
}

/// What a look comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookVerdict {
    /// There is nothing to do.
    Idle,
    /// There is, and these words say what: data.
    Wake {
        /// What was printed before the answer, or stands on the page.
        data: String,
    },
    /// This is said as it stands, and no model is asked.
    Tell { text: String },
    /// It has no answer.
    Failed {
        /// Why, in Hob's own words.
        why: String,
    },
}

/// The one object that answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(rename = "wakeAgent")]
    wake: bool,
}

/// What a check says that printed this: `NO_WORK` as the last line, or `{"wakeAgent": false}` or `{"wakeAgent": true}` as the last
/// line or as all of it.
pub fn judge(output: &str, end: CheckEnd) -> LookVerdict {
    let failed = |why: String| LookVerdict::Failed { why };
    match end {
        CheckEnd::Exited(Some(0)) => {}
        CheckEnd::Exited(Some(code)) => return failed(format!("it ended with exit code {code}")),
        CheckEnd::Exited(None) => return failed("a signal ended it".to_owned()),
        CheckEnd::TimedOut(secs) => return failed(format!("it was ended after {secs} s")),
    }
    let said = output.trim_end();
    let (before, last) = said.rsplit_once('\n').unwrap_or(("", said));
    if last == NO_WORK {
        return LookVerdict::Idle;
    }
    // A list would be read as well, by the order of the fields.
    let is_object = |text: &&str| text.trim_start().starts_with('{');
    let read = |text: &str| Some(text).filter(is_object).and_then(|text| serde_json::from_str::<Answer>(text).ok());
    let whole = read(said).map(|answer| (answer, ""));
    match whole.or_else(|| read(last).map(|answer| (answer, before))) {
        Some((Answer { wake: false }, _)) => LookVerdict::Idle,
        Some((Answer { wake: true }, data)) => LookVerdict::Wake { data: data.trim_end().to_owned() },
        None => failed(format!("its last line is neither {NO_WORK} nor {{\"wakeAgent\": false}} or true")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(output: &str) -> LookVerdict {
        judge(output, CheckEnd::Exited(Some(0)))
    }

    #[test]
    fn f1_a_check_says_it_in_one_of_the_forms() {
        for idle in [
            "NO_WORK",
            "NO_WORK\n",
            "looked at 3 boxes\nNO_WORK\r\n\n",
            r#"{"wakeAgent": false}"#,
            "{\"wakeAgent\":false}\n",
            "{\n  \"wakeAgent\": false\n}\n",
            "nothing new\n  {\"wakeAgent\": false}",
        ] {
            assert_eq!(said(idle), LookVerdict::Idle, "{idle:?}");
        }
        for (output, data) in [
            (r#"{"wakeAgent": true}"#, ""),
            ("{\n\"wakeAgent\": true\n}", ""),
            ("3 new\n- a\n\n{\"wakeAgent\": true}\n", "3 new\n- a"),
            ("NO_WORK\n{\"wakeAgent\": true}", "NO_WORK"),
        ] {
            assert_eq!(said(output), LookVerdict::Wake { data: data.to_owned() }, "{output:?}");
        }
    }

    #[test]
    fn f1_anything_else_is_a_failure_and_neither_answer() {
        for nonsense in [
            "",
            "\n\n",
            "no_work",
            "NO_WORK.",
            " NO_WORK",
            "\u{feff}NO_WORK",
            "It says NO_WORK",
            "NO_WORK\nbut this",
            "true",
            "false",
            "null",
            "[]",
            r#"{"wakeAgent": "false"}"#,
            r#"{"wakeAgent": 0}"#,
            r#"{"wakeAgent": null}"#,
            r#"{"wakeagent": false}"#,
            r#"{"wakeAgent": false, "wakeAgent": true}"#,
            r#"{"wakeAgent": false, "data": 1}"#,
            r#"{"wakeAgent": false} done"#,
            "[false]",
            "[true]",
            " \n[false]",
            "{\"wakeAgent\": false}\nTraceback",
            "{\"wakeAgent\":\nfalse} x",
        ] {
            assert!(matches!(said(nonsense), LookVerdict::Failed { .. }), "{nonsense:?}");
        }
        let why = |end| match judge("NO_WORK", end) {
            LookVerdict::Failed { why } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(CheckEnd::Exited(Some(3))), "it ended with exit code 3");
        assert_eq!(why(CheckEnd::Exited(None)), "a signal ended it");
        assert_eq!(why(CheckEnd::TimedOut(120)), "it was ended after 120 s");
    }

    /// Words that come near the forms.
    fn near() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("NO_WORK".to_owned()),
            Just("{\"wakeAgent\": false}".to_owned()),
            Just("{\"wakeAgent\": true}".to_owned()),
            Just("\n".to_owned()),
            Just(" ".to_owned()),
            "[{}\":,a-zA-Z_ \n]{0,12}",
            ".{0,6}",
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Nothing is idle, and nothing wakes, that a reader of the rule would not call so.
        #[test]
        fn f1_no_answer_is_made_of_what_is_none(output in near()) {
            let is_object = |text: &str, wake: bool| {
                let wanted = serde_json::json!({ "wakeAgent": wake });
                serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value == wanted)
            };
            let said_last = output.trim_end().lines().last().unwrap_or_default();
            let says = |wake: bool| is_object(&output, wake) || is_object(said_last, wake);
            match said(&output) {
                LookVerdict::Tell { text } => prop_assert!(false, "a check has nothing said: {text}"),
                LookVerdict::Idle => prop_assert!(said_last == NO_WORK || says(false)),
                LookVerdict::Wake { data } => {
                    prop_assert!(says(true) && said_last != NO_WORK);
                    prop_assert!(output.starts_with(&data));
                }
                LookVerdict::Failed { .. } => prop_assert!(said_last != NO_WORK && !says(false) && !says(true)),
            }
        }

        #[test]
        fn f1_what_did_not_end_well_has_no_answer(output in near(), code in 1_i32..256) {
            for end in [CheckEnd::Exited(Some(code)), CheckEnd::Exited(None), CheckEnd::TimedOut(1)] {
                let is_failure = matches!(judge(&output, end), LookVerdict::Failed { .. });
                prop_assert!(is_failure);
            }
        }
    }
}
