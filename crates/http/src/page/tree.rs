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
/// The longest text that stays one node, in bytes. Each character that has to be written as a reference is looked for through all
/// the text behind it.
const TEXT_BYTES_MAX: usize = 4_096;
/// The most marks between two words in what adds nothing to the tree: in a tag each may begin an attribute, which is compared
/// with all before it.
const MARKS_MAX: usize = 10_000;
/// How much is read between two looks at the tree, in bytes.
const PIECE_BYTES: usize = 2_048;

/// A page's tree.
pub(super) struct ParsedPage {
    pub(super) document: Document,
    /// The bytes that were copied for little pieces of text, as far as they were counted.
    #[cfg_attr(not(test), expect(dead_code, reason = "what a page costs is looked at by its test"))]
    pub(super) copied: usize,
    /// Not all of it was read.
    pub(super) cut: bool,
    /// It is shallow enough for what goes down it step by step.
    pub(super) shallow: bool,
}

/// Reads a page as far as it stays within bounds.
pub(super) fn parse(html: &str) -> ParsedPage {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let mut parser = parse_document(Document::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut rest = html;
    let (mut copied, mut unseen, mut before) = (0_usize, 0_usize, (0, 0, 0));
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        parser.process(StrTendril::from(piece));
        rest = after;
        let tree = &parser.tokenizer.sink.sink.tree;
        let branch: Vec<NodeRef<'_>> = last_branch(&tree.root());
        let marks = piece.bytes().filter(|byte| matches!(byte, b'&' | b'<' | b'\0' | b'\r')).count();
        let text = branch.last().filter(|node| node.is_text()).map_or(0, |node| node.text().len());
        copied = copied.saturating_add(marks.saturating_mul(text));
        let now = (tree.len(), branch.len(), text);
        let within =
            piece.bytes().filter(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r' | b'/' | b'"' | b'\''));
        unseen = if now == before { unseen + within.count() } else { 0 };
        before = now;
        if tree.len() > NODES_MAX || branch.len() > OPEN_MAX || copied > COPIED_MAX || unseen > MARKS_MAX {
            break;
        }
    }
    let cut = !rest.is_empty();
    let document = parser.finish();
    split_long(&document);
    let shallow =
        document.root().descendants_it().all(|node| node.ancestors_it(Some(DEPTH_MAX + 1)).count() <= DEPTH_MAX);
    ParsedPage { document, copied, cut, shallow }
}

/// Makes several texts of a long one.
fn split_long(document: &Document) {
    let is_long = |node: &NodeRef<'_>| node.is_text() && node.text().len() > TEXT_BYTES_MAX;
    let long: Vec<NodeRef<'_>> = document.root().descendants_it().filter(is_long).collect();
    for node in long {
        let text = node.text();
        let (mut pieces, mut rest) = (Vec::new(), &*text);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(TEXT_BYTES_MAX.min(rest.len())));
            pieces.push(piece);
            rest = after;
        }
        for piece in pieces.iter().skip(1).rev() {
            node.insert_after(&document.tree.new_text(*piece));
        }
        if let Some(first) = pieces.first() {
            node.set_text(*first);
        }
    }
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
        // A long text may have been cut anywhere.
        let goes_on = |other: Option<NodeRef<'_>>| other.is_some_and(|other| other.is_text());
        let text = if goes_on(node.prev_sibling()) { &*text } else { text.trim_start() };
        if goes_on(node.next_sibling()) {
            words.push_str(text);
        } else if !text.trim().is_empty() {
            words.push_str(text.trim_end());
            words.push('\n');
        }
    }
    words
}

/// What a page costs those that read it, in what their time grows with.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct ParseCost {
    pub(super) nodes: usize,
    /// Bytes that were copied for little pieces of text.
    pub(super) copied: usize,
    pub(super) longest_text: usize,
    /// The most attributes of an element.
    pub(super) attributes: usize,
    /// Selectors that are held against nodes.
    pub(super) matches: usize,
    /// The longest colour that is handed down.
    pub(super) colour: usize,
}

/// Of this page.
#[cfg(test)]
pub(super) fn parse_cost(html: &str) -> ParseCost {
    use crate::page::hidden;
    use crate::page::style::Style;
    let ParsedPage { document, copied, .. } = parse(html);
    let nodes: Vec<NodeRef<'_>> = document.root().descendants_it().collect();
    let longest = |of: &dyn Fn(&NodeRef<'_>) -> usize| nodes.iter().map(of).max().unwrap_or(0);
    ParseCost {
        nodes: document.tree.len(),
        copied,
        longest_text: longest(&|node| if node.is_text() { node.text().len() } else { 0 }),
        attributes: longest(&|node| node.attrs().len()),
        matches: hidden::selectors(&document).len() * document.tree.len(),
        colour: longest(&|node| {
            Style::of(&node.attr_or("style", "")).background().map_or(0, |colour| colour.chars().count())
        }),
    }
}
