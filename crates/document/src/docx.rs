//! Word's documents: their paragraphs and tables, with notes, headers and comments at the end.
//!
//! A page begins where Word last began one; what has none of that is cut by length.

use crate::archive::Archive;
use crate::pages::PageCollection;
use crate::xml::{Element, Node, walk};
use crate::{DocumentError, Limits};

/// What stands in place of a new page, until the text is cut there.
const NEW_PAGE: char = '\u{c}';
/// Letters of this half points and less are too small to be read.
const TINY: u32 = 4;

/// What it says.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<PageCollection, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    let main = archive.need("word/document.xml")?;
    let text = text_of(&main, limits)?;
    let mut all = if text.contains(NEW_PAGE) {
        let mut all = PageCollection::default();
        text.split(NEW_PAGE).map(str::trim).filter(|page| !page.is_empty()).for_each(|page| all.add("", page));
        all
    } else {
        PageCollection::split_at_lines(text.lines().map(str::to_owned))
    };
    let aside = ["word/header", "word/footer", "word/footnotes", "word/endnotes", "word/comments"];
    let mut names = archive.names();
    names.sort();
    for name in names {
        let Some(kind) = aside.iter().find(|kind| name.starts_with(*kind) && name.ends_with(".xml")) else { continue };
        let text = text_of(&archive.need(&name)?, limits)?.replace(NEW_PAGE, "\n");
        if !text.trim().is_empty() {
            all.add(kind.trim_start_matches("word/"), text);
        }
    }
    Ok(all)
}

/// How a run of letters looks.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each stands in the file by itself, beside any of the others")]
struct Run {
    hidden: bool,
    white: bool,
    tiny: bool,
    deleted: bool,
    text: String,
}

impl Run {
    fn mark(&self) -> Option<&'static str> {
        match self {
            Self { deleted: true, .. } => Some("deleted"),
            Self { hidden: true, .. } => Some("hidden"),
            Self { white: true, .. } => Some("white letters"),
            Self { tiny: true, .. } => Some("tiny letters"),
            _ => None,
        }
    }

    /// Properties of it.
    fn note(&mut self, element: &Element<'_>) {
        let off = element.says("val", &["0", "false", "off", "none"]);
        match element.name() {
            "vanish" | "webHidden" => self.hidden |= !off,
            "color" => self.white |= element.says("val", &["FFFFFF", "ffffff"]),
            "sz" => {
                self.tiny |= element.get("val").and_then(|size| size.parse().ok()).is_some_and(|size: u32| size <= TINY)
            }
            _ => {}
        }
    }
}

/// What is being read.
#[derive(Default)]
struct DocxReader {
    text: String,
    run: Option<Run>,
    /// Within a run's own properties.
    properties: bool,
    /// What the letters now read are for: words, or a field's instructions, which are none.
    is_text: bool,
    deleted: usize,
    /// In how many tables' cells this is.
    cells: usize,
    /// Within the older form of what stands there in a newer one already.
    fallback: usize,
    /// The last mark, and where its passage ends.
    marked: Option<(&'static str, usize)>,
}

impl DocxReader {
    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "Fallback" => self.fallback += 1,
            "r" => self.run = Some(Run { deleted: self.deleted > 0, ..Run::default() }),
            "rPr" => self.properties = self.run.is_some(),
            "t" | "delText" => self.is_text = true,
            "del" | "moveFrom" => self.deleted += 1,
            "tab" if !self.properties => self.push_text("\t"),
            "br" if element.says("type", &["page"]) => self.text.push(NEW_PAGE),
            "br" | "cr" => self.push_text(if self.cells > 0 { " " } else { "\n" }),
            "lastRenderedPageBreak" => self.text.push(NEW_PAGE),
            "tc" => self.cells += 1,
            _ => {
                if let Some(run) = self.run.as_mut().filter(|_| self.properties) {
                    run.note(element);
                }
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        match &mut self.run {
            Some(run) => run.text.push_str(text),
            None => self.text.push_str(text),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "Fallback" => self.fallback = self.fallback.saturating_sub(1),
            "rPr" => self.properties = false,
            "t" | "delText" => self.is_text = false,
            "del" | "moveFrom" => self.deleted = self.deleted.saturating_sub(1),
            "r" => self.end_run(),
            "p" => self.text.push_str(if self.cells > 0 { " " } else { "\n" }),
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.text.push_str("| ");
            }
            "tr" => {
                let end = self.text.trim_end_matches(['|', ' ']).len();
                self.text.truncate(end);
                self.text.push_str(if self.cells > 0 { "; " } else { "\n" });
            }
            _ => {}
        }
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let Some(mark) = run.mark().filter(|_| !run.text.is_empty()) else {
            self.text.push_str(&run.text);
            return;
        };
        // What looks alike is often written in pieces.
        if self.marked == Some((mark, self.text.len())) {
            self.text.pop();
        } else {
            self.text.extend([format!("[{mark}: ")]);
        }
        self.text.push_str(&run.text);
        self.text.push(']');
        self.marked = Some((mark, self.text.len()));
    }
}

fn text_of(xml: &[u8], limits: &Limits) -> Result<String, DocumentError> {
    let mut reader = DocxReader::default();
    walk(xml, limits, |node| {
        match node {
            Node::Open(element) if element.name() != "Fallback" && reader.fallback > 0 => {}
            Node::Open(element) => reader.open(element),
            Node::Close(name) if name != "Fallback" && reader.fallback > 0 => {}
            Node::Close(name) => reader.close(name),
            Node::Text(words) if reader.is_text && reader.fallback == 0 => reader.push_text(words),
            Node::Text(_) => {}
        }
        Ok(())
    })?;
    Ok(reader.text)
}
