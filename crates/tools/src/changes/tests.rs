//! Layers are made here as the kernel makes them; `tests/terminal` has real mounts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use tempfile::TempDir;

use crate::changes::draft_dir::DraftDir;
use crate::changes::scan::ScanLimit;
use crate::changes::set::{Change, ChangeSet, ContentPreview, EntryAfter, EntryBefore};
use crate::changes::{ChangesError, DraftId, DraftOwner, Drafts, UNDO_FOR, remove, root_handles};
use crate::workspace::Workspace;
use hob_core::domain::ids::{CallId, RunId, SessionKey, UserId};

mod hostile;
mod laws;
mod words;

/// A house with a workspace.
struct Harness {
    dir: TempDir,
    drafts: Drafts,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

impl Harness {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("workspace")).unwrap();
        fs::set_permissions(dir.path().join("workspace"), Permissions::from_mode(0o755)).unwrap();
        let drafts = Drafts::new(dir.path(), &Workspace::of(dir.path()));
        Self { dir, drafts }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    fn of(run: i64, session: &str) -> DraftOwner {
        DraftOwner { run: RunId(run), session: SessionKey(session.to_owned()), user: UserId(1), now: at(run) }
    }

    fn open(&self, run: i64) -> DraftDir {
        self.drafts.open(&Self::of(run, "7"), &DraftId::Shared(0)).unwrap()
    }

