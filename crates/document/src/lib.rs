//! Documents as text: PDF, office files, books, tables, calendars and cards, page by page, within limits.
//!
//! What a reader of the document would not see is marked, and what cannot be read says why.
//!
//! Whoever uses it does so in the sandbox (`hob_tools::files::document`).
//!
//! Never: I/O, a part of a document that is run or fetched, or more than [`Limits`] allow.
//! Start at [`read`]; then a file for each kind.

mod archive;
mod csv;
mod document;
mod docx;
mod epub;
mod kind;
mod lines;
mod ods;
mod pages;
mod pdf;
mod pptx;
#[cfg(test)]
mod tests;
mod text;
mod xlsx;
mod xml;

pub(crate) use document::damaged;
pub use document::{Document, DocumentError, Limits, Page, read};
pub use kind::{DocumentKind, may_be};
pub use pages::PageSelection;
