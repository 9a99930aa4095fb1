//! `keep_file`: a file that came with a message, into the workspace, so that programs can open it. Never over another one.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use cap_std::fs::Dir;
use rustix::fs::{RenameFlags, renameat_with};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::access::{FileAccess, FileAccessError};
use crate::files::operation::{FileOperation, FileOperationResult, carry_out};
use crate::files::record::FileRecords;
use crate::files::text::size;
use crate::files::write_file::{folder_of, temporary_file};
use crate::files::{MODULE, assess_change, changing};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Tool, ToolResult, ToolSpec};
use hob_core::domain::ids::FileId;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade};
use hob_core::policy::invisible::is_invisible;

/// The longest name that a file gets, in bytes.
const NAME_BYTES_MAX: usize = 120;
/// How many names are tried.
const NAMES_MAX: u32 = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Of a file that came with a message.
    id: i64,
    /// In the workspace; `.` is the workspace itself.
    folder: String,
}

/// What is to be kept, and where.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeepRequest {
    source: PathBuf,
    folder: String,
    name: String,
}

impl KeepRequest {
    /// Where its content lies.
    pub(super) fn source(&self) -> &Path {
        &self.source
    }
}

/// The tool.
pub struct KeepFile {
    spec: ToolSpec,
    room: Arc<FileAccess>,
    records: FileRecords,
}

impl KeepFile {
    /// Puts what is in `records` into `room`.
    pub fn new(room: Arc<FileAccess>, records: FileRecords) -> Self {
        let about = "Puts a file that came with a message into the workspace under its own name, for the terminal and programs.";
        let spec =
            spec_of::<Arguments>("keep_file", about, true).of(MODULE, Role::User).with(changing()).shown_on_need();
        Self { spec, room, records }
    }
}

#[async_trait]
impl Tool for KeepFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let mut assessment = assess_change(&self.room, &invocation.arguments, &["folder"]).await;
        // From then on nobody would know that it is a stranger's.
        if self.room.is_trusted() && assessment.grade < DangerGrade::High {
            assessment.grade = DangerGrade::High;
            let reason = "The file came with a message, and all files of the workspace are taken for vouched for";
            assessment.reasons.push(reason.to_owned());
        }
        assessment
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { id, folder } = parse(&self.spec, invocation.arguments.clone())?;
        let (record, source) = self.records.find(&invocation, FileId(id)).await?;
        let name = file_name(&record.name, id);
        carry_out(&self.room, &invocation, FileOperation::Keep(KeepRequest { source, folder, name })).await
    }
}

/// Keeps it under the first name that is free. One that is there and is the same stays as it is.
pub(super) fn execute(
    room: &FileAccess,
    KeepRequest { source, folder, name }: &KeepRequest,
) -> Result<FileOperationResult, FileAccessError> {
    let dir = folder.trim_end_matches('/');
    let path = |name: &str| if matches!(dir, "" | ".") { name.to_owned() } else { format!("{dir}/{name}") };
    let (parent, _) = folder_of(room, &room.resolve(&path(name), true)?, true)?;
    let failed = |error: io::Error| FileAccessError::Failed { path: path(name), why: error.to_string() };
    let (being_written, bytes) = copy_beside(source, &parent).map_err(failed)?;
    let placed = place_file(&parent, &being_written, name, source);
    if !matches!(placed, Ok(PlacedFile::New(_)))
        && let Err(error) = parent.remove_file(&being_written)
    {
        tracing::debug!(%error, "a copy that is not needed stays in the workspace");
    }
    let told = match placed.map_err(failed)? {
        PlacedFile::New(name) => format!("Kept as {:?}, {}.", path(&name), size(bytes)),
        PlacedFile::There(name) => format!("It is there already: {:?}, {}.", path(&name), size(bytes)),
    };
    Ok(FileOperationResult::done(told))
}

/// Under which name it lies.
enum PlacedFile {
    New(String),
    There(String),
}

