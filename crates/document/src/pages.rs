//! Which pages are wanted, and as many of them as fit.

use serde::{Deserialize, Serialize};

use crate::{Document, DocumentError, DocumentKind, Limits, Page, text};

/// The most names of sheets that are told of.
const NAMES_MAX: usize = 40;
/// The longest page of what has no pages of its own, in characters.
const PAGE_CHARS: usize = 6_000;

/// Which pages are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageSelection {
    #[default]
    All,
    /// These, from 1.
    Range {
        /// The first.
        from: usize,
        /// The last.
        to: usize,
    },
    Named(String),
}

impl PageSelection {
    /// As it is asked for: `3`, `2-5`, `4-`, or a sheet's name.
    pub fn parse(asked: &str) -> Self {
        let asked = asked.trim();
        let number = |part: &str| part.trim().parse::<usize>().ok();
        if asked.is_empty() {
            return Self::All;
        }
        if let Some(one) = number(asked) {
            return Self::Range { from: one, to: one };
        }
        match asked.split_once(['-', '–']) {
            Some((from, to)) => match (number(from), number(to)) {
                (Some(from), Some(to)) => Self::Range { from, to },
                (Some(from), None) if to.trim().is_empty() => Self::Range { from, to: usize::MAX },
                _ => Self::Named(asked.to_owned()),
            },
            None => Self::Named(asked.to_owned()),
        }
    }

    /// Is this one of them?
    pub(crate) fn includes(&self, number: usize, title: &str) -> bool {
        match self {
            Self::All => true,
            Self::Range { from, to } => (*from..=*to).contains(&number),
            Self::Named(name) => title.eq_ignore_ascii_case(name) || title == name,
        }
    }

    fn selection_text(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Range { from, to } if from == to => from.to_string(),
            Self::Range { from, to: usize::MAX } => format!("{from}-"),
            Self::Range { from, to } => format!("{from}-{to}"),
            Self::Named(name) => format!("{name:?}"),
        }
    }
}

/// What there is to choose from.
#[derive(Debug, Default)]
pub(crate) struct PageCollection {
    pub(crate) pages: Vec<Page>,
    pub(crate) notes: Vec<String>,
}

impl PageCollection {
    /// One more page.
    pub(crate) fn add(&mut self, title: impl Into<String>, text: impl Into<String>) {
        let number = self.pages.len() + 1;
        self.pages.push(Page { number, title: title.into(), text: text.into() });
    }

    /// Pages of what has none: cut at ends of lines.
    pub(crate) fn split_at_lines(lines: impl Iterator<Item = String>) -> Self {
        let (mut all, mut text) = (Self::default(), String::new());
        for line in lines {
            if !text.is_empty() && text.len() + line.len() > PAGE_CHARS {
                all.add("", std::mem::take(&mut text));
            }
            text.push_str(&line);
            text.push('\n');
        }
        if !text.is_empty() || all.pages.is_empty() {
            all.add("", text);
        }
        all
    }
}

/// Those that are wanted, as many as fit.
pub(crate) fn select_pages(
    kind: DocumentKind,
    all: PageCollection,
    wanted: &PageSelection,
    limits: &Limits,
) -> Result<Document, DocumentError> {
    let total = all.pages.len();
    let names: Vec<String> = all.pages.iter().map(|page| page.title.clone()).collect();
    let pages: Vec<Page> = all.pages.into_iter().filter(|page| wanted.includes(page.number, &page.title)).collect();
    if pages.is_empty() {
        return Err(no_such_page(kind, &names, wanted));
    }
    let pages = pages.into_iter().map(|page| Page { text: text::visible_text(&page.text), ..page }).collect();
    let pages = bounded(pages, limits.text_bytes);
    Ok(Document { kind, total, pages, notes: all.notes })
}

pub(crate) fn no_such_page(kind: DocumentKind, names: &[String], wanted: &PageSelection) -> DocumentError {
    let unit = kind.unit();
    let count = names.len();
    let listed: Vec<String> = names.iter().filter(|name| !name.is_empty()).take(NAMES_MAX).cloned().collect();
    let listed = if listed.is_empty() { String::new() } else { format!(": {}", listed.join(", ")) };
    let has = format!("{count} {unit}{}{listed}", if count == 1 { "" } else { "s" });
    DocumentError::NoPage { unit, asked: wanted.selection_text(), has }
}

/// As many pages as fit; the first in part where it alone is too long.
pub(crate) fn bounded(pages: Vec<Page>, most: usize) -> Vec<Page> {
    let (mut kept, mut left) = (Vec::new(), most);
    for mut page in pages {
        if page.text.len() > left {
            if !kept.is_empty() {
                break;
            }
            let (end, all) = (page.text.floor_char_boundary(left), page.text.len());
            page.text.truncate(end);
            page.text.extend([format!("\n[… {} more bytes of it are left out]", all - end)]);
            kept.push(page);
            break;
        }
        left -= page.text.len();
        kept.push(page);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_pages_are_asked_for_by_number_range_or_name() {
        let range = |from, to| PageSelection::Range { from, to };
        for (asked, wanted) in [
            ("", PageSelection::All),
            ("3", range(3, 3)),
            (" 2-5 ", range(2, 5)),
            ("2–5", range(2, 5)),
            ("4-", range(4, usize::MAX)),
            ("Costs", PageSelection::Named("Costs".to_owned())),
            ("Jan-Feb", PageSelection::Named("Jan-Feb".to_owned())),
        ] {
            assert_eq!(PageSelection::parse(asked), wanted, "{asked}");
        }
    }

    #[test]
    fn c6_what_does_not_fit_is_left_for_another_time() {
        let page = |number, text: &str| Page { number, title: String::new(), text: text.to_owned() };
        let kept = bounded(vec![page(1, "12345"), page(2, "12345"), page(3, "1")], 11);
        assert_eq!(kept.iter().map(|page| page.number).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(bounded(vec![page(1, "12345"), page(2, "1234567")], 11).len(), 1);
        assert_eq!(bounded(vec![page(1, "äää")], 3)[0].text, "ä\n[… 4 more bytes of it are left out]");
    }
}
