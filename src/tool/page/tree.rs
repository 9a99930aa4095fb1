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
/// The most work on text that comes in little pieces, in bytes: each reference and each stray `<` is put behind the text
/// before it, which is copied for it.
const COPIED_MAX: usize = 1_000_000_000;
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
    let mut copied = 0_usize;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        parser.process(StrTendril::from(piece));
        rest = after;
        let tree = &parser.tokenizer.sink.sink.tree;
        let branch: Vec<NodeRef<'_>> = last_branch(&tree.root());
        let marks = piece.bytes().filter(|byte| matches!(byte, b'&' | b'<' | b'\0' | b'\r')).count();
        let text = branch.last().filter(|node| node.is_text()).map_or(0, |node| node.text().len());
        copied = copied.saturating_add(marks.saturating_mul(text));
        if tree.len() > NODES_MAX || branch.len() > OPEN_MAX || copied > COPIED_MAX {
            break;
        }
    }
    let cut = !rest.is_empty();
    let document = parser.finish();
    let shallow =
        document.root().descendants_it().all(|node| node.ancestors_it(Some(DEPTH_MAX + 1)).count() <= DEPTH_MAX);
    Parsed { document, cut, shallow }
}

/// The last branch, from the root down: what is new is put there.
fn last_branch<'a>(root: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    std::iter::successors(root.last_child(), NodeRef::last_child).collect()
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
