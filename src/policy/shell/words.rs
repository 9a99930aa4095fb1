//! Words as the shell will hand them on: quotes taken away, known variables filled in, and marks where only the run tells.

use std::path::Path;

use brush_parser::word::{Parameter, ParameterExpr, ParameterTransformOp, TildeExpr, WordPiece, WordPieceWithSource};

use super::syntax::{self, Unreadable};

/// Stands for what is only known when the command runs.
pub(super) const UNKNOWN: char = '\u{FDD0}';
/// Stands for a space that came out of `$IFS`.
const SEPARATOR: char = '\u{FDD1}';

/// One word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// What it will be, with [`UNKNOWN`] in it.
    pub(super) text: String,
    /// It has wildcards.
    pub(super) wild: bool,
    /// It is spelt in a way that nobody needs for a name.
    pub(super) odd: bool,
}

impl Word {
    /// A word as it stands.
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A word that only the run tells.
    pub(super) fn unknown() -> Self {
        Self::literal(&UNKNOWN.to_string())
    }

    /// Whether all of it is known.
    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }
}

/// What a word is, and what is run to find it out.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The words it becomes.
    pub(super) words: Vec<Word>,
    /// The commands in it.
    pub(super) commands: Vec<String>,
    /// It takes its value for commands of its own (`${x@P}`).
    pub(super) reads_commands: bool,
}

/// What is known where the word stands.
pub(super) struct Surroundings<'a> {
    /// The home.
    pub(super) home: Option<&'a Path>,
    /// The folder that the command is in.
    pub(super) cwd: Option<&'a Path>,
}

/// Reads a word.
pub(super) fn read(raw: &str, around: &Surroundings) -> Result<Reading, Unreadable> {
    let mut reading = Reading::default();
    let alternatives = syntax::alternatives(raw);
    let braces = alternatives.is_some();
    for one in alternatives.unwrap_or_else(|| vec![raw.to_owned()]) {
        let mut spelling = Spelling { around, reading: &mut reading, text: String::new(), wild: false };
        if let Some(text) = in_single_quotes(&one) {
            spelling.text.push_str(text);
        } else {
            spelling.pieces(&syntax::pieces(&one, false)?, &one, Quotes::None)?;
        }
        let (text, wild) = (spelling.text, spelling.wild);
        let odd = braces || is_odd(&one);
        let parts = text.split(SEPARATOR).filter(|part| !part.is_empty() || !text.contains(SEPARATOR));
        let split = text.contains(SEPARATOR);
        reading.words.extend(parts.map(|part| Word { text: part.to_owned(), wild, odd: odd || split }));
    }
    Ok(reading)
}

/// Reads the text of a here-document in which the shell fills in.
pub(super) fn read_heredoc(raw: &str, around: &Surroundings) -> Result<Reading, Unreadable> {
    let mut reading = Reading::default();
    let mut spelling = Spelling { around, reading: &mut reading, text: String::new(), wild: false };
    spelling.pieces(&syntax::pieces(raw, true)?, raw, Quotes::Double)?;
    let text = spelling.text;
    reading.words.push(Word { text, ..Word::default() });
    Ok(reading)
}

fn in_single_quotes(raw: &str) -> Option<&str> {
    let inner = raw.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inner.contains('\'')).then_some(inner)
}

/// Quotes around a whole name, or a backslash before it, are a habit; within it they hide it.
fn is_odd(raw: &str) -> bool {
    let bare = raw.strip_prefix('\\').unwrap_or(raw);
    let whole = |quote: char| {
        bare.strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            .filter(|inner| !inner.contains(['\'', '"', '\\']))
    };
    let inner = whole('"').or_else(|| whole('\'')).unwrap_or(bare);
    inner.contains(['\'', '"', '\\'])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

struct Spelling<'a> {
    around: &'a Surroundings<'a>,
    reading: &'a mut Reading,
    text: String,
    wild: bool,
}

