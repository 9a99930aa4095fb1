//! Characters: those that hide what a command does, and those that only look like others.

use unicode_security::confusable_detection::skeleton;

use crate::domain::tools::Grade;

/// What the characters of a whole command say against it; none: nothing.
pub(super) fn hidden(command: &str) -> Option<(Grade, String)> {
    let mut before = ' ';
    let mut worst = None;
    for c in command.chars() {
        let found = match c {
            '\n' | '\t' => None,
            _ if c.is_control() => Some((Grade::Refused, "a control character")),
            _ if turns(c) => Some((Grade::Refused, "a character that turns the direction of writing")),
            _ if is_invisible(c) && !joins(before, c) => Some((Grade::Refused, "an invisible character")),
            _ if c != ' ' && c.is_whitespace() => Some((Grade::High, "a space that is none to the shell")),
            _ => None,
        };
        before = c;
        if let Some((grade, what)) = found
            && worst.as_ref().is_none_or(|(known, _)| grade > *known)
        {
            worst = Some((grade, format!("It holds {what} (U+{:04X})", u32::from(c))));
        }
    }
    worst
}

/// Marks and overrides of the direction: what is shown is not what is run.
fn turns(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
        | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Pictures are put together with a joiner or a selector; within a word of letters these have no business.
fn joins(before: char, c: char) -> bool {
    let picture = before >= '\u{203C}' && !before.is_alphanumeric();
    picture && matches!(c, '\u{200D}' | '\u{FE0F}' | '\u{FE0E}')
}

/// Whether a word of a command is made to look like another one.
pub(super) fn looks_like_another(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let first = word.chars().next();
    if first.is_some_and(|c| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}')) {
        return true;
    }
    let slashes =
        |c| matches!(c, '\u{2044}' | '\u{2215}' | '\u{29F8}' | '\u{FF0F}' | '\u{2024}' | '\u{FF0E}' | '\u{FF5E}');
    if word.contains(slashes) {
        return true;
    }
    // Words of a sentence are their own business: only what could be a name or a path is looked at.
    let named = !word.contains(char::is_whitespace) && word.contains(|c: char| c.is_ascii_alphanumeric() || c == '/');
    named
        && word.split(['/', '.', '=', '-', '_', ':']).any(|part| {
            let letters = part.chars().any(|c| !c.is_ascii() && c.is_alphanumeric());
            letters && skeleton(part).all(|c| c.is_ascii())
        })
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
            super::words::UNKNOWN => shown.push('…'),
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
    fn n6_characters_that_hide_are_found() {
        let grade = |text: &str| hidden(text).map(|(grade, _)| grade);
        for fine in ["ls -la", "echo Grüße", "a\n\tb", "git commit -m '👨\u{200D}👩 ❤\u{FE0F}'", "echo 日本語 Привет"]
        {
            assert_eq!(grade(fine), None, "{fine}");
        }
        for bad in ["a\0", "a\u{202E}b", "a\u{200B}b", "l\u{FE0F}s", "\u{1b}[2K", "a\rb", "a\u{E0041}", "a\u{3164}"] {
            assert_eq!(grade(bad), Some(Grade::Refused), "{bad:?}");
        }
        assert_eq!(grade("echo\u{A0}hi"), Some(Grade::High));
    }

    #[test]
    fn n6_names_that_look_like_others_are_found() {
        for bad in ["/еtc/passwd", "lѕ", "passwоrd", "–rf", "a∕b", "саt.txt", "ｌｓ-l"] {
            assert!(looks_like_another(bad), "{bad}");
        }
        for fine in ["müll.txt", "отчёт-2026.txt", "naïve", "日本語.md", "дом и сад", "café/été"] {
            assert!(!looks_like_another(fine), "{fine}");
        }
    }
}
