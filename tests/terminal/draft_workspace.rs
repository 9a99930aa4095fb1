//! Commands and file tools in drafts of the workspace, on the real kernel: what each sees, and what is in the workspace when.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use hob_core::domain::draft::DraftUse;
use hob_core::domain::ids::{CallId, UserId};
use hob_tools::changes::DraftId;
use hob_tools::draft_workspace::DraftWorkspace;
use hob_tools::files::access::FileAccess;
use hob_tools::files::{delete_file, edit_file, list_files, move_file, search_files, write_file};
use hob_tools::keep_changes::KeepChanges;
use hob_tools::workspace::Workspace;
use hob_tools::{Invocation, Outcome, Tool};
use serde_json::{Value, json};

use crate::place::{Harness, IsolationMode, invocation};

/// A house whose tools can work in drafts.
struct Drafted {
    place: Harness,
    room: Arc<FileAccess>,
}

impl Drafted {
    async fn new() -> Self {
        let place = Harness::new(IsolationMode::Namespaces).await;
        assert!(
            place.draft_workspace.can_be_reviewed().await,
            "no overlay can be had here: {}",
            place.sandbox.strength()
        );
        fs::write(place.workspace().join("old.txt"), "old\n").unwrap();
        let workspace = Workspace::of(&place.path("data"));
        let room =
            FileAccess::new(&workspace, vec![place.path("data")], true).with_drafts(place.draft_workspace.clone());
        Self { place, room: Arc::new(room) }
    }

    fn draft_workspace(&self) -> &DraftWorkspace {
        &self.place.draft_workspace
    }

    /// The workspace itself: its files with their contents.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.place.workspace().join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let path = folder.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(entry.path()).unwrap_or_default();
                    found.push(format!("{}: {}", path.display(), text.trim_end()));
                }
            }
        }
        found.sort();
        found
    }

    async fn shell(&self, command: &str, draft: DraftUse) -> (String, i32) {
        told(Outcome::of(self.place.terminal.call(at(json!({ "command": command }), draft)).await))
    }

    async fn file(&self, tool: &dyn Tool, arguments: Value, draft: DraftUse) -> String {
        told(Outcome::of(tool.call(at(arguments, draft)).await)).0
    }

    fn digest(&self) -> String {
        let draft = self
            .draft_workspace()
            .drafts
            .find(invocation(UserId(1), json!({})).run, &DraftId::Shared(0))
            .unwrap()
            .unwrap();
        draft.change_set().unwrap().summary(0).digest
    }

    async fn keep(&self, digest: &str) -> String {
        let tool = KeepChanges::new(self.draft_workspace().drafts.clone());
        told(Outcome::of(tool.call(at(json!({ "digest": digest }), DraftUse::Open(0))).await)).0
    }
}

fn at(arguments: Value, draft: DraftUse) -> Invocation {
    Invocation { draft, ..invocation(UserId(1), arguments) }
}

fn told(outcome: Outcome) -> (String, i32) {
    match outcome {
        Outcome::From(_, inner) | Outcome::Along(_, inner) | Outcome::Undoable(_, inner) => told(*inner),
        Outcome::Text(text) => (text, 0),
        Outcome::Error(text) | Outcome::Transient(text) => (text, -1),
        Outcome::Exited { text, code } => (text, code),
        Outcome::Request(request) => panic!("{request:?}"),
    }
}

const DRAFT: DraftUse = DraftUse::Open(0);

#[tokio::test]
async fn n6_what_is_done_in_a_draft_is_seen_there_by_all_tools_and_not_in_the_workspace() {
    let drafted = Drafted::new().await;
    let before = drafted.files();
    assert_eq!(
        drafted.shell("mkdir a && echo new > a/new.txt && echo more >> old.txt && cat old.txt", DRAFT).await.1,
        0
    );
    assert_eq!(drafted.files(), before, "the workspace is as it was");
    let there = at(json!({ "command": "cat new.txt", "dir": "a" }), DRAFT);
    assert_eq!(told(Outcome::of(drafted.place.terminal.call(there).await)).0, "new", "a folder of the draft");
    let list = list_files::tool(Arc::clone(&drafted.room));
    let listed = drafted.file(&list, json!({ "depth": 2 }), DRAFT).await;
    assert!(listed.contains("a/new.txt") && listed.contains("old.txt"), "{listed}");
    assert!(!drafted.file(&list, json!({ "depth": 2 }), DraftUse::AtOnce).await.contains("new.txt"));
    let search = search_files::tool(Arc::clone(&drafted.room));
    assert!(drafted.file(&search, json!({ "pattern": "more" }), DRAFT).await.contains("old.txt"));
    let edit = edit_file::tool(Arc::clone(&drafted.room));
    let edited = drafted.file(&edit, json!({ "path": "old.txt", "old": "more", "new": "most" }), DRAFT).await;
    assert!(edited.starts_with("Changed \"old.txt\""), "{edited}");
    let write = write_file::tool(Arc::clone(&drafted.room));
    let wrote = drafted.file(&write, json!({ "path": "b/c.txt", "content": "c" }), DRAFT).await;
    assert!(wrote.starts_with("Wrote \"b/c.txt\""), "{wrote}");
    let moved = move_file::tool(Arc::clone(&drafted.room));
    let to = json!({ "path": "a/new.txt", "to": "d/moved.txt" });
    assert_eq!(drafted.file(&moved, to, DRAFT).await, "Moved \"a/new.txt\" to \"d/moved.txt\".");
    let (seen, _) = drafted.shell("cat old.txt d/moved.txt b/c.txt; ls a", DRAFT).await;
    assert_eq!(seen, "old\nmost\nnew\nc");
    assert_eq!(drafted.files(), before, "the workspace is as it was");
    let kept = drafted.keep(&drafted.digest()).await;
    assert!(kept.contains("kept in the workspace"), "{kept}");
    assert_eq!(drafted.files(), ["b/c.txt: c", "d/moved.txt: new", "old.txt: old\nmost"]);
}

