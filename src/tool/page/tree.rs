//! A page's tree, within bounds: what a page of a megabyte can make of itself has no other.

use dom_query::{Document, NodeRef};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// The most nodes of a page.
const NODES_MAX: usize = 60_000;
/// How deep a page may be while it is read: each step down is looked along for each element.
const OPEN_MAX: usize = 1_000;
/// How deep a page may be that is read as a page; of a deeper one the words are left.
const DEPTH_MAX: usize = 200;
/// How much is read between two looks at the tree, in bytes.
const PIECE_BYTES: usize = 2_048;

/// A page's tree.
pub(super) struct Parsed {
    pub(super) document: Document,
    /// Not all of it was read.
    pub(super) cut: bool,
    /// It is shallow enough for what goes down it step by step.
    pub(super) shallow: bool,
}

/// Reads a page as far as it stays within bounds.
pub(super) fn parse(html: &str) -> Parsed {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let mut parser = parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        parser.process(StrTendril::from(piece));
        rest = after;
        let tree = &parser.tokenizer.sink.sink.tree;
        if tree.len() > NODES_MAX || deepest(&tree.root()) > OPEN_MAX {
            break;
        }
    }
    let cut = !rest.is_empty();
    let document = parser.finish();
    let shallow =
        document.root().descendants_it().all(|node| node.ancestors_it(Some(DEPTH_MAX + 1)).count() <= DEPTH_MAX);
    Parsed { document, cut, shallow }
}

/// How deep the last branch is: new elements are put there.
fn deepest(root: &NodeRef<'_>) -> usize {
    std::iter::successors(root.last_child(), NodeRef::last_child).count()
}

/// All words of a page, a line for each piece of text; nothing is gone down step by step.
pub(super) fn words(document: &Document) -> String {
    let mut words = String::new();
    for node in document.root().descendants_it().filter(NodeRef::is_text) {
        let within = node.parent().and_then(|parent| parent.node_name());
        if matches!(within.as_deref(), Some("script" | "style" | "noscript" | "template" | "title" | "textarea")) {
            continue;
        }
        let text = node.text();
        if !text.trim().is_empty() {
            words.push_str(text.trim());
            words.push('\n');
        }
    }
    words
}
