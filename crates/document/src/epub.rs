//! Books, a chapter as a page, and pages of the web: HTML, as a reader would see it.

use std::collections::BTreeMap;

use hob_http::page;

use crate::archive::Archive;
use crate::pages::PageCollection;
use crate::pptx::resolve_path;
use crate::xml::{Node, walk};
use crate::{DocumentError, Limits, text};

/// What the chapters say, in their order.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<PageCollection, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    if archive.has("META-INF/encryption.xml") && archive.has("META-INF/rights.xml") {
        return Err(DocumentError::Encrypted);
    }
    let mut package = None;
    walk(&archive.need("META-INF/container.xml")?, limits, |node| {
        if let Node::Open(element) = node
            && element.name() == "rootfile"
            && package.is_none()
        {
            package = element.get("full-path");
        }
        Ok(())
    })?;
    let package = package.ok_or_else(|| DocumentError::Damaged("it does not say what it is made of".to_owned()))?;
    let (mut parts, mut order) = (BTreeMap::new(), Vec::new());
    walk(&archive.need(&package)?, limits, |node| {
        if let Node::Open(element) = node {
            match element.name() {
                "item" => parts.extend(element.get("id").zip(element.get("href"))),
                "itemref" => order.extend(element.get("idref")),
                _ => {}
            }
        }
        Ok(())
    })?;
    let dir = package.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut all = PageCollection::default();
    for id in order {
        let Some(path) = parts.get(&id).map(|part| resolve_path(dir, &text::unescaped(part, b'%'))) else { continue };
        let Some(chapter) = archive.get(&path)? else { continue };
        let read = page::letter(&text::decoded(&chapter));
        if !read.text.trim().is_empty() || read.hidden > 0 {
            all.add("", page_text(read));
        }
    }
    Ok(all)
}

/// What a page of the web says, cut by length.
pub(crate) fn html(text: &str) -> PageCollection {
    PageCollection::split_at_lines(page_text(page::letter(text)).lines().map(str::to_owned))
}

fn page_text(page: page::PageText) -> String {
    let mut text = page.text;
    if page.hidden > 0 {
        text.extend([format!("\n[Passages that nobody sees, left out: {}]", page.hidden)]);
    }
    if page.invisible > 0 {
        text.extend([format!("\n[Invisible characters left out: {}]", page.invisible)]);
    }
    if page.cut {
        text.push_str("\n[It is too large or too deep to be read whole.]");
    }
    text
}
