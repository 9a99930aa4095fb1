//! Layers that nobody well-meaning leaves.

use super::*;
use crate::changes::scan::{DEPTH_MAX, ENTRIES_MAX};

/// The bounds are below what the tests of them make.
const _: () = assert!(DEPTH_MAX < 4_000 && ENTRIES_MAX < 1_000_000);

fn look(draft: &DraftDir) -> Result<ChangeSet, ChangesError> {
    draft.change_set()
}

#[test]
fn fifos_sockets_and_setuid_are_told_and_never_kept() {
    let harness = Harness::new();
    let draft = harness.open(1);
    let upper = draft.layer(0, "upper");
    mknodat(CWD, upper.join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    drop(std::os::unix::net::UnixListener::bind(upper.join("sock")).unwrap());
    put(&upper.join("su"), &file(0o6755, "#!/bin/sh\n"));
    let set = look(&draft).unwrap();
    let kept = draft.keep(&set.digest(), at(2)).unwrap();
    let left: Vec<String> = kept.left_out.iter().map(|left| format!("{}: {}", left.path, left.why)).collect();
    assert_eq!(
        left,
        ["fifo: a FIFO is never kept", "sock: a socket is never kept", "su: its setuid, setgid and sticky bits"]
    );
    assert_eq!(Tree::of(&harness.root()), Tree::default().with("su", file(0o755, "#!/bin/sh\n")));
}

#[test]
fn no_link_leads_out_of_the_workspace_or_the_layer() {
    let (harness, outside) = (Harness::new(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    // Below, a folder is a link to outside; above, the program has made a folder there, or the other way round.
    symlink(outside.path(), harness.root().join("out")).unwrap();
    fs::create_dir(harness.root().join("in")).unwrap();
    let draft = harness.open(1);
    let upper = draft.layer(0, "upper");
    put(&upper.join("out"), &Node::Folder(0o755));
    put(&upper.join("out/secret"), &file(0o644, "overwritten"));
    symlink(outside.path(), upper.join("in")).unwrap();
    let set = look(&draft).unwrap();
    draft.keep(&set.digest(), at(2)).unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
    assert!(harness.root().join("out").symlink_metadata().unwrap().is_dir());
    assert!(harness.root().join("in").symlink_metadata().unwrap().is_symlink());
    harness.drafts.undo_last(None, at(3)).unwrap();
    assert!(harness.root().join("out").symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
}

#[test]
fn a_folder_that_became_a_link_while_it_was_kept_is_not_followed() {
    let (harness, outside) = (Harness::new(), tempfile::tempdir().unwrap());
    harness.write("d/f", "old");
    let after = Tree::of(&harness.root()).with("d/f", file(0o644, "new")).with("d/g", file(0o644, "new"));
    let draft = harness.draft(1, &after);
    let digest = look(&draft).unwrap().digest();
    root_handles::cut::fail_after(Some(0));
    draft.keep(&digest, at(2)).unwrap_err();
    root_handles::cut::fail_after(None);
    fs::rename(harness.root().join("d"), harness.root().join("e")).unwrap();
    symlink(outside.path(), harness.root().join("d")).unwrap();
    let kept = draft.keep(&digest, at(2)).unwrap();
    assert_eq!(kept.left_out.len(), 2, "{kept}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn names_of_any_bytes_are_kept_and_shown_on_their_line() {
    let harness = Harness::new();
    let draft = harness.open(1);
    let names: [&[u8]; 4] = [b"\xff\xfe", b"a\nb: yes", "\u{202e}txt.exe".as_bytes(), &[b'n'; 255]];
    for name in names {
        fs::write(draft.layer(0, "upper").join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let set = look(&draft).unwrap();
    let shown = set.summary(1).shown;
    assert!(
        shown.contains(r"\xff\xfe") && shown.contains(r"a\u{a}b: yes") && shown.contains(r"\u{202e}txt.exe"),
        "{shown}"
    );
    assert_eq!(draft.keep(&set.digest(), at(2)).unwrap().changes, 4);
    assert!(names.iter().all(|name| harness.root().join(OsStr::from_bytes(name)).exists()));
    assert_eq!(harness.drafts.undo_last(None, at(3)).unwrap().changes, 4);
    assert_eq!(Tree::of(&harness.root()), Tree::default());
}

#[test]
fn what_is_nested_thousands_deep_is_neither_kept_nor_left_behind() {
    let harness = Harness::new();
    let draft = harness.open(1);
    let mut here = rustix::fs::open(draft.layer(0, "upper"), rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    // On some machines a folder takes milliseconds to delete.
    for _ in 0..4_000 {
        rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
        here = rustix::fs::openat(&here, "d", rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    }
    assert!(matches!(look(&draft), Err(ChangesError::TooMuch(ScanLimit::Depth))));
    assert!(matches!(draft.keep_all(at(2)), Err(ChangesError::TooMuch(ScanLimit::Depth))));
    draft.discard().unwrap();
    assert_eq!(fs::read_dir(harness.dir.path().join("drafts")).unwrap().count(), 0);
}

#[test]
fn a_sparse_terabyte_is_not_read() {
    let harness = Harness::new();
    let draft = harness.open(1);
    File::create(draft.layer(0, "upper").join("big")).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(look(&draft), Err(ChangesError::TooMuch(ScanLimit::Bytes))));
    // Where nobody is asked, nothing has to be read.
    assert_eq!(draft.keep_all(at(2)).unwrap().changes, 1);
    assert_eq!(harness.root().join("big").metadata().unwrap().len(), 1 << 40);
}

#[test]
fn what_is_stored_in_a_strange_way_is_refused() {
    for name in ["user.overlay.metacopy", "user.overlay.redirect"] {
        let harness = Harness::new();
        let draft = harness.open(1);
        fs::create_dir(draft.layer(0, "upper").join("d")).unwrap();
        note(&draft.layer(0, "upper").join("d"), name, b"/elsewhere");
        assert!(matches!(look(&draft), Err(ChangesError::Strange { .. })), "{name}");
        fs::remove_dir(draft.layer(0, "upper").join("d")).unwrap();
        let hollow = draft.layer(0, "upper").join("f");
        File::create(&hollow).unwrap().set_len(4096).unwrap();
        note(&hollow, name, b"");
        assert!(matches!(look(&draft), Err(ChangesError::Strange { .. })), "{name}");
    }
}

#[test]
fn locked_trees_are_deleted_too() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    fs::create_dir_all(top.join("a/b/c")).unwrap();
    fs::write(top.join("a/b/c/f"), "x").unwrap();
    fs::write(top.join(".hob-gone-1"), "in the way").unwrap();
    for path in ["a/b/c", "a/b", "a", ""] {
        fs::set_permissions(top.join(path), Permissions::from_mode(0o000)).unwrap();
    }
    remove::remove(&top).unwrap();
    assert!(!top.exists());
    remove::remove(&top).unwrap();
}
