//! `git`: what loses work, what goes out, and what it can be made to run.

use super::options;
use super::paths::Access;
use super::programs::{NETWORK, Operands};
use super::walk::Walk;
use super::words::Word;
use crate::domain::tools::{Grade, Risk};

const LOOKS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "grep",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "rev-list",
    "describe",
    "shortlog",
    "cat-file",
    "name-rev",
    "merge-base",
    "for-each-ref",
    "show-ref",
    "whatchanged",
    "diff-tree",
    "diff-index",
    "diff-files",
    "count-objects",
    "check-ignore",
    "check-attr",
    "var",
    "version",
    "--version",
    "help",
    "--help",
    "cherry",
    "range-diff",
    "fsck",
    "verify-commit",
    "show-branch",
    "symbolic-ref",
];

const NETWORKED: &[&str] = &["clone", "fetch", "pull", "ls-remote", "remote-update", "lfs"];

const OUTWARD: &[&str] = &[
    "send-email",
    "request-pull",
    "svn",
    "p4",
    "imap-send",
    "daemon",
    "instaweb",
    "http-push",
    "send-pack",
    "credential",
];

const LOSES: &str = "throws away work that git cannot bring back";

/// Settings by which git runs something else.
const RUNNING: &[&str] = &[
    "pager",
    "editor",
    "sshcommand",
    "fsmonitor",
    "hookspath",
    "askpass",
    "external",
    "textconv",
    "command",
    "cmd",
    "driver",
    "helper",
    "program",
    "alias",
    "proxy",
    "smudge",
    "clean",
    "process",
    "ext.allow",
    "protocol",
    "attributesfile",
    "worktree",
    "include",
    "gitproxy",
    "receivepack",
    "uploadpack",
    "browser",
    "vcs",
    "insteadof",
];

