//! Programs whose arguments decide what they do.

use super::options;
use super::paths::{self, Access};
use super::programs::{NETWORK, Operands};
use super::walk::Walk;
use super::words::{UNKNOWN, Word};
use crate::domain::tools::{Grade, Risk};

impl Walk<'_> {
    /// Looks at a program that has rules of its own; false: it has none.
    pub(super) fn special(&mut self, program: &str, arguments: &[Word], part: &str) -> bool {
        match program {
            "rm" => self.delete(arguments, part),
            "find" => self.find(arguments, part),
            "xargs" => self.xargs(arguments, part),
            "cd" | "pushd" | "chdir" => {
                self.goes_to(arguments.iter().find(|word| !word.text.starts_with('-') || word.text == "-"))
            }
            "eval" => self.text(&whole(arguments)),
            "trap" => arguments.first().into_iter().for_each(|word| self.text(&word.text)),
            "alias" => self.alias(arguments, part),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declares(arguments),
            "source" | "." => self.sourced(arguments, part),
            "dd" => self.dd(arguments, part),
            "chmod" => self.chmod(arguments, part),
            "chown" | "chgrp" => self.chown(arguments, part),
            "tar" | "bsdtar" => self.tar(arguments, part),
            "sed" => self.sed(arguments, part),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments, part),
            "curl" | "wget" => self.fetches(program, arguments, part),
            "rsync" => self.rsync(arguments, part),
            "kill" => self.kill(arguments, part),
            "shred" => self.shred(arguments, part),
            "git" => self.git(arguments, part),
            "nc" | "ncat" | "netcat" | "socat" => return self.listens(arguments, part),
            _ if program.starts_with("mkfs") => self.note(Grade::Refused, Risk::Execute, part, "wipes a disk"),
            _ => return self.interpreter(program, arguments, part),
        }
        true
    }

    fn delete(&mut self, arguments: &[Word], part: &str) {
        let sorted = options::sort("rm", arguments);
        let obscured = sorted.options.iter().any(|word| !word.is_known());
        let recursive = obscured || options::has(&sorted, &["-r", "-R", "--recursive"]);
        self.found.add(Grade::Safe, Risk::Write, String::new());
        if options::has(&sorted, &["--no-preserve-root"]) {
            self.note(Grade::Refused, Risk::Write, part, "deletes the system, a home or what Hob lives in");
        }
        for word in &sorted.operands {
            self.deleted(word, recursive, part);
        }
    }

    fn deleted(&mut self, word: &Word, recursive: bool, part: &str) {
        self.place(word, Access::Write);
        if word.text.starts_with(UNKNOWN) {
            let grade = if recursive { Grade::Critical } else { Grade::High };
            return self.note(grade, Risk::Write, part, "deletes something that is only known when it runs");
        }
        for path in self.resolved(&word.text) {
            let (folder, all) = paths::swept(&path);
            if recursive {
                let reason = paths::razed(&folder, self.grounds);
                self.note(reason.grade, Risk::Write, part, &reason.text);
            } else if all {
                self.note(Grade::High, Risk::Write, part, "deletes everything in a folder");
            } else {
                self.note(Grade::Medium, Risk::Write, part, "deletes something");
            }
        }
    }

    fn find(&mut self, arguments: &[Word], part: &str) {
        let start = arguments.iter().position(|word| !matches!(word.text.as_str(), "-H" | "-L" | "-P")).unwrap_or(0);
        let rest = arguments.get(start..).unwrap_or_default();
        let begins = |word: &Word| word.text.starts_with(['-', '(', '!']);
        let (roots, expression) = rest.split_at(rest.iter().position(begins).unwrap_or(rest.len()));
        let here = [Word::literal(".")];
        let roots = if roots.is_empty() { &here[..] } else { roots };
        roots.iter().for_each(|word| self.place(word, Access::Read));
        let mut index = 0;
        while let Some(word) = expression.get(index) {
            index += 1;
            match word.text.as_str() {
                "-delete" => self.found_and_deleted(roots, expression.len() > 1, part),
                "-fprint" | "-fprintf" | "-fprint0" | "-fls" => {
                    self.found.add(Grade::Safe, Risk::Write, String::new());
                    expression.get(index).into_iter().for_each(|word| self.place(word, Access::Write));
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let tail = expression.get(index..).unwrap_or_default();
                    let end =
                        tail.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(tail.len());
                    let asks = matches!(word.text.as_str(), "-ok" | "-okdir");
                    if asks {
                        self.note(Grade::High, Risk::Execute, part, "waits for an answer at a keyboard");
                    }
                    let inner: Vec<Word> = tail.iter().take(end).map(|word| filled(word, "{}")).collect();
                    self.argv(&inner);
                    index += end;
                }
                _ if !word.is_known() => {
                    self.note(Grade::Medium, Risk::Read, part, "has a condition that is only known when it runs")
                }
                _ => {}
            }
        }
    }

    fn found_and_deleted(&mut self, roots: &[Word], chosen: bool, part: &str) {
        for root in roots {
            if root.text.starts_with(UNKNOWN) {
                self.note(Grade::Critical, Risk::Write, part, "deletes something that is only known when it runs");
                continue;
            }
            for path in self.resolved(&root.text) {
                let reason = paths::razed(&paths::swept(&path).0, self.grounds);
                let own = paths::is_own(&path, self.grounds);
                let grade = if own && chosen { Grade::High } else { reason.grade };
                self.note(grade, Risk::Write, part, "deletes whatever it finds");
            }
        }
    }

    fn xargs(&mut self, arguments: &[Word], part: &str) {
        const VALUED: &[&str] =
            &["-n", "-I", "-L", "-P", "-d", "-s", "-a", "-E", "--max-args", "--max-procs", "--delimiter", "--arg-file"];
        let mut index = 0;
        let mut replaced = None;
        while let Some(word) = arguments.get(index).filter(|word| word.text.starts_with('-')) {
            let value = VALUED.iter().find_map(|name| options::matching(name, &word.text).map(|value| (*name, value)));
            index += 1;
            let Some((name, value)) = value else { continue };
            let next = arguments.get(index).map_or("", |word| word.text.as_str());
            let mark = if value.is_empty() { next } else { value };
            if name == "-I" {
                replaced = Some(mark.to_owned());
            }
            index += usize::from(value.is_empty());
        }
        let Some(inner) = arguments.get(index..).filter(|inner| !inner.is_empty()) else { return };
        let mut inner: Vec<Word> = match &replaced {
            Some(mark) => inner.iter().map(|word| filled(word, mark)).collect(),
            None => inner.to_vec(),
        };
        if replaced.is_none() {
            inner.push(Word::unknown());
        }
        if !inner.iter().any(|word| !word.is_known()) {
            self.note(Grade::Medium, Risk::Read, part, "runs a command again and again");
        }
        self.argv(&inner);
    }

    fn alias(&mut self, arguments: &[Word], part: &str) {
        for (_, command) in arguments.iter().filter_map(|word| word.text.split_once('=')) {
            self.note(Grade::High, Risk::Execute, part, "changes what a name runs");
            self.text(command);
        }
    }

    fn declares(&mut self, arguments: &[Word]) {
        for word in arguments {
            if !word.is_known() && !word.text.contains('=') {
                self.note(Grade::Medium, Risk::Execute, &word.text, "sets a variable that is only known when it runs");
            }
            if let Some((name, value)) = word.text.split_once('=') {
                self.changes_variable(name.trim_end_matches('+'), value, false);
            }
        }
    }

    fn sourced(&mut self, arguments: &[Word], part: &str) {
        self.note(Grade::Safe, Risk::Execute, part, "");
        if let Some(word) = arguments.first() {
            self.place(word, Access::Run);
            if matches!(word.text.as_str(), "-" | "/dev/stdin") || word.text.starts_with("/dev/fd/") {
                self.note(Grade::High, Risk::Execute, part, "runs what it is handed");
            }
        }
    }

    fn dd(&mut self, arguments: &[Word], part: &str) {
        self.found.add(Grade::Safe, Risk::Write, String::new());
        for word in arguments {
            match word.text.split_once('=') {
                Some(("of", path)) => self.place(&Word::literal(path), Access::Write),
                Some(("if", path)) => self.place(&Word::literal(path), Access::Read),
                Some(_) => {}
                None => self.note(Grade::High, Risk::Execute, part, "copies raw data in a way that is not known here"),
            }
        }
    }

    fn chmod(&mut self, arguments: &[Word], part: &str) {
        self.found.add(Grade::Safe, Risk::Write, String::new());
        let recursive = arguments.iter().any(|word| {
            matches!(word.text.as_str(), "-R" | "-Rf" | "-fR" | "-vR" | "-Rv") || word.text.starts_with("--rec")
        });
        let modes = arguments.iter().map(|word| word.text.as_str());
        let digits = |mode: &str| !mode.is_empty() && mode.chars().all(|c| c.is_ascii_digit());
        let open = modes.clone().any(|mode| {
            (digits(mode) && mode.ends_with(['2', '3', '6', '7']))
                || (mode.contains("+w") || mode.contains("=w") || mode.contains("rw"))
                    && mode.starts_with(['a', 'o', 'u'])
                    && mode.contains(['a', 'o'])
        });
        let other_user = modes.clone().any(|mode| {
            (digits(mode) && mode.len() == 4 && !mode.starts_with('0')) || mode.ends_with("+s") || mode.contains("=s")
        });
        let grade = match (recursive, open) {
            _ if other_user => Grade::Critical,
            (true, true) => Grade::Critical,
            (true, false) | (false, true) => Grade::High,
            (false, false) => Grade::Safe,
        };
        self.note(grade, Risk::Write, part, "changes who may use files");
        let operands = arguments.iter().filter(|word| !word.text.starts_with('-')).skip(1);
        operands.for_each(|word| self.place(word, Access::Write));
    }

    fn chown(&mut self, arguments: &[Word], part: &str) {
        self.note(Grade::High, Risk::Write, part, "changes whose files these are");
        for word in arguments.iter().filter(|word| !word.text.starts_with('-')).skip(1) {
            self.place(word, Access::Write);
            if self.resolved(&word.text).iter().any(|path| !paths::is_own(path, self.grounds)) {
                self.note(Grade::Critical, Risk::Write, part, "changes whose files these are, outside the workspace");
            }
        }
    }

    fn tar(&mut self, arguments: &[Word], part: &str) {
        let sorted = options::sort("tar", arguments);
        self.options("tar", &sorted, part);
        let bundled =
            arguments.first().filter(|word| !word.text.starts_with('-')).map_or("", |word| word.text.as_str());
        let mode = |letter: char, long: &str| {
            bundled.contains(letter)
                || options::has(&sorted, &[long])
                || options::has(&sorted, &[&format!("-{letter}")])
        };
        let lists = mode('t', "--list") && !mode('x', "--extract") && !mode('c', "--create");
        let access = if lists || mode('x', "--extract") { Access::Read } else { Access::Write };
        if !lists {
            self.found.add(Grade::Safe, Risk::Write, String::new());
        }
        let skip = usize::from(!bundled.is_empty());
        // The archive comes first; what follows is packed, or chosen from it.
        for (index, word) in sorted.operands.iter().skip(skip).enumerate() {
            self.place(word, if index == 0 { access } else { Access::Read });
        }
    }

    fn sed(&mut self, arguments: &[Word], part: &str) {
        let sorted = options::sort("sed", arguments);
        self.options("sed", &sorted, part);
        let mut scripts = Vec::new();
        let mut given = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = ["-e", "--expression", "-f", "--file"]
                .iter()
                .find_map(|name| options::matching(name, &word.text).map(|value| (*name, value.to_owned())));
            let Some((name, value)) = value.filter(|_| word.text.starts_with('-')) else { continue };
            let value =
                if value.is_empty() { words.next().map_or(String::new(), |next| next.text.clone()) } else { value };
            given = true;
            match name {
                "-f" | "--file" => self.place(&Word::literal(&value), Access::Read),
                _ => scripts.push(value),
            }
        }
        let skip = if given { 0 } else { 1 };
        scripts.extend(sorted.operands.iter().take(skip).map(|word| word.text.clone()));
        for script in &scripts {
            self.sed_script(script, part);
        }
        sorted.operands.iter().skip(skip).for_each(|word| self.place(word, Access::Read));
    }

    fn sed_script(&mut self, script: &str, part: &str) {
        if script.contains(UNKNOWN) {
            self.note(Grade::Medium, Risk::Read, part, "has a script that is only known when it runs");
        }
        let (runs, writes) = super::interpreters::sed_does(script);
        if runs {
            self.note(Grade::High, Risk::Execute, part, "runs commands from its script");
        }
        if writes {
            self.note(Grade::High, Risk::Write, part, "writes files from its script");
        }
    }

    fn awk(&mut self, arguments: &[Word], part: &str) {
        let sorted = options::sort("awk", arguments);
        let file = arguments.iter().any(|word| word.text.starts_with("-f") || word.text.starts_with("--file"));
        let valued = arguments.iter().filter(|word| matches!(word.text.as_str(), "-v" | "-F" | "-f")).count();
        let operands: Vec<Word> = sorted.operands.iter().skip(valued).cloned().collect();
        if file {
            self.note(Grade::Safe, Risk::Execute, part, "");
            return self.operands(Operands::Read, &sorted);
        }
        let program = operands.first().map_or("", |word| word.text.as_str());
        self.awk_program(program, part);
        // Where it is not sure which word the program is, all of them are looked at as one.
        sorted.operands.iter().take(valued + 1).for_each(|word| self.awk_program(&word.text, part));
        operands.iter().skip(1).for_each(|word| self.place(word, Access::Read));
        if arguments.iter().any(|word| word.text == "inplace") {
            self.found.add(Grade::Safe, Risk::Write, String::new());
            operands.iter().skip(1).for_each(|word| self.place(word, Access::Write));
        }
    }

    fn awk_program(&mut self, program: &str, part: &str) {
        let close = program.replace([' ', '\t', '\n'], "");
        let pipes = close.contains("|\"")
            || close.contains("|getline")
            || close.contains("|&")
            || close.replace("||", "").contains('|') && close.contains("print");
        if close.contains("system(") || pipes || close.contains("@load") {
            self.note(Grade::High, Risk::Execute, part, "runs commands from its program");
        }
        if close.contains("print") && close.contains('>') && (close.contains(">\"") || close.contains(">>")) {
            self.note(Grade::High, Risk::Write, part, "writes files from its program");
        }
        if close.contains("/inet/") {
            self.note(Grade::High, Risk::Send, part, "talks to another machine directly");
        }
        if program.contains(UNKNOWN) {
            self.note(Grade::Medium, Risk::Read, part, "has a program that is only known when it runs");
        }
    }

    fn fetches(&mut self, program: &str, arguments: &[Word], part: &str) {
        let asks = arguments.iter().all(|word| matches!(word.text.as_str(), "--version" | "--help" | "-V"));
        if asks && !arguments.is_empty() {
            return;
        }
        let grade = if self.grounds.network { Grade::Safe } else { Grade::Medium };
        self.note(grade, Risk::Send, part, NETWORK);
        let sorted = options::sort(program, arguments);
        self.options(program, &sorted, part);
        let changes = arguments.iter().any(|word| {
            matches!(word.text.as_str(), "DELETE" | "PUT" | "POST" | "PATCH")
                || ["-XDELETE", "-XPUT", "-XPOST", "-XPATCH", "--post-data", "--method"]
                    .iter()
                    .any(|start| word.text.starts_with(start))
        });
        if changes {
            self.note(Grade::Medium, Risk::Send, part, "changes something elsewhere");
        }
        self.operands(Operands::Words, &sorted);
    }

    fn rsync(&mut self, arguments: &[Word], part: &str) {
        let sorted = options::sort("rsync", arguments);
        self.found.add(Grade::Safe, Risk::Write, String::new());
        self.options("rsync", &sorted, part);
        if sorted.operands.iter().any(|word| word.text.contains(':')) {
            self.note(Grade::High, Risk::Send, part, "talks to other machines or services");
        }
        self.operands(Operands::LastWritten, &sorted);
    }

    fn kill(&mut self, arguments: &[Word], part: &str) {
        let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        let targets = words
            .iter()
            .enumerate()
            .filter(|(index, word)| *index > 0 || !word.starts_with('-'))
            .map(|(_, word)| *word);
        let grade = match words.first() {
            Some(&"-l" | &"-L") => Grade::Safe,
            _ if targets.clone().any(|word| matches!(word, "-1" | "1" | "0")) => Grade::Critical,
            _ if targets.clone().all(|word| word.starts_with('%')) => Grade::Medium,
            _ => Grade::High,
        };
        self.note(grade, Risk::Execute, part, "stops other programs");
    }

    fn shred(&mut self, arguments: &[Word], part: &str) {
        self.note(Grade::High, Risk::Write, part, "deletes a file for good");
        self.operands(Operands::Written, &options::sort("shred", arguments));
    }

    /// Only what is worse than talking is found here; the table says the rest.
    fn listens(&mut self, arguments: &[Word], part: &str) -> bool {
        let shell = arguments.iter().any(|word| {
            let word = word.text.to_ascii_uppercase();
            word.starts_with("EXEC:") || word.starts_with("SYSTEM:") || word.starts_with("SHELL:")
        });
        if shell {
            self.note(Grade::Refused, Risk::Send, part, "hands a shell to another machine");
        }
        false
    }
}

/// All words in one text, as `eval` makes it.
fn whole(arguments: &[Word]) -> String {
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// A word in which a mark stands for what is only known later.
fn filled(word: &Word, mark: &str) -> Word {
    if mark.is_empty() {
        word.clone()
    } else {
        Word { text: word.text.replace(mark, &UNKNOWN.to_string()), ..word.clone() }
    }
}
