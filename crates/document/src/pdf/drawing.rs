//! What pages draw, as instructions: those that write letters, sorted by whether a reader sees them.

use std::collections::BTreeSet;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// Letters of fewer points are not read by anybody.
const TINY_POINTS: f64 = 1.0;
/// How deep drawings may be drawn in drawings.
const DEPTH_MAX: usize = 12;
/// How far up a page looks for what it does not say itself.
const PARENTS_MAX: usize = 32;

/// Which letters are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterVisibility {
    /// Those that a reader sees.
    Seen,
    /// The others.
    Unseen,
}

/// How letters are drawn at a moment.
#[derive(Clone, Copy)]
struct TextState {
    mode: i64,
    white: bool,
    size: f64,
    /// How much larger everything is drawn.
    scale: f64,
    /// How much larger this piece of text is.
    line: f64,
}

impl TextState {
    fn new() -> Self {
        Self { mode: 0, white: false, size: 12.0, scale: 1.0, line: 1.0 }
    }

    fn is_unseen(&self) -> bool {
        // 3: neither filled nor outlined. 7: it only cuts out what is drawn after it.
        let points = (self.size * self.scale * self.line).abs();
        matches!(self.mode, 3 | 7) || (self.white && self.mode == 0) || points < TINY_POINTS
    }

    fn note(&mut self, operation: &Operation) {
        let number = |at: usize| operation.operands.get(at).and_then(|operand| operand.as_float().ok()).map(f64::from);
        let all: Vec<f64> = (0..operation.operands.len()).filter_map(number).collect();
        let scale = || match all[..] {
            [a, b, c, d, ..] => (a * d - b * c).abs().sqrt(),
            _ => 1.0,
        };
        match operation.operator.as_str() {
            "Tr" => self.mode = operation.operands.first().and_then(|mode| mode.as_i64().ok()).unwrap_or(0),
            "Tf" => self.size = number(1).unwrap_or(12.0),
            "Tm" => self.line = scale(),
            "BT" => self.line = 1.0,
            "cm" => self.scale *= scale(),
            "g" | "rg" => self.white = !all.is_empty() && all.iter().all(|part| *part >= 0.99),
            "k" => self.white = all.len() == 4 && all.iter().all(|part| *part <= 0.01),
            "sc" | "scn" => self.white = matches!(all.len(), 1 | 3) && all.iter().all(|part| *part >= 0.99),
            "cs" => self.white = false,
            _ => {}
        }
    }
}

struct PageRewriter<'a> {
    from: &'a Document,
    to: Document,
    keep: LetterVisibility,
    /// Whether anything was found that is not seen.
    unseen: bool,
    done: BTreeSet<ObjectId>,
}

/// A copy of which these pages draw those letters alone, and whether there are any that are not seen. What draws itself is
/// drawn once, and pictures not at all.
pub(super) fn rewritten(from: &Document, pages: &[u32], keep: LetterVisibility) -> (Document, bool) {
    let mut rewrite = PageRewriter { from, to: from.clone(), keep, unseen: false, done: BTreeSet::new() };
    let ids = from.get_pages();
    for id in pages.iter().filter_map(|number| ids.get(number)) {
        rewrite.page(*id);
    }
    (rewrite.to, rewrite.unseen)
}

