//! PDF, page by page. What a page draws so that nobody sees it stands apart, and says so.
//!
//! A page that its reader breaks on costs that page alone.

mod drawing;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document as Pdf, Error, OutputError, PlainTextOutput, output_doc_page};

use crate::pages::{self, PageSelection};
use crate::pdf::drawing::{LetterVisibility, rewritten};
use crate::{Document, DocumentError, DocumentKind, Limits, Page, damaged, text};

/// What the pages say.
pub(crate) fn read(bytes: &[u8], wanted: &PageSelection, limits: &Limits) -> Result<Document, DocumentError> {
    let pdf = open_pdf(bytes)?;
    let ids = pdf.get_pages();
    let total = ids.len();
    if total == 0 {
        return Err(DocumentError::Damaged("it has no pages".to_owned()));
    }
    let chosen: Vec<u32> = ids
        .keys()
        .copied()
        .filter(|number| usize::try_from(*number).is_ok_and(|number| wanted.includes(number, "")))
        .collect();
    if chosen.is_empty() {
        return Err(pages::no_such_page(DocumentKind::Pdf, &vec![String::new(); total], wanted));
    }
    let (shown, unseen) = rewritten(&pdf, &chosen, LetterVisibility::Seen);
    let hidden = if unseen { Some(rewritten(&pdf, &chosen, LetterVisibility::Unseen).0) } else { None };
    let (mut all, mut notes, mut length) = (Vec::new(), Vec::new(), 0);
    for number in chosen {
        let mut text = match page(&shown, number) {
            Ok(text) => text,
            Err(why) => {
                notes.push(format!("Page {number} could not be read whole: {why}"));
                pdf.extract_text(&[number]).unwrap_or_default()
            }
        };
        let unseen = hidden.as_ref().and_then(|hidden| page(hidden, number).ok()).unwrap_or_default();
        if !unseen.trim().is_empty() {
            let unseen = text::visible_text(&unseen);
            text.extend([format!("\n[Drawn so that a reader does not see it (invisible, white or tiny):\n{unseen}]")]);
        }
        let text = text::visible_text(&text);
        length += text.len();
        all.push(Page { number: usize::try_from(number).unwrap_or(usize::MAX), title: String::new(), text });
        if length > limits.text_bytes {
            break;
        }
    }
    if all.iter().all(|page| page.text.trim().is_empty()) {
        notes.push("There are no letters on these pages: they may be scanned pictures.".to_owned());
    }
    Ok(Document { kind: DocumentKind::Pdf, total, pages: pages::bounded(all, limits.text_bytes), notes })
}

fn open_pdf(bytes: &[u8]) -> Result<Pdf, DocumentError> {
    let sealed = |error: &Error| matches!(error, Error::InvalidPassword | Error::Decryption(_));
    let loaded = catch_unwind(AssertUnwindSafe(|| Pdf::load_mem(bytes)));
    let mut pdf = match loaded {
        Ok(Ok(pdf)) => pdf,
        Ok(Err(error)) if sealed(&error) => return Err(DocumentError::Encrypted),
        Ok(Err(error)) => return Err(damaged(&error)),
        Err(_panic) => return Err(DocumentError::Damaged("it cannot be taken apart".to_owned())),
    };
    // Many that only forbid printing open with no password at all.
    if pdf.is_encrypted() && pdf.decrypt("").is_err() {
        return Err(DocumentError::Encrypted);
    }
    Ok(pdf)
}

/// The words of a page, or why there are none.
fn page(pdf: &Pdf, number: u32) -> Result<String, String> {
    let mut text = String::new();
    let read = catch_unwind(AssertUnwindSafe(|| -> Result<(), OutputError> {
        output_doc_page(pdf, &mut PlainTextOutput::new(&mut text), number)
    }));
    match read {
        Ok(Ok(())) => Ok(text),
        Ok(Err(error)) => Err(damaged(&error).to_string()),
        Err(_panic) => Err("something in it is not as it should be".to_owned()),
    }
}
