//! LibreOffice's sheets, a row on a line. What is repeated is said once, with how often: nothing is ever spread out.

use std::collections::BTreeSet;

use crate::archive::Archive;
use crate::pages::PageCollection;
use crate::xml::{Element, Node, walk};
use crate::{DocumentError, Limits, text};

/// So often a cell with words is written down again; more often it is said how often.
const AGAIN_MAX: u32 = 20;

#[derive(Default)]
struct OdsReader {
    all: PageCollection,
    /// Styles of tables that are not shown.
    unshown: BTreeSet<String>,
    style: String,
    title: String,
    text: String,
    row: Vec<String>,
    rows: u32,
    again: u32,
    hidden: bool,
    cell: String,
    cells: u32,
    words: bool,
    comment: usize,
}

/// What the sheets say.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<PageCollection, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    if let Some(manifest) = archive.get("META-INF/manifest.xml")?
        && String::from_utf8_lossy(&manifest).contains("encryption-data")
    {
        return Err(DocumentError::Encrypted);
    }
    let mut reader = OdsReader::default();
    walk(&archive.need("content.xml")?, limits, |node| {
        match node {
            Node::Open(element) => reader.open(element),
            Node::Close(name) => reader.close(name, limits),
            Node::Text(words) if reader.words && reader.comment == 0 => reader.cell.push_str(words),
            Node::Text(_) => {}
        }
        Ok(())
    })?;
    Ok(reader.all)
}

fn times(element: &Element<'_>, name: &str) -> u32 {
    element.get(name).and_then(|count| count.parse().ok()).unwrap_or(1)
}

impl OdsReader {
    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "style" => self.style = element.get("name").unwrap_or_default(),
            "table-properties" if element.says("display", &["false"]) => {
                self.unshown.insert(self.style.clone());
            }
            "table" => {
                let unshown = element.get("style-name").is_some_and(|style| self.unshown.contains(&style));
                self.title = element.get("name").unwrap_or_default();
                self.text = if unshown { "[This sheet is hidden.]\n".to_owned() } else { String::new() };
                self.rows = 0;
            }
            "table-row" => {
                self.again = times(element, "number-rows-repeated");
                self.hidden = element.says("visibility", &["collapse", "filter"]);
                self.row.clear();
            }
            "table-cell" | "covered-table-cell" => {
                self.cells = times(element, "number-columns-repeated");
                self.cell.clear();
                self.words = false;
            }
            "annotation" => self.comment += 1,
            "p" if self.comment == 0 => {
                if !self.cell.is_empty() {
                    self.cell.push(' ');
                }
                self.words = true;
            }
            "s" if self.words => self.cell.push(' '),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, limits: &Limits) {
        match name {
            "annotation" => self.comment = self.comment.saturating_sub(1),
            "p" if self.comment == 0 => self.words = false,
            "table-cell" | "covered-table-cell" => self.end_cell(),
            "table-row" => self.end_row(limits),
            "table" => {
                let (title, text) = (std::mem::take(&mut self.title), std::mem::take(&mut self.text));
                self.all.add(title, text);
            }
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        match self.cells {
            times if times <= AGAIN_MAX => self.row.extend((0..times).map(|_| cell.clone())),
            // The rest of a sheet's width.
            _ if cell.is_empty() => self.row.push(String::new()),
            times => self.row.push(format!("{cell} [{times} times]")),
        }
    }

    fn end_row(&mut self, limits: &Limits) {
        let first = self.rows + 1;
        self.rows = self.rows.saturating_add(self.again);
        let line = text::row(&self.row);
        if line.is_empty() || self.text.len() > limits.text_bytes * 2 {
            return;
        }
        let mark = if self.hidden { "[hidden row] " } else { "" };
        let again = if self.again > 1 { format!(" [{} rows like this]", self.again) } else { String::new() };
        self.text.extend([format!("{first}\t{mark}{line}{again}\n")]);
    }
}
