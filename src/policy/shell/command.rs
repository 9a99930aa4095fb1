//! One command: its name, its options and its operands, held against the tables.

use std::path::Path;

use super::options::{self, Means, Met, Sorted};
use super::paths::{self, Access};
use super::programs::{self, Group, NETWORK, Operands};
use super::text::looks_like_another;
use super::walk::{Stdin, Walk};
use super::words::{UNKNOWN, Word};
use super::wrappers::{self, Wrapper};
use crate::domain::tools::{Grade, Risk};

/// Where the system keeps its programs: there a name is what it says.
const SYSTEM: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];

/// Variables that decide what is run, and how a command is read.
const STEERING: &[&str] = &[
    "PATH",
    "IFS",
    "BASH_ENV",
    "ENV",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "SHELL",
    "HOME",
    "PWD",
    "OLDPWD",
    "CDPATH",
    "GLOBIGNORE",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "NODE_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_COUNT",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "SSH_ASKPASS",
    "LESSOPEN",
    "LESSCLOSE",
    "TAR_OPTIONS",
    "MAKEFLAGS",
    "JAVA_TOOL_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC",
    "DOCKER_HOST",
    "BROWSER",
    "POSIXLY_CORRECT",
    "PYTHONINSPECT",
    "RIPGREP_CONFIG_PATH",
];

