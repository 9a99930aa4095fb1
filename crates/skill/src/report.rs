//! What a skill contains, for whoever is to enable it: what is plain to see, and what is not.

use crate::folder::{SkillFile, SkillFolder};
use hob_core::policy::invisible;

/// So many lines of the instructions are shown.
const LINES_SHOWN: usize = 12;
/// The most characters of each.
const LINE_CHARS_MAX: usize = 160;
/// So many hidden places are named.
const HIDDEN_SHOWN: usize = 8;
/// The most files that are named.
const FILES_SHOWN: usize = 60;

/// A character that nobody sees, or that makes others look different from what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenCharacter {
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    pub what: String,
}

pub fn hidden(file: &str, text: &str) -> Vec<HiddenCharacter> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |what: String| HiddenCharacter { file: file.to_owned(), line: index + 1, what };
        let invisible = line.chars().filter(|c| is_invisible(*c)).map(|c| at(format!("U+{:04X}", u32::from(c))));
        found.extend(invisible);
        if line.contains("<!--") {
            found.push(at("a comment, which is not seen where Markdown is shown".to_owned()));
        }
    }
    found
}

/// Is it seen by nobody, or does it turn the order of letters round?
pub fn is_invisible(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    // Emoji are written with selectors; what a private sign shows depends on who looks.
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}');
    control
        || (invisible::is_invisible(c) && !is_selector)
        || matches!(u32::from(c), 0xE000..=0xF8FF | 0xF0000..=0x10FFFF)
}

/// A line for people that cannot do anything to their terminal.
pub fn plain(text: &str, chars_max: usize) -> String {
    let cut: String = text.chars().take(chars_max).collect();
    let shown: String = cut.chars().map(|c| if is_invisible(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(chars_max).is_some() { format!("{shown}…") } else { shown }
}

/// Everything about a skill, in lines; `hidden` is what was found in its files.
pub fn lines(found: &SkillFolder, hidden: &[HiddenCharacter]) -> Vec<String> {
    let skill = &found.skill;
    let mut lines = vec![format!("{}: {}", skill.name, plain(&skill.description, 400))];
    let joined = |words: &[String]| plain(&words.join(", "), 400);
    if !skill.triggers.is_empty() {
        lines.push(format!("triggers: {}", joined(&skill.triggers)));
    }
    if !skill.allowed_tools.is_empty() {
        lines.push(format!("tools that it wants: {} (that allows it nothing)", joined(&skill.allowed_tools)));
    }
    if let Some(license) = &skill.license {
        lines.push(format!("license: {}", plain(license, 100)));
    }
    lines.push("files:".to_owned());
    lines.extend(found.files.iter().take(FILES_SHOWN).map(file));
    if found.files.len() > FILES_SHOWN {
        lines.push(format!("- and {} more", found.files.len() - FILES_SHOWN));
    }
    lines.extend(word_list_line(hidden));
    let body: Vec<&str> = skill.body.lines().collect();
    lines.push("it begins:".to_owned());
    lines.extend(
        body.iter().take(LINES_SHOWN).map(|line| format!("  {}", plain(line, LINE_CHARS_MAX)).trim_end().to_owned()),
    );
    if body.len() > LINES_SHOWN {
        lines.push(format!("  … {} more lines", body.len() - LINES_SHOWN));
    }
    lines
}

fn file(entry: &SkillFile) -> String {
    let script = if entry.script { ", a program" } else { "" };
    format!("- {} ({}{script})", plain(&entry.path, 200), size(entry.bytes))
}

fn size(bytes: u64) -> String {
    if bytes < 1_024 { format!("{bytes} bytes") } else { format!("{} KiB", bytes.div_ceil(1_024)) }
}

fn word_list_line(hidden: &[HiddenCharacter]) -> Vec<String> {
    if hidden.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["WARNING, hidden in it:".to_owned()];
    let line = |one: &HiddenCharacter| format!("- {}:{}: {}", plain(&one.file, 200), one.line, one.what);
    lines.extend(hidden.iter().take(HIDDEN_SHOWN).map(line));
    if hidden.len() > HIDDEN_SHOWN {
        lines.push(format!("- and {} more", hidden.len() - HIDDEN_SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_what_nobody_sees_is_told_of() {
        let text =
            "plain ä 漢 🎉\nzero\u{200b}width\nturned\u{202e}round\ntag\u{e0041}\n<!-- do as I say -->\n\u{1b}[2J";
        let found: Vec<String> =
            hidden("SKILL.md", text).iter().map(|one| format!("{}: {}", one.line, one.what)).collect();
        assert_eq!(
            found,
            [
                "2: U+200B",
                "3: U+202E",
                "4: U+E0041",
                "5: a comment, which is not seen where Markdown is shown",
                "6: U+001B"
            ]
        );
        assert_eq!(plain("a\u{1b}[2Jb", 10), "a\u{fffd}[2Jb");
        assert_eq!(plain("abcdef", 3), "abc…");
    }
}
