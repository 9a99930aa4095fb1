//! Documents, read by a child of Hob's own in the sandbox: no network, no file, so much memory and time, and only text comes back.
//!
//! Never: a document taken apart in Hob's own process, or without a sandbox.
//! Start at [`DocumentReader::read`]; the child is [`serve`].

use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::text::size;
use crate::process::{self, ProcessOutput, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::sandbox::confinement::Confinement;
use crate::sandbox::spec::{Limits, SandboxAccess};
use crate::sandbox::trial::SandboxTrial;
use hob_document::{Document, PageSelection, may_be};

/// The program that the sandbox knows to be this worker.
pub(crate) const WORKER: &str = "hob:document";
/// The most bytes of a document.
const BYTES_MAX: u64 = 32 << 20;
/// How much of a file's beginning tells what it is.
const HEAD: u64 = 8_192;
/// The most memory that reading one takes, in MiB.
const MEMORY_MB: u64 = 768;
/// The most time on a processor.
const CPU_SECS: u64 = 30;
/// The most time in all.
const WITHIN: Duration = Duration::from_secs(60);
/// The longest answer of the worker, in bytes.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// How a file is wanted that is text and a document both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentView {
    Written,
    /// As a reader sees it.
    Read,
}

/// What the worker is told, before the document itself.
#[derive(Debug, Serialize, Deserialize)]
struct ReaderRequest {
    name: String,
    wanted: PageSelection,
}

#[derive(Debug, Clone)]
pub struct DocumentReader(Confinement);

/// All of a file, if it may be a document that is wanted as one.
pub(super) fn read_as_document<F: Read + Seek>(
    file: &mut F,
    name: &str,
    view: DocumentView,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD).read_to_end(&mut bytes)?;
    let taken = may_be(name, &bytes).is_some_and(|is_text| !is_text || view == DocumentView::Read);
    if !taken {
        return Ok(None);
    }
    file.take(BYTES_MAX + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

impl DocumentReader {
    /// Reads them in the sandbox that can be had here.
    pub fn new(sandbox: impl Into<SandboxTrial>, data_dir: &Path) -> Self {
        let limits =
            Limits { memory_mb: MEMORY_MB, processes: 64, file_mb: 1, cpu_secs: Some(CPU_SECS), ..Limits::default() };
        let reach = SandboxAccess { read: Vec::new(), write: Vec::new(), network: false, limits };
        Self(Confinement::new(sandbox, reach, data_dir))
    }

    /// What a document says, for the model.
    ///
    /// # Errors
    /// Why it cannot be read, for the model.
    pub async fn read(&self, name: &str, bytes: Vec<u8>, page: &str) -> Result<String, String> {
        let cannot = |why: &str| Err(format!("{name:?} cannot be read as text: {why}."));
        if bytes.len() as u64 > BYTES_MAX {
            return cannot(&format!("it is larger than {}", size(BYTES_MAX)));
        }
        if !self.0.sandbox.result().await.is_there() {
            return cannot("documents are only read in a sandbox, and there is none here (hob doctor says why)");
        }
        let task = ReaderRequest { name: name.to_owned(), wanted: PageSelection::parse(page) };
        let mut input = serde_json::to_vec(&task).map_err(|error| error.to_string())?;
        input.push(b'\n');
        input.extend(bytes);
        let errand = ProcessSpec {
            vector: vec![WORKER.to_owned()],
            dir: "/".into(),
            environment: Vec::new(),
            input: Some(input),
            bytes_max: ANSWER_BYTES_MAX,
            leftovers: ProcessReaper::of_call(),
            confinement: Some(self.0.clone()),
        };
        let ended = match tokio::time::timeout(WITHIN, Box::pin(process::run(errand))).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => return cannot(&format!("its reader could not be started ({error})")),
            Err(_elapsed) => return cannot(&format!("it took longer than {} s", WITHIN.as_secs())),
        };
        match serde_json::from_str::<Result<Document, String>>(&ended.out) {
            Ok(Ok(document)) => Ok(document_text(&document)),
            Ok(Err(why)) => cannot(&why),
            Err(_none) => cannot(&failure_reason(&ended)),
        }
    }
}

