//! A change set in words for the person who is asked about it. Pure; whatever names and contents are, the words stay few, on
//! their lines, and show every character that hides or turns text.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::changes::autorun_files;
use crate::changes::scan::content::TEXT_BYTES_MAX;
use crate::changes::set::{Change, ChangeSet, ContentPreview, EntryAfter, EntryBefore};
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::policy::invisible::is_invisible;

/// How many characters of a change set are told.
struct SummaryLimits {
    all: usize,
    /// So many of them are for the list of paths.
    list: usize,
    path: usize,
    /// Of one file's content.
    content: usize,
    line: usize,
}

/// In the question.
const SHOWN: SummaryLimits = SummaryLimits { all: SHOWN_CHARS_MAX, list: 1_400, path: 120, content: 900, line: 160 };
/// In the file that goes before a question which leaves something out.
const WHOLE: SummaryLimits = SummaryLimits { all: 64_000, list: 24_000, path: 4_096, content: 24_000, line: 4_000 };
/// What is shown has at most so many characters.
pub(super) const SHOWN_CHARS_MAX: usize = 3_000;
/// How many are named that run later by themselves.
const LATER_MAX: usize = 12;

impl ChangeSet {
    /// The changes in words.
    pub fn summary(&self, number: u32) -> WorkspaceDraft {
        let words = SummaryWriter { roots: &self.roots, bounds: &SHOWN };
        let later = || self.changes.iter().filter_map(|change| words.autorun_note(change).map(|why| (change, why)));
        let mut runs_later: Vec<String> =
            later().take(LATER_MAX).map(|(change, why)| format!("{}: {why}", words.path(change))).collect();
        let more = later().skip(LATER_MAX).count();
        if more > 0 {
            runs_later.push(format!("… and {more} more"));
        }
        let changes = u32::try_from(self.changes.len()).unwrap_or(u32::MAX);
        let (shown, whole) = (words.change_list(self), SummaryWriter { bounds: &WHOLE, ..words }.change_list(self));
        let whole = (whole != shown).then_some(whole);
        WorkspaceDraft { number, digest: self.digest(), changes, shown, whole, runs_later }
    }
}

/// A path on one line: in the workspace as it is named there, anywhere else in full.
pub(super) fn display_path(roots: &[PathBuf], root: usize, path: &Path) -> String {
    SummaryWriter { roots, bounds: &SHOWN }.path_in(root, path)
}

/// What is said of a set of changes.
#[derive(Clone, Copy)]
struct SummaryWriter<'a> {
    roots: &'a [PathBuf],
    bounds: &'a SummaryLimits,
}

