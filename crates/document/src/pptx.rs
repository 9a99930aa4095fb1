//! PowerPoint's slides, in the order in which they are shown, with the speaker's notes.

use std::collections::BTreeMap;

use crate::archive::Archive;
use crate::pages::PageCollection;
use crate::xml::{Node, walk};
use crate::{DocumentError, Limits};

/// What the slides say.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<PageCollection, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    let targets = relations(&mut archive, "ppt/_rels/presentation.xml.rels", limits)?;
    let mut order = Vec::new();
    walk(&archive.need("ppt/presentation.xml")?, limits, |node| {
        // It has an `id` of its own besides: that of the relation is a word.
        if let Node::Open(element) = node
            && element.name() == "sldId"
        {
            order.extend(element.all("id").into_iter().find_map(|id| targets.get(&id).cloned()));
        }
        Ok(())
    })?;
    let mut all = PageCollection::default();
    for target in order {
        let path = resolve_path("ppt", &target);
        let slide = slide(&archive.need(&path)?, limits)?;
        let mut text = slide.text;
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let own = relations(&mut archive, &format!("{dir}/_rels/{name}.rels"), limits)?;
        let notes = own.values().find(|target| target.contains("notesSlide")).map(|target| resolve_path(dir, target));
        if let Some(notes) = notes.map(|path| archive.get(&path)).transpose()?.flatten() {
            let notes = self::slide(&notes, limits)?.text;
            if !notes.trim().is_empty() {
                text.extend([format!("\n[Notes of the speaker]\n{notes}")]);
            }
        }
        all.add(if slide.hidden { "hidden slide" } else { "" }, text);
    }
    Ok(all)
}

/// Where the parts lie that a part refers to, by the names that it has for them.
pub(crate) fn relations(
    archive: &mut Archive<'_>,
    path: &str,
    limits: &Limits,
) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut found = BTreeMap::new();
    let Some(xml) = archive.get(path)? else { return Ok(found) };
    walk(&xml, limits, |node| {
        if let Node::Open(element) = node
            && element.name() == "Relationship"
            && !element.says("TargetMode", &["External"])
        {
            found.extend(element.get("Id").zip(element.get("Target")));
        }
        Ok(())
    })?;
    Ok(found)
}

/// A path as it is meant from a folder.
pub(crate) fn resolve_path(dir: &str, target: &str) -> String {
    if let Some(from_top) = target.strip_prefix('/') {
        return from_top.to_owned();
    }
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

struct Slide {
    text: String,
    hidden: bool,
}

fn slide(xml: &[u8], limits: &Limits) -> Result<Slide, DocumentError> {
    let (mut text, mut hidden, mut is_text, mut invisible) = (String::new(), false, false, None::<usize>);
    let mut depth = 0_usize;
    walk(xml, limits, |node| {
        match node {
            Node::Open(element) => {
                depth += 1;
                match element.name() {
                    "sld" => hidden = element.says("show", &["0", "false"]),
                    "t" => is_text = true,
                    "br" => text.push('\n'),
                    // The shape around it is not shown.
                    "cNvPr" if element.says("hidden", &["1", "true"]) && invisible.is_none() => {
                        invisible = Some(depth.saturating_sub(2));
                        text.push_str("[hidden: ");
                    }
                    _ => {}
                }
            }
            Node::Close(name) => {
                depth = depth.saturating_sub(1);
                match name {
                    "t" => is_text = false,
                    "p" => text.push('\n'),
                    "tc" => text.push_str("| "),
                    _ => {}
                }
                if invisible.is_some_and(|at| depth < at) {
                    invisible = None;
                    text.truncate(text.trim_end().len());
                    text.push_str("]\n");
                }
            }
            Node::Text(words) if is_text => text.push_str(words),
            Node::Text(_) => {}
        }
        Ok(())
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "|");
    Ok(Slide { text: lines.collect::<Vec<_>>().join("\n"), hidden })
}
