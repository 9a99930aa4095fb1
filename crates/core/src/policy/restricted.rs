//! What is kept of health, money, politics and religion: nothing by itself, and nothing that others see.

use crate::domain::memory::Scope;

/// What is nobody else's business, and the words by which it is known.
const RESTRICTED: [(&str, &[&str]); 4] = [
    (
        "health",
        &[
            "health",
            "medical",
            "medicine",
            "medication",
            "illness",
            "disease",
            "diagnosis",
            "gesundheit",
            "krankheit",
            "diagnose",
            "medikament",
            "medikamente",
            "medizin",
        ],
    ),
    (
        "money",
        &[
            "money",
            "finance",
            "finances",
            "financial",
            "salary",
            "income",
            "debt",
            "debts",
            "geld",
            "finanzen",
            "gehalt",
            "einkommen",
            "schulden",
        ],
    ),
    ("politics", &["politics", "political", "politik", "partei"]),
    ("religion", &["religion", "religious", "faith", "glaube", "konfession"]),
];

/// Which restricted category words are about, if any.
pub fn restricted(words: &str) -> Option<&'static str> {
    let lower = words.to_lowercase();
    let said: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let about = |(_, names): &&(&str, &[&str])| names.iter().any(|name| said.contains(name));
    RESTRICTED.iter().find(about).map(|(category, _)| *category)
}

/// Why something is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Restriction {
    /// Nobody asked for it.
    #[error("About {0} nothing is kept unless somebody asks for just that: then set `sensitive`.")]
    Unasked(&'static str),
    /// Others would see it.
    #[error(
        "About {0} nothing is kept where others see it: only in a private conversation, and for that person alone."
    )]
    Shared(&'static str),
}

/// Whether what these words are about may be kept in `scope`; `asked`: the person asked for just that.
pub fn may_keep(words: &str, scope: Scope, asked: bool) -> Result<(), Restriction> {
    match (restricted(words), scope) {
        (None, _) => Ok(()),
        (Some(category), Scope::House | Scope::Conversation(_)) => Err(Restriction::Shared(category)),
        (Some(category), Scope::Person(_)) if !asked => Err(Restriction::Unasked(category)),
        (Some(_), Scope::Person(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{SessionId, UserId};

    #[test]
    fn n8_what_is_restricted_is_kept_for_one_person_and_only_if_asked() {
        let (own, group) = (Scope::Person(UserId(7)), Scope::Conversation(SessionId(3)));
        let table = [
            ("home bins", own, false, Ok(())),
            ("home bins", Scope::House, false, Ok(())),
            ("Health blood pressure", own, false, Err(Restriction::Unasked("health"))),
            ("Health blood pressure", own, true, Ok(())),
            ("work salary", own, false, Err(Restriction::Unasked("money"))),
            ("Gesundheit", Scope::House, true, Err(Restriction::Shared("health"))),
            ("politics", group, true, Err(Restriction::Shared("politics"))),
            ("religion", group, false, Err(Restriction::Shared("religion"))),
            ("healthy breakfast", group, false, Ok(())),
        ];
        for (words, scope, asked, expected) in table {
            assert_eq!(may_keep(words, scope, asked), expected, "{words} in {scope}");
        }
    }
}