impl SummaryWriter<'_> {
    fn place(&self, root: usize, path: &Path) -> PathBuf {
        self.roots.get(root).map_or_else(|| path.to_owned(), |root| root.join(path))
    }

    fn path_in(&self, root: usize, path: &Path) -> String {
        let told = match (root, path.as_os_str().is_empty()) {
            (0, true) => return "the workspace itself".to_owned(),
            (0, false) => path.to_owned(),
            // A path that is joined with nothing ends in a slash.
            (_, true) => self.roots.get(root).cloned().unwrap_or_default(),
            (_, false) => self.place(root, path),
        };
        head_and_tail(&safe_bytes(told.as_os_str().as_bytes()), self.bounds.path)
    }

    fn path(&self, change: &Change) -> String {
        self.path_in(change.root, &change.path)
    }

    fn link(&self, target: &OsStr) -> String {
        head_and_tail(&safe_bytes(target.as_bytes()), self.bounds.path)
    }

    /// Why it runs later by itself. The folders above what lies beside the workspace say that as well; those above the workspace
    /// itself would say it of each file in it.
    fn autorun_note(&self, change: &Change) -> Option<&'static str> {
        match change.root {
            0 => autorun_files::autorun_reason(change, &change.path),
            root => autorun_files::autorun_reason(change, &self.place(root, &change.path)),
        }
    }

    fn change_list(&self, set: &ChangeSet) -> String {
        let bounds = self.bounds;
        let mut text = counts(set);
        // What steers comes first.
        let (first, rest): (Vec<&Change>, Vec<&Change>) =
            set.changes.iter().partition(|change| self.autorun_note(change).is_some() || change.conflicts);
        let all: Vec<&Change> = first.into_iter().chain(rest).collect();
        let mut listed = 0;
        let mut list = String::new();
        for change in &all {
            let line = self.line(change);
            if list.chars().count() + line.chars().count() + 1 > bounds.list {
                break;
            }
            list.push('\n');
            list.push_str(&line);
            listed += 1;
        }
        text.push_str(&list);
        if listed < all.len() {
            // A String takes whatever is written to it.
            write!(text, "\n… and {} more that are not listed here", all.len() - listed).unwrap_or_default();
        }
        let has_content = |change: &&&Change| match &change.content {
            ContentPreview::Hidden => false,
            ContentPreview::Diff(text) | ContentPreview::Text(text) => !text.is_empty(),
        };
        let mut left = all.iter().filter(has_content).count();
        for change in all.iter().filter(has_content) {
            let content = self.content(change);
            if text.chars().count() + content.chars().count() + 80 > bounds.all {
                break;
            }
            text.push_str("\n\n");
            text.push_str(&content);
            left -= 1;
        }
        if left > 0 {
            write!(text, "\n\n… the contents of {left} more are not shown here").unwrap_or_default();
        }
        text
    }

    fn line(&self, change: &Change) -> String {
        let (verb, path) = (verb(change), self.path(change));
        let mut line = format!("{verb} {path}");
        let more = match (&change.now, &change.before) {
            (EntryAfter::Gone, EntryBefore::Folder { holds }) => format!(", a folder with {holds} in it"),
            (EntryAfter::Gone, EntryBefore::Link { target }) => format!(", a link to {}", self.link(target)),
            (EntryAfter::Link { target }, _) => {
                format!(", a link to {}{}", self.link(target), link_escape_note(target))
            }
            (EntryAfter::Folder, EntryBefore::Folder { .. }) => {
                format!(", mode {:03o} → {:03o}", change.mode_before, change.mode)
            }
            (EntryAfter::Folder, before) => format!(", a folder{}", former_kind(before)),
            (EntryAfter::Special { what }, _) => format!(", {what}: it is not kept"),
            (EntryAfter::File { size, hash }, before) => {
                let mut more = format!(", {size} bytes");
                match before {
                    EntryBefore::File { size: old } if old != size => {
                        write!(more, " instead of {old}").unwrap_or_default()
                    }
                    EntryBefore::File { .. } => {}
                    other => more.push_str(former_kind(other)),
                }
                let is_long = *size > TEXT_BYTES_MAX && change.content != ContentPreview::Hidden;
                if is_long {
                    write!(more, ", of which {TEXT_BYTES_MAX} are shown at most").unwrap_or_default();
                }
                if let Some(hash) = hash.as_ref().filter(|_| is_long || change.content == ContentPreview::Hidden) {
                    write!(more, ", SHA-256 {hash}").unwrap_or_default();
                }
                if matches!(before, EntryBefore::File { .. }) && change.mode != change.mode_before {
                    write!(more, ", mode {:03o} → {:03o}", change.mode_before, change.mode).unwrap_or_default();
                }
                more
            }
            (EntryAfter::Gone, _) => String::new(),
        };
        line.push_str(&more);
        if let Some(why) = self.autorun_note(change) {
            write!(line, " ({why})").unwrap_or_default();
        }
        if change.conflicts {
            line.push_str(" (it was changed in the workspace meanwhile, so this is not kept)");
        }
        line
    }

    /// What is in a file, or is different in it.
    fn content(&self, change: &Change) -> String {
        let bounds = self.bounds;
        let (text, mark) = match &change.content {
            ContentPreview::Hidden => return String::new(),
            ContentPreview::Diff(text) => (text, ""),
            ContentPreview::Text(text) => (text, "+"),
        };
        let lines: Vec<String> =
            text.lines().map(|line| format!("{mark}{}", head_and_tail(&safe(line), bounds.line))).collect();
        let whole = lines.iter().map(|line| line.chars().count() + 1).sum::<usize>();
        let name = self.path(change);
        if whole <= bounds.content {
            return format!("{name}:\n{}", lines.join("\n"));
        }
        // Head and tail, line by line in turn, while there is room.
        let (mut head, mut tail, mut room) = (0, 0, bounds.content);
        while head + tail < lines.len() {
            let next = if head <= tail { &lines[head] } else { &lines[lines.len() - 1 - tail] };
            let Some(less) = room.checked_sub(next.chars().count() + 1) else { break };
            room = less;
            if head <= tail { head += 1 } else { tail += 1 }
        }
        let left_out = lines.len() - head - tail;
        let (head, tail) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
        format!("{name}:\n{head}\n… {left_out} lines are left out …\n{tail}")
    }
}

/// How many of each kind.
fn counts(set: &ChangeSet) -> String {
    let (mut made, mut changed, mut deleted, mut special) = (0_u64, 0_u64, 0_u64, 0_u64);
    for change in &set.changes {
        match (&change.now, &change.before) {
            (EntryAfter::Gone, EntryBefore::Folder { holds }) => deleted += 1 + holds,
            (EntryAfter::Gone, _) => deleted += 1,
            (EntryAfter::Special { .. }, _) => special += 1,
            (_, EntryBefore::Nothing) => made += 1,
            _ => changed += 1,
        }
    }
    let all = [(made, "made"), (changed, "changed"), (deleted, "deleted"), (special, "that cannot be kept")];
    let some: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if some.is_empty() { "Nothing is changed".to_owned() } else { format!("Files and folders: {}", some.join(", ")) }
}

fn former_kind(before: &EntryBefore) -> &'static str {
    match before {
        EntryBefore::Nothing => "",
        EntryBefore::File { .. } => ", in the place of a file",
        EntryBefore::Link { .. } => ", in the place of a link",
        EntryBefore::Folder { .. } => ", in the place of a folder",
        EntryBefore::Special => ", in the place of something that is not a file",
    }
}

fn verb(change: &Change) -> &'static str {
    match (&change.now, &change.before) {
        (EntryAfter::Gone, _) => "-",
        (_, EntryBefore::Nothing) => "+",
        _ => "~",
    }
}

fn link_escape_note(target: &OsStr) -> &'static str {
    let path = Path::new(target);
    let leaves = path.is_absolute() || path.components().any(|part| part == std::path::Component::ParentDir);
    if leaves { " (it may lead out of the workspace)" } else { "" }
}

/// Head and tail of one line.
fn head_and_tail(text: &str, chars_max: usize) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let half = chars_max / 2 - 1;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(chars - half).collect();
    format!("{head}…{tail}")
}

fn safe_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&safe(chunk.valid()));
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    text
}

/// Text in which what hides or turns text is spelt out.
fn safe(text: &str) -> String {
    text.chars().fold(String::new(), |mut safe, c| {
        if c.is_control() && c != '\t' || is_invisible(c) {
            write!(safe, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default();
        } else {
            safe.push(c);
        }
        safe
    })
}
