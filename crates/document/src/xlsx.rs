//! Excel's sheets, a row on a line. Cells come one by one, so that a sheet with two far corners costs no more than two cells.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use calamine::{Data, DataRef, ExcelDateTime, Reader as _, SheetVisible, Xlsx, XlsxFormulaMetadata};

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
    // Whoever reads it next unpacks it without a bound. Sheets are read cell by cell, and no further than they are wanted.
    let (mut archive, mut parts) = (Archive::of(bytes, limits)?, sheet_parts(bytes, limits)?);
    archive.measure(|name, xml| {
        let is_walked = name.ends_with(".xml") || name.ends_with(".rels");
        if is_walked && !parts.values().any(|part| part == name) { walk(xml, limits, |_| Ok(())) } else { Ok(()) }
    })?;
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
            let part = parts.remove(&name).unwrap_or_default();
            let xml = Archive::of(bytes, limits)?.get(&part)?.unwrap_or_default();
            match rows(&mut book, &name, limits)? {
                Ok(rows) => sheet_text(&rows, &hidden_cells(&xml, rows.last().map_or(0, |row| row.at), limits)?),
                Err(why) => format!("[It cannot be read: {why}]"),
            }
        } else {
            String::new()
        };
        let text = if visible { text } else { format!("[This sheet is hidden.]\n{text}") };
        all.add(name, text);
    }
    Ok(all)
}

/// A row that is not empty: where it is, and its cells with their columns, from 0.
struct Row {
    at: u32,
    cells: Vec<(u32, String)>,
}

/// As many rows of a sheet as there is room for; or why there are none.
fn rows(
    book: &mut Xlsx<Cursor<&[u8]>>,
    name: &str,
    limits: &Limits,
) -> Result<Result<Vec<Row>, String>, DocumentError> {
    let mut cells = match book.worksheet_cells_reader(name) {
        Ok(cells) => cells,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let (mut rows, mut bytes) = (Vec::<Row>::new(), 0);
    while let Some(cell) = cells.next_cell_with_formula_metadata().map_err(|error| damaged(&error))? {
        let (at, x) = cell.pos;
        let value = match (&cell.value, cell.formula) {
            // Whoever wrote the file left it to the next program to work it out.
            (DataRef::Empty, Some(formula)) => formula_text(formula),
            (value, _) => cell_text(value),
        };
        if value.is_empty() {
            continue;
        }
        if rows.last().is_none_or(|row| row.at != at) {
            if bytes > limits.text_bytes * 2 {
                break;
            }
            rows.push(Row { at, cells: Vec::new() });
        }
        bytes += value.len() + 2;
        if let Some(row) = rows.last_mut() {
            row.cells.push((x, value));
        }
    }
    Ok(Ok(rows))
}

fn sheet_text(rows: &[Row], hidden: &HiddenCells) -> String {
    let mut text = String::new();
    if !hidden.columns.is_empty() {
        let columns = hidden.columns.iter().map(|(from, to)| format!("{}-{}", column(*from), column(*to)));
        text.extend([format!("[Hidden columns: {}]\n", columns.collect::<Vec<_>>().join(", "))]);
    }
    text.extend(rows.iter().map(|row| row_text(row, hidden)));
    text
}

/// A row as it is written down.
fn row_text(row: &Row, hidden: &HiddenCells) -> String {
    let (mut cells, mut next) = (Vec::new(), 0);
    for (x, value) in &row.cells {
        let gap = x.saturating_sub(next);
        if gap > GAP_MAX {
            cells.push(format!("[column {}:]", column(*x)));
        } else {
            cells.extend((0..gap).map(|_| String::new()));
        }
        cells.push(value.clone());
        next = x + 1;
    }
    let mark = if hidden.rows.contains(&row.at) { "[hidden row] " } else { "" };
    format!("{}\t{mark}{}\n", row.at + 1, text::row(&cells))
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

/// A formula that nobody has worked out yet.
fn formula_text(formula: XlsxFormulaMetadata) -> String {
    match formula {
        XlsxFormulaMetadata::Normal { formula } | XlsxFormulaMetadata::Shared { formula, .. } => format!("={formula}"),
        _ => "=[the formula of a cell before it]".to_owned(),
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

/// Where each sheet is packed, by its name.
fn sheet_parts(bytes: &[u8], limits: &Limits) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut archive = Archive::of(bytes, limits)?;
    let targets = relations(&mut archive, "xl/_rels/workbook.xml.rels", limits)?;
    let mut parts = BTreeMap::new();
    walk(&archive.need("xl/workbook.xml")?, limits, |node| {
        if let Node::Open(element) = node
            && element.name() == "sheet"
        {
            let target = element.all("id").into_iter().find_map(|id| targets.get(&id).cloned());
            parts.extend(element.get("name").zip(target.map(|target| resolve_path("xl", &target))));
        }
        Ok(())
    })?;
    Ok(parts)
}

/// What a sheet hides, up to this row.
fn hidden_cells(xml: &[u8], last: u32, limits: &Limits) -> Result<HiddenCells, DocumentError> {
    let (mut hidden, mut is_past) = (HiddenCells::default(), false);
    let walked = walk(xml, limits, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        let number = |name| element.get(name).and_then(|text| text.parse::<u32>().ok()).and_then(|n| n.checked_sub(1));
        match element.name() {
            "row" => {
                let at = number("r");
                is_past = at.is_some_and(|at| at > last);
                if is_past {
                    return Err(DocumentError::Unknown);
                }
                hidden.rows.extend(at.filter(|_| element.says("hidden", &["1", "true"])));
            }
            "col" if element.says("hidden", &["1", "true"]) => hidden.columns.extend(number("min").zip(number("max"))),
            _ => {}
        }
        Ok(())
    });
    if is_past { Ok(hidden) } else { walked.map(|()| hidden) }
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
