//! The walk over a command's tree: every part that would be run is looked at, wherever it stands.

use std::collections::BTreeSet;
use std::path::PathBuf;

use brush_parser::ast;

use super::findings::Findings;
use super::syntax;
use super::text::quoted;
use super::words::{self, Reading, Surroundings, Word};
use super::{Grounds, Verdict};
use crate::domain::tools::{Grade, Risk};

/// How deep commands may stand within commands.
const DEPTH_MAX: usize = 10;
/// How many commands may run one another by their arguments.
const WRAPPED_MAX: usize = 24;
/// How many commands are looked at.
const STEPS_MAX: usize = 4_000;
/// How much text is parsed, what is parsed again included.
const BYTES_MAX: usize = 256 * 1024;

/// What a command is handed to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Stdin {
    /// Nothing.
    #[default]
    Closed,
    /// Text that stands in the command itself.
    Literal(String),
    /// What another command prints; that may be known.
    Piped(Option<String>),
    /// A file.
    File,
}

/// The walk.
pub(super) struct Walk<'a> {
    pub(super) grounds: &'a Grounds,
    pub(super) found: Findings,
    /// The folders that the next part may be in.
    pub(super) folders: Vec<PathBuf>,
    /// It may be in yet another one.
    pub(super) astray: bool,
    pub(super) functions: BTreeSet<String>,
    pub(super) stdin: Stdin,
    within: Vec<String>,
    loops: usize,
    depth: usize,
    wrapped: usize,
    steps: usize,
    bytes: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(grounds: &'a Grounds) -> Self {
        Self {
            grounds,
            found: Findings::default(),
            folders: vec![grounds.cwd.clone()],
            astray: false,
            functions: BTreeSet::new(),
            stdin: Stdin::Closed,
            within: Vec::new(),
            loops: 0,
            depth: 0,
            wrapped: 0,
            steps: 0,
            bytes: 0,
        }
    }

    pub(super) fn into_verdict(self) -> Verdict {
        self.found.into_verdict()
    }

    /// Something was found about a part.
    pub(super) fn note(&mut self, grade: Grade, risk: Risk, part: &str, why: &str) {
        self.found.add(grade, risk, format!("{} {why}", quoted(part)));
    }

    fn refuse(&mut self, why: &str) {
        self.found.add(Grade::Refused, Risk::Execute, why.to_owned());
    }

    /// A text that would be run.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes += text.len();
        if self.depth >= DEPTH_MAX || self.bytes > BYTES_MAX {
            return self.refuse(&syntax::Unreadable::Deep.to_string());
        }
        self.depth += 1;
        match syntax::program(text) {
            Ok(program) => program.complete_commands.iter().for_each(|list| self.list(list)),
            Err(error) => self.refuse(&error.to_string()),
        }
        self.depth -= 1;
    }

    /// A command with its words.
    pub(super) fn argv(&mut self, argv: &[Word]) {
        if self.wrapped >= WRAPPED_MAX {
            return self.refuse(&syntax::Unreadable::Deep.to_string());
        }
        self.wrapped += 1;
        self.run(argv);
        self.wrapped -= 1;
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(item, separator) in &list.0 {
            let beside = matches!(separator, ast::SeparatorOperator::Async);
            if beside {
                let (grade, why) = match self.loops {
                    0 => (Grade::Medium, "is left running in the background"),
                    _ => (Grade::High, "is started in the background again and again"),
                };
                self.note(grade, Risk::Execute, &item.to_string(), why);
            }
            for (_, pipeline) in item {
                self.pipeline(pipeline, beside);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, beside: bool) {
        let outer = self.stdin.clone();
        for (index, command) in pipeline.seq.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).and_then(|before| pipeline.seq.get(before)) {
                self.stdin = Stdin::Piped(self.printed(before));
            }
            if (beside || pipeline.seq.len() > 1) && self.calls_itself(command) {
                self.note(Grade::Refused, Risk::Execute, &pipeline.to_string(), "starts itself again without end");
            }
            self.command(command);
        }
        self.stdin = outer;
    }

    /// Does a function start itself here?
    fn calls_itself(&self, command: &ast::Command) -> bool {
        let ast::Command::Simple(simple) = command else { return false };
        simple.word_or_name.as_ref().is_some_and(|word| self.within.contains(&word.value) || word.value == "$0")
    }

    /// What a command is known to print.
    fn printed(&self, command: &ast::Command) -> Option<String> {
        let ast::Command::Simple(simple) = command else { return None };
        if !matches!(simple.word_or_name.as_ref()?.value.as_str(), "echo" | "printf") {
            return None;
        }
        let mut printed = Vec::new();
        for item in &simple.suffix.as_ref()?.0 {
            if let ast::CommandPrefixOrSuffixItem::Word(word) = item {
                let reading = words::read(&word.value, &self.around()).ok()?;
                printed.extend(reading.words.into_iter().map(|word| word.text));
            }
        }
        if printed.first().is_some_and(|first| first.starts_with('-')) {
            printed.remove(0);
        }
        Some(printed.join(" ").replace("\\n", "\n"))
    }

    pub(super) fn around(&self) -> Surroundings<'_> {
        let cwd =
            (self.folders.len() == 1 && !self.astray).then(|| self.folders.first().map(PathBuf::as_path)).flatten();
        Surroundings { home: self.grounds.home.as_deref(), cwd }
    }

    fn command(&mut self, command: &ast::Command) {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return self.refuse("It has more parts than can be looked through");
        }
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                let outer = self.stdin.clone();
                self.redirects(redirects.as_ref(), &[]);
                self.compound(compound);
                self.stdin = outer;
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref(), &[]);
                self.test(&test.expr);
            }
        }
    }

    fn function(&mut self, function: &ast::FunctionDefinition) {
        let name = function.fname.value.clone();
        self.within.push(name.clone());
        self.redirects(function.body.1.as_ref(), &[]);
        self.compound(&function.body.0);
        self.within.pop();
        self.functions.insert(name);
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(sum) => self.sum(&sum.expr),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let sums = [&clause.initializer, &clause.condition, &clause.updater];
                sums.into_iter().flatten().for_each(|sum| self.sum(sum));
                self.repeated(&clause.body.list);
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(shell) => self.aside(&shell.list),
            ast::CompoundCommand::ForClause(clause) => {
                self.changes_variable(&clause.variable_name, "", false);
                clause.values.iter().flatten().for_each(|word| drop(self.read(word)));
                self.repeated(&clause.body.list);
            }
            ast::CompoundCommand::CaseClause(clause) => {
                self.read(&clause.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|word| drop(self.read(word)));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.repeated(&clause.0);
                self.repeated(&clause.1.list);
            }
            ast::CompoundCommand::Coprocess(process) => {
                self.note(Grade::Medium, Risk::Execute, "coproc", "is left running in the background");
                self.command(&process.body);
            }
        }
    }

    fn repeated(&mut self, list: &ast::CompoundList) {
        self.loops += 1;
        self.list(list);
        self.loops -= 1;
    }

    /// A shell of its own: where it goes does not matter to what follows.
    pub(super) fn aside(&mut self, list: &ast::CompoundList) {
        let (folders, astray) = (self.folders.clone(), self.astray);
        self.list(list);
        (self.folders, self.astray) = (folders, astray);
    }

    fn sum(&mut self, sum: &ast::UnexpandedArithmeticExpr) {
        self.read(&ast::Word::new(&sum.value));
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) {
        match test {
            ast::ExtendedTestExpr::And(one, other) | ast::ExtendedTestExpr::Or(one, other) => {
                self.test(one);
                self.test(other);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => drop(self.read(word)),
            ast::ExtendedTestExpr::BinaryTest(_, one, other) => {
                self.read(one);
                self.read(other);
            }
        }
    }

    /// The words that one becomes; what is run to find them out is looked at.
    pub(super) fn read(&mut self, word: &ast::Word) -> Vec<Word> {
        let reading = words::read(&word.value, &self.around());
        self.taken(reading, &word.value)
    }

    pub(super) fn taken(&mut self, reading: Result<Reading, syntax::Unreadable>, raw: &str) -> Vec<Word> {
        let reading = match reading {
            Ok(reading) => reading,
            Err(error) => {
                self.refuse(&format!("{}: {error}", quoted(raw)));
                return vec![Word::unknown()];
            }
        };
        if reading.reads_commands {
            self.note(Grade::High, Risk::Execute, raw, "runs what a variable holds");
        }
        for command in &reading.commands {
            self.substituted(command);
        }
        reading.words
    }

    fn substituted(&mut self, command: &str) {
        let (folders, astray) = (self.folders.clone(), self.astray);
        self.text(command);
        (self.folders, self.astray) = (folders, astray);
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let outer = self.stdin.clone();
        let mut argv = simple.word_or_name.as_ref().map(|word| self.read(word)).unwrap_or_default();
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut redirects = Vec::new();
        for item in suffix {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                ast::CommandPrefixOrSuffixItem::Word(word)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    argv.extend(self.read(word));
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                    self.aside(&shell.list);
                    argv.push(Word::unknown());
                }
            }
        }
        let reads_line =
            argv.first().is_some_and(|word| matches!(word.text.as_str(), "read" | "mapfile" | "readarray"));
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    self.assignment(assignment, reads_line)
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => self.aside(&shell.list),
                ast::CommandPrefixOrSuffixItem::Word(word) => drop(self.read(word)),
            }
        }
        for redirect in redirects {
            self.redirect(redirect, &argv);
        }
        if !argv.is_empty() {
            self.argv(&argv);
        }
        self.stdin = outer;
    }

    fn assignment(&mut self, assignment: &ast::Assignment, reads_line: bool) {
        let name = match &assignment.name {
            ast::AssignmentName::VariableName(name) => name,
            ast::AssignmentName::ArrayElementName(name, index) => {
                self.read(&ast::Word::new(index));
                name
            }
        };
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => self.read(word),
            ast::AssignmentValue::Array(items) => items
                .iter()
                .flat_map(|(key, value)| key.iter().chain([value]))
                .flat_map(|word| self.read(word))
                .collect(),
        };
        let value: Vec<&str> = value.iter().map(|word| word.text.as_str()).collect();
        self.changes_variable(name, &value.join(" "), reads_line);
    }
}
