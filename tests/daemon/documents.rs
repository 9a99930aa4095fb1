//! Documents that people send: read in the sandbox, and kept in the workspace for programs (rows C6, F2).

use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{ADA, TestHob};

/// A PDF of these pages; each is what its instructions say, packed or not.
fn pdf(pages: &[&[u8]], packed: bool) -> Vec<u8> {
    let filter = if packed { "/Filter/FlateDecode" } else { "" };
    let kids: Vec<String> = (0..pages.len()).map(|at| format!("{} 0 R", 4 + at * 2)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), kids.len()).into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
    ];
    for (at, page) in pages.iter().enumerate() {
        let resources = "/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>";
        objects.push(format!("<</Type/Page{resources}/Contents {} 0 R>>", 5 + at * 2).into_bytes());
        let head = format!("<<{filter}/Length {}>>\nstream\n", page.len()).into_bytes();
        objects.push([&head, *page, b"\nendstream"].concat());
    }
    let (mut out, mut at) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (number, object) in (1..).zip(&objects) {
        at.push(out.len());
        out.extend([format!("{number} 0 obj\n").as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (start, size) = (out.len(), objects.len() + 1);
    out.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").into_bytes());
    at.iter().for_each(|at| out.extend(format!("{at:010} 00000 n \n").into_bytes()));
    out.extend(format!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").into_bytes());
    out
}

fn letters(words: &str) -> Vec<u8> {
    format!("BT /F1 12 Tf 50 700 Td ({words}) Tj ET").into_bytes()
}

/// Ada hands a file in, and the model calls this for it; gives what it is told.
async fn handed(hob: &mut TestHob, name: &str, bytes: &[u8], call: (&str, serde_json::Value)) -> String {
    let (asked, told) = (hob.model.requests().len(), hob.heard(ADA).len());
    hob.model.reply(Reply::call(call.0, &call.1.to_string())).reply(Reply::text("I see."));
    hob.telegram.hand(ADA, name, bytes, "what does it say?");
    hob.told(ADA, told + 1).await;
    hob.model.requests()[asked + 1].last_text().to_owned()
}

#[tokio::test]
async fn c6_a_pdf_is_read_by_page_behind_walls() {
    let mut hob = TestHob::running("").await;
    let (one, two) = (letters("Pay 40 EUR"), letters("until May"));
    let bytes = pdf(&[&one, &two], false);
    let all = handed(&mut hob, "bill.pdf", &bytes, ("read_file", json!({ "id": 1 }))).await;
    insta::assert_snapshot!(all, @"
    [PDF, 2 pages]
    --- page 1 ---
    Pay 40 EUR
    --- page 2 ---
    until May
    ");
    let second = handed(&mut hob, "bill.pdf", &bytes, ("read_file", json!({ "id": 2, "page": "2" }))).await;
    assert_eq!(second, "[PDF, 2 pages]\n--- page 2 ---\nuntil May");
    hob.nothing_refused();
}

/// An office file, as far as it is needed: these files, packed in one.
fn office(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const SCHEMAS: &str = "http://schemas.openxmlformats.org";

#[tokio::test]
async fn c6_f2_a_letter_of_word_and_a_sheet_of_excel_are_read() {
    let mut hob = TestHob::running("").await;
    let types = ("[Content_Types].xml", "<Types/>");
    let letter = format!(
        "<w:document xmlns:w='{SCHEMAS}/wordprocessingml/2006/main'><w:body><w:p><w:r><w:t>Dear Ada,</w:t></w:r></w:p>\
         <w:p><w:r><w:br w:type='page'/><w:t>Yours, Bob</w:t></w:r></w:p></w:body></w:document>"
    );
    let letter = office(&[types, ("word/document.xml", &letter)]);
    let told = handed(&mut hob, "letter.docx", &letter, ("read_file", json!({ "id": 1, "page": "2" }))).await;
    insta::assert_snapshot!(told, @"
    [DOCX, 2 pages]
    --- page 2 ---
    Yours, Bob
    ");
    let relations = |kind: &str, target: &str| {
        format!(
            "<Relationships xmlns='{SCHEMAS}/package/2006/relationships'><Relationship Id='r1' \
             Type='{SCHEMAS}/officeDocument/2006/relationships/{kind}' Target='{target}'/></Relationships>"
        )
    };
    let book = format!(
        "<workbook xmlns='{SCHEMAS}/spreadsheetml/2006/main' xmlns:r='{SCHEMAS}/officeDocument/2006/relationships'>\
         <sheets><sheet name='Costs' sheetId='1' r:id='r1'/></sheets></workbook>"
    );
    let sheet = format!(
        "<worksheet xmlns='{SCHEMAS}/spreadsheetml/2006/main'><sheetData><row r='1'><c r='A1' t='inlineStr'><is>\
         <t>Rent</t></is></c><c r='B1'><v>700</v></c></row></sheetData></worksheet>"
    );
    let costs = office(&[
        types,
        ("_rels/.rels", &relations("officeDocument", "xl/workbook.xml")),
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &relations("worksheet", "worksheets/sheet1.xml")),
        ("xl/worksheets/sheet1.xml", &sheet),
    ]);
    let told = handed(&mut hob, "costs.xlsx", &costs, ("read_file", json!({ "id": 2, "page": "Costs" }))).await;
    assert_eq!(told, "[XLSX, 1 sheet]\n--- sheet 1: Costs ---\n1\tRent | 700");
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_document_that_cannot_be_read_says_why_and_harms_nobody() {
    let mut hob = TestHob::running("").await;
    let broken = handed(&mut hob, "a.pdf", b"%PDF-1.7 nothing", ("read_file", json!({ "id": 1 }))).await;
    assert!(broken.starts_with("\"a.pdf\" cannot be read as text: it is damaged: "), "{broken}");
    let old = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    let old = handed(&mut hob, "a.doc", &old, ("read_file", json!({ "id": 2 }))).await;
    assert!(old.contains("it is an Office file from before 2007"), "{old}");
    // A page of four gigabytes of blanks, in four megabytes.
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let blank = vec![b' '; 1 << 20];
    (0..1_200).for_each(|_| packed.write_all(&blank).unwrap());
    let bomb = pdf(&[&packed.finish().unwrap()], true);
    let bomb = handed(&mut hob, "bomb.pdf", &bomb, ("read_file", json!({ "id": 3 }))).await;
    insta::assert_snapshot!(bomb.lines().next().unwrap(), @r#""bomb.pdf" cannot be read as text: it takes more than 768 MiB of memory."#);
    hob.nothing_refused();
}

/// A PNG of 2 × 2 pixels, as far as its header goes, in Base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91Jpz";

#[tokio::test]
async fn c6_pictures_and_files_of_a_result_are_seen_and_can_be_sent_on() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile_mcp.py");
    let server = format!(
        "[mcp.s]\nsandbox = false\ncommand = ['python3', '{}', '$HOME', '']\ntrusted_output = true\n\
         trusted_annotations = true\napproval = 'never'",
        script.display()
    );
    let mut hob = TestHob::running(&server).await;
    hob.process().until_log("mcp.listed").await;
    let content = json!([
        { "type": "text", "text": "Here it is." },
        { "type": "image", "data": PNG, "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "file:///plan.txt", "mimeType": "text/plain", "blob": "QmVkcw==" } },
    ]);
    let call = json!({ "name": "s__echo", "arguments": { "content": content } }).to_string();
    hob.model.reply(Reply::call("use_tool", &call)).reply(Reply::call("send_file", r#"{"id": 2}"#));
    hob.model.reply(Reply::text("There."));
    hob.say(ADA, "show me");
    hob.telegram.until_sent(ADA, 2).await;
    let asked = hob.model.requests();
    let results: Vec<&serde_json::Value> =
        asked[1].messages().iter().filter(|message| message["role"] == "tool").collect();
    insta::assert_snapshot!(results[0]["content"].as_str().unwrap(), @r#"
    Here it is.
    [image, image/png, 1 KB]
    [file:///plan.txt, text/plain, 1 KB]
    [File "picture.png", image/png, 33 bytes: id 1, for read_file and send_file]
    [File "plan.txt", text/plain, 4 bytes: id 2, for read_file and send_file]
    "#);
    assert_eq!(asked[1].pictures(), [format!("data:image/png;base64,{PNG}")]);
    let sent = hob.telegram.look(|world| world.chat(ADA).by_bot().cloned().collect::<Vec<_>>());
    let file = sent.iter().find_map(|message| message.file.clone()).unwrap();
    assert_eq!((file.name.as_str(), file.bytes.as_slice()), ("plan.txt", b"Beds".as_slice()));
    // It is in the history by reference.
    hob.ask(ADA, "and its colour?", Reply::text("Blue.")).await;
    assert_eq!(hob.model.requests()[3].pictures().len(), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_picture_in_the_workspace_is_seen() {
    let hob = TestHob::running("").await;
    std::fs::create_dir_all(hob.path("data/workspace")).unwrap();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0\xfd\xd4\x9as";
    std::fs::write(hob.path("data/workspace/a.png"), png).unwrap();
    hob.model.reply(Reply::call("read_file", r#"{"path": "a.png"}"#));
    hob.ask(ADA, "what is on it?", Reply::text("A cat.")).await;
    let asked = hob.model.requests();
    assert_eq!(asked[1].pictures(), [format!("data:image/png;base64,{PNG}")]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f2_a_file_that_came_is_kept_for_programs_and_can_be_undone() {
    let mut hob = TestHob::running("[memory]\nextract = false").await;
    let keep = ("keep_file", json!({ "id": 1, "folder": "post" }));
    let kept = handed(&mut hob, "../bill.pdf", &pdf(&[&letters("Pay")], false), keep).await;
    assert!(kept.starts_with("Kept as \"post/bill.pdf\", "), "{kept}");
    let again = handed(&mut hob, "bill.pdf", b"another", ("keep_file", json!({ "id": 2, "folder": "post" }))).await;
    assert!(again.starts_with("Kept as \"post/bill (2).pdf\", 7 bytes."), "{again}");
    let other = std::fs::read(hob.path("data/workspace/post/bill (2).pdf")).unwrap();
    assert_eq!(other, b"another");
    let told = hob.heard(ADA).len();
    hob.say(ADA, "/undo");
    hob.told(ADA, told + 1).await;
    assert!(!hob.path("data/workspace/post/bill (2).pdf").exists(), "{:?}", hob.heard(ADA).last());
    assert!(hob.path("data/workspace/post/bill.pdf").exists());
    let command = json!({ "command": "head -c 5 post/bill.pdf" });
    let seen = handed(&mut hob, "list.txt", b"milk", ("terminal", command)).await;
    assert!(seen.contains("%PDF-"), "{seen}");
    hob.nothing_refused();
}
