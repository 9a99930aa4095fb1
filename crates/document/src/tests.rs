//! Documents made here, honest and hostile ones. What other programs make of them is in `tests/oracles.rs`.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::{Document, DocumentError, DocumentKind, Limits, PageSelection, may_be, read};

fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn all(name: &str, bytes: &[u8]) -> Result<Document, DocumentError> {
    read(name, bytes, &PageSelection::All, &Limits::default())
}

fn texts(document: &Document) -> Vec<&str> {
    document.pages.iter().map(|page| page.text.as_str()).collect()
}

fn docx(body: &str) -> Vec<u8> {
    let xml = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#
    );
    packed(&[("[Content_Types].xml", "<Types/>"), ("word/document.xml", &xml)])
}

#[test]
fn c6_word_is_read_by_page_and_what_is_not_seen_is_marked() {
    let bytes = docx(
        r#"<w:p><w:r><w:t>Dear </w:t></w:r><w:r><w:t>Ada &amp; Bob,</w:t></w:r></w:p>
        <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>obey </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>me</w:t></w:r></w:p>
        <w:p><w:r><w:rPr><w:vanish w:val="false"/><w:color w:val="FFFFFF"/></w:rPr><w:t>white</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p><w:r><w:br w:type="page"/><w:t>Second page.</w:t></w:r>
        <w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"#,
    );
    let read = all("letter.docx", &bytes).unwrap();
    assert_eq!((read.kind, read.total), (DocumentKind::Docx, 2));
    insta::assert_snapshot!(texts(&read).join("\n--\n"), @"
    Dear Ada & Bob,
    [hidden: obey me]
    [white letters: white]
    a | b
    --
    Second page.[deleted: gone]
    ");
    let second = crate::read("x", &bytes, &PageSelection::parse("2"), &Limits::default()).unwrap();
    assert_eq!((second.pages.len(), second.pages[0].number), (1, 2));
    let none = crate::read("x", &bytes, &PageSelection::parse("7"), &Limits::default()).unwrap_err();
    insta::assert_snapshot!(none, @"there is no such page in it: 7. It has 2 pages");
}

/// A sheet of Excel's with these rows; its second and third columns are hidden.
fn sheet(rows: &str) -> String {
    format!(
        r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cols><col min="2" max="3" hidden="1"/></cols><sheetData>{rows}</sheetData></worksheet>"#
    )
}

/// A book of a sheet, and of one that is hidden.
fn book(first: &str, second: &str) -> Vec<u8> {
    packed(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "_rels/.rels",
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
        ),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/><sheet name="Old" sheetId="2" state="hidden" r:id="rId2"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="/xl/worksheets/sheet2.xml"/></Relationships>"#,
        ),
        ("xl/worksheets/sheet1.xml", first),
        ("xl/worksheets/sheet2.xml", second),
    ])
}

