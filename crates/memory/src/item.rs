//! What is remembered, by the short name under which people are shown it: `m12` is a memory, `f7` a fact.

use std::fmt;

use hob_core::domain::ids::{FactId, MemoryId};

/// A memory or a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryItem {
    /// Something said.
    Memory(MemoryId),
    /// Something known.
    Fact(FactId),
}

impl MemoryItem {
    /// What `name` names; none: it is no such name.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, digits) = name.split_at_checked(1)?;
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())??;
        match kind {
            "m" | "M" => Some(Self::Memory(MemoryId(number))),
            "f" | "F" => Some(Self::Fact(FactId(number))),
            _ => None,
        }
    }
}

impl fmt::Display for MemoryItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(memory) => write!(f, "m{memory}"),
            Self::Fact(fact) => write!(f, "f{fact}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_short_names() {
        let table = [
            ("m12", Some(MemoryItem::Memory(MemoryId(12)))),
            ("F7", Some(MemoryItem::Fact(FactId(7)))),
            ("m", None),
            ("m-1", None),
            ("m+1", None),
            ("x3", None),
            ("12", None),
            ("ä1", None),
            ("", None),
            ("m99999999999999999999", None),
        ];
        for (name, expected) in table {
            assert_eq!(MemoryItem::parse(name), expected, "{name}");
        }
        assert_eq!(MemoryItem::parse("m12").unwrap().to_string(), "m12");
        assert_eq!(MemoryItem::parse("f7").unwrap().to_string(), "f7");
    }
}
