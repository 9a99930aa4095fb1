//! What a person is shown.

use super::*;
use crate::tool::changes::summary::SHOWN_CHARS_MAX;

fn shown(house: &House, after: &Tree) -> String {
    let draft = house.draft(1, after).look().unwrap().summary(3);
    assert_eq!(draft.number, 3);
    format!("{}\nRuns later: {:#?}", draft.shown, draft.runs_later)
}

#[test]
fn each_kind_of_change_has_its_line() {
    let (house, _, after) = sample();
    insta::assert_snapshot!(shown(&house, &after), @"");
}

#[test]
fn what_runs_later_comes_first() {
    let house = House::new();
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
    insta::assert_snapshot!(shown(&house, &after), @"");
}

#[test]
fn a_long_text_shows_its_head_and_its_tail() {
    let house = House::new();
    let text: String = (1..=400).map(|line| format!("line {line}\n")).collect();
    insta::assert_snapshot!(shown(&house, &Tree::default().with("long.txt", file(0o644, &text))), @"");
}

fn change() -> impl Strategy<Value = Change> {
    let text = || prop_oneof!["\\PC{0,2000}", ".{0,300}", any::<String>()];
    let now = prop_oneof![
        (any::<u64>(), prop::option::of("[0-9a-f]{64}")).prop_map(|(size, hash)| Now::File { size, hash }),
        text().prop_map(|target| Now::Link { target: target.into() }),
        Just(Now::Folder),
        Just(Now::Gone),
        Just(Now::Special { what: "a FIFO" }),
    ];
    let before = prop_oneof![
        Just(Before::Nothing),
        any::<u64>().prop_map(|size| Before::File { size }),
        text().prop_map(|target| Before::Link { target: target.into() }),
        (0_u64..1 << 40).prop_map(|holds| Before::Folder { holds }),
        Just(Before::Special),
    ];
    let content = prop_oneof![Just(Content::Hidden), text().prop_map(Content::Diff), text().prop_map(Content::Text)];
    let path = prop::collection::vec(any::<u8>(), 0..300);
    (path, now, before, content, 0_u32..0o1000, any::<bool>()).prop_map(
        |(path, now, before, content, mode, conflicts)| {
            let path = PathBuf::from(OsStr::from_bytes(&path));
            Change { path, now, before, content, mode, conflicts, ..Change::blank() }
        },
    )
}

proptest! {
    #[test]
    fn whatever_it_is_the_words_are_few_and_plain(changes in prop::collection::vec(change(), 0..60)) {
        let draft = ChangeSet { changes }.summary(1);
        prop_assert!(draft.shown.chars().count() <= SHOWN_CHARS_MAX + 100, "{}", draft.shown.chars().count());
        prop_assert!(draft.runs_later.iter().all(|line| line.chars().count() < 300) && draft.runs_later.len() < 20);
        for c in draft.shown.chars().chain(draft.runs_later.iter().flat_map(|line| line.chars())) {
            let acts = c.is_control() && c != '\n' && c != '\t';
            let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!acts && !turns);
        }
        prop_assert!(draft.runs_later.iter().all(|line| !line.contains('\n')));
    }
}