/// Variables that name a program; some are harmless.
const SHOWING: &[&str] = &["PAGER", "GIT_PAGER", "MANPAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];

impl Walk<'_> {
    /// What a command with these words does.
    pub(super) fn run(&mut self, argv: &[Word]) {
        let Some((name, arguments)) = argv.split_first() else { return };
        let part = joined(argv);
        if !name.is_known() || name.wild {
            return self.note(Grade::High, Risk::Execute, &part, "runs a program that is only known when it runs");
        }
        if name.odd {
            self.note(Grade::High, Risk::Read, &part, "spells the program's name so that it cannot be read");
        }
        if !name.text.is_ascii() || looks_like_another(&name.text) {
            self.note(Grade::High, Risk::Execute, &part, "names a program with letters that look like others");
        }
        for word in arguments.iter().filter(|word| looks_like_another(&word.text)) {
            self.note(Grade::High, Risk::Read, &word.text, "is spelt with letters that look like others");
        }
        let Some(program) = self.program(&name.text) else {
            self.note(Grade::Safe, Risk::Execute, &part, "");
            return self.operands(Operands::Any, &options::sort(&name.text, arguments));
        };
        self.named(&program, arguments, &part);
    }

    /// The name by which the tables know a program; none: it is a file of somebody's own, which is looked at here.
    fn program(&mut self, name: &str) -> Option<String> {
        let Some((folder, last)) = name.rsplit_once('/') else {
            return Some(name.to_owned());
        };
        let system = SYSTEM.contains(&folder);
        if !system {
            self.place(&Word::literal(name), Access::Run);
            let own = self.resolved(name).iter().all(|path| paths::is_own(path, self.grounds));
            if !own {
                self.note(Grade::High, Risk::Execute, name, "runs a program from outside the workspace");
            }
        }
        system.then(|| last.to_owned())
    }

    fn named(&mut self, program: &str, arguments: &[Word], part: &str) {
        if self.functions.contains(program) {
            return;
        }
        if let Some(wrapper) = wrappers::find(program) {
            return self.wrapped(wrapper, arguments, part);
        }
        if self.special(program, arguments, part) {
            return;
        }
        let sorted = options::sort(program, arguments);
        let only = arguments.first().filter(|_| arguments.len() == 1).map(|word| word.text.as_str());
        let asks = only.is_some_and(|word| matches!(word, "--version" | "--help"));
        let verb = arguments.iter().find(|word| !word.text.starts_with('+')).map_or("", |word| word.text.as_str());
        if let Some(task) = programs::task_of(program, verb) {
            if !asks {
                self.note(task.grade, task.risk, part, task.why);
                self.options(program, &sorted, part);
                self.operands(Operands::Any, &sorted);
            }
            return;
        }
        let Some(group) = programs::find(program) else {
            self.note(Grade::Medium, Risk::Execute, part, "is a program that is not known here");
            return self.operands(Operands::Any, &sorted);
        };
        self.grouped(program, group, &sorted, part);
    }

    fn grouped(&mut self, program: &str, group: &Group, sorted: &Sorted, part: &str) {
        let network = group.why == NETWORK && self.grounds.network;
        let grade = if network { Grade::Safe } else { group.grade };
        self.note(grade, group.risk, part, group.why);
        self.options(program, sorted, part);
        self.operands(group.operands, &without_pattern(group.operands, sorted));
    }

    /// What options add to it.
    pub(super) fn options(&mut self, program: &str, sorted: &Sorted, part: &str) {
        for Met { name, means, value } in &sorted.met {
            match (means, value) {
                (Means::Written, Some(value)) => {
                    self.found.add(Grade::Safe, Risk::Write, String::new());
                    if value.text != "-" {
                        self.place(value, Access::Write);
                    }
                }
                (Means::Command, Some(value)) => {
                    self.note(Grade::High, Risk::Execute, part, &format!("runs a command by its option {name}"));
                    self.text(&value.text);
                }
                (Means::Upload, Some(value)) => self.upload(name, value, part),
                (Means::InPlace, _) => {
                    self.found.add(Grade::Safe, Risk::Write, String::new());
                    sorted.operands.iter().for_each(|word| self.place(word, Access::Write));
                }
                (Means::Is(risk, grade, why), _) => self.note(*grade, *risk, part, why),
                (Means::Pattern, Some(value)) if matches!(*name, "-f" | "--file" | "--from-file") => {
                    self.place(value, Access::Read);
                }
                (Means::Value | Means::Pattern | Means::Written | Means::Command | Means::Upload, _) => {}
            }
        }
        if !matches!(program, "echo" | "printf" | "test" | "[") {
            self.hidden_values(sorted);
        }
    }

    fn upload(&mut self, name: &str, value: &Word, part: &str) {
        let file = value.text.contains('@') || !value.is_known() || matches!(name, "-T" | "--upload-file");
        let file = file || self.stdin != Stdin::Closed;
        if file {
            self.note(Grade::High, Risk::Send, part, "sends what is in a file to another machine");
        } else {
            self.note(Grade::Medium, Risk::Send, part, "sends data to another machine");
        }
        if let Some((_, path)) = value.text.split_once('@') {
            self.place(&Word::literal(path), Access::Read);
        }
    }

    /// Places within options: `--file=/etc/shadow`, `-I/usr/include`.
    fn hidden_values(&mut self, sorted: &Sorted) {
        for word in &sorted.options {
            let value = word.text.split_once('=').map(|(_, value)| value).or_else(|| {
                let at = word.text.find(['/', UNKNOWN])?;
                word.text.get(at..)
            });
            if let Some(value) = value.filter(|value| value.starts_with('/') || value.contains("..")) {
                self.place(&Word::literal(value), Access::Read);
            }
        }
    }

    /// What the places mean that it is given.
    pub(super) fn operands(&mut self, operands: Operands, sorted: &Sorted) {
        let words = &sorted.operands;
        match operands {
            Operands::Words => {}
            Operands::Read | Operands::PatternThenRead => words.iter().for_each(|word| self.place(word, Access::Read)),
            Operands::Written => words.iter().for_each(|word| self.place(word, Access::Write)),
            Operands::LastWritten => {
                let elsewhere = sorted.met.iter().any(|met| met.name == "-t" || met.name == "--target-directory");
                let split = if elsewhere { words.len() } else { words.len().saturating_sub(1) };
                let (from, to) = words.split_at(split);
                from.iter().for_each(|word| self.place(word, Access::Read));
                to.iter().for_each(|word| self.place(word, Access::Write));
            }
            Operands::Any => {
                for word in words {
                    let value = word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value);
                    let path =
                        value.contains('/') || value.starts_with('.') || paths::secret(Path::new(value)).is_some();
                    let path = path && !value.contains("://") && !value.starts_with(UNKNOWN);
                    if path {
                        self.place(&Word::literal(value), Access::Run);
                    }
                }
            }
        }
        for word in words.iter().filter(|word| word.text.starts_with("file:")) {
            let path = word.text.trim_start_matches("file:").trim_start_matches("//");
            self.place(&Word::literal(path), Access::Read);
        }
    }

    /// A variable is set.
    pub(super) fn changes_variable(&mut self, name: &str, value: &str, reads_line: bool) {
        let steering = STEERING.contains(&name)
            || name.starts_with("LD_")
            || name.starts_with("DYLD_")
            || name.starts_with("BASH_FUNC");
        let steering = steering && !(reads_line && name == "IFS");
        let shown = matches!(value, "" | "cat" | "less" | "more" | "true" | ":");
        if steering || (SHOWING.contains(&name) && !shown) {
            self.note(Grade::High, Risk::Execute, &format!("{name}={value}"), "changes what programs are run, or how");
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, arguments: &[Word], part: &str) {
        self.note(
            wrapper.grade,
            if wrapper.grade > Grade::Safe { Risk::Execute } else { Risk::Read },
            part,
            wrapper.why,
        );
        let mut own = wrapper.own;
        let mut index = 0;
        let mut looks = false;
        while let Some(word) = arguments.get(index) {
            let text = word.text.as_str();
            if text == "--" {
                index += 1;
                break;
            }
            if let Some(value) = options::matching("-S", text).or_else(|| options::matching("--split-string", text))
                && wrapper.name == "env"
            {
                let value = if value.is_empty() {
                    arguments.get(index + 1).map_or("", |next| next.text.as_str())
                } else {
                    value
                };
                return self.text(value);
            }
            looks |= wrapper.name == "command" && matches!(text, "-v" | "-V");
            if text.starts_with('-') {
                let valued = wrapper.valued.iter().any(|name| options::matching(name, text) == Some(""));
                index += 1 + usize::from(valued && !text.contains('='));
            } else if let Some((name, value)) =
                text.split_once('=').filter(|_| matches!(wrapper.name, "env" | "sudo" | "doas"))
            {
                self.changes_variable(name, value, false);
                index += 1;
            } else if own > 0 {
                own -= 1;
                index += 1;
            } else {
                break;
            }
        }
        if !looks {
            // `exec 5<file` and `env` alone run nothing.
            self.argv(arguments.get(index..).unwrap_or_default());
        }
    }
}

/// The operands without the expression that comes first.
fn without_pattern(operands: Operands, sorted: &Sorted) -> Sorted {
    let skip = operands == Operands::PatternThenRead && !sorted.met.iter().any(|met| met.means == Means::Pattern);
    Sorted { operands: sorted.operands.iter().skip(usize::from(skip)).cloned().collect(), ..Sorted::default() }
}

/// Words in a row, for people.
pub(super) fn joined(argv: &[Word]) -> String {
    let words: Vec<&str> = argv.iter().take(12).map(|word| word.text.as_str()).collect();
    words.join(" ")
}
