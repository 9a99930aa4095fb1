//! What a run intends to do, said before it has read what others wrote (row N16).
//!
//! Never: a rule. What a plan is worth is decided by `policy::plan`. Stored for years as a part of
//! [`Assessment`](crate::domain::tools::Assessment): change it only by adding.

use serde::{Deserialize, Serialize};

/// A call that is intended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    pub tool: String,
    /// Those of its arguments that only say something; all others steer it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<String>,
    /// What is known of its arguments, each by its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PlannedArgument>,
}

/// An argument of an intended call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedArgument {
    pub name: String,
    /// What it will be.
    #[serde(flatten)]
    pub value: PlannedValue,
}

/// What an argument will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedValue {
    /// This value, as it was written.
    Is {
        /// The JSON.
        written: String,
        /// Who has said it; none: nobody who counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whence: Option<ValueSource>,
    },
    /// What will be found there, in the model's words.
    From(String),
    /// What this call will find, if that is one thing alone.
    Found(Box<PlannedCall>),
}

/// Where a value comes from that may steer a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// The person's own words.
    Words,
    /// A fact that was told in a clean run.
    Fact,
    Config,
    /// What this tool answered, for which somebody vouches.
    Tool(String),
    /// It names nobody and nothing: a date, a yes or no, a word of a closed list.
    Form,
}

impl ValueSource {
    /// In words for people, after a value.
    pub fn as_words(&self) -> String {
        match self {
            Self::Words => "your words".to_owned(),
            Self::Fact => "what you told me before".to_owned(),
            Self::Config => "the config".to_owned(),
            Self::Tool(tool) => format!("what {tool} answered"),
            Self::Form => "my plan".to_owned(),
        }
    }
}

/// An argument of a call that was planned, and whose value nobody who counts has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnvouchedValue {
    pub argument: String,
    /// The value, as people see it.
    pub value: String,
    /// Where it was to come from, in the words of the plan; empty: the plan named the value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub planned: String,
    /// Where it was read; none: nowhere that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_in: Option<crate::domain::origin::OriginSource>,
}