impl PageRewriter<'_> {
    fn page(&mut self, id: ObjectId) {
        let from = self.from;
        let (Ok(page), Ok(content)) = (from.get_dictionary(id), from.get_page_content(id)) else { return };
        let resources = inherited(from, page, b"Resources").and_then(|found| dictionary(from, found));
        let content = self.content(&content, resources, &mut vec![id]);
        let stream = self.to.add_object(Stream::new(Dictionary::new(), content));
        let has_box = inherited(from, page, b"MediaBox").is_some();
        if let Ok(Object::Dictionary(page)) = self.to.get_object_mut(id) {
            page.set("Contents", Object::Reference(stream));
            if !has_box {
                page.set("MediaBox", vec![0.into(), 0.into(), 612.into(), 792.into()]);
            }
        }
    }

    /// The instructions without the letters that are not wanted.
    fn content(&mut self, content: &[u8], resources: Option<&Dictionary>, within: &mut Vec<ObjectId>) -> Vec<u8> {
        let Ok(Content { operations }) = Content::decode(content) else { return Vec::new() };
        let (mut pen, mut saved, mut kept) = (TextState::new(), Vec::new(), Vec::with_capacity(operations.len()));
        for operation in operations {
            match operation.operator.as_str() {
                "q" => saved.push(pen),
                "Q" => pen = saved.pop().unwrap_or(pen),
                "Tj" | "TJ" | "'" | "\"" if !self.is_wanted(&pen) => {
                    // The next line begins all the same.
                    let begins = matches!(operation.operator.as_str(), "'" | "\"");
                    kept.extend(begins.then(|| Operation::new("T*", Vec::new())));
                    continue;
                }
                "Tj" | "TJ" | "'" | "\"" => {}
                "Do" if !self.draws(&operation, resources, within) => continue,
                // Pictures and colours say nothing, and can be wrong.
                "BI" | "ID" | "EI" | "sh" | "gs" | "cs" | "CS" | "sc" | "scn" | "SC" | "SCN" | "d0" | "d1" => {
                    pen.note(&operation);
                    continue;
                }
                _ => pen.note(&operation),
            }
            kept.push(operation);
        }
        Content { operations: kept }.encode().unwrap_or_default()
    }

    fn is_wanted(&mut self, pen: &TextState) -> bool {
        let unseen = pen.is_unseen();
        self.unseen |= unseen;
        unseen == (self.keep == LetterVisibility::Unseen)
    }

    /// Whether this draws something with letters, which is then rewritten as well.
    fn draws(&mut self, operation: &Operation, resources: Option<&Dictionary>, within: &mut Vec<ObjectId>) -> bool {
        let from = self.from;
        let name = operation.operands.first().and_then(|name| name.as_name().ok());
        let all = resources.and_then(|resources| resources.get(b"XObject").ok()).and_then(|all| dictionary(from, all));
        let id = name.zip(all).and_then(|(name, all)| all.get(name).ok()?.as_reference().ok());
        let Some(id) = id.filter(|id| !within.contains(id) && within.len() < DEPTH_MAX) else { return false };
        let Ok(Object::Stream(stream)) = from.get_object(id) else { return false };
        let is_form = stream.dict.get(b"Subtype").and_then(|kind| kind.as_name()).is_ok_and(|kind| kind == b"Form");
        if !is_form {
            return false;
        }
        if self.done.insert(id) {
            let own = stream.dict.get(b"Resources").ok().and_then(|own| dictionary(from, own)).or(resources);
            let content = stream.decompressed_content().unwrap_or_else(|_plain| stream.content.clone());
            within.push(id);
            let content = self.content(&content, own, within);
            within.pop();
            if let Ok(Object::Stream(stream)) = self.to.get_object_mut(id) {
                stream.set_plain_content(content);
            }
        }
        true
    }
}

/// What an object is, wherever it stands.
fn dictionary<'a>(from: &'a Document, object: &'a Object) -> Option<&'a Dictionary> {
    match object {
        Object::Reference(id) => from.get_dictionary(*id).ok(),
        Object::Dictionary(dictionary) => Some(dictionary),
        _ => None,
    }
}

/// What a page says under a name, or those say above it.
fn inherited<'a>(from: &'a Document, page: &'a Dictionary, name: &[u8]) -> Option<&'a Object> {
    let mut at = page;
    for _ in 0..PARENTS_MAX {
        if let Ok(found) = at.get(name) {
            return Some(found);
        }
        at = from.get_dictionary(at.get(b"Parent").ok()?.as_reference().ok()?).ok()?;
    }
    None
}