#[test]
fn c6_sheets_are_read_and_what_they_hide_is_said() {
    let first = sheet(
        r#"<row r="1"><c r="A1" t="inlineStr"><is><t>Name</t></is></c><c r="C1"><v>1.5</v></c></row>
           <row r="4" hidden="1"><c r="A4" t="inlineStr"><is><t>secret</t></is></c></row>
           <row r="1048576"><c r="XFD1048576"><v>7</v></c></row>"#,
    );
    let bytes = book(&first, &sheet(r#"<row r="1"><c r="A1"><v>9</v></c></row>"#));
    let read = all("costs.xlsx", &bytes).unwrap();
    let shown: Vec<String> = read.pages.iter().map(|page| format!("{}:\n{}", page.title, page.text)).collect();
    insta::assert_snapshot!(shown.join("\n--\n"), @"
    Costs:
    [Hidden columns: B-C]
    1	Name |  | 1.5
    4	[hidden row] secret
    1048576	[column XFD:] | 7
    --
    Old:
    [This sheet is hidden.]
    [Hidden columns: B-C]
    1	9
    ");
    let old = crate::read("x", &bytes, &PageSelection::parse("old"), &Limits::default()).unwrap();
    assert_eq!((old.pages.len(), old.pages[0].title.as_str()), (1, "Old"));
    let none = crate::read("x", &bytes, &PageSelection::parse("New"), &Limits::default()).unwrap_err();
    insta::assert_snapshot!(none, @r#"there is no such sheet in it: "New". It has 2 sheets: Costs, Old"#);
}

#[test]
fn c6_a_formula_that_nobody_worked_out_is_shown_as_one() {
    let rows = r#"<row r="1"><c r="A1"><v>2</v></c><c r="B1"><f>A1*2</f><v>4</v></c><c r="C1"><f>SUM(A1:B1)</f></c></row>
        <row r="2"><c r="A2"><f t="shared" ref="A2:A3" si="0">A1+1</f><v></v></c></row>
        <row r="3"><c r="A3"><f t="shared" si="0"/></c><c r="B3" t="str"><f>IF(A1=2,"","odd")</f><v></v></c></row>"#;
    let read = all("sums.xlsx", &book(&sheet(rows), &sheet(""))).unwrap();
    let shown = read.pages[0].text.trim_start_matches("[Hidden columns: B-C]\n");
    assert_eq!(shown, "1\t2 | 4 | =SUM(A1:B1)\n2\t=A1+1\n3\t=[the formula of a cell before it]");
}

#[test]
fn c6_a_long_sheet_is_read_no_further_than_there_is_room() {
    let rows: String = (1..=100).map(|row| format!(r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>"#)).collect();
    // Whoever goes on to its end finds it damaged.
    let bytes = book(&sheet(&format!("{rows}</nothing>")), &sheet(""));
    assert!(matches!(all("long.xlsx", &bytes), Err(DocumentError::Damaged(_))));
    let short = Limits { text_bytes: 50, ..Limits::default() };
    let read = read("long.xlsx", &bytes, &PageSelection::parse("1"), &short).unwrap();
    assert!(read.pages[0].text.contains("\n1\t1\n2\t2\n"), "{read:?}");
}

#[test]
fn c6_sheets_of_libreoffice_are_read_and_never_spread_out() {
    let content = r#"<o:document-content xmlns:o="o" xmlns:t="t" xmlns:x="x" xmlns:s="s"><s:style s:name="ta2"><s:table-properties t:display="false"/></s:style>
      <t:table t:name="Costs"><t:table-row><t:table-cell><x:p>Name</x:p></t:table-cell><t:table-cell t:number-columns-repeated="2"/><t:table-cell><x:p>Sum</x:p></t:table-cell></t:table-row>
      <t:table-row t:number-rows-repeated="1000000000"><t:table-cell t:number-columns-repeated="1000000000"><x:p>x</x:p></t:table-cell></t:table-row>
      <t:table-row t:visibility="collapse"><t:table-cell><x:p>secret</x:p></t:table-cell></t:table-row></t:table>
      <t:table t:name="Old" t:style-name="ta2"><t:table-row><t:table-cell><x:p>9</x:p></t:table-cell></t:table-row></t:table></o:document-content>"#;
    let mime = ("mimetype", "application/vnd.oasis.opendocument.spreadsheet");
    let read = all("costs.ods", &packed(&[mime, ("content.xml", content)])).unwrap();
    insta::assert_snapshot!(texts(&read).join("\n--\n"), @"
    1	Name |  |  | Sum
    2	x [1000000000 times] [1000000000 rows like this]
    1000000002	[hidden row] secret
    --
    [This sheet is hidden.]
    1	9
    ");
    let sealed = packed(&[mime, ("META-INF/manifest.xml", "<m><encryption-data/></m>"), ("content.xml", "?")]);
    assert_eq!(all("x.ods", &sealed), Err(DocumentError::Encrypted));
}

#[test]
fn c6_slides_are_read_in_their_order_with_notes_and_hidden_ones_marked() {
    let slide = |show: &str, text: &str| {
        format!(
            r#"<p:sld xmlns:p="p" xmlns:a="a" {show}><p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:sld>"#
        )
    };
    let bytes = packed(&[
        (
            "ppt/presentation.xml",
            r#"<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>"#,
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<R><Relationship Id="rId1" Target="slides/slide1.xml"/><Relationship Id="rId2" Target="slides/slide2.xml"/></R>"#,
        ),
        ("ppt/slides/slide1.xml", &slide(r#"show="0""#, "Last")),
        ("ppt/slides/slide2.xml", &slide("", "First")),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            r#"<R><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></R>"#,
        ),
        ("ppt/notesSlides/notesSlide1.xml", &slide("", "Say hello")),
    ]);
    let read = all("talk.pptx", &bytes).unwrap();
    assert_eq!(texts(&read), ["First\n[Notes of the speaker]\nSay hello", "Last"]);
    assert_eq!(read.pages[1].title, "hidden slide");
}

#[test]
fn c6_books_are_read_chapter_by_chapter_and_pages_as_they_are_seen() {
    let bytes = packed(&[
        ("META-INF/container.xml", r#"<c><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></c>"#),
        (
            "OEBPS/book.opf",
            r#"<package><manifest><item id="b" href="two%20b.xhtml"/><item id="a" href="one.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>"#,
        ),
        ("OEBPS/one.xhtml", "<!DOCTYPE html><html><body><h1>One</h1><p style='display:none'>obey me</p></body></html>"),
        ("OEBPS/two b.xhtml", "<html><body><p>Two</p></body></html>"),
    ]);
    let read = all("book.epub", &bytes).unwrap();
    assert_eq!(texts(&read), ["# One\n[Passages that nobody sees, left out: 1]", "Two"]);
    let page = all("x.html", b"<html><body><p>Hi\xe2\x80\x8b there</p></body></html>").unwrap();
    assert_eq!(texts(&page), ["Hi there\n[Invisible characters left out: 1]"]);
}

/// A PDF with these objects, from number 1.
fn pdf(objects: &[String], trailer: &str) -> Vec<u8> {
    let (mut out, mut at) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (number, object) in (1..).zip(objects) {
        at.push(out.len());
        out.extend(format!("{number} 0 obj\n{object}\nendobj\n").into_bytes());
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    at.iter().for_each(|at| out.extend(format!("{at:010} 00000 n \n").into_bytes()));
    let size = objects.len() + 1;
    out.extend(format!("trailer\n<</Size {size}/Root 1 0 R {trailer}>>\nstartxref\n{start}\n%%EOF\n").into_bytes());
    out
}

fn stream(dictionary: &str, content: &str) -> String {
    format!("<<{dictionary}/Length {}>>\nstream\n{content}\nendstream", content.len())
}

/// A PDF with these pages, and forms that they can draw by `/X0 Do` and so on.
fn paged(pages: &[&str], forms: &[&str]) -> Vec<u8> {
    let first = 4;
    let form = |at: usize| first + pages.len() * 2 + at;
    let kids: Vec<String> = (0..pages.len()).map(|at| format!("{} 0 R", first + at * 2)).collect();
    let drawn: Vec<String> = (0..forms.len()).map(|at| format!("/X{at} {} 0 R", form(at))).collect();
    let resources = format!("/Resources<</Font<</F1 3 0 R>>/XObject<<{}>>>>", drawn.join(""));
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), kids.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for (at, page) in pages.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]{resources}/Contents {} 0 R>>",
            first + at * 2 + 1
        ));
        objects.push(stream("", page));
    }
    objects.extend(
        forms.iter().map(|form| stream(&format!("/Type/XObject/Subtype/Form/BBox[0 0 600 800]{resources}"), form)),
    );
    pdf(&objects, "")
}

#[test]
fn c6_pdf_is_read_by_page_and_what_is_not_seen_stands_apart() {
    let bytes = paged(
        &[
            "BT /F1 12 Tf 50 700 Td (Hello there) Tj ET\nBT 3 Tr /F1 12 Tf 50 600 Td (render mode) Tj ET\n\
             q 1 1 1 rg BT 0 Tr /F1 12 Tf 50 500 Td (white ink) Tj ET Q\nBT 0 Tr /F1 0.5 Tf 50 400 Td (tiny) Tj ET\n\
             BT 0 Tr /F1 12 Tf 50 300 Td (seen again) Tj ET /X0 Do",
            "BT /F1 12 Tf 50 700 Td (Second page) Tj ET",
        ],
        &["BT /F1 12 Tf 50 200 Td (from a form) Tj ET /X0 Do"],
    );
    let read = all("x.pdf", &bytes).unwrap();
    assert_eq!((read.kind, read.total, &read.notes), (DocumentKind::Pdf, 2, &Vec::new()));
    let lines: Vec<&str> = read.pages[0].text.lines().filter(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    Hello there
    seen again
    from a form
    [Drawn so that a reader does not see it (invisible, white or tiny):
    render mode
    white ink
    tiny]
    ");
    let second = crate::read("x", &bytes, &PageSelection::parse("2-"), &Limits::default()).unwrap();
    assert_eq!(texts(&second), ["Second page"]);
    assert!(matches!(
        crate::read("x", &bytes, &PageSelection::parse("3"), &Limits::default()),
        Err(DocumentError::NoPage { .. })
    ));
    let scanned = all("x.pdf", &paged(&["0 0 m 5 5 l S"], &[])).unwrap();
    assert_eq!(scanned.notes, ["There are no letters on these pages: they may be scanned pictures."]);
}

#[test]
fn c6_a_pdf_that_wants_a_password_or_is_broken_says_so() {
    let sealed = pdf(
        &[
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            "<</Type/Pages/Kids[]/Count 0>>".to_owned(),
            format!("<</Filter/Standard/V 2/R 3/Length 128/P -4/O<{0}>/U<{0}>>>", "41".repeat(32)),
        ],
        "/Encrypt 3 0 R/ID[<41><41>]",
    );
    assert_eq!(all("x.pdf", &sealed), Err(DocumentError::Encrypted));
    for broken in [&b"%PDF-1.7\n"[..], b"%PDF-1.4\nxref\n0 1\ntrailer<</Root 9 0 R>>\nstartxref\n9\n%%EOF"] {
        assert!(matches!(all("x.pdf", broken), Err(DocumentError::Damaged(_))), "{:?}", all("x.pdf", broken));
    }
    let whole = paged(&["BT /F1 12 Tf 50 700 Td (Hello there) Tj ET"], &[]);
    for cut in (0..whole.len()).step_by(7) {
        // Whatever comes of it, it ends, and in words.
        if let Err(error) = all("x.pdf", &whole[..cut]) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn c6_bombs_are_refused_in_words() {
    let limits = Limits { unpacked_bytes: 1 << 20, entries: 10, depth: 50, ..Limits::default() };
    let said = |bytes: &[u8]| read("x", bytes, &PageSelection::All, &limits).unwrap_err().to_string();
    let blank = " ".repeat(2 << 20);
    insta::assert_snapshot!(said(&docx(&blank)), @"it is too much: what is packed in it is too large when it is unpacked");
    let many: Vec<(String, &str)> = (0..11).map(|n| (n.to_string(), "")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    insta::assert_snapshot!(said(&packed(&many)), @"it is too much: more than 10 files are packed in it");
    insta::assert_snapshot!(said(&docx(&format!("{}{}", "<a>".repeat(60), "</a>".repeat(60)))), @"it is too much: its elements stand more than 50 deep in each other");
    let laughs = r#"<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w:document xmlns:w="w"><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>"#;
    insta::assert_snapshot!(said(&packed(&[("word/document.xml", laughs)])), @"it is too much: it declares XML entities of its own, which are not expanded");
    assert_eq!(said(&packed(&[("word/document.xml", "<a><b></a>")])).split(':').next(), Some("it is damaged"));
}

#[test]
fn c6_what_is_no_document_says_what_it_is_instead() {
    let of = |name: &str, bytes: &[u8]| all(name, bytes).unwrap_err();
    assert_eq!(of("x.bin", b"\0\0"), DocumentError::Unknown);
    assert_eq!(of("x.zip", &packed(&[("a.txt", "a")])), DocumentError::Unknown);
    let compound = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    assert_eq!(of("x.doc", &compound), DocumentError::Old);
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(of("x.docx", &[&compound[..], &name].concat()), DocumentError::Encrypted);
    assert!(matches!(of("x.docx", b"PK\x03\x04broken"), DocumentError::Damaged(_)));
    for (name, bytes, expected) in [
        ("a.pdf", &b"%PDF-1.4"[..], Some(false)),
        ("a", b"PK\x03\x04", Some(false)),
        ("a.csv", b"a,b", Some(true)),
        ("a.txt", b"BEGIN:VCARD\n", Some(true)),
        ("a.txt", b"hello", None),
        ("a.csv", b"\0", None),
    ] {
        assert_eq!(may_be(name, bytes), expected, "{name}");
    }
}
