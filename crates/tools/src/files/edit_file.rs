//! `edit_file`: one piece of a text for another, where it stands exactly so.

use std::io::Read as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::ToolSpec;
use crate::files::access::{FileAccess, FileAccessError};
use crate::files::file_tool::{FileEffect, FileTool};
use crate::files::operation::{FileOperation, FileOperationResult};
use crate::files::write_file::{BYTES_MAX, write};
use crate::files::{MODULE, StopFlag, changing};
use crate::registry::{parse, spec_of};
use hob_core::domain::principal::Role;

/// In the search for what is nearest so many pairs of characters are compared at most, whatever the machine.
const PAIRS_MAX: usize = 40_000_000;
/// How many near places are named.
const NEAR_MAX: usize = 3;
/// From how alike on a line is near.
const NEAR_MIN: f32 = 0.6;
/// Longer lines are not compared.
const LINE_CHARS_MAX: usize = 400;
/// How much of the difference is shown.
const DIFF_LINES_MAX: usize = 200;
/// From the first line that differs to the last, so many are compared.
const DIFF_COMPARED_MAX: usize = 3_000;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    /// Exact text, without line numbers; once in the file.
    old: String,
    new: String,
    /// Everywhere.
    #[serde(default)]
    all: bool,
}

/// The tool: edits in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let about = "Replaces text in a file.";
    let spec = spec_of::<Arguments>("edit_file", about, false).of(MODULE, Role::User).with(changing());
    let operation = |spec: &ToolSpec, arguments| parse(spec, arguments).map(FileOperation::Edit);
    FileTool { spec, room, effect: FileEffect::Writes, operation }
}

/// Replaces what is to be replaced. What is near is quoted from the file as well.
pub(super) fn execute(
    room: &FileAccess,
    wanted: &Arguments,
    stop: &StopFlag,
) -> Result<FileOperationResult, FileAccessError> {
    let edited = edit(room, wanted, stop)?;
    let is_error = edited.is_err();
    let (Ok(text) | Err(text)) = edited;
    Ok(FileOperationResult { is_error, ..FileOperationResult::from(&wanted.path, text) })
}

fn edit(room: &FileAccess, wanted: &Arguments, stop: &StopFlag) -> Result<Result<String, String>, FileAccessError> {
    let Arguments { path, old, new, all } = wanted;
    let spot = room.resolve(path, true)?;
    let mut bytes = Vec::new();
    let read = room.open(&spot)?.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| room.failed(path, &error))?;
    if bytes.len() > BYTES_MAX {
        return Err(FileAccessError::Content("The file is too large to be edited here.".to_owned()));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(FileAccessError::Content("The file is not UTF-8, so it cannot be edited here.".to_owned()));
    };
    let changed = match replaced(&text, old, new, *all) {
        Ok(changed) => changed,
        Err(ReplaceError::Absent) => return Ok(Err(not_found_message(&text, old, stop))),
        Err(ReplaceError::Many(count)) => {
            let why = format!("It stands there {count} times: give more of the lines around it, or set all.");
            return Ok(Err(why));
        }
        Err(ReplaceError::Nothing(why)) => return Ok(Err(why.to_owned())),
    };
    write(room, path, changed.as_bytes())?;
    Ok(Ok(diff(path, &text, &changed)))
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
enum ReplaceError {
    Absent,
    Many(usize),
    Nothing(&'static str),
}

/// The text with the one piece in place of the other. Line ends are those of the file.
fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<String, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::Nothing("`old` is empty: say what is to be replaced, or write the whole file."));
    }
    if old == new {
        return Err(ReplaceError::Nothing("`old` and `new` are the same: nothing was changed."));
    }
    let windows = text.contains("\r\n") && !old.contains('\r') && !text.contains(old);
    let (old, new) = if windows {
        (old.replace('\n', "\r\n"), new.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        (old.to_owned(), new.to_owned())
    };
    match text.matches(&old).count() {
        0 => Err(ReplaceError::Absent),
        1 => Ok(text.replacen(&old, &new, 1)),
        _ if all => Ok(text.replace(&old, &new)),
        count => Err(ReplaceError::Many(count)),
    }
}

