//! Journals that a released Hob has written: each must fold in this one, and come out as it went in.
//!
//! `UPDATE_FIXTURES=1` writes the ones that are missing. A file that exists is never rewritten: an encoding that was
//! released stays readable for good.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "journals/stories.rs"]
mod stories;

use std::fs;
use std::path::{Path, PathBuf};

use hob_agent::journal::{VERSION, decode, encode};
use hob_agent::machine::event::{Event, RunEnd, RunReply};
use hob_agent::machine::fingerprint::fingerprint;
use hob_agent::machine::state::State;
use hob_agent::machine::{Replay, step};
use hob_core::domain::ids::RunId;
use hob_store::journal::EventRow;
use jiff::Timestamp;

use crate::stories::{RecordedStory, accepted, runs};
use hob_config::environment::Environment;

/// What a run writes today, a row each.
fn written(run: &RecordedStory) -> Vec<EventRow> {
    let mut state = State::Empty;
    let causes = std::iter::once(accepted()).chain(run.causes.iter().cloned());
    let events: Vec<Event> = causes.flat_map(|event| step(&mut state, event).events).collect();
    events.iter().zip(1..).map(|(event, seq)| encode(event, seq, Timestamp::UNIX_EPOCH).unwrap()).collect()
}

fn folder(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/journals/v{version}"))
}

fn line(row: &EventRow) -> String {
    format!("{{\"kind\":\"{}\",\"version\":{},\"body\":{}}}", row.kind, row.version, row.body)
}

/// The rows of a stored journal: the body exactly as it is written there.
fn stored(path: &Path) -> Vec<EventRow> {
    let text = fs::read_to_string(path).unwrap();
    let row = |(line, seq): (&str, i64)| {
        let head: serde_json::Value = serde_json::from_str(line).unwrap();
        let (_, body) = line.split_once(",\"body\":").unwrap();
        EventRow {
            seq,
            kind: head["kind"].as_str().unwrap().to_owned(),
            version: head["version"].as_i64().unwrap(),
            body: body.strip_suffix('}').unwrap().to_owned(),
            at: 0,
        }
    };
    text.lines().zip(1..).map(row).collect()
}

fn folded<'a>(events: impl IntoIterator<Item = &'a Event>) -> Replay {
    let mut replay = Replay::default();
    events.into_iter().for_each(|event| replay.feed(event));
    replay
}

fn events(rows: &[EventRow]) -> Vec<Event> {
    rows.iter().map(|row| decode(RunId(1), row).unwrap()).collect()
}

fn end(state: &State) -> Option<&RunEnd> {
    match state {
        State::Closed(end) => Some(end),
        State::Active(run) => run.end(),
        State::Empty | State::Queued(_) => None,
    }
}

#[test]
fn b11_every_stored_journal_still_folds() {
    for run in runs() {
        let path = folder(1).join(format!("{}.jsonl", run.name));
        if !path.exists() && Environment::of_process().get("UPDATE_FIXTURES").is_some() {
            let lines: String = written(&run).iter().map(|row| line(row) + "\n").collect();
            fs::create_dir_all(folder(1)).unwrap();
            fs::write(&path, lines).unwrap();
        }
        let rows = stored(&path);
        let events = events(&rows);
        let replay = folded(&events);
        assert_eq!(replay.mismatch(), None, "{}", run.name);
        assert_eq!(end(&replay.state), Some(&run.end), "{}", run.name);
        for (event, row) in events.iter().zip(&rows).filter(|(_, row)| row.version == VERSION) {
            assert_eq!(line(&encode(event, row.seq, Timestamp::UNIX_EPOCH).unwrap()), line(row), "{}", run.name);
        }
    }
}

#[test]
fn no_stored_journal_is_forgotten() {
    let mut found: Vec<String> = fs::read_dir(folder(1))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    let mut known: Vec<&str> = runs().iter().map(|run| run.name).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn the_stored_journals_know_every_way_to_end() {
    let ends: Vec<RunEnd> = runs().into_iter().map(|run| run.end).collect();
    for end in [RunEnd::Completed, RunEnd::Cancelled, RunEnd::GivenUp, RunEnd::Withdrawn, RunEnd::Joined] {
        assert!(ends.contains(&end), "{end:?}");
    }
}

/// Fields that come later are at their defaults in what was recorded before, and must not change its hash. Where a hash
/// has to change all the same, `STATE_SCHEME` takes a new name, and old ones are no longer compared.
#[test]
fn n2_the_hashes_of_stored_states_stay_what_they_were() {
    let mut hashes = Vec::new();
    for run in runs() {
        let rows = stored(&folder(VERSION).join(format!("{}.jsonl", run.name)));
        let hash = fingerprint(&folded(&events(&rows)).state).0;
        hashes.push(format!("{} {}", run.name, &hash[..23]));
    }
    insta::assert_snapshot!(hashes.join("\n"), @"
    plain_answer state1:79a626d0bf9da55d
    tools state1:bd01f16e9d957b26
    ask_human state1:9bd3eaafe9f3b4d7
    crash_unsafe_happened state1:11edfae76bed0448
    cancelled state1:bb01be8ccad6b4e9
    failed_with_fallback state1:77c9b8a3f0e4690d
    crash_loop_given_up state1:1c0e87cc6af58a22
    edited_silence state1:be806a423b6750c8
    withdrawn state1:d84ca4fa18d38df1
    joined state1:38354b88f8efd4d2
    panicked state1:53c10d6a176e097b
    priced_sealed_continued state1:5be73b38813fb48b
    all_rest_then_budget state1:1f219674c81ed937
    approved_and_retried state1:63d13bf2e41ce3d4
    circling_given_up state1:74dde81cd7ce12c9
    claimed_and_kept state1:01936c7bcf9fc832
    summed_up state1:7b533e78c10132a4
    paused_with_notes state1:8a52a3cf0031f95c
    declared_to_its_end state1:e529ac7b5fbe52e6
    handed_on state1:3056f07315791331
    quota_reached state1:cd51b30a6aae3fc9
    tainted_and_asked state1:523563d89b42b714
    delivered state1:fd9593a80b568b89
    shown_a_picture state1:537b561546cc5006
    ");
}

#[test]
fn b11_a_tampered_journal_is_noticed_where_it_was_tampered_with() {
    let whole = events(&stored(&folder(1).join("tools.jsonl")));
    let starts: Vec<usize> = (0..whole.len()).filter(|&index| whole[index].is_start_record()).collect();
    assert!(starts.len() > 6);
    for &index in &starts {
        let mut dropped = whole.clone();
        dropped.remove(index);
        assert_eq!(folded(&dropped).mismatch().unwrap().seq, index as i64 + 1, "dropped");

        let mut swapped = whole.clone();
        swapped.swap(index, index - 1);
        assert_eq!(folded(&swapped).mismatch().unwrap().seq, index as i64, "swapped");

        let mut changed = whole.clone();
        changed[index] = Event::Replied(RunReply::Answer { text: "something else".to_owned() });
        assert_eq!(folded(&changed).mismatch().unwrap().seq, index as i64 + 1, "changed");
    }
}

#[test]
fn a_row_of_a_newer_hob_is_refused_and_not_guessed_at() {
    let mut row = stored(&folder(1).join("plain_answer.jsonl")).remove(0);
    row.version = VERSION + 1;
    assert!(decode(RunId(1), &row).is_err());
}
