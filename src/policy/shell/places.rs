//! The places that a command names: where it reads and writes, and where it goes.

use std::path::{Path, PathBuf};

use brush_parser::ast;

use super::paths::{self, Access};
use super::text::looks_like_another;
use super::walk::{Stdin, Walk};
use super::words::{self, UNKNOWN, Word};
use crate::domain::tools::{Grade, Risk};

/// How many folders a command may be in when it comes to its next part.
const FOLDERS_MAX: usize = 8;

impl Walk<'_> {
    pub(super) fn redirects(&mut self, redirects: Option<&ast::RedirectList>, argv: &[Word]) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect, argv));
    }

    pub(super) fn redirect(&mut self, redirect: &ast::IoRedirect, argv: &[Word]) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.redirect_file(kind, target, argv),
            ast::IoRedirect::OutputAndError(word, _) => self.written(word, argv),
            ast::IoRedirect::HereString(_, word) => {
                let text = self.read(word).into_iter().map(|word| word.text).collect();
                self.stdin = Stdin::Literal(text);
            }
            ast::IoRedirect::HereDocument(_, document) => {
                let text = if document.requires_expansion {
                    let reading = words::read_heredoc(&document.doc.value, &self.around());
                    self.taken(reading, "<<").into_iter().map(|word| word.text).collect()
                } else {
                    document.doc.value.clone()
                };
                self.stdin = Stdin::Literal(text);
            }
        }
    }

    fn redirect_file(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget, argv: &[Word]) {
        use ast::IoFileRedirectKind::{Append, Clobber, DuplicateInput, DuplicateOutput, Read, ReadAndWrite, Write};
        match target {
            ast::IoFileRedirectTarget::Fd(_) => {}
            ast::IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                self.aside(&shell.list);
                if matches!(kind, Read) {
                    self.stdin = Stdin::Piped(None);
                }
            }
            ast::IoFileRedirectTarget::Duplicate(word) | ast::IoFileRedirectTarget::Filename(word) => match kind {
                Read => {
                    self.stdin = Stdin::File;
                    for word in self.read(word) {
                        self.network_device(&word, argv);
                        self.place(&word, Access::Read);
                    }
                }
                DuplicateInput | DuplicateOutput if is_descriptor(&word.value) => {}
                Write | Append | ReadAndWrite | Clobber | DuplicateInput | DuplicateOutput => self.written(word, argv),
            },
        }
    }

    fn written(&mut self, word: &ast::Word, argv: &[Word]) {
        for word in self.read(word) {
            self.network_device(&word, argv);
            if !matches!(word.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") {
                self.found.add(Grade::Safe, Risk::Write, String::new());
                self.place(&word, Access::Write);
                if argv.is_empty() {
                    self.note(Grade::Medium, Risk::Write, &word.text, "is emptied");
                }
            }
        }
    }

    fn network_device(&mut self, word: &Word, argv: &[Word]) {
        if !["/dev/tcp", "/dev/udp"].iter().any(|device| word.text.starts_with(device)) {
            return;
        }
        let shell = |word: &Word| word.text == "exec" || super::interpreters::is_shell(&word.text);
        let (grade, why) = if argv.iter().any(shell) {
            (Grade::Refused, "hands a shell to another machine")
        } else {
            (Grade::Critical, "talks to another machine directly")
        };
        self.note(grade, Risk::Send, &word.text, why);
    }

    /// A place that a word names.
    pub(super) fn place(&mut self, word: &Word, access: Access) {
        if looks_like_another(&word.text) {
            self.note(Grade::High, Risk::Read, &word.text, "is spelt with letters that look like others");
        }
        if word.text.starts_with(UNKNOWN) {
            if let Some(reason) = paths::secret(Path::new(&word.text)) {
                self.note(reason.grade, Risk::Read, &word.text, &reason.text);
            }
            let why = "is a place that is only known when it runs";
            match access {
                Access::Read => {}
                Access::Write => self.note(Grade::Medium, Risk::Write, &word.text, why),
                Access::Run => self.note(Grade::High, Risk::Execute, &word.text, why),
            }
            return;
        }
        if self.astray && !word.text.starts_with('/') && access != Access::Read {
            self.note(Grade::Medium, Risk::Write, &word.text, "is a place that is only known when it runs");
        }
        for path in self.resolved(&word.text) {
            if let Some(reason) = paths::judge(&path, access, self.grounds) {
                self.note(reason.grade, Risk::Read, &word.text, &reason.text);
            }
            if word.is_known() {
                self.found.names(path);
            }
        }
    }

    /// The places that a text may name.
    pub(super) fn resolved(&self, text: &str) -> Vec<PathBuf> {
        let count = if text.starts_with('/') { 1 } else { self.folders.len() };
        self.folders.iter().take(count).map(|folder| paths::plain(folder, text)).collect()
    }

    /// It goes to another folder, if that is there.
    pub(super) fn goes_to(&mut self, word: Option<&Word>) {
        let home = self.grounds.home.as_ref().map(|home| home.display().to_string());
        let to = match word {
            Some(word) => Some(word.text.clone()),
            None => home,
        };
        let known = to.filter(|to| !to.contains(UNKNOWN) && to != "-" && self.folders.len() < FOLDERS_MAX);
        let Some(to) = known else {
            self.astray = true;
            return self.found.add(
                Grade::Medium,
                Risk::Read,
                "It goes to a folder that is only known when it runs".to_owned(),
            );
        };
        self.place(&Word::literal(&to), Access::Read);
        for folder in self.resolved(&to) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }
}

fn is_descriptor(text: &str) -> bool {
    text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit())
}
