//! Which of the three models a message goes to, by its form alone (row A2).
//!
//! Never: a word of any language. What a message asks for is not read, only how it is built and what went before.
//! Start at [`RULES`]; `docs/models.md` shows them as a table, and a test holds both together.

/// How much model a message needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A quick word.
    Fast,
    /// Most things.
    Primary,
    /// Long, structured, or hard by what went before.
    Smart,
}

impl Tier {
    /// The role under which its model is configured.
    pub fn role(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Primary => "primary",
            Self::Smart => "smart",
        }
    }
}

/// What a message is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Characters; one that is a word or a syllable by itself, as in Chinese, counts as three.
    Length,
    /// Lines that are not empty.
    Lines,
    /// Blocks between code fences.
    CodeBlocks,
    /// Lines that end as lines of code do, outside of fences.
    CodeLines,
    /// Web addresses.
    Links,
    /// Question marks of any script.
    Questions,
    /// Lines that begin as items of a list.
    ListItems,
    /// Digits of any script, outside of links.
    Digits,
    /// Signs of arithmetic, outside of links.
    Maths,
    /// Pictures and files.
    Attachments,
    /// The most tool calls that one of the session's last runs needed.
    ToolCalls,
    /// One, if the session's last run failed.
    Failed,
}

/// A message with so much of a measure needs at least this tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub measure: Measure,
    /// From how much on the rule holds.
    pub at_least: usize,
    /// What is needed then.
    pub tier: Tier,
}

/// All rules. The highest tier that any of them asks for is taken; where none holds, the fast one.
pub const RULES: &[Rule] = &[
    rule(Measure::Length, 600, Tier::Smart),
    rule(Measure::Lines, 12, Tier::Smart),
    rule(Measure::CodeBlocks, 1, Tier::Smart),
    rule(Measure::CodeLines, 3, Tier::Smart),
    rule(Measure::Questions, 4, Tier::Smart),
    rule(Measure::ListItems, 3, Tier::Smart),
    rule(Measure::Digits, 60, Tier::Smart),
    rule(Measure::Maths, 4, Tier::Smart),
    rule(Measure::Attachments, 3, Tier::Smart),
    rule(Measure::ToolCalls, 8, Tier::Smart),
    rule(Measure::Failed, 1, Tier::Smart),
    rule(Measure::Length, 40, Tier::Primary),
    rule(Measure::Lines, 3, Tier::Primary),
    rule(Measure::CodeLines, 1, Tier::Primary),
    rule(Measure::Links, 1, Tier::Primary),
    rule(Measure::Questions, 2, Tier::Primary),
    rule(Measure::ListItems, 1, Tier::Primary),
    rule(Measure::Digits, 5, Tier::Primary),
    rule(Measure::Maths, 1, Tier::Primary),
    rule(Measure::Attachments, 1, Tier::Primary),
    rule(Measure::ToolCalls, 2, Tier::Primary),
];

const fn rule(measure: Measure, at_least: usize, tier: Tier) -> Rule {
    Rule { measure, at_least, tier }
}

/// What went before a message, and what came with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutingContext {
    /// Pictures and files that came with it.
    pub attachments: usize,
    /// The most tool calls that one of the session's last runs needed.
    pub tool_calls: usize,
    /// Whether the session's last run failed.
    pub failed: bool,
}

/// The form of a message, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageFeatures {
    length: usize,
    lines: usize,
    code_blocks: usize,
    code_lines: usize,
    links: usize,
    questions: usize,
    list_items: usize,
    digits: usize,
    maths: usize,
    around: RoutingContext,
}

