//! What the families of Gemini models want said differently, as data.
//!
//! Never: a guess from what a server answered.
//! Start at [`Family::of`].

use hob_core::domain::choices::Effort;

/// What is particular to a family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family {
    /// How it is told how much to think.
    pub(super) thinking: Thinking,
    /// It refuses a history in which the first call of a reply is not signed.
    pub(super) signed_calls: bool,
}

/// How a family is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Not at all: it refuses to be told.
    Untold,
    /// As a number of tokens.
    Budget,
    /// As one of three words.
    Levels,
    /// As `low` or `high`; what lies between is its own choice.
    LowOrHigh,
}

/// The start of a model's name and its family; the first that fits counts. What comes after Gemini 3, and the names
/// that wander (`gemini-flash-latest`), are taken for its kind.
const FAMILIES: &[(&str, Family)] = &[
    ("gemini-1", Family { thinking: Thinking::Untold, signed_calls: false }),
    ("gemini-2.0", Family { thinking: Thinking::Untold, signed_calls: false }),
    ("gemini-2.5", Family { thinking: Thinking::Budget, signed_calls: false }),
    ("gemini-3-pro", Family { thinking: Thinking::LowOrHigh, signed_calls: true }),
    ("gemini-", Family { thinking: Thinking::Levels, signed_calls: true }),
];

/// Gemma and what else is served in the same place.
const OTHERS: Family = Family { thinking: Thinking::Untold, signed_calls: false };

impl Family {
    /// The family of a model, by its name.
    pub(super) fn of(model: &str) -> Self {
        FAMILIES.iter().find(|(start, _)| model.starts_with(start)).map_or(OTHERS, |(_, family)| *family)
    }

    /// The budget that stands for `effort`: within what every model of the family takes (Flash-Lite from 512, Flash up
    /// to 24,576).
    pub(super) fn budget(self, effort: Effort) -> Option<u32> {
        let budget = match effort {
            Effort::Low => 1024,
            Effort::Medium => 8192,
            Effort::High => 24_576,
        };
        (self.thinking == Thinking::Budget).then_some(budget)
    }

    /// The word that stands for `effort`.
    pub(super) fn level(self, effort: Effort) -> Option<&'static str> {
        match (self.thinking, effort) {
            (Thinking::Untold | Thinking::Budget, _) | (Thinking::LowOrHigh, Effort::Medium) => None,
            (Thinking::Levels | Thinking::LowOrHigh, Effort::Low) => Some("low"),
            (Thinking::Levels, Effort::Medium) => Some("medium"),
            (Thinking::Levels | Thinking::LowOrHigh, Effort::High) => Some("high"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_is_told_in_its_own_way() {
        let cases = [
            ("gemini-2.0-flash", [(None, None); 3], false),
            ("gemini-2.5-flash-lite", [(Some(1024), None), (Some(8192), None), (Some(24_576), None)], false),
            ("gemini-3-pro-preview", [(None, Some("low")), (None, None), (None, Some("high"))], true),
            ("gemini-3-flash-preview", [(None, Some("low")), (None, Some("medium")), (None, Some("high"))], true),
            ("gemini-3.1-pro-preview", [(None, Some("low")), (None, Some("medium")), (None, Some("high"))], true),
            ("gemini-flash-latest", [(None, Some("low")), (None, Some("medium")), (None, Some("high"))], true),
            ("gemma-3-27b-it", [(None, None); 3], false),
        ];
        for (model, told, signed) in cases {
            let family = Family::of(model);
            let efforts = [Effort::Low, Effort::Medium, Effort::High];
            assert_eq!(efforts.map(|effort| (family.budget(effort), family.level(effort))), told, "{model}");
            assert_eq!(family.signed_calls, signed, "{model}");
        }
    }
}
