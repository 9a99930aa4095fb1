//! What an owner says that the tools of an MCP server do (row N16): once, instead of at every call.
//!
//! Never: a server's own word for it. What a server says of its tools is shown to the owner, who decides.
//! Start at [`ToolClass`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::tools::{Approval, Assessment, Risk, ToolFacts};

/// What a tool does, as an owner says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// It only looks: nobody is asked. What it answers taints as before.
    Looks,
    /// It changes something: it is asked about like the built-in tools that do.
    Changes,
    /// A person is asked each time.
    Critical,
    /// It is not offered to the model.
    Off,
}

/// What an argument of a tool is, as an owner says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRole {
    /// it says to whom, where, when, how much or which, and counts only if somebody said it who may
    Steering,
    /// it only says something, and may be whatever was read
    Content,
}

impl ToolClass {
    pub const ALL: [Self; 4] = [Self::Looks, Self::Changes, Self::Critical, Self::Off];

    /// The name in the database, the API and at the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Looks => "looks",
            Self::Changes => "changes",
            Self::Critical => "critical",
            Self::Off => "off",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// What runs have to know of a tool of this class.
    pub fn facts(self, facts: ToolFacts) -> ToolFacts {
        let approval = if self == Self::Critical { Approval::Critical } else { Approval::Free };
        match self {
            Self::Looks => ToolFacts { changes: false, approval, risk: Risk::Read, ..facts },
            Self::Changes | Self::Critical | Self::Off => {
                ToolFacts { changes: true, approval, risk: facts.risk.max(Risk::Send), ..facts }
            }
        }
    }

    /// What is known of a call that was looked at before its tool was classed.
    pub fn apply(self, known: &mut Assessment) {
        if self == Self::Looks {
            known.risk = Risk::Read;
        }
        known.classing = None;
    }
}

/// The tools of a server that nobody has classed, and how the server itself would have them classed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerClassification {
    pub server: String,
    pub tools: Vec<UnclassifiedTool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnclassifiedTool {
    pub name: String,
    /// What its server calls it.
    pub own: String,
    /// What its server's hints amount to.
    pub hinted: ToolClass,
    /// By which it is known again, as its server describes it.
    pub digest: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n16_a_class_says_when_a_person_is_asked() {
        let unclassed = ToolFacts { changes: true, approval: Approval::Ask, risk: Risk::Send, ..ToolFacts::default() };
        let of = |class: ToolClass| {
            let facts = class.facts(unclassed);
            (facts.approval, facts.most())
        };
        assert_eq!(of(ToolClass::Looks), (Approval::Free, Risk::Read));
        assert_eq!(of(ToolClass::Changes), (Approval::Free, Risk::Send));
        assert_eq!(of(ToolClass::Critical), (Approval::Critical, Risk::Send));
        // A tool that was taken for a look is none because it says so.
        assert_eq!(ToolClass::Changes.facts(ToolClass::Looks.facts(unclassed)).most(), Risk::Send);
        for class in ToolClass::ALL {
            assert_eq!(ToolClass::parse(class.as_str()), Some(class));
        }
        assert_eq!(ToolClass::parse("Looks"), None);
    }
}