impl Spelling<'_> {
    fn pieces(&mut self, pieces: &[WordPieceWithSource], raw: &str, quotes: Quotes) -> Result<(), Unreadable> {
        for piece in pieces {
            let source = raw.get(piece.start_index..piece.end_index).unwrap_or_default();
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner, raw, Quotes::Double)?;
                }
                piece => self.piece(piece, source, quotes)?,
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: &WordPiece, source: &str, quotes: Quotes) -> Result<(), Unreadable> {
        match piece {
            WordPiece::Text(text) => {
                self.wild |= quotes == Quotes::None
                    && !matches!(text.as_str(), "[" | "[[")
                    && text.contains(['*', '?', '[', '(']);
                self.text.push_str(text);
            }
            WordPiece::SingleQuotedText(text) => self.text.push_str(text),
            WordPiece::AnsiCQuotedText(text) => self.text.push_str(&unescaped(text)),
            WordPiece::EscapeSequence(text) => {
                let escaped = text.strip_prefix('\\').unwrap_or(text);
                self.text.push_str(if escaped == "\n" { "" } else { escaped });
            }
            WordPiece::TildeExpansion(tilde) => self.tilde(tilde),
            WordPiece::ParameterExpansion(parameter) => self.parameter(parameter, source, quotes)?,
            WordPiece::CommandSubstitution(command) | WordPiece::BackquotedCommandSubstitution(command) => {
                self.reading.commands.push(command.clone());
                self.text.push(UNKNOWN);
            }
            WordPiece::ArithmeticExpression(sum) => {
                self.inner(&sum.value)?;
                self.text.push(UNKNOWN);
            }
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner, source, Quotes::Double)?;
            }
        }
        Ok(())
    }

    fn tilde(&mut self, tilde: &TildeExpr) {
        let place = match tilde {
            TildeExpr::Home => self.around.home.map(|home| home.display().to_string()),
            TildeExpr::UserHome(user) if user == "root" => Some("/root".to_owned()),
            TildeExpr::UserHome(user) => Some(format!("/home/{user}")),
            TildeExpr::WorkingDir => self.around.cwd.map(|cwd| cwd.display().to_string()),
            TildeExpr::OldWorkingDir
            | TildeExpr::NthDirFromTopOfDirStack { .. }
            | TildeExpr::NthDirFromBottomOfDirStack { .. } => None,
        };
        self.text.push_str(&place.unwrap_or_else(|| UNKNOWN.to_string()));
    }

    fn parameter(&mut self, parameter: &ParameterExpr, source: &str, quotes: Quotes) -> Result<(), Unreadable> {
        match parameter {
            ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } => {
                let known = match name.as_str() {
                    "HOME" => self.around.home.map(|home| home.display().to_string()),
                    "PWD" => self.around.cwd.map(|cwd| cwd.display().to_string()),
                    "IFS" if quotes == Quotes::None => Some(SEPARATOR.to_string()),
                    _ => None,
                };
                self.text.push_str(&known.unwrap_or_else(|| UNKNOWN.to_string()));
                return Ok(());
            }
            ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. } => {
                self.reading.reads_commands = true
            }
            ParameterExpr::Parameter { parameter: Parameter::Special(_) | Parameter::Positional(_), .. } => {
                self.text.push(UNKNOWN);
                return Ok(());
            }
            _ => {}
        }
        self.text.push(UNKNOWN);
        let inner = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        inner.map_or(Ok(()), |inner| self.inner(inner))
    }

    /// What is run within an expression whose value does not matter.
    fn inner(&mut self, expression: &str) -> Result<(), Unreadable> {
        if !expression.contains(['$', '`', '<', '>']) {
            return Ok(());
        }
        let mut aside = Spelling { around: self.around, reading: &mut *self.reading, text: String::new(), wild: false };
        aside.pieces(&syntax::pieces(expression, true)?, expression, Quotes::Double)
    }
}

/// What `$'…'` means.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let Some(kind) = rest.next() else { break };
        let mut digits = |radix: u32, most: usize, first: Option<u32>| {
            let mut value = first;
            let mut left = most;
            while left > 0
                && let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix))
            {
                value = Some(value.unwrap_or(0) * radix + digit);
                left -= 1;
                rest.next();
            }
            value.and_then(char::from_u32)
        };
        let meant = match kind {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' | 'b' | 'f' | 'v' | 'e' | 'E' => Some(UNKNOWN),
            'x' => digits(16, 2, None),
            'u' => digits(16, 4, None),
            'U' => digits(16, 8, None),
            '0'..='7' => digits(8, 2, kind.to_digit(8)),
            'c' => rest.next().map(|_| UNKNOWN),
            _ => Some(kind),
        };
        plain.push(meant.unwrap_or(UNKNOWN));
    }
    plain
}
