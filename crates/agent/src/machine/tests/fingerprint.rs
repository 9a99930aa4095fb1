//! The hash of a state (row N2): everything counts, and what comes later changes nothing of what is stored.

use super::{Script, begun, done, fails, wants};
use crate::machine::canonical_json::canonical_json;
use crate::machine::event::Event;
use crate::machine::fingerprint::{STATE_SCHEME, fingerprint};
use crate::machine::run_start::{ContextBudget, FixedTokens, RulesEdition, RunStart};
use crate::machine::state::{ActiveState, Phase, State};
use hob_model::error::ErrorClass;

fn hash(state: &State) -> String {
    let tree = serde_json::to_value(state).unwrap();
    assert_eq!(canonical_json(state).unwrap(), canonical_json(&tree).unwrap(), "{tree}");
    fingerprint(state).0
}

/// Every state on the way of a run has a hash of its own, and the same way leads to the same hashes.
#[test]
fn n2_each_step_has_a_hash_of_its_own() {
    let way = || {
        let mut script = Script::queued();
        let mut hashes = vec![hash(&State::Empty), hash(&script.state)];
        for event in [
            Event::Begun(Box::new(begun())),
            fails(ErrorClass::Server),
            wants(&["recall", "current_time"]),
            done("1.0"),
            done("1.1"),
            Event::SoftLimit,
        ] {
            script.on(event);
            hashes.push(hash(&script.state));
        }
        hashes
    };
    let hashes = way();
    let mut distinct = hashes.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), hashes.len(), "{hashes:#?}");
    assert_eq!(way(), hashes);
    assert!(hashes.iter().all(|hash| hash.starts_with(&format!("{STATE_SCHEME}:"))), "{hashes:#?}");
}

/// A change of one field of a run.
type Change = fn(&mut ActiveState);

#[test]
fn n2_each_field_counts() {
    let script = Script::acting(&["recall"]);
    let before = hash(&script.state);
    let changes: [(&str, Change); 14] = [
        ("limits", |run| run.limits.iterations += 1),
        ("models", |run| run.models[0].push('x')),
        ("model", |run| run.model = 1),
        ("granted", |run| run.granted.extend(["write_file".to_owned()])),
        ("policy", |run| run.policy.guards.identical_max += 1),
        ("transcript", |run| run.transcript.push(hob_model::message::Message::user("more"))),
        ("cycles", |run| run.cycles += 1),
        ("iterations", |run| run.iterations += 1),
        ("usage", |run| run.usage.input_tokens += 1),
        ("crashes", |run| run.crashes += 1),
        ("suspended", |run| run.suspended = true),
        ("questions", |run| run.questions += 1),
        ("input", |run| run.input.text.push('!')),
        ("phase", |run| run.phase = Phase::Replied),
    ];
    for (what, change) in changes {
        let mut changed = script.run().clone();
        change(&mut changed);
        assert_ne!(hash(&State::Active(Box::new(changed))), before, "{what} does not count");
    }
}

/// What is usual is not written down; everything else comes back as it went.
#[test]
fn n2_the_rules_and_the_room_come_back() {
    let room = ContextBudget { fixed: FixedTokens { system: 1, tools: 2, tail: 3 }, ..ContextBudget::default() };
    for (rules, room) in [(RulesEdition::CURRENT, ContextBudget::default()), (RulesEdition(1), room)] {
        let begun = RunStart { rules, room, ..begun() };
        let written = serde_json::to_value(&begun).unwrap();
        assert_eq!(written.get("rules").is_some(), begun.rules != RulesEdition::default());
        assert_eq!(written.get("room").is_some(), begun.room != ContextBudget::default());
        assert_eq!(serde_json::from_value::<RunStart>(written).unwrap(), begun);
    }
}
