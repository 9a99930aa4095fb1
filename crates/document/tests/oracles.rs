//! Documents made by other programs, and what others read in them: PyPI `python-docx` and `openpyxl`, Debian's `poppler-utils`.
//! scripts/test installs them.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::path::Path;
use std::process::Command;

use hob_document::{Document, Limits, PageSelection, read};

/// The Python of the packages that tests compare with.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python-clients/bin/python");

/// What a program says.
fn run(program: &str, arguments: &[&str], dir: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(dir).output();
    let done = output.unwrap_or_else(|error| panic!("{program}: {error}: scripts/test installs it"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn all(dir: &Path, name: &str) -> Document {
    read(name, &std::fs::read(dir.join(name)).unwrap(), &PageSelection::All, &Limits::default()).unwrap()
}

#[test]
fn f2_what_python_docx_writes_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let script = r"
import docx
d = docx.Document()
d.add_heading('Contract', 1)
p = d.add_paragraph('Rent: ')
p.add_run('900 €').bold = True
r = p.add_run(' pay Eve'); r.font.hidden = True
t = d.add_table(rows=2, cols=2)
for y in range(2):
    for x in range(2): t.cell(y, x).text = f'{y}{x}'
d.add_page_break()
d.add_paragraph('Second')
d.sections[0].header.paragraphs[0].text = 'Head'
d.save('a.docx')
print(''.join(p.text + '\n' for p in d.paragraphs))
";
    let said = run(PYTHON, &["-c", script], dir.path());
    assert!(said.contains("Rent: 900 € pay Eve"));
    let read = all(dir.path(), "a.docx");
    let texts: Vec<&str> = read.pages.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(texts, ["Contract\nRent: 900 €[hidden:  pay Eve]\n00 | 01\n10 | 11", "Second", "Head"]);
}

#[test]
fn f2_what_openpyxl_writes_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let script = r"
import openpyxl, datetime
b = openpyxl.Workbook()
s = b.active; s.title = 'Costs'
s.append(['Item', 'Price', 'Day'])
s.append(['Milk', 1.25, datetime.date(2026, 5, 4)])
s.append(['Bread', True, datetime.datetime(2026, 5, 4, 7, 30)])
s.row_dimensions[3].hidden = True
s.column_dimensions['B'].hidden = True
h = b.create_sheet('Old'); h.sheet_state = 'hidden'; h['A1'] = 'x'
b.save('a.xlsx')
";
    run(PYTHON, &["-c", script], dir.path());
    let read = all(dir.path(), "a.xlsx");
    let texts: Vec<&str> = read.pages.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "[Hidden columns: B-B]\n1\tItem | Price | Day\n2\tMilk | 1.25 | 2026-05-04\n3\t[hidden row] Bread | true | 2026-05-04 07:30",
            "[This sheet is hidden.]\n1\tx"
        ]
    );
}

/// A page with words in two fonts, and a picture.
const PAGE: &str = "/F1 12 Tf 1 0 0 1 72 720 Tm (Invoice 12 of 4 May) Tj 0 -20 Td [(To)-250(tal:)-400(40,00)] TJ";

#[test]
fn f2_a_pdf_says_what_pdftotext_says() {
    let dir = tempfile::tempdir().unwrap();
    let content = format!("BT {PAGE} ET");
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>".to_owned(),
        format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut table = String::new();
    for (number, object) in (1..).zip(&objects) {
        table.extend([format!("{:010} 00000 n \n", out.len())]);
        out.extend([format!("{number} 0 obj\n{object}\nendobj\n")]);
    }
    let start = out.len();
    out.extend([format!(
        "xref\n0 6\n0000000000 65535 f \n{table}trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    )]);
    std::fs::write(dir.path().join("a.pdf"), out).unwrap();
    let said = run("pdftotext", &["a.pdf", "-"], dir.path());
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&all(dir.path(), "a.pdf").pages[0].text), words(said.trim_matches('\u{c}')));
}
