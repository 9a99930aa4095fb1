//! Takes out of a page what nobody sees on it: whoever writes there writes to machines (row N6).

use dom_query::{Document, NodeRef};

use crate::page::style::{self, Style};

/// A comment of at least so many words is a passage; shorter ones are a template's marks.
const COMMENT_WORDS_MIN: usize = 5;

/// How often a selector is held against a node at most.
pub(super) const MATCHES_MAX: usize = 5_000_000;

/// An element on the way down, with what its surroundings say.
struct TreeStep<'a> {
    node: NodeRef<'a>,
    /// The colour behind it, as far as `style` attributes say.
    background: Option<String>,
    /// Something around it may have a colour from a sheet.
    classed: bool,
}

/// Takes it out; how many passages there were.
pub(super) fn remove_hidden(document: &Document) -> usize {
    let mut passages = hidden_by_style_sheets(document);
    let mut stack = vec![TreeStep { node: document.root(), background: None, classed: false }];
    let mut gone = Vec::new();
    while let Some(step) = stack.pop() {
        if step.node.is_comment() {
            passages += usize::from(comment_words(&step.node) >= COMMENT_WORDS_MIN);
            gone.push(step.node);
            continue;
        }
        let style = Style::of(&step.node.attr_or("style", ""));
        if is_hidden(&step.node, &style) || is_unreadable(&step, &style) {
            passages += usize::from(says_something(&step.node));
            gone.push(step.node);
            continue;
        }
        let background =
            style.background().or_else(|| step.node.attr("bgcolor").map(|c| style::color(&c.to_lowercase())));
        let background = background.or(step.background);
        let classed = step.classed || step.node.has_attr("class") && !step.node.has_name("html");
        let below = |node| TreeStep { node, background: background.clone(), classed };
        stack.extend(step.node.children_it(true).map(below));
    }
    for node in gone {
        node.remove_from_parent();
    }
    passages
}

/// What the page's own style sheets hide by plain rules.
fn hidden_by_style_sheets(document: &Document) -> usize {
    let mut passages = 0;
    for selector in selectors(document) {
        let Some(found) = document.try_select(&selector) else { continue };
        for node in found.nodes().iter().filter(|node| !node.has_name("html") && !node.has_name("body")) {
            passages += usize::from(says_something(node));
            node.remove_from_parent();
        }
    }
    passages
}

/// What the page's sheets hide, as far as that can be looked for: each selector is held against each node.
pub(super) fn selectors(document: &Document) -> Vec<String> {
    let sheets: Vec<String> = document.select("style").iter().map(|sheet| sheet.text().to_string()).collect();
    let most = MATCHES_MAX / document.tree.len().max(1);
    sheets.iter().flat_map(|sheet| style::hiding_selectors(sheet)).take(most).collect()
}

fn is_hidden(node: &NodeRef<'_>, style: &Style) -> bool {
    let never_shown = node.has_name("dialog") && !node.has_attr("open");
    let unseen =
        node.has_attr("hidden") || node.attr("aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let sized = |name: &str| node.attr(name).is_some_and(|value| matches!(value.trim(), "0" | "0px"));
    // A page whose body says so shows itself by a script.
    let whole = node.has_name("body") || node.has_name("html");
    !whole
        && (never_shown
            || unseen
            || style.hides()
            || (sized("width") && sized("height"))
            || node.attr("size").as_deref() == Some("0"))
}

/// Is its text of the colour that is behind it? A page is white where nothing says otherwise.
fn is_unreadable(step: &TreeStep<'_>, style: &Style) -> bool {
    let font = || step.node.attr("color").filter(|_| step.node.has_name("font")).map(|color| color.to_lowercase());
    let Some(color) = style.color().or_else(|| font().and_then(|color| Style::of(&format!("color:{color}")).color()))
    else {
        return false;
    };
    let behind = style.background().or_else(|| step.background.clone());
    let classed = step.classed || step.node.has_attr("class");
    match behind {
        Some(behind) => behind == color,
        None => color == "ffffff" && !classed,
    }
}

fn says_something(node: &NodeRef<'_>) -> bool {
    let texts = node.descendants_it().filter(NodeRef::is_text);
    texts
        .filter(|text| !text.parent().is_some_and(|within| within.has_name("script") || within.has_name("style")))
        .any(|text| text.text().chars().any(char::is_alphanumeric))
}

fn comment_words(node: &NodeRef<'_>) -> usize {
    let words = |node: &dom_query::TreeNode| match &node.data {
        dom_query::NodeData::Comment { contents } => {
            contents.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count()
        }
        _ => 0,
    };
    node.query(words).unwrap_or(0)
}
