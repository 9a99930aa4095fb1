//! Laws over random trees.

use super::*;

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        3 => (prop::sample::select(vec![0o644, 0o600, 0o755, 0o400]), prop::collection::vec(any::<u8>(), 0..12))
            .prop_map(|(mode, bytes)| Node::File(mode, bytes)),
        1 => prop::sample::select(vec!["a", "../x", "/etc/passwd"]).prop_map(|to| Node::Link(to.into())),
        3 => prop::sample::select(vec![0o755, 0o700, 0o711]).prop_map(Node::Folder),
    ]
}

/// A few names, so that two trees meet.
fn tree() -> impl Strategy<Value = Tree> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c-", "d"]), 1..4);
    prop::collection::vec((path, node()), 0..14).prop_map(|nodes| {
        let mut tree = Tree::default();
        for (parts, node) in nodes {
            let path: PathBuf = parts.iter().collect();
            let above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
            let is_held = above.iter().any(|path| !matches!(tree.0.get(*path), None | Some(Node::Folder(_))));
            let is_folder = matches!(tree.0.get(&path), Some(Node::Folder(_)));
            if is_held || is_folder {
                continue;
            }
            for parent in above {
                tree.0.entry(parent.to_owned()).or_insert(Node::Folder(0o755));
            }
            tree.0.insert(path, node);
        }
        tree
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn to_keep_and_take_back_gives_the_tree_back(before in tree(), after in tree(), cut in prop::option::of(0_u32..40)) {
        let harness = Harness::new();
        before.write(&harness.root());
        let draft = harness.draft(1, &after);
        let set = draft.change_set().unwrap();
        prop_assert_eq!(set.is_empty(), before == after);
        root_handles::cut::fail_after(cut);
        let first = draft.keep(&set.digest(), at(2));
        root_handles::cut::fail_after(None);
        if first.is_err() {
            draft.keep(&set.digest(), at(2)).unwrap();
        }
        prop_assert_eq!(&Tree::of(&harness.root()), &after);
        if !set.is_empty() {
            root_handles::cut::fail_after(cut);
            let first = harness.drafts.undo_last(None, at(3));
            root_handles::cut::fail_after(None);
            if first.is_err() {
                harness.drafts.undo_last(None, at(4)).unwrap();
            }
            prop_assert_eq!(&Tree::of(&harness.root()), &before);
        }
    }
}