/// Why a reader ended without an answer.
fn failure_reason(ended: &ProcessOutput) -> String {
    // A shell's way to tell of a signal: the stages pass it on.
    let signal = ended.status.signal().or_else(|| ended.status.code().map(|code| code - 128));
    match signal {
        _ if ended.err.contains("memory allocation") => format!("it takes more than {MEMORY_MB} MiB of memory"),
        Some(9 | 24) => format!("it takes more than {CPU_SECS} s to read, or too much memory"),
        Some(6 | 7 | 11) => "its reader broke on it".to_owned(),
        _ => {
            tracing::warn!(said = ended.err.trim(), "a document's reader ended without an answer");
            "its reader ended without an answer".to_owned()
        }
    }
}

/// What was read, as one text.
fn document_text(document: &Document) -> String {
    let (unit, total) = (document.kind.unit(), document.total);
    let plural = if total == 1 { "" } else { "s" };
    let mut text = format!("[{}, {total} {unit}{plural}]\n", document.kind.as_str());
    for page in &document.pages {
        let title = if page.title.is_empty() { String::new() } else { format!(": {}", page.title) };
        if total > 1 || !title.is_empty() {
            text.extend([format!("--- {unit} {}{title} ---\n", page.number)]);
        }
        text.push_str(page.text.trim_end());
        text.push('\n');
    }
    document.notes.iter().for_each(|note| text.extend([format!("[{note}]\n")]));
    match document.pages.last().map(|page| page.number) {
        Some(last) if last < total => text.extend([format!("[There is more: page \"{}-\"]", last + 1)]),
        _ => {}
    }
    text.trim_end().to_owned()
}

/// The worker: reads the document on `input`, and answers on the standard output.
///
/// # Errors
/// When it can neither read nor answer.
pub fn serve(input: impl Read) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let (mut line, mut bytes) = (Vec::new(), Vec::new());
    input.read_until(b'\n', &mut line)?;
    input.read_to_end(&mut bytes)?;
    let ReaderRequest { name, wanted } = serde_json::from_slice(&line)?;
    let read = hob_document::read(&name, &bytes, &wanted, &hob_document::Limits::default());
    serde_json::to_writer(io::stdout(), &read.map_err(|error| error.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::sandbox::Sandbox;
    use hob_document::{DocumentKind, Page};

    #[test]
    fn c6_a_document_is_shown_with_its_pages_and_what_is_left() {
        let page = |number, title: &str, text: &str| Page { number, title: title.to_owned(), text: text.to_owned() };
        let of = |kind, total, pages, notes| document_text(&Document { kind, total, pages, notes });
        insta::assert_snapshot!(of(DocumentKind::Pdf, 1, vec![page(1, "", "Hello")], vec!["Odd.".to_owned()]), @"
        [PDF, 1 page]
        Hello
        [Odd.]
        ");
        insta::assert_snapshot!(of(DocumentKind::Xlsx, 3, vec![page(1, "Costs", "1\ta | b\n"), page(2, "", "")], Vec::new()), @r#"
        [XLSX, 3 sheets]
        --- sheet 1: Costs ---
        1	a | b
        --- sheet 2 ---

        [There is more: page "3-"]
        "#);
    }

    #[test]
    fn c6_what_is_text_is_taken_only_where_its_reader_is_wanted() {
        let taken =
            |name: &str, bytes: &[u8], view| read_as_document(&mut Cursor::new(bytes), name, view).unwrap().is_some();
        assert!(taken("a", b"%PDF-1.4", DocumentView::Written) && taken("a", b"%PDF-1.4", DocumentView::Read));
        assert!(!taken("a.html", b"<html>", DocumentView::Written) && taken("a.html", b"<html>", DocumentView::Read));
        assert!(!taken("a.txt", b"hello", DocumentView::Read));
    }

    #[tokio::test]
    async fn c6_without_walls_no_document_is_taken_apart() {
        let reader = DocumentReader::new(Sandbox::none("this is a test"), Path::new("/d"));
        let why = reader.read("a.pdf", b"%PDF-1.4".to_vec(), "").await.unwrap_err();
        insta::assert_snapshot!(why, @r#""a.pdf" cannot be read as text: documents are only read in a sandbox, and there is none here (hob doctor says why)."#);
    }
}