impl Walk<'_> {
    pub(super) fn git(&mut self, arguments: &[Word], part: &str) {
        let mut index = 0;
        while let Some(word) = arguments.get(index).filter(|word| word.text.starts_with('-')) {
            let next = arguments.get(index + 1);
            index += 1;
            match word.text.as_str() {
                "-c" | "--config-env" => {
                    next.into_iter().for_each(|setting| self.git_setting(&setting.text, part));
                    index += 1;
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                    next.into_iter().for_each(|place| self.place(place, Access::Read));
                    index += 1;
                }
                text if text.starts_with("--exec-path=") => {
                    self.note(Grade::High, Risk::Execute, part, "changes what programs git runs");
                }
                text if text.starts_with("-c") || text.starts_with("--config-env=") => self.git_setting(text, part),
                "--version" | "--help" => return,
                _ => {}
            }
        }
        let Some(verb) = arguments.get(index) else { return };
        let rest = arguments.get(index + 1..).unwrap_or_default();
        if !verb.is_known() {
            return self.note(Grade::High, Risk::Execute, part, "does something that is only known when it runs");
        }
        let sorted = options::sort("git", rest);
        self.options("git", &sorted, part);
        self.git_verb(&verb.text, rest, part);
        if !matches!(verb.text.as_str(), "commit" | "grep" | "tag") {
            self.operands(Operands::Any, &sorted);
        }
    }

    fn git_setting(&mut self, setting: &str, part: &str) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let name = name.to_lowercase();
        if RUNNING.iter().any(|running| name.contains(running)) && !matches!(value, "cat" | "less" | "true") {
            self.note(Grade::High, Risk::Execute, part, "sets what git runs");
            if !value.is_empty() {
                self.text(value.trim_start_matches('!'));
            }
        }
    }

    fn git_verb(&mut self, verb: &str, rest: &[Word], part: &str) {
        let has = |names: &[&str]| {
            rest.iter().any(|word| names.iter().any(|name| options::matching(name, &word.text).is_some()))
        };
        let first = rest.iter().map(|word| word.text.as_str()).find(|word| !word.starts_with('-')).unwrap_or_default();
        let named = rest.iter().any(|word| !word.text.starts_with('-'));
        let (grade, risk, why) = match verb {
            _ if rest.iter().any(|word| word.text.starts_with("ext::")) => {
                (Grade::High, Risk::Execute, "runs a command as an address")
            }
            "push" => return self.git_push(rest, part),
            "submodule" if first == "foreach" => return self.git_runs(rest.get(1..).unwrap_or_default(), part),
            "bisect" if first == "run" => return self.git_runs(rest.get(1..).unwrap_or_default(), part),
            "rebase" if has(&["-x", "--exec"]) => (Grade::High, Risk::Execute, "runs a command for each change"),
            "filter-branch" | "filter-repo" | "replace" => (Grade::High, Risk::Execute, "rewrites what was recorded"),
            "difftool" | "mergetool" | "gui" | "gitk" | "citool" => {
                (Grade::Medium, Risk::Execute, "opens another program")
            }
            "config" => return self.git_config(rest, part),
            "clean" if !has(&["-n", "--dry-run"]) => (Grade::High, Risk::Write, LOSES),
            "reset" if has(&["--hard", "--merge", "--keep"]) => (Grade::High, Risk::Write, LOSES),
            "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => (Grade::High, Risk::Write, LOSES),
            "checkout" | "switch" if has(&["-f", "--force", "--discard-changes"]) || discards(rest) => {
                (Grade::High, Risk::Write, LOSES)
            }
            "stash" if matches!(first, "drop" | "clear") => (Grade::High, Risk::Write, LOSES),
            "branch" | "tag" if has(&["-D", "-d", "--delete"]) => {
                (Grade::High, Risk::Write, "deletes a branch or a tag")
            }
            "reflog" if matches!(first, "expire" | "delete") => (Grade::High, Risk::Write, LOSES),
            "gc" | "prune" | "update-ref" | "worktree"
                if has(&["--prune", "-d", "--force"]) || verb == "prune" || first == "remove" =>
            {
                (Grade::High, Risk::Write, LOSES)
            }
            "rm" => (Grade::Medium, Risk::Write, "deletes something"),
            "submodule" if matches!(first, "add" | "update") => (Grade::Medium, Risk::Send, NETWORK),
            "remote" if matches!(first, "add" | "set-url" | "remove" | "rename") => {
                (Grade::Medium, Risk::Write, "changes where work is sent")
            }
            "remote" if matches!(first, "update" | "prune" | "show") => (Grade::Medium, Risk::Send, NETWORK),
            "branch" | "tag" | "remote" | "stash" | "reflog" | "worktree"
                if !named && (verb != "stash") || first == "list" =>
            {
                (Grade::Safe, Risk::Read, "")
            }
            "archive" if has(&["--remote"]) => (Grade::Medium, Risk::Send, NETWORK),
            _ if LOOKS.contains(&verb) => (Grade::Safe, Risk::Read, ""),
            _ if NETWORKED.contains(&verb) => (Grade::Medium, Risk::Send, NETWORK),
            _ if OUTWARD.contains(&verb) => (Grade::High, Risk::Send, "talks to other machines or services"),
            _ if KNOWN.contains(&verb) => (Grade::Safe, Risk::Write, ""),
            _ => (Grade::Medium, Risk::Execute, "is a command of git that is not known here"),
        };
        let granted = why == NETWORK && self.grounds.network;
        self.note(if granted { Grade::Safe } else { grade }, risk, part, why);
    }

    fn git_push(&mut self, rest: &[Word], part: &str) {
        self.note(Grade::High, Risk::Send, part, "sends work to where others take it up");
        let forced = rest.iter().any(|word| {
            let text = word.text.as_str();
            let option = ["--force", "--force-with-lease", "-f", "--delete", "-d", "--mirror", "--prune"];
            text.starts_with(['+', ':'])
                || !word.is_known()
                || option.iter().any(|name| options::matching(name, text).is_some())
        });
        if forced {
            self.note(Grade::Critical, Risk::Send, part, "overwrites or deletes what others have there");
        }
    }

    fn git_runs(&mut self, words: &[Word], part: &str) {
        self.note(Grade::Medium, Risk::Execute, part, "runs a command again and again");
        let words: Vec<&str> =
            words.iter().map(|word| word.text.as_str()).filter(|word| !word.starts_with("--")).collect();
        self.text(&words.join(" "));
    }

    fn git_config(&mut self, rest: &[Word], part: &str) {
        let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.text.as_str()));
        if has(&["--global", "--system"]) && !has(&["--get", "--list", "-l", "get", "list"]) {
            self.note(Grade::High, Risk::Write, part, "is outside the workspace");
        }
        let words: Vec<&Word> = rest.iter().filter(|word| !word.text.starts_with('-') && word.text != "set").collect();
        match words.as_slice() {
            [name, value, ..] if !has(&["--get", "get"]) => {
                self.note(Grade::Safe, Risk::Write, part, "");
                self.git_setting(&format!("{}={}", name.text, value.text), part);
            }
            _ if has(&["-e", "--edit", "edit"]) => {
                self.note(Grade::Medium, Risk::Execute, part, "opens another program")
            }
            _ => {}
        }
    }
}

/// Ordinary work.
const KNOWN: &[&str] = &[
    "add",
    "commit",
    "checkout",
    "switch",
    "branch",
    "tag",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "reset",
    "restore",
    "stash",
    "init",
    "mv",
    "am",
    "apply",
    "format-patch",
    "bisect",
    "notes",
    "worktree",
    "gc",
    "reflog",
    "archive",
    "bundle",
    "sparse-checkout",
    "update-index",
    "write-tree",
    "commit-tree",
    "hash-object",
    "submodule",
    "remote",
    "clean",
    "rerere",
    "maintenance",
    "repack",
    "update-ref",
    "read-tree",
    "pack-refs",
];

/// `git checkout -- FILE` and `git checkout .` take files back.
fn discards(rest: &[Word]) -> bool {
    rest.iter().any(|word| matches!(word.text.as_str(), "--" | "." | "./" | ":/" | "*"))
}
