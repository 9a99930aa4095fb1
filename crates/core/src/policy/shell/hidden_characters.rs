//! Characters that hide what a command does.

use crate::policy::invisible::is_invisible;

/// What the characters of a whole command say against it; none: nothing.
pub(super) fn hidden(command: &str) -> Option<String> {
    let mut before = ' ';
    for c in command.chars() {
        let what = match c {
            '\n' | '\t' => None,
            _ if c.is_control() => Some("a control character"),
            _ if turns(c) => Some("a character that turns the direction of writing"),
            _ if is_invisible(c) && !joins(before, c) => Some("an invisible character"),
            _ => None,
        };
        before = c;
        if let Some(what) = what {
            return Some(format!("It holds {what} (U+{:04X})", u32::from(c)));
        }
    }
    None
}

/// Marks and overrides of the direction: what is shown is not what is run.
fn turns(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Pictures are put together with a joiner or a selector; within a word of letters these have no business.
fn joins(before: char, c: char) -> bool {
    let picture = before >= '\u{203C}' && !before.is_alphanumeric();
    picture && matches!(c, '\u{200D}' | '\u{FE0F}' | '\u{FE0E}')
}

/// A part of a command as people may be shown it: in one short line, without what could mislead.
pub(super) fn quoted(part: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let mut shown = String::new();
    for (index, c) in part.trim().chars().enumerate() {
        if index >= SHOWN_MAX {
            shown.push('…');
            break;
        }
        match c {
            '`' => shown.push('\''),
            _ if c.is_control() || c.is_whitespace() => shown.push(' '),
            _ if turns(c) || is_invisible(c) => shown.push('\u{FFFD}'),
            _ => shown.push(c),
        }
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_hide_are_found() {
        for fine in ["ls -la", "echo Grüße", "a\n\tb", "git commit -m '👨\u{200D}👩 ❤\u{FE0F}'", "echo 日本語 Привет"]
        {
            assert_eq!(hidden(fine), None, "{fine}");
        }
        for bad in ["a\0", "a\u{202E}b", "a\u{200B}b", "l\u{FE0F}s", "\u{1b}[2K", "a\rb", "a\u{E0041}", "a\u{3164}"] {
            assert!(hidden(bad).is_some(), "{bad:?}");
        }
        assert_eq!(quoted("`a\u{202E}\n"), "`'a\u{FFFD}`");
    }
}