    /// Makes the layer that an overlay would have if the workspace had become `after`.
    fn draft(&self, run: i64, after: &Tree) -> DraftDir {
        let draft = self.open(run);
        write_layer(&draft.layer(0, "upper"), &Tree::of(&self.root()), after);
        draft
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Changes a file so that the file system's clock tells it from the draft's start.
    fn write_later(&self, path: &str, text: &str, draft: &DraftDir) {
        let path = self.root().join(path);
        let time = || fs::metadata(&path).map(|seen| (seen.ctime(), seen.ctime_nsec())).unwrap();
        let (start, before) = (draft.start().unwrap(), time());
        while time() <= before.max((start.0, i64::from(start.1))) {
            fs::write(&path, text).unwrap();
        }
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(u32, Vec<u8>),
    Link(PathBuf),
    Folder(u32),
}

/// A folder with all that is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tree(BTreeMap<PathBuf, Node>);

impl Tree {
    fn of(root: &Path) -> Self {
        let (mut tree, mut todo) = (BTreeMap::new(), vec![PathBuf::new()]);
        while let Some(path) = todo.pop() {
            for entry in fs::read_dir(root.join(&path)).unwrap() {
                let entry = entry.unwrap();
                let (path, seen) = (path.join(entry.file_name()), entry.metadata().unwrap());
                let mode = seen.mode() & 0o7777;
                let node = if seen.is_dir() {
                    todo.push(path.clone());
                    Node::Folder(mode)
                } else if seen.is_symlink() {
                    Node::Link(fs::read_link(entry.path()).unwrap())
                } else {
                    Node::File(mode, fs::read(entry.path()).unwrap())
                };
                tree.insert(path, node);
            }
        }
        Self(tree)
    }

    fn write(&self, root: &Path) {
        for (path, node) in &self.0 {
            put(&root.join(path), node);
        }
    }

    fn with(&self, path: &str, node: Node) -> Self {
        let mut tree = self.clone();
        tree.0.insert(path.into(), node);
        tree
    }

    fn without(&self, path: &str) -> Self {
        Self(self.0.iter().filter(|(known, _)| !known.starts_with(path)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }
}

fn put(path: &Path, node: &Node) {
    match node {
        Node::File(mode, bytes) => {
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
        }
        Node::Link(target) => symlink(target, path).unwrap(),
        Node::Folder(mode) => {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
        }
    }
}

fn note(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn whiteout(path: &Path) {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

/// As the kernel does it: what is new or other is copied, with the folders above it; what is gone gets a mark.
fn write_layer(upper: &Path, before: &Tree, after: &Tree) {
    let above = |path: &Path| {
        let parents: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        for parent in parents.into_iter().rev() {
            if !upper.join(parent).exists() {
                put(&upper.join(parent), &after.0[parent]);
            }
        }
    };
    for (path, node) in &after.0 {
        let old = before.0.get(path);
        if old == Some(node) || upper.join(path).symlink_metadata().is_ok() {
            continue;
        }
        above(path);
        put(&upper.join(path), node);
        if matches!((node, old), (Node::Folder(_), Some(Node::File(..) | Node::Link(_)))) {
            note(&upper.join(path), "user.overlay.opaque", b"y");
        }
        if matches!((node, old), (Node::File(..), Some(Node::File(..)))) {
            note(&upper.join(path), "user.overlay.origin", b"x");
        }
    }
    for path in before.0.keys().filter(|path| !after.0.contains_key(*path)) {
        let parent = path.parent().unwrap();
        let is_seen =
            |tree: &Tree| parent.as_os_str().is_empty() || matches!(tree.0.get(parent), Some(Node::Folder(_)));
        if is_seen(after) && is_seen(before) {
            above(path);
            whiteout(&upper.join(path));
        }
    }
}

fn file(mode: u32, text: &str) -> Node {
    Node::File(mode, text.as_bytes().to_vec())
}

/// A workspace with one of each, and what becomes of it.
fn sample() -> (Harness, Tree, Tree) {
    let harness = Harness::new();
    let before = Tree::default()
        .with("a.txt", file(0o644, "one\ntwo\n"))
        .with("bin", Node::Folder(0o755))
        .with("bin/run", file(0o644, "echo\n"))
        .with("gone", Node::Folder(0o755))
        .with("gone/deep", Node::Folder(0o700))
        .with("gone/deep/x", file(0o600, "x"))
        .with("link", Node::Link("a.txt".into()))
        .with("old.txt", file(0o644, "old"))
        .with("turns", file(0o644, "a file"))
        .with("unturns", Node::Folder(0o755))
        .with("unturns/in", file(0o644, "in"));
    before.write(&harness.root());
    let after = before
        .without("gone")
        .without("old.txt")
        .without("turns")
        .without("unturns")
        .with("a.txt", file(0o644, "one\n2\n"))
        .with("bin/run", file(0o755, "echo\n"))
        .with("bin", Node::Folder(0o750))
        .with("link", Node::Link("bin/run".into()))
        .with("new", Node::Folder(0o755))
        .with("new/n.txt", file(0o640, "n"))
        .with("turns", Node::Folder(0o711))
        .with("turns/inner", file(0o644, "now a folder"))
        .with("unturns", file(0o600, "now a file"));
    (harness, before, after)
}

#[test]
fn a_change_is_kept_and_taken_back_byte_for_byte() {
    let (harness, before, after) = sample();
    let draft = harness.draft(1, &after);
    let set = draft.change_set().unwrap();
    assert_eq!(set, draft.change_set().unwrap(), "a look changes nothing");
    assert_eq!(Tree::of(&harness.root()), before);
    let kept = draft.keep(&set.digest(), at(2)).unwrap();
    assert_eq!((&kept.left_out[..], &kept.no_undo), (&[][..], &None));
    assert_eq!(Tree::of(&harness.root()), after);
    assert!(!has_notes(&harness.root().join("a.txt")));
    // Once more is the same once more.
    assert_eq!(draft.keep(&set.digest(), at(3)).unwrap(), kept);
    let undone = harness.drafts.undo_last(Some(&SessionKey("7".into())), at(4)).unwrap();
    assert_eq!((undone.changes, &undone.left_out[..], undone.kept_at), (kept.changes, &[][..], at(2)));
    assert_eq!(Tree::of(&harness.root()), before);
    assert!(matches!(harness.drafts.undo_last(None, at(5)), Err(ChangesError::NothingToUndo)));
    assert!(matches!(draft.keep(&set.digest(), at(6)), Err(ChangesError::Gone)));
}

fn has_notes(path: &Path) -> bool {
    let mut list = vec![0; 4096];
    let length = rustix::fs::listxattr(path, &mut list[..]).unwrap();
    list[..length].split(|byte| *byte == 0).any(|name| name.starts_with(b"user.overlay."))
}

#[test]
fn whoever_is_cut_off_at_any_step_begins_again_and_comes_to_the_same_end() {
    for step in 0.. {
        let (harness, before, after) = sample();
        let draft = harness.draft(1, &after);
        let digest = draft.change_set().unwrap().digest();
        root_handles::cut::fail_after(Some(step));
        let cut = draft.keep(&digest, at(2));
        root_handles::cut::fail_after(None);
        let is_whole = cut.is_ok();
        // Another process goes on, by the run itself or at its start.
        let drafts = Drafts::new(harness.dir.path(), &Workspace::of(harness.dir.path()));
        if step % 2 == 0 {
            drafts.sweep(at(3), &|_| false).unwrap();
        }
        let draft = drafts.find(RunId(1), &DraftId::Shared(0)).unwrap().unwrap();
        assert_eq!(draft.keep(&digest, at(3)).unwrap().left_out, [], "cut off after {step} steps");
        assert_eq!(Tree::of(&harness.root()), after, "cut off after {step} steps");
        root_handles::cut::fail_after(Some(step));
        let cut = drafts.undo_last(None, at(4));
        root_handles::cut::fail_after(None);
        if cut.is_err() {
            drafts.undo_last(None, at(5)).unwrap();
        }
        assert_eq!(Tree::of(&harness.root()), before, "undo cut off after {step} steps");
        if is_whole && cut.is_ok() {
            assert!(step > 10, "there are steps");
            break;
        }
    }
}

#[test]
fn another_digest_than_was_agreed_to_keeps_nothing() {
    let (harness, before, after) = sample();
    let draft = harness.draft(1, &after);
    let digest = draft.change_set().unwrap().digest();
    fs::write(draft.layer(0, "upper").join("more"), "since").unwrap();
    assert!(matches!(draft.keep(&digest, at(2)), Err(ChangesError::Differs { .. })));
    assert_eq!(Tree::of(&harness.root()), before);
    // A mode is a part of what was agreed to.
    fs::remove_file(draft.layer(0, "upper").join("more")).unwrap();
    fs::set_permissions(draft.layer(0, "upper").join("a.txt"), Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(draft.keep(&digest, at(2)), Err(ChangesError::Differs { .. })));
}

#[test]
fn what_only_looked_leaves_nothing() {
    let (harness, before, _) = sample();
    let draft = harness.open(1);
    let upper = draft.layer(0, "upper");
    // What `touch`, a chmod there and back, and a rewrite of the same leave: copies.
    for path in ["a.txt", "bin/run", "link"] {
        if path.contains('/') {
            put(&upper.join("bin"), &before.0[Path::new("bin")]);
        }
        put(&upper.join(path), &before.0[Path::new(path)]);
    }
    // A folder that was deleted and made again with the same in it.
    put(&upper.join("unturns"), &before.0[Path::new("unturns")]);
    put(&upper.join("unturns/in"), &before.0[Path::new("unturns/in")]);
    note(&upper.join("unturns"), "user.overlay.opaque", b"y");
    // A mark that hides nothing, by either way to write it.
    whiteout(&upper.join("made and deleted"));
    File::create(upper.join("marked")).unwrap();
    note(&upper.join("marked"), "user.overlay.whiteout", b"");
    assert!(draft.change_set().unwrap().is_empty());
    // Nobody asked, so nothing stays of it.
    assert_eq!(draft.keep_all(at(2)).unwrap().changes, 0);
    assert!(!draft.dir().exists());
}

#[test]
fn an_opaque_folder_hides_what_it_does_not_hold() {
    let (harness, before, _) = sample();
    let draft = harness.open(1);
    let upper = draft.layer(0, "upper");
    put(&upper.join("gone"), &Node::Folder(0o755));
    put(&upper.join("gone/fresh"), &file(0o644, "fresh"));
    note(&upper.join("gone"), "user.overlay.opaque", b"y");
    let set = draft.change_set().unwrap();
    let paths: Vec<(&Path, bool)> = set.changes.iter().map(|c| (c.path.as_path(), c.now == EntryAfter::Gone)).collect();
    assert_eq!(paths, [(Path::new("gone/deep"), true), (Path::new("gone/fresh"), false)]);
    draft.keep_all(at(2)).unwrap();
    let after = before.without("gone/deep").with("gone/fresh", file(0o644, "fresh"));
    assert_eq!(Tree::of(&harness.root()), after);
    harness.drafts.undo_last(None, at(3)).unwrap();
    assert_eq!(Tree::of(&harness.root()), before);
}

#[test]
fn what_changed_in_the_workspace_meanwhile_is_not_kept() {
    let (harness, _, after) = sample();
    let draft = harness.draft(1, &after);
    harness.write_later("a.txt", "by hand", &draft);
    harness.write_later("gone/deep/x", "by hand", &draft);
    let set = draft.change_set().unwrap();
    let kept = draft.keep(&set.digest(), at(2)).unwrap();
    let left: Vec<&str> = kept.left_out.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(left, ["a.txt", "gone"]);
    assert_eq!(fs::read_to_string(harness.root().join("a.txt")).unwrap(), "by hand");
    assert_eq!(fs::read_to_string(harness.root().join("gone/deep/x")).unwrap(), "by hand");
    assert!(harness.root().join("new/n.txt").exists());
}

#[test]
fn what_changed_since_it_was_kept_is_not_taken_back() {
    let (harness, _, after) = sample();
    let draft = harness.draft(1, &after);
    draft.keep_all(at(2)).unwrap();
    harness.write_later("a.txt", "by hand", &draft);
    harness.write("new/more.txt", "more");
    let undone = harness.drafts.undo_last(None, at(3)).unwrap();
    let left: Vec<&str> = undone.left_out.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(left, ["new", "a.txt"]);
    assert_eq!(fs::read_to_string(harness.root().join("a.txt")).unwrap(), "by hand");
    assert!(harness.root().join("new/more.txt").exists() && !harness.root().join("new/n.txt").exists());
    assert!(harness.root().join("gone/deep/x").exists());
}

#[test]
fn changes_are_taken_back_one_after_the_other_each_in_its_own_conversation() {
    let harness = Harness::new();
    harness.write("f", "one");
    let trees: Vec<Tree> =
        ["one", "two", "three"].iter().map(|text| Tree::default().with("f", file(0o644, text))).collect();
    fs::set_permissions(harness.root().join("f"), Permissions::from_mode(0o644)).unwrap();
    harness.draft(1, &trees[1]).keep_all(at(1)).unwrap();
    harness.draft(2, &trees[2]).keep_all(at(2)).unwrap();
    let other = harness.drafts.open(&Harness::of(3, "8"), &DraftId::Call(CallId::new(1, 0))).unwrap();
    fs::write(other.layer(0, "upper").join("g"), "g").unwrap();
    other.keep_all(at(3)).unwrap();
    let here = SessionKey("7".into());
    harness.drafts.undo_last(Some(&here), at(4)).unwrap();
    assert_eq!(fs::read_to_string(harness.root().join("f")).unwrap(), "two");
    harness.drafts.undo_last(Some(&here), at(5)).unwrap();
    assert_eq!(Tree::of(&harness.root()), trees[0].with("g", file(0o644, "g")));
    assert!(matches!(harness.drafts.undo_last(Some(&here), at(6)), Err(ChangesError::NothingToUndo)));
    harness.drafts.undo_last(None, at(7)).unwrap();
    assert_eq!(Tree::of(&harness.root()), trees[0]);
}

#[test]
fn a_sweep_lets_go_of_what_nobody_needs_and_of_nothing_else() {
    let harness = Harness::new();
    for run in 1..=3 {
        let draft = harness.open(run);
        fs::write(draft.layer(0, "upper").join(format!("f{run}")), "x").unwrap();
    }
    harness.drafts.find(RunId(3), &DraftId::Shared(0)).unwrap().unwrap().keep_all(at(10)).unwrap();
    assert_eq!(harness.drafts.runs().unwrap(), [RunId(1), RunId(2)]);
    let in_use = harness.drafts.find(RunId(1), &DraftId::Shared(0)).unwrap().unwrap().lock_for_use().unwrap();
    assert_eq!(harness.drafts.sweep(at(11), &|run| run == RunId(1)).unwrap().discarded, 0, "somebody works there");
    drop(in_use);
    let swept = harness.drafts.sweep(at(11), &|run| run == RunId(1)).unwrap();
    assert_eq!((swept.discarded, swept.expired), (1, 0));
    assert_eq!(harness.drafts.runs().unwrap(), [RunId(2)]);
    let late = at(11).checked_add(UNDO_FOR).unwrap();
    assert_eq!(harness.drafts.sweep(late, &|_| false).unwrap().expired, 1);
    assert!(matches!(harness.drafts.undo_last(None, late), Err(ChangesError::NothingToUndo)));
    assert_eq!(fs::read(harness.root().join("f3")).unwrap(), b"x");
    // What a process that died was about to make or delete.
    fs::create_dir_all(harness.dir.path().join("drafts/.gone-0-run-9-0/deep")).unwrap();
    harness.drafts.sweep(late, &|_| true).unwrap();
    assert_eq!(fs::read_dir(harness.dir.path().join("drafts")).unwrap().count(), 0);
}

#[test]
fn a_folder_on_another_file_system_is_kept_without_a_way_back() {
    let dir = tempfile::tempdir().unwrap();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        return println!("skipped: there is no second file system to write to");
    };
    if other.path().metadata().unwrap().dev() == dir.path().metadata().unwrap().dev() {
        return println!("skipped: /dev/shm is no other file system");
    }
    let (_, before, after) = sample();
    for step in 0.. {
        let root = other.path().join(format!("root-{step}"));
        fs::create_dir(&root).unwrap();
        before.write(&root);
        let workspace = Workspace { root: root.clone(), read: Vec::new(), write: Vec::new() };
        let drafts = Drafts::new(dir.path(), &workspace);
        let draft = drafts.open(&Harness::of(step, "7"), &DraftId::Shared(0)).unwrap();
        write_layer(&draft.layer(0, "upper"), &before, &after);
        let digest = draft.change_set().unwrap().digest();
        root_handles::cut::fail_after(Some(u32::try_from(step).unwrap()));
        let cut = draft.keep(&digest, at(2));
        root_handles::cut::fail_after(None);
        let kept = draft.keep(&digest, at(2)).unwrap();
        assert!(kept.no_undo.is_some() && kept.left_out.is_empty(), "{kept}");
        assert_eq!(Tree::of(&root), after, "cut off after {step} steps");
        assert!(matches!(draft.undo(at(3)), Err(ChangesError::NoUndo(_))));
        if cut.is_ok() {
            break;
        }
    }
}