#[tokio::test]
async fn n6_only_what_was_shown_is_kept_and_a_second_try_keeps_it_once() {
    let drafted = Drafted::new().await;
    drafted.shell("echo one > one", DRAFT).await;
    let shown = drafted.digest();
    drafted.shell("echo two > two", DRAFT).await;
    let refused = drafted.keep(&shown).await;
    assert!(refused.contains("nothing was kept"), "{refused}");
    assert_eq!(drafted.files(), ["old.txt: old"]);
    let now = drafted.digest();
    let kept = drafted.keep(&now).await;
    assert_eq!(drafted.keep(&now).await, kept, "as after a kill in the middle of it");
    assert_eq!(drafted.files(), ["old.txt: old", "one: one", "two: two"]);
}

#[tokio::test]
async fn n6_a_look_leaves_no_draft_and_a_clean_change_is_kept_at_once_and_can_be_undone() {
    let drafted = Drafted::new().await;
    assert_eq!(drafted.shell("cat old.txt", DraftUse::AtOnce).await.0, "old");
    assert!(drafted.draft_workspace().drafts.last_kept(None).unwrap().is_none(), "nothing was changed");
    assert_eq!(
        drafted.shell("echo new > old.txt; rm -f none", DraftUse::AtOnce).await,
        ("Done; it printed nothing.".to_owned(), 0)
    );
    assert_eq!(drafted.files(), ["old.txt: new"]);
    let write = write_file::tool(Arc::clone(&drafted.room));
    drafted.file(&write, json!({ "path": "x/y", "content": "z" }), DraftUse::AtOnce).await;
    let delete = delete_file::tool(Arc::clone(&drafted.room));
    assert_eq!(drafted.file(&delete, json!({ "path": "old.txt" }), DraftUse::AtOnce).await, "Deleted \"old.txt\".");
    assert_eq!(drafted.files(), ["x/y: z"]);
    let (drafts, now) = (&drafted.draft_workspace().drafts, jiff::Timestamp::UNIX_EPOCH);
    for left in [&["old.txt: new", "x/y: z"][..], &["old.txt: new"], &["old.txt: old"]] {
        drafts.undo_last(None, now).unwrap();
        assert_eq!(drafted.files(), left);
    }
}

#[tokio::test]
async fn b10_a_command_that_a_kill_cut_off_is_not_done_twice() {
    let drafted = Drafted::new().await;
    let again = |draft, call: &CallId| Invocation {
        attempt: 2,
        call: call.clone(),
        ..at(json!({ "command": "echo again >> log" }), draft)
    };
    // In a draft that others share: what is there is looked at first.
    let first = at(json!({ "command": "echo once >> log" }), DRAFT);
    let call = first.call.clone();
    Outcome::of(drafted.place.terminal.call(first).await);
    let (text, code) = told(Outcome::of(drafted.place.terminal.call(again(DRAFT, &call)).await));
    assert!(code == -1 && text.contains("is not run again by itself"), "{text}");
    assert_eq!(drafted.shell("cat log", DRAFT).await.0, "once");
    // In its own: either it had ended, and its change is in the workspace, or nothing of it is.
    let first = at(json!({ "command": "echo once >> log" }), DraftUse::AtOnce);
    let call = first.call.clone();
    Outcome::of(drafted.place.terminal.call(first).await);
    assert!(
        told(Outcome::of(drafted.place.terminal.call(again(DraftUse::AtOnce, &call)).await))
            .0
            .starts_with("It had ended")
    );
    assert_eq!(drafted.files(), ["log: once", "old.txt: old"]);
    let call = CallId::new(7, 7);
    let began = drafted
        .draft_workspace()
        .begin(&again(DraftUse::AtOnce, &call), hob_tools::draft_workspace::RetrySafety::Unsafe)
        .await
        .unwrap();
    drop(began);
    Outcome::of(drafted.place.terminal.call(again(DraftUse::AtOnce, &call)).await);
    assert_eq!(drafted.files(), ["log: once\nagain", "old.txt: old"]);
}

#[tokio::test]
async fn d6_what_is_judged_to_look_changes_nothing_when_it_is_run() {
    let drafted = Drafted::new().await;
    let workspace = drafted.place.workspace();
    for (name, text) in
        [("a.txt", "b\na\n"), ("names.txt", "Ada\nBen\n"), ("package.json", "{\"name\":1}"), ("data.b64", "YQ==")]
    {
        fs::write(workspace.join(name), text).unwrap();
    }
    let corpus = include_str!("../../crates/core/src/policy/shell/verdicts.txt");
    let looks: Vec<&str> = corpus.lines().filter_map(|line| line.strip_prefix("looks ")).collect();
    assert!(looks.len() >= 30, "{}", looks.len());
    let mut missing = Vec::new();
    for command in looks {
        let (text, code) = drafted.shell(command, DRAFT).await;
        if code == 127 {
            missing.push(format!("{command}: {text}"));
        }
        let draft = drafted
            .draft_workspace()
            .drafts
            .find(invocation(UserId(1), json!({})).run, &DraftId::Shared(0))
            .unwrap()
            .unwrap();
        let changed = draft.change_set().unwrap();
        assert!(changed.is_empty(), "{command} changed: {}", changed.summary(0).shown);
    }
    eprintln!("not installed here: {missing:#?}");
}
