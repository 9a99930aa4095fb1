//! Which kind of document bytes are: by what is in them, and by their name only where that does not tell.

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::{DocumentError, Limits, text};

/// How much of a beginning tells.
const HEAD: usize = 1_024;
/// What files begin with that others are packed in.
const PACKED: &[u8] = b"PK\x03\x04";
/// What office files of before 2007 begin with, and those that are encrypted.
const COMPOUND: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// What can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DocumentKind {
    Pdf,
    /// Word's.
    Docx,
    /// Excel's.
    Xlsx,
    /// LibreOffice's tables.
    Ods,
    /// PowerPoint's.
    Pptx,
    /// A book.
    Epub,
    /// A page.
    Html,
    /// A table as text.
    Csv,
    /// A calendar.
    Ics,
    /// Cards of people.
    Vcf,
}

impl DocumentKind {
    /// Its name, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Xlsx => "XLSX",
            Self::Ods => "ODS",
            Self::Pptx => "PPTX",
            Self::Epub => "EPUB",
            Self::Html => "HTML",
            Self::Csv => "CSV",
            Self::Ics => "calendar",
            Self::Vcf => "contacts",
        }
    }

    /// What its pages are called.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Xlsx | Self::Ods => "sheet",
            Self::Pptx => "slide",
            Self::Epub => "chapter",
            Self::Pdf | Self::Docx | Self::Html | Self::Csv | Self::Ics | Self::Vcf => "page",
        }
    }

    /// Which it is.
    ///
    /// # Errors
    /// When it is none that can be read.
    pub(crate) fn of(name: &str, bytes: &[u8], limits: &Limits) -> Result<Self, DocumentError> {
        if is_pdf(bytes) {
            return Ok(Self::Pdf);
        }
        if bytes.starts_with(COMPOUND) {
            return Err(if is_sealed(bytes) { DocumentError::Encrypted } else { DocumentError::Old });
        }
        if bytes.starts_with(PACKED) {
            return packed(bytes, limits);
        }
        by_words(name, bytes).ok_or(DocumentError::Unknown)
    }
}

/// Whether a file with this name and this beginning may be a document: it is worth a look by [`crate::read`]. Whether it is
/// plain text all the same, and can be shown as it is, comes second.
pub fn may_be(name: &str, head: &[u8]) -> Option<bool> {
    if is_pdf(head) || head.starts_with(PACKED) || head.starts_with(COMPOUND) {
        return Some(false);
    }
    by_words(name, head).map(|_| true)
}

fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    head.windows(5).any(|five| five == b"%PDF-")
}

/// An office file with a password lies within one of the older kind, under this name in UTF-16.
fn is_sealed(bytes: &[u8]) -> bool {
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.windows(name.len()).any(|part| part == name)
}

fn packed(bytes: &[u8], limits: &Limits) -> Result<DocumentKind, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    let parts = [
        ("word/document.xml", DocumentKind::Docx),
        ("xl/workbook.xml", DocumentKind::Xlsx),
        ("ppt/presentation.xml", DocumentKind::Pptx),
        ("META-INF/container.xml", DocumentKind::Epub),
    ];
    if let Some((_, kind)) = parts.into_iter().find(|(part, _)| archive.has(part)) {
        return Ok(kind);
    }
    let says = archive.get("mimetype")?.unwrap_or_default();
    let says = String::from_utf8_lossy(&says);
    if says.trim() == "application/vnd.oasis.opendocument.spreadsheet" {
        Ok(DocumentKind::Ods)
    } else {
        Err(DocumentError::Unknown)
    }
}

fn by_words(name: &str, bytes: &[u8]) -> Option<DocumentKind> {
    let head = text::decoded(&bytes[..bytes.len().min(HEAD)]);
    if head.contains('\0') {
        return None;
    }
    let begins = |with: &str| {
        let start = head.trim_start();
        start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if begins("BEGIN:VCALENDAR") {
        return Some(DocumentKind::Ics);
    }
    if begins("BEGIN:VCARD") {
        return Some(DocumentKind::Vcf);
    }
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("csv" | "tsv") => Some(DocumentKind::Csv),
        Some("html" | "htm" | "xhtml") => Some(DocumentKind::Html),
        _ if begins("<!doctype html") || begins("<html") => Some(DocumentKind::Html),
        _ => None,
    }
}
