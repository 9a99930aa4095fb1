//! The parser, kept within bounds: `brush-parser` recurses, and goes back where it guessed wrong, so what could cost it
//! much is turned away before.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::word::{BraceExpressionMember, BraceExpressionOrText, WordPieceWithSource};
use brush_parser::{ParserOptions, Token, TokenizerOptions};

/// The most substitutions in a whole command.
const SUBSTITUTIONS_MAX: usize = 48;
/// The most in one word, where they cost twice as much each.
const SUBSTITUTIONS_OF_WORD_MAX: usize = 6;
/// The most arithmetic in one word, where it costs six times as much each.
const SUMS_OF_WORD_MAX: usize = 3;
/// The most parameters in braces in one word.
const PARAMETERS_OF_WORD_MAX: usize = 8;
/// The most braces in a word whose alternatives are written out.
const BRACES_OF_WORD_MAX: usize = 6;
/// The most words that alternatives are written out to.
const ALTERNATIVES_MAX: usize = 64;
/// The most blocks (loops, groups, conditions) of one text; a choice (`case`) counts three times.
const BLOCKS_MAX: usize = 24;

/// The most parentheses of one text: two that touch might be a sum, and are tried as one first.
const PARENTHESES_MAX: usize = 16;

/// The most indices within indices.
const INDICES_MAX: usize = 24;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    /// It is nothing that a shell would run as it stands.
    #[error("It is not complete or not correct, so nobody can say what it would do")]
    Wrong,
    /// It is put together in a way that nobody writes by hand.
    #[error("It is nested too deeply to be looked through")]
    Deep,
}

/// The tree of a text.
pub(super) fn program(text: &str) -> Result<Program, Unreadable> {
    let openers = ["$(", "<(", ">(", "${", "$[", "@(", "?(", "*(", "+(", "!("];
    let marks: usize = openers.iter().map(|opener| text.matches(opener).count()).sum();
    let parameters = text.matches("${").count();
    let ticks = text.matches('`').count() / 2;
    if marks - parameters + ticks > SUBSTITUTIONS_MAX || parameters > 4 * SUBSTITUTIONS_MAX {
        return Err(Unreadable::Deep);
    }
    guarded(|| {
        let tokens =
            brush_parser::uncached_tokenize_str(text, &TokenizerOptions::default()).or(Err(Unreadable::Wrong))?;
        let parentheses: usize = tokens.iter().map(parentheses).sum();
        if tokens.iter().any(|token| is_indexed(token.to_str()) && token.to_str().matches('[').count() > INDICES_MAX) {
            return Err(Unreadable::Deep);
        }
        if parentheses > PARENTHESES_MAX || tokens.iter().map(blocks).sum::<usize>() > BLOCKS_MAX {
            return Err(Unreadable::Deep);
        }
        brush_parser::parse_tokens(&tokens, &ParserOptions::default()).or(Err(Unreadable::Wrong))
    })
}

/// Begins it as an element of an array does?
fn is_indexed(word: &str) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').starts_with('[')
}

fn parentheses(token: &Token) -> usize {
    match token {
        Token::Operator(operator, _) => operator.matches('(').count(),
        Token::Word(..) => 0,
    }
}

fn blocks(token: &Token) -> usize {
    match token {
        Token::Operator(..) => 0,
        Token::Word(word, _) => match word.as_str() {
            // Each doubles what it costs to find out that it has no end.
            "case" => 3,
            "{" | "if" | "elif" | "while" | "until" | "for" | "select" | "[[" | "function" | "coproc" | "!"
            | "time" => 1,
            _ => 0,
        },
    }
}

/// The pieces of one word.
pub(super) fn pieces(word: &str, heredoc: bool) -> Result<Vec<WordPieceWithSource>, Unreadable> {
    let sums = word.matches("((").count();
    let nested: usize = ["$(", "<(", ">("].iter().map(|opener| word.matches(opener).count()).sum();
    let nested = nested + word.matches('`').count() / 2;
    let parameters = word.matches("${").count();
    if sums > SUMS_OF_WORD_MAX || nested > SUBSTITUTIONS_OF_WORD_MAX || parameters > PARAMETERS_OF_WORD_MAX {
        return Err(Unreadable::Deep);
    }
    let indexed = word.contains("${") || word.contains("$[") || word.contains("((") || is_indexed(word);
    if indexed && word.matches(['[', '(']).count() > INDICES_MAX {
        return Err(Unreadable::Deep);
    }
    guarded(|| {
        let options = ParserOptions::default();
        let parse = if heredoc { brush_parser::word::parse_heredoc } else { brush_parser::word::parse };
        parse(word, &options).or(Err(Unreadable::Wrong))
    })
}

/// A parser that gives up loudly has not understood either.
fn guarded<T>(parse: impl FnOnce() -> Result<T, Unreadable>) -> Result<T, Unreadable> {
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or(Err(Unreadable::Wrong))
}

/// A word with its alternatives (`{a,b}`) written out; none: it has none, or more than can be written out.
pub(super) fn alternatives(word: &str) -> Option<Vec<String>> {
    let braces = word.matches('{').count();
    if braces == 0 || braces > BRACES_OF_WORD_MAX || !(word.contains(',') || word.contains("..")) {
        return None;
    }
    let parsed = guarded(|| {
        brush_parser::word::parse_brace_expansions(word, &ParserOptions::default()).or(Err(Unreadable::Wrong))
    });
    let written = written_out(&parsed.ok().flatten()?, BRACES_OF_WORD_MAX)?;
    (written.len() > 1).then_some(written)
}

fn written_out(parts: &[BraceExpressionOrText], depth: usize) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    for part in parts {
        let ends = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => {
                let mut ends = Vec::new();
                for member in members {
                    ends.extend(member_written_out(member, depth.checked_sub(1)?)?);
                }
                ends
            }
        };
        if words.len() * ends.len() > ALTERNATIVES_MAX {
            return None;
        }
        words = words.iter().flat_map(|word| ends.iter().map(move |end| format!("{word}{end}"))).collect();
    }
    Some(words)
}

fn member_written_out(member: &BraceExpressionMember, depth: usize) -> Option<Vec<String>> {
    match member {
        BraceExpressionMember::Child(parts) => written_out(parts, depth),
        BraceExpressionMember::NumberSequence { start, end, .. } => {
            let (low, high) = (*start.min(end), *start.max(end));
            let count = usize::try_from(high.checked_sub(low)?).ok()?;
            (count < ALTERNATIVES_MAX).then(|| (low..=high).map(|number| number.to_string()).collect())
        }
        BraceExpressionMember::CharSequence { start, end, .. } => {
            let (low, high) = (*start.min(end), *start.max(end));
            let characters: Vec<String> = (low..=high).take(ALTERNATIVES_MAX + 1).map(String::from).collect();
            (characters.len() <= ALTERNATIVES_MAX).then_some(characters)
        }
    }
}