/// What to say where `old` does not stand in the text: the lines that are most like its first.
fn not_found_message(text: &str, old: &str, stop: &StopFlag) -> String {
    let first = old.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut near: Vec<(f32, usize, &str)> = Vec::new();
    let mut pairs_left = PAIRS_MAX;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| may_be_alike(line, first)) {
        let left = pairs_left.checked_sub(line.len() * first.len());
        let Some(left) = left.filter(|_| !stop.is_stopped()) else { break };
        pairs_left = left;
        let alike = TextDiff::from_chars(line.trim(), first.trim()).ratio();
        if alike >= NEAR_MIN {
            near.push((alike, number, line));
        }
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(NEAR_MAX);
    if near.is_empty() {
        return "That text is not in the file; read it again.".to_owned();
    }
    let lines: Vec<String> = near.iter().map(|(_, number, line)| format!("{number}\t{line}")).collect();
    format!("That text is not in the file, letter by letter. Nearest to its first line:\n{}", lines.join("\n"))
}

/// Whether two lines are worth comparing, blanks around them aside: those of very different lengths cannot be alike, and
/// comparing them takes longest.
fn may_be_alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim().len(), b.trim().len());
    let (short, long) = (a.min(b), a.max(b));
    long > 0 && long <= LINE_CHARS_MAX && short * 3 >= long
}

fn diff(path: &str, old: &str, new: &str) -> String {
    let (was, is): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[before..], &is[before..]);
    let after = was.iter().rev().zip(is.iter().rev()).take_while(|(was, is)| was == is).count();
    if was.len().max(is.len()) - after > DIFF_COMPARED_MAX {
        return format!(
            "Changed {path:?} from line {} on, in too many lines for the difference to be shown.",
            before + 1
        );
    }
    let shown = TextDiff::from_lines(old, new).unified_diff().context_radius(2).to_string();
    let lines: Vec<&str> = shown.lines().collect();
    let cut = lines.len().saturating_sub(DIFF_LINES_MAX);
    let more = if cut > 0 { format!("\n… {cut} more lines of the difference") } else { String::new() };
    format!("Changed {path:?}:\n{}{more}", lines[..lines.len() - cut].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_only_what_stands_there_once_is_replaced() {
        let many = "a = 1\nb = 1\n";
        assert_eq!(replaced(many, "b = 1", "b = 2", false).unwrap(), "a = 1\nb = 2\n");
        assert_eq!(replaced(many, "1", "2", false), Err(ReplaceError::Many(2)));
        assert_eq!(replaced(many, "1", "2", true).unwrap(), "a = 2\nb = 2\n");
        assert_eq!(replaced(many, "c", "2", false), Err(ReplaceError::Absent));
        assert!(matches!(replaced(many, "", "2", false), Err(ReplaceError::Nothing(_))));
        assert!(matches!(replaced(many, "a", "a", false), Err(ReplaceError::Nothing(_))));
        assert_eq!(replaced("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false).unwrap(), "x\r\ny\r\nc\r\n");
    }

    #[test]
    fn what_is_not_there_names_what_is_near() {
        let text = "fn main() {\n    let total = count + 1;\n}\n";
        insta::assert_snapshot!(not_found_message(text, "  let total = counts + 1;\n", &StopFlag::default()), @r"
        That text is not in the file, letter by letter. Nearest to its first line:
        2	    let total = count + 1;
        ");
        insta::assert_snapshot!(not_found_message(text, "class Foo", &StopFlag::default()), @"That text is not in the file; read it again.");
        insta::assert_snapshot!(diff("a.rs", text, &text.replace("+ 1", "+ 2")), @r#"
        Changed "a.rs":
        @@ -1,3 +1,3 @@
         fn main() {
        -    let total = count + 1;
        +    let total = count + 2;
         }
        "#);
    }
    #[test]
    fn what_is_looked_through_is_bounded_by_work() {
        let first = "x".repeat(LINE_CHARS_MAX);
        let compared = PAIRS_MAX / LINE_CHARS_MAX / LINE_CHARS_MAX;
        let far = |lines: usize| {
            not_found_message(
                &format!("{}{first}", format!("{}\n", "y".repeat(400)).repeat(lines)),
                &first,
                &StopFlag::default(),
            )
        };
        assert!(far(compared - 1).contains("Nearest"));
        assert!(far(compared).contains("read it again"), "{PAIRS_MAX} pairs are compared by then");
        let many = |lines: usize| diff("a", &"one\n".repeat(lines), &"two\n".repeat(lines));
        assert!(many(DIFF_COMPARED_MAX).starts_with("Changed \"a\":\n"));
        insta::assert_snapshot!(many(DIFF_COMPARED_MAX + 1), @r#"Changed "a" from line 1 on, in too many lines for the difference to be shown."#);
        let long = "one\n".repeat(100_000);
        assert!(
            diff("a", &format!("{long}a\n{long}"), &format!("{long}b\n{long}")).contains("-a\n+b"),
            "what is the same is no work"
        );
    }
}