impl MessageFeatures {
    /// Measures a message.
    pub fn of(text: &str, around: RoutingContext) -> Self {
        let mut features = Self { around, ..Self::default() };
        let mut in_code = false;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            features.lines += 1;
            if line.starts_with("```") {
                in_code = !in_code;
                features.code_blocks += usize::from(in_code);
            } else if !in_code {
                features.list_items += usize::from(is_item(line));
                features.code_lines += usize::from(is_code(line));
            }
            line.split_whitespace().for_each(|word| features.word(word));
        }
        features
    }

    fn word(&mut self, word: &str) {
        if is_link(word) {
            self.links += 1;
            return;
        }
        for c in word.chars() {
            self.length += if is_dense(c) { 3 } else { 1 };
            self.questions += usize::from(matches!(c, '?' | '？' | '؟' | '\u{37e}' | '⸮'));
            self.digits += usize::from(c.is_numeric() && !c.is_alphabetic());
            self.maths +=
                usize::from(matches!(c, '=' | '+' | '×' | '÷' | '√' | '∑' | '∫' | '^' | '≤' | '≥' | '≠' | '≈' | '∞'));
        }
        // The space after it.
        self.length += 1;
    }

    fn get(&self, measure: Measure) -> usize {
        match measure {
            Measure::Length => self.length,
            Measure::Lines => self.lines,
            Measure::CodeBlocks => self.code_blocks,
            Measure::CodeLines => self.code_lines,
            Measure::Links => self.links,
            Measure::Questions => self.questions,
            Measure::ListItems => self.list_items,
            Measure::Digits => self.digits,
            Measure::Maths => self.maths,
            Measure::Attachments => self.around.attachments,
            Measure::ToolCalls => self.around.tool_calls,
            Measure::Failed => usize::from(self.around.failed),
        }
    }
}

/// How much model a message of this form needs.
pub fn route(features: &MessageFeatures) -> Tier {
    let holds = |rule: &&Rule| features.get(rule.measure) >= rule.at_least;
    RULES.iter().filter(holds).map(|rule| rule.tier).max().unwrap_or(Tier::Fast)
}

/// The models of the three tiers, by label; those that are not configured are the primary one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiers<'a> {
    /// For a quick word.
    pub fast: Option<&'a str>,
    /// For most things.
    pub primary: &'a str,
    /// For hard work.
    pub smart: Option<&'a str>,
}

impl<'a> Tiers<'a> {
    pub fn model(&self, tier: Tier) -> &'a str {
        match tier {
            Tier::Fast => self.fast.unwrap_or(self.primary),
            Tier::Primary => self.primary,
            Tier::Smart => self.smart.unwrap_or(self.primary),
        }
    }

    /// Whether there is anything to choose: not when all three are the same model.
    pub fn differ(&self) -> bool {
        [Tier::Fast, Tier::Smart].iter().any(|tier| self.model(*tier) != self.primary)
    }
}

/// Whether a character says about as much as a short word does in an alphabet.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11FF | 0x2E80..=0x9FFF | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

fn is_link(word: &str) -> bool {
    let word = word.trim_start_matches(['(', '<', '[', '"']);
    ["http://", "https://", "www."].iter().any(|start| word.starts_with(start))
}

/// `- item`, `* item`, `• item`, `1. item`, `1) item`, `１．item`.
fn is_item(line: &str) -> bool {
    let after_bullet = line.strip_prefix(['-', '*', '•', '–', '·']);
    let unnumbered = line.trim_start_matches(char::is_numeric);
    let after_number =
        if unnumbered.len() < line.len() { unnumbered.strip_prefix(['.', ')', '．', '、', '）']) } else { None };
    let is_full_width = line.starts_with(|c: char| u32::from(c) > 0x2E80) || unnumbered.starts_with(['．', '、', '）']);
    after_bullet.or(after_number).is_some_and(|rest| rest.starts_with(char::is_whitespace) || is_full_width)
}

/// Ends as statements and blocks end in most programming languages, and few sentences do.
fn is_code(line: &str) -> bool {
    line.ends_with([';', '{', '}']) || line.ends_with("):") || line.ends_with("=>") || line.ends_with("->")
}

#[cfg(test)]
mod tests;
