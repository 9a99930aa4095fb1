//! Excel's sheets, a row on a line. Cells come one by one, so that a sheet with two far corners costs no more than two cells.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use calamine::{Data, DataRef, ExcelDateTime, Reader as _, SheetVisible, Xlsx};

use crate::archive::Archive;
use crate::pages::{PageCollection, PageSelection};
use crate::pptx::{relations, resolve_path};
use crate::xml::{Node, walk};
use crate::{DocumentError, Limits, damaged, text};

/// The most cells between two others that are shown as empty ones.
const GAP_MAX: u32 = 20;

/// What a sheet hides: rows and columns, from 0.
#[derive(Default)]
struct HiddenCells {
    rows: BTreeSet<u32>,
    columns: Vec<(u32, u32)>,
}

/// What the sheets say.
pub(crate) fn read(bytes: &[u8], wanted: &PageSelection, limits: &Limits) -> Result<PageCollection, DocumentError> {
    // Whoever reads it next unpacks it without a bound.
    Archive::of(bytes, limits)?.measure(|name, xml| {
        if name.ends_with(".xml") || name.ends_with(".rels") { walk(xml, limits, |_| Ok(())) } else { Ok(()) }
    })?;
    let mut hidden = hidden(bytes, limits)?;
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let sheets: Vec<(String, bool)> = book
        .sheets_metadata()
        .iter()
        .map(|sheet| (sheet.name.clone(), sheet.visible == SheetVisible::Visible))
        .collect();
    let mut all = PageCollection::default();
    for (name, visible) in sheets {
        let number = all.pages.len() + 1;
        let text = if wanted.includes(number, &name) {
            let hidden = hidden.remove(&name).unwrap_or_default();
            sheet(&mut book, &name, &hidden, limits)?
        } else {
            String::new()
        };
        let text = if visible { text } else { format!("[This sheet is hidden.]\n{text}") };
        all.add(name, text);
    }
    Ok(all)
}

fn sheet(
    book: &mut Xlsx<Cursor<&[u8]>>,
    name: &str,
    hidden: &HiddenCells,
    limits: &Limits,
) -> Result<String, DocumentError> {
    let mut cells = match book.worksheet_cells_reader(name) {
        Ok(cells) => cells,
        Err(error) => return Ok(format!("[It cannot be read: {error}]")),
    };
    let (mut text, mut at, mut row) = (String::new(), None::<u32>, Vec::<(u32, String)>::new());
    if !hidden.columns.is_empty() {
        let columns = hidden.columns.iter().map(|(from, to)| format!("{}-{}", column(*from), column(*to)));
        text.extend([format!("[Hidden columns: {}]\n", columns.collect::<Vec<_>>().join(", "))]);
    }
    while let Some(cell) = cells.next_cell().map_err(|error| damaged(&error))? {
        let (y, x) = cell.get_position();
        let value = cell_text(cell.get_value());
        if value.is_empty() {
            continue;
        }
        if at.is_some_and(|at| at != y) {
            push(&mut text, at, &mut row, hidden);
            if text.len() > limits.text_bytes * 2 {
                break;
            }
        }
        at = Some(y);
        row.push((x, value));
    }
    push(&mut text, at, &mut row, hidden);
    Ok(text)
}

/// Writes a row down.
fn push(text: &mut String, at: Option<u32>, row: &mut Vec<(u32, String)>, hidden: &HiddenCells) {
    let Some(at) = at else { return };
    let (mut cells, mut next) = (Vec::new(), 0);
    for (x, value) in row.drain(..) {
        let gap = x.saturating_sub(next);
        if gap > GAP_MAX {
            cells.push(format!("[column {}:]", column(x)));
        } else {
            cells.extend((0..gap).map(|_| String::new()));
        }
        cells.push(value);
        next = x + 1;
    }
    let mark = if hidden.rows.contains(&at) { "[hidden row] " } else { "" };
    text.extend([format!("{}\t{mark}{}\n", at + 1, text::row(&cells))]);
}

/// A column as Excel names it.
fn column(mut at: u32) -> String {
    let mut name = Vec::new();
    loop {
        name.push(char::from(b'A' + u8::try_from(at % 26).unwrap_or(0)));
        if at < 26 {
            return name.into_iter().rev().collect();
        }
        at = at / 26 - 1;
    }
}

fn cell_text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::DateTime(at) => date_text(at),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) | DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        other => Data::from(other.clone()).to_string(),
    }
}

fn date_text(at: &ExcelDateTime) -> String {
    if at.is_duration() {
        let minutes = (at.as_f64() * 1_440.0).round();
        return format!("{}:{:02}", (minutes / 60.0).trunc(), minutes.rem_euclid(60.0));
    }
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (hour, minute, second) {
        (0, 0, 0) => date,
        (hour, minute, 0) => format!("{date} {hour:02}:{minute:02}"),
        (hour, minute, second) => format!("{date} {hour:02}:{minute:02}:{second:02}"),
    }
}

/// What each sheet hides.
fn hidden(bytes: &[u8], limits: &Limits) -> Result<BTreeMap<String, HiddenCells>, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    let targets = relations(&mut archive, "xl/_rels/workbook.xml.rels", limits)?;
    let mut sheets = Vec::new();
    walk(&archive.need("xl/workbook.xml")?, limits, |node| {
        if let Node::Open(element) = node
            && element.name() == "sheet"
        {
            let target = element.all("id").into_iter().find_map(|id| targets.get(&id).cloned());
            sheets.extend(element.get("name").zip(target));
        }
        Ok(())
    })?;
    let mut all = BTreeMap::new();
    for (name, target) in sheets {
        let Some(xml) = archive.get(&resolve_path("xl", &target))? else { continue };
        all.insert(name, hidden_cells(&xml, limits)?);
    }
    Ok(all)
}

fn hidden_cells(xml: &[u8], limits: &Limits) -> Result<HiddenCells, DocumentError> {
    let mut hidden = HiddenCells::default();
    walk(xml, limits, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        let number = |name| element.get(name).and_then(|text| text.parse::<u32>().ok()).and_then(|n| n.checked_sub(1));
        match element.name() {
            "row" if element.says("hidden", &["1", "true"]) => hidden.rows.extend(number("r")),
            "col" if element.says("hidden", &["1", "true"]) => hidden.columns.extend(number("min").zip(number("max"))),
            _ => {}
        }
        Ok(())
    })?;
    Ok(hidden)
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn c6_columns_have_their_names() {
        for (at, name) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA"), (16_383, "XFD")] {
            assert_eq!(column(at), name);
        }
    }
}
