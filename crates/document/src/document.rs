//! A document is read: its kind is told, and that kind reads it.

use serde::{Deserialize, Serialize};

use crate::{DocumentKind, PageSelection, csv, docx, epub, lines, ods, pages, pdf, pptx, text, xlsx};

/// What one document may need. Memory and time are bounded by who runs this.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most bytes of what is packed in it, unpacked.
    pub(crate) unpacked_bytes: u64,
    /// The most files that are packed in it.
    pub entries: usize,
    /// How deep its elements may stand in each other.
    pub depth: usize,
    /// The most bytes of text that are given back.
    pub(crate) text_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { unpacked_bytes: 256 << 20, entries: 10_000, depth: 256, text_bytes: 1 << 20 }
    }
}

/// A part of a document: what it calls a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// From 1.
    pub number: usize,
    /// What it is called, where it has a name.
    pub title: String,
    pub text: String,
}

/// What was read of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub kind: DocumentKind,
    /// How many pages it has.
    pub total: usize,
    /// Those that were wanted, as far as they fit.
    pub pages: Vec<Page>,
    /// What there is to know besides.
    pub notes: Vec<String>,
}

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is none of those that are known.
    #[error("it is not a document that can be read as text")]
    Unknown,
    /// A password is needed.
    #[error("it is encrypted: it opens with a password only, and cannot be read without it")]
    Encrypted,
    /// The format of before 2007.
    #[error("it is an Office file from before 2007 (.doc, .xls, .ppt): save it in the newer format, or as PDF")]
    Old,
    /// It needs more than is allowed.
    #[error("it is too much: {0}")]
    TooMuch(String),
    /// It is not whole, or not what it says.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// There is no such page.
    #[error("there is no such {unit} in it: {asked}. It has {has}")]
    NoPage {
        /// What its pages are called.
        unit: &'static str,
        asked: String,
        has: String,
    },
}

/// Something of it is damaged.
pub(crate) fn damaged(error: &impl std::fmt::Display) -> DocumentError {
    let said: String = error.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
    DocumentError::Damaged(said)
}

/// What a document says: the pages that are wanted of it.
///
/// # Errors
/// When it cannot be read: why.
pub fn read(name: &str, bytes: &[u8], wanted: &PageSelection, limits: &Limits) -> Result<Document, DocumentError> {
    let kind = DocumentKind::of(name, bytes, limits)?;
    let text = || text::decoded(bytes);
    let all = match kind {
        DocumentKind::Pdf => return pdf::read(bytes, wanted, limits),
        DocumentKind::Xlsx => xlsx::read(bytes, wanted, limits)?,
        DocumentKind::Ods => ods::read(bytes, limits)?,
        DocumentKind::Docx => docx::read(bytes, limits)?,
        DocumentKind::Pptx => pptx::read(bytes, limits)?,
        DocumentKind::Epub => epub::read(bytes, limits)?,
        DocumentKind::Html => epub::html(&text()),
        DocumentKind::Csv => csv::read(&text()),
        DocumentKind::Ics | DocumentKind::Vcf => lines::read(&text()),
    };
    pages::select_pages(kind, all, wanted, limits)
}
