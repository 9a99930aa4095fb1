//! `search_files`: lines that match, by ripgrep's own parts.

use std::io::{self, Read as _, Seek as _};
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use ignore::overrides::{Override, OverrideBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolSpec;
use crate::files::access::{FileAccess, FileAccessError, ResolvedPath};
use crate::files::file_tool::{FileEffect, FileTool};
use crate::files::operation::{FileOperation, FileOperationResult};
use crate::files::text::size;
use crate::files::walk::{Entry, EntryKind, WalkControl, WalkOutcome, walk};
use crate::files::{MODULE, StopFlag};
use crate::registry::{parse, spec_of};
use hob_core::domain::principal::Role;

/// The most bytes that one search looks at.
const SEARCHED_MAX: u64 = 64 << 20;
/// The most lines that are told.
const LINES_MAX: usize = 200;
/// The most characters of a line.
const LINE_CHARS_MAX: usize = 300;
/// The most bytes that a compiled pattern takes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// The longest line that is held in memory.
const HEAP_MAX: usize = 8 << 20;
/// The most levels of folders.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A regular expression.
    pattern: String,
    /// Without it: the workspace.
    path: Option<String>,
    /// Such as *.md
    glob: Option<String>,
}

/// The tool: searches in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let about = "Finds lines in files that match a pattern.";
    let spec = spec_of::<Arguments>("search_files", about, true).of(MODULE, Role::User).shown_on_need();
    let operation = |spec: &ToolSpec, arguments| parse(spec, arguments).map(FileOperation::Search);
    FileTool { spec, room, effect: FileEffect::Reads, operation }
}

/// Searches.
pub(super) fn execute(
    room: &FileAccess,
    wanted: &Arguments,
    stop: &StopFlag,
) -> Result<FileOperationResult, FileAccessError> {
    let path = wanted.path.as_deref().unwrap_or(".");
    let mut search = Search::new(matcher(&wanted.pattern)?, globs(wanted.glob.as_deref())?, stop);
    search.run(room, &room.resolve(path, false)?)?;
    Ok(FileOperationResult::from(path, search.into_text()))
}

/// A pattern that takes time in proportion to what is searched; one that would take too much memory is refused.
fn matcher(pattern: &str) -> Result<RegexMatcher, FileAccessError> {
    let built = RegexMatcherBuilder::new()
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .line_terminator(Some(b'\n'))
        .case_smart(true)
        .build(pattern);
    built.map_err(|error| {
        let why: String = error.to_string().chars().take(300).collect();
        FileAccessError::Content(format!("That pattern cannot be used: {why}"))
    })
}

fn globs(glob: Option<&str>) -> Result<Override, FileAccessError> {
    let wrong = |error: ignore::Error| FileAccessError::Content(format!("That glob cannot be used: {error}."));
    let mut builder = OverrideBuilder::new("");
    if let Some(glob) = glob {
        builder.add(glob).map_err(wrong)?;
    }
    builder.build().map_err(wrong)
}

struct Search<'a> {
    matcher: RegexMatcher,
    globs: Override,
    searcher: Searcher,
    stop: &'a StopFlag,
    bytes: u64,
    lines: Vec<String>,
    left_out: bool,
}

impl<'a> Search<'a> {
    fn new(matcher: RegexMatcher, globs: Override, stop: &'a StopFlag) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_MAX))
            .build();
        Self { matcher, globs, searcher, stop, bytes: 0, lines: Vec::new(), left_out: false }
    }

    fn run(&mut self, room: &FileAccess, spot: &ResolvedPath) -> Result<(), FileAccessError> {
        let found = spot.dir.metadata(&spot.relative).map_err(|error| room.failed(&spot.path, &error))?;
        if !found.is_dir() {
            let file = room.open(spot)?;
            self.file(&spot.path, file).map_err(|error| room.failed(&spot.path, &error))?;
            return Ok(());
        }
        let walked = walk(room, spot, DEPTH_MAX, self.stop, &mut |entry| self.entry(room, entry))?;
        self.left_out |= walked == WalkOutcome::TooMany;
        Ok(())
    }

    fn entry(&mut self, room: &FileAccess, entry: &Entry<'_>) -> WalkControl {
        let is_folder = entry.kind == EntryKind::Folder;
        // A folder that no pattern names may hold files that one does.
        if is_folder {
            return if entry.name.as_os_str() == ".git" { WalkControl::Past } else { WalkControl::On };
        }
        let EntryKind::File(bytes) = entry.kind else {
            return WalkControl::On;
        };
        if self.globs.matched(entry.path, false).is_ignore() {
            return WalkControl::On;
        }
        if self.stop.is_stopped() || self.lines.len() >= LINES_MAX || self.bytes + bytes > SEARCHED_MAX {
            self.left_out = true;
            return if self.bytes + bytes > SEARCHED_MAX && self.lines.len() < LINES_MAX {
                WalkControl::On
            } else {
                WalkControl::End
            };
        }
        self.bytes += bytes;
        let Ok(dir) = entry.dir.try_clone() else {
            return WalkControl::On;
        };
        let shown = entry.path.display().to_string().replace(char::is_control, "\u{fffd}");
        let spot = ResolvedPath { dir, relative: entry.name.to_owned(), path: shown.clone() };
        // One that cannot be read hides nothing else.
        if let Ok(file) = room.open(&spot)
            && let Err(error) = self.file(&shown, file)
        {
            self.left_out = true;
            tracing::debug!(%error, "a file could not be searched");
        }
        WalkControl::On
    }

    fn file(&mut self, shown: &str, mut file: std::fs::File) -> io::Result<()> {
        let mut head = [0; 1_024];
        let read = file.read(&mut head)?;
        if head[..read].contains(&0) {
            return Ok(());
        }
        file.rewind()?;
        let (lines, left_out, stop) = (&mut self.lines, &mut self.left_out, self.stop);
        let sink = Lossy(|number, line| {
            if lines.len() >= LINES_MAX || stop.is_stopped() {
                *left_out = true;
                return Ok(false);
            }
            let line: String = line.trim_end().chars().take(LINE_CHARS_MAX).collect();
            lines.push(format!("{shown}:{number}: {line}"));
            Ok(true)
        });
        // It may have grown since it was measured.
        self.searcher.search_reader(&self.matcher, file.take(SEARCHED_MAX), sink)
    }

    fn into_text(mut self) -> String {
        if self.lines.is_empty() {
            self.lines.push("Nothing matches.".to_owned());
        }
        if self.left_out {
            let most = size(SEARCHED_MAX);
            self.lines.push(format!(
                "… not everything was searched or shown: at most {LINES_MAX} lines, {most}. Narrow it by path or glob."
            ));
        }
        self.lines.join("\n")
    }
}
