//! What becomes of a claim, given what is known under its key. Pure.
//!
//! | what is known | told | drawn from talk, or brought in |
//! |---|---|---|
//! | nothing | new | new |
//! | it held until a time that is over | supersedes | supersedes |
//! | the same value | nothing new; what contradicted it is settled | nothing new |
//! | the same value, as a rival | that one is true: it takes the other's place | nothing new |
//! | another value, said later by the same person | supersedes | is history |
//! | another value, by the same person, who says that it changed | supersedes | supersedes |
//! | another value | supersedes | a rival: a person is asked |

use crate::facts::equivalence::same_value;
use hob_core::domain::ids::{FactId, UserId};
use hob_store::facts::{Fact, Source};

/// The most values that stand against a current one.
pub(crate) const RIVALS_MAX: usize = 3;

/// Something said to be so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim<'a> {
    /// What is said to be so.
    pub value: &'a str,
    /// How it comes to be known.
    pub source: Source,
    /// Who said it.
    pub user: Option<UserId>,
    pub said_at: i64,
    /// Whether they say that it was otherwise before.
    pub changed: bool,
    pub now: i64,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is the first of its kind.
    New,
    /// This fact says so already.
    Same(FactId),
    /// It takes the place of all that is known.
    Supersede,
    /// It stands beside what is known, and in the place of this older rival.
    Rival(Option<FactId>),
    /// What is known was said later.
    Past,
}

/// Decides; `known` is the current fact, then its rivals, the oldest first.
pub(crate) fn decide(claim: &Claim<'_>, known: &[Fact]) -> Decision {
    let Some(current) = known.first() else { return Decision::New };
    if current.is_over(claim.now) {
        return Decision::Supersede;
    }
    if let Some(same) = known.iter().find(|fact| same_value(&fact.value, claim.value)) {
        return Decision::Same(same.id);
    }
    if claim.source == Source::Told {
        return Decision::Supersede;
    }
    let same_speaker = claim.user.is_some() && claim.user == current.user;
    if same_speaker && claim.said_at < current.since {
        return Decision::Past;
    }
    if same_speaker && claim.changed {
        return Decision::Supersede;
    }
    let rivals = &known[1..];
    Decision::Rival((rivals.len() >= RIVALS_MAX).then(|| rivals[0].id))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hob_core::domain::memory::Scope;

    /// A current fact, said at 100 by user 1.
    pub(crate) fn fact(id: i64, value: &str) -> Fact {
        Fact {
            id: FactId(id),
            scope: Scope::House,
            category: "home".to_owned(),
            key: "door".to_owned(),
            value: value.to_owned(),
            person: None,
            user: Some(UserId(1)),
            speaker: "Anna".to_owned(),
            message: None,
            source: Source::Extracted,
            confidence: 0.7,
            importance: 0.5,
            pinned: false,
            uses: 0,
            used_at: None,
            since: 100,
            valid_until: None,
            rival_of: None,
            superseded_at: None,
            taint: None,
        }
    }

    #[test]
    fn n6_what_becomes_of_a_claim() {
        use Source::{Extracted, Import, Told};
        let one = vec![fact(1, "green")];
        let told = vec![Fact { source: Told, ..fact(1, "green") }];
        let over = vec![Fact { source: Told, valid_until: Some(150), ..fact(1, "green") }];
        let two = vec![fact(1, "green"), fact(2, "red")];
        let many = vec![fact(1, "green"), fact(2, "red"), fact(3, "blue"), fact(4, "white")];
        let same = |id| Decision::Same(FactId(id));
        let table = [
            ("nothing known", Vec::new(), "red", Extracted, 1, 200, false, Decision::New),
            ("the same", one.clone(), "Green.", Extracted, 2, 200, false, same(1)),
            ("the same, told", one.clone(), "green", Told, 2, 200, false, same(1)),
            ("told", one.clone(), "red", Told, 2, 200, false, Decision::Supersede),
            ("another value", one.clone(), "red", Extracted, 1, 200, false, Decision::Rival(None)),
            ("it changed", one.clone(), "red", Extracted, 1, 200, true, Decision::Supersede),
            ("another says it changed", one.clone(), "red", Extracted, 2, 200, true, Decision::Rival(None)),
            ("said before", one.clone(), "red", Extracted, 1, 50, true, Decision::Past),
            ("said before by another", one, "red", Extracted, 2, 50, false, Decision::Rival(None)),
            ("against what was told", told.clone(), "red", Extracted, 1, 200, false, Decision::Rival(None)),
            ("what was told changed", told.clone(), "red", Extracted, 1, 200, true, Decision::Supersede),
            ("brought in", told, "red", Import, 2, 200, false, Decision::Rival(None)),
            ("it is over", over, "red", Extracted, 2, 200, false, Decision::Supersede),
            ("a known rival", two.clone(), "red", Extracted, 1, 200, false, same(2)),
            ("a known rival, told", two.clone(), "red", Told, 1, 200, false, same(2)),
            ("a third", two, "blue", Extracted, 1, 200, false, Decision::Rival(None)),
            ("one too many", many, "black", Extracted, 1, 200, false, Decision::Rival(Some(FactId(2)))),
        ];
        for (case, known, value, source, user, said_at, changed, expected) in table {
            let claim = Claim { value, source, user: Some(UserId(user)), said_at, changed, now: 300 };
            assert_eq!(decide(&claim, &known), expected, "{case}");
        }
    }

    #[test]
    fn n6_two_unknown_speakers_are_not_one() {
        let known = [Fact { user: None, ..fact(1, "green") }];
        let claim = Claim { value: "red", source: Source::Import, user: None, said_at: 200, changed: true, now: 300 };
        assert_eq!(decide(&claim, &known), Decision::Rival(None));
    }
}