fn place_file(parent: &Dir, being_written: &Path, name: &str, source: &Path) -> io::Result<PlacedFile> {
    for number in 1..=NAMES_MAX {
        let name = numbered(name, number);
        match renameat_with(parent, being_written, parent, Path::new(&name), RenameFlags::NOREPLACE) {
            Ok(()) => {
                parent.open(".")?.sync_all()?;
                return Ok(PlacedFile::New(name));
            }
            Err(rustix::io::Errno::EXIST) if is_same(parent, &name, source)? => return Ok(PlacedFile::There(name)),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other(format!("there are {NAMES_MAX} files of this name already")))
}

/// A copy under a name of its own, and its size.
fn copy_beside(source: &Path, parent: &Dir) -> io::Result<(PathBuf, u64)> {
    let mut from = fs::File::open(source)?;
    let (name, mut to) = temporary_file(parent)?;
    let copied = io::copy(&mut from, &mut to).and_then(|bytes| to.sync_all().map(|()| bytes));
    match copied {
        Ok(bytes) => Ok((name, bytes)),
        Err(error) => {
            parent.remove_file(&name)?;
            Err(error)
        }
    }
}

/// Whether an ordinary file of this name has the same content.
fn is_same(parent: &Dir, name: &str, source: &Path) -> io::Result<bool> {
    let (there, wanted) = (parent.symlink_metadata(name)?, fs::metadata(source)?.len());
    if !there.is_file() || there.len() != wanted {
        return Ok(false);
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    parent.open(name)?.take(wanted).read_to_end(&mut one)?;
    fs::File::open(source)?.take(wanted).read_to_end(&mut other)?;
    Ok(one == other)
}

/// The first is the name itself, the second `name (2).pdf`.
fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    match name.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() => format!("{stem} ({number}).{end}"),
        _ => format!("{name} ({number})"),
    }
}

/// A name that is one on any disk: its sender chose it.
fn file_name(name: &str, id: i64) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let odd = |c: char| c.is_control() || is_invisible(c) || "<>:\"|?*\u{fffd}".contains(c);
    let plain: String = last.chars().map(|c| if odd(c) { '_' } else { c }).collect();
    // Neither hidden nor an option, whatever it begins with.
    let plain = plain.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '-'));
    let plain = plain.trim_end_matches(|c: char| c.is_whitespace() || c == '.');
    let (stem, end) = match plain.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() && end.len() <= 16 => (stem, format!(".{end}")),
        _ => (plain, String::new()),
    };
    let stem = &stem[..stem.floor_char_boundary(NAME_BYTES_MAX - end.len())];
    if stem.is_empty() { format!("file {id}{end}") } else { format!("{stem}{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn c6_a_name_becomes_one_that_any_disk_takes() {
        for (name, expected) in [
            ("invoice.pdf", "invoice.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\a b.txt", "a b.txt"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("-.bashrc", "bashrc"),
            (". -.\u{2003}.profile", "profile"),
            ("a\u{61c}\u{ad}\u{e0041}.txt", "a___.txt"),
            ("a\u{202e}fdp.exe", "a_fdp.exe"),
            ("a\nb?.txt", "a_b_.txt"),
            ("...", "file 7"),
            ("", "file 7"),
            ("Übersicht.tar.gz", "Übersicht.tar.gz"),
        ] {
            assert_eq!(file_name(name, 7), expected, "{name:?}");
        }
        assert_eq!(file_name(&format!("{}.pdf", "ä".repeat(300)), 7).len(), 120);
        assert_eq!((numbered("a.tar.gz", 2), numbered("a", 3)), ("a.tar (2).gz".to_owned(), "a (3)".to_owned()));
    }

    #[test]
    fn c6_a_file_is_kept_beside_others_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("workspace");
        let workspace = Workspace { root: root.clone(), read: Vec::new(), write: Vec::new() };
        let room = FileAccess::new(&workspace, Vec::new(), false);
        let keep = |content: &str, folder: &str| {
            let source = dir.path().join("content");
            fs::write(&source, content).unwrap();
            let wanted = KeepRequest { source, folder: folder.to_owned(), name: "a.txt".to_owned() };
            execute(&room, &wanted).map(|told| told.text).map_err(|error| error.to_string())
        };
        assert_eq!(keep("one", ".").unwrap(), "Kept as \"a.txt\", 3 bytes.");
        assert_eq!(keep("two", ".").unwrap(), "Kept as \"a (2).txt\", 3 bytes.");
        assert_eq!(keep("one", ".").unwrap(), "It is there already: \"a.txt\", 3 bytes.");
        assert_eq!(keep("two", ".").unwrap(), "It is there already: \"a (2).txt\", 3 bytes.");
        assert_eq!(keep("one", "in/here/").unwrap(), "Kept as \"in/here/a.txt\", 3 bytes.");
        assert!(keep("one", "../out").unwrap_err().contains("lies outside"));
        let mut names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a (2).txt", "a.txt", "in"], "no part is left");
        assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one");
    }
}
