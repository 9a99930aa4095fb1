//! The port to the person: what they are told, and what they answer.

use hob_core::domain::secret::Secret;

/// Why the setup ends before its end.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum SetupError {
    /// The person has left; what was done is kept.
    #[error("left before the end")]
    Left,
    /// It cannot go on.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

/// Somebody who can be asked.
pub(in crate::cli) trait Asker {
    /// Says something; each of its lines is a paragraph.
    fn tell(&mut self, text: &str);

    /// Shows something as it is, whatever the width: a picture made of characters.
    fn show(&mut self, picture: &str) {
        self.tell(picture);
    }

    /// Asks for a line, which comes without blanks around it.
    fn line(&mut self, prompt: &str) -> Result<String, SetupError>;

    /// Asks for the number of one of these options, beginning with 1; nothing is said for the usual one.
    fn number(&mut self, prompt: &str, _options: &[String], _usual: usize) -> Result<String, SetupError> {
        self.line(prompt)
    }

    /// Asks for something that nobody may see, not even while it is typed.
    fn secret(&mut self, prompt: &str) -> Result<Secret, SetupError>;
}

/// What Enter alone does where nothing is usual.
const BACK: &str = "back";

/// Lets them choose one of `options` by its number, and gives its index. Enter takes `usual`.
pub(in crate::cli) fn choose(
    asker: &mut dyn Asker,
    question: &str,
    options: &[String],
    usual: usize,
) -> Result<usize, SetupError> {
    asker.tell(&format!("\n{question}"));
    asker.tell(&numbered(options));
    loop {
        let said = asker.number(&format!("Number [{}]: ", usual + 1), options, usual)?;
        if said.is_empty() {
            return Ok(usual);
        }
        match number(&said, options.len()) {
            Some(index) => return Ok(index),
            None => asker.tell(&format!("Type a number from 1 to {}, or Enter for {}.", options.len(), usual + 1)),
        }
    }
}

/// The options, each behind its number.
pub(super) fn numbered(options: &[String]) -> String {
    let lines = options.iter().enumerate();
    lines.map(|(index, option)| format!("{:>3}. {option}", index + 1)).collect::<Vec<_>>().join("\n")
}

/// The index that a number from 1 stands for.
pub(super) fn number(said: &str, count: usize) -> Option<usize> {
    let number = said.trim_end_matches('.').parse::<usize>().ok()?;
    number.checked_sub(1).filter(|index| *index < count)
}

/// Asks for a text; Enter takes `usual`, or goes back if there is none.
pub(super) fn text(asker: &mut dyn Asker, question: &str, usual: Option<&str>) -> Result<Option<String>, SetupError> {
    let prompt = format!("{question} [{}]: ", usual.unwrap_or(BACK));
    let said = asker.line(&prompt)?;
    Ok(if said.is_empty() { usual.map(str::to_owned) } else { Some(said) })
}

/// Asks for a secret; none: back.
pub(super) fn secret(asker: &mut dyn Asker, question: &str) -> Result<Option<Secret>, SetupError> {
    let said = asker.secret(&format!("{question} (not shown) [{BACK}]: "))?;
    Ok(Some(said).filter(|said| !said.expose().is_empty()))
}

/// The text in lines of at most `columns`; what follows a break stands under the words, not under a number before them.
/// Words are never broken: addresses and commands can be copied.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| paragraph(line, columns)).collect::<Vec<_>>().join("\n")
}

fn paragraph(line: &str, columns: usize) -> String {
    let blanks = line.len() - line.trim_start().len();
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_mark = first == "-" || first.strip_suffix('.').is_some_and(|digits| digits.parse::<u32>().is_ok());
    let hang = blanks + if is_mark { first.len() + 1 } else { 0 };
    let mut lines = vec![" ".repeat(blanks)];
    for word in line.split_whitespace() {
        let Some(last) = lines.last_mut() else { continue };
        let is_empty = last.trim().is_empty();
        if !is_empty && last.chars().count() + 1 + word.chars().count() > columns {
            lines.push(format!("{}{word}", " ".repeat(hang)));
        } else {
            *last = if is_empty { format!("{last}{word}") } else { format!("{last} {word}") };
        }
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_the_terminal_and_hangs_under_its_words() {
        let text = "Some words that are longer than a narrow terminal.\n\n  1. Open https://example.org/a-long-address and read\n  - and more of the same kind";
        insta::assert_snapshot!(wrapped(text, 24), @r"
        Some words that are
        longer than a narrow
        terminal.

          1. Open
             https://example.org/a-long-address
             and read
          - and more of the same
            kind
        ");
        assert_eq!(wrapped("", 10), "");
        assert_eq!(wrapped("short", 10), "short");
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let table = [("1", Some(0)), ("3.", Some(2)), ("4", None), ("0", None), ("x", None), ("-1", None)];
        for (said, expected) in table {
            assert_eq!(number(said, 3), expected, "{said}");
        }
    }
}
