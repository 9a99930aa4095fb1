//! Shells and languages: where their program comes from, and what speaks out of it.

use super::options;
use super::paths::Access;
use super::programs::{INSTALLS, NETWORK};
use super::text::quoted;
use super::walk::{Stdin, Walk};
use super::words::{UNKNOWN, Word};
use crate::domain::tools::{Grade, Risk};

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "rbash", "csh", "tcsh", "pwsh"];

/// Languages, the options that code follows, and those that take another value.
const LANGUAGES: &[(&str, &[&str], &[&str])] = &[
    ("python", &["-c"], &["-W", "-X"]),
    ("pypy", &["-c"], &["-W", "-X"]),
    ("perl", &["-e", "-E"], &["-I"]),
    ("ruby", &["-e"], &["-I", "-r"]),
    ("node", &["-e", "-p", "--eval", "--print"], &["-r", "--require"]),
    ("nodejs", &["-e", "-p", "--eval", "--print"], &["-r", "--require"]),
    ("php", &["-r", "-B", "-E"], &["-d"]),
    ("lua", &["-e"], &["-l"]),
    ("Rscript", &["-e"], &[]),
    ("julia", &["-e", "-E", "--eval"], &[]),
    ("osascript", &["-e"], &[]),
    ("tclsh", &[], &[]),
    ("guile", &["-c"], &[]),
    ("elixir", &["-e", "--eval"], &[]),
];

/// Words in code that say what it is up to.
const TELLING: &[(Grade, Risk, &str, &[&str])] = &[
    (
        Grade::High,
        Risk::Execute,
        "runs other programs from its code",
        &[
            "os.system",
            "subprocess",
            "popen",
            "pty",
            "os.exec",
            "os.spawn",
            "posix",
            "execsync",
            "child_process",
            "spawn(",
            "system(",
            "system ",
            "qx",
            "`",
            "open3",
            "%x",
            "shell_exec",
            "passthru",
            "proc_open",
            "exec ",
            "os.execute",
            "ctypes",
            "import os,",
            "deno.run",
        ],
    ),
    (
        Grade::High,
        Risk::Execute,
        "hides what its code does",
        &[
            "base64",
            "b64decode",
            "eval",
            "exec(",
            "compile(",
            "__import__",
            "chr(",
            "fromcharcode",
            "atob",
            "unpack",
            "pack(",
            "marshal",
            "pickle",
            "codecs",
            "getattr",
            "zlib",
            "unhexlify",
            "fromhex",
            "globals()",
            "importlib",
            "builtins",
            "\\x",
            "new function",
        ],
    ),
    (
        Grade::High,
        Risk::Write,
        "deletes files from its code",
        &[
            "rmtree",
            "unlink",
            "os.remove",
            "rmdir",
            "rmsync",
            ".rm(",
            "fileutils.rm",
            "file.delete",
            "removedirs",
            "truncate",
        ],
    ),
    (
        Grade::Medium,
        Risk::Send,
        "uses the network from its code",
        &[
            "socket",
            "urllib",
            "requests",
            "http",
            "fetch(",
            "axios",
            "net::",
            "lwp",
            "io::socket",
            "ftplib",
            "smtplib",
            "aiohttp",
            "net.connect",
            "require(\"net\")",
            "require('net')",
            "dns",
            "telnetlib",
            "paramiko",
        ],
    ),
    (
        Grade::High,
        Risk::Read,
        "may look for keys or passwords",
        &[
            "/.ssh",
            "/etc/shadow",
            ".env",
            ".aws",
            "id_rsa",
            "id_ed25519",
            ".netrc",
            "/environ",
            "hob.db",
            "_history",
            ".gnupg",
            "authorized_keys",
        ],
    ),
];

/// Whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.rsplit('/').next().unwrap_or(program))
}

impl Walk<'_> {
    /// Looks at a shell or another language; false: it is neither.
    pub(super) fn interpreter(&mut self, program: &str, arguments: &[Word], part: &str) -> bool {
        if is_shell(program) {
            self.shell(arguments, part);
            return true;
        }
        let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Some((_, code, valued)) =
            LANGUAGES.iter().find(|(language, _, _)| *language == name || *language == program)
        else {
            return false;
        };
        self.note(Grade::Safe, Risk::Execute, part, "");
        self.language(code, valued, arguments, part);
        true
    }

    fn shell(&mut self, arguments: &[Word], part: &str) {
        let mut inline = false;
        let mut from_stdin = false;
        let mut index = 0;
        while let Some(word) =
            arguments.get(index).filter(|word| word.text.len() > 1 && word.text.starts_with(['-', '+']))
        {
            index += 1;
            let text = word.text.as_str();
            if text == "--" {
                break;
            }
            if !word.is_known() {
                self.note(Grade::High, Risk::Execute, part, "runs what is only known when it runs");
            }
            if text.starts_with("--rc") || text.starts_with("--init") {
                self.note(Grade::High, Risk::Execute, part, "changes how the shell begins");
                index += usize::from(!text.contains('='));
            }
            if !text.starts_with("--") {
                inline |= text.contains('c');
                from_stdin |= text.contains('s');
                index += text.matches(['o', 'O']).count();
            }
        }
        let operand = arguments.get(index);
        match operand {
            Some(code) if inline => {
                if !code.is_known() {
                    self.note(Grade::High, Risk::Execute, part, "runs a command that is only known when it runs");
                }
                self.text(&code.text);
            }
            Some(script) if !from_stdin && !matches!(script.text.as_str(), "-" | "/dev/stdin") => {
                self.note(Grade::Safe, Risk::Execute, part, "");
                self.place(script, Access::Run);
            }
            _ => self.shell_reads(part),
        }
    }

    fn shell_reads(&mut self, part: &str) {
        let handed = "runs whatever another command hands it";
        match self.stdin.clone() {
            Stdin::Closed => self.note(Grade::Medium, Risk::Execute, part, "is a shell for people at a keyboard"),
            Stdin::Literal(text) => {
                self.stdin = Stdin::Closed;
                self.text(&text);
            }
            Stdin::Piped(text) => {
                self.note(Grade::High, Risk::Execute, part, handed);
                self.stdin = Stdin::Closed;
                text.iter().for_each(|text| self.text(text));
            }
            Stdin::File => self.note(Grade::High, Risk::Execute, part, "runs whatever is in a file"),
        }
    }

    fn language(&mut self, code: &[&str], valued: &[&str], arguments: &[Word], part: &str) {
        let mut index = 0;
        while let Some(word) = arguments.get(index) {
            index += 1;
            let next = arguments.get(index);
            if !word.text.starts_with('-') || word.text == "-" {
                if word.text == "-" {
                    return self.language_reads(part);
                }
                return self.script(word, arguments.get(index..).unwrap_or_default());
            }
            if word.text == "-m" && code.contains(&"-c") {
                return self.python_module(next, arguments.get(index + 1..).unwrap_or_default(), part);
            }
            if let Some(value) = code.iter().find_map(|name| options::matching(name, &word.text)) {
                let inline = if value.is_empty() { next.map_or("", |next| next.text.as_str()) } else { value };
                self.code(inline, part);
                // Other code may follow; a script's words are nothing to it.
                index += usize::from(value.is_empty());
                if code.contains(&"-c") {
                    return;
                }
                continue;
            }
            index += usize::from(valued.contains(&word.text.as_str()));
        }
        let has_code =
            arguments.iter().any(|word| code.iter().any(|name| options::matching(name, &word.text).is_some()));
        let asks = arguments.iter().any(|word| matches!(word.text.as_str(), "--version" | "-V" | "-v" | "--help"));
        if !has_code && !asks {
            self.language_reads(part);
        }
    }

    fn script(&mut self, script: &Word, rest: &[Word]) {
        self.place(script, Access::Run);
        let sorted = options::sort("", rest);
        self.operands(super::programs::Operands::Any, &sorted);
    }

    fn python_module(&mut self, module: Option<&Word>, rest: &[Word], part: &str) {
        match module.map_or("", |word| word.text.as_str()) {
            "pip" | "ensurepip" | "pipx" => {
                let looks = rest
                    .first()
                    .is_some_and(|word| matches!(word.text.as_str(), "list" | "show" | "freeze" | "--version"));
                if !looks {
                    self.note(Grade::Medium, Risk::Send, part, INSTALLS);
                }
            }
            "http.server" | "smtpd" | "webbrowser" => self.note(Grade::Medium, Risk::Send, part, NETWORK),
            "twine" => self.note(Grade::Critical, Risk::Send, part, super::programs::PUBLISHES),
            _ => self.operands(super::programs::Operands::Any, &options::sort("", rest)),
        }
    }

    fn language_reads(&mut self, part: &str) {
        match self.stdin.clone() {
            Stdin::Closed => {}
            Stdin::Literal(text) => self.code(&text, part),
            Stdin::Piped(_) => self.note(Grade::High, Risk::Execute, part, "runs whatever another command hands it"),
            Stdin::File => self.note(Grade::High, Risk::Execute, part, "runs whatever is in a file"),
        }
    }

    /// Code of another language. It is not parsed: words in it only ever speak against it, and the sandbox holds the rest.
    fn code(&mut self, code: &str, part: &str) {
        let small = code.to_lowercase();
        if code.contains(UNKNOWN) {
            self.note(Grade::High, Risk::Execute, part, "has code that is only known when it runs");
        }
        for (grade, risk, why, words) in TELLING {
            if let Some(word) = words.iter().find(|word| small.contains(*word)) {
                self.note(*grade, *risk, part, &format!("{why}: {}", quoted(word)));
            }
        }
        let shell = ["pty", "dup2", "/bin/sh", "/bin/bash", "spawn", "'sh'"].iter().any(|word| small.contains(word));
        if shell
            && ["socket", "net.connect", "tcpsocket", "require('net')", "require(\"net\")"]
                .iter()
                .any(|word| small.contains(word))
        {
            self.note(Grade::Refused, Risk::Send, part, "hands a shell to another machine");
        }
        for text in code
            .split(['"', '\''])
            .skip(1)
            .step_by(2)
            .filter(|text| text.starts_with(['/', '~']) || text.contains("../"))
            .take(20)
        {
            self.place(&Word::literal(text), Access::Run);
        }
    }
}

/// Whether a script of `sed` runs commands, and whether it writes files.
pub(super) fn sed_does(script: &str) -> (bool, bool) {
    let (mut runs, mut writes) = (false, false);
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        rest = match first {
            // Addresses, blocks and what stands between commands.
            ';' | '\n' | ' ' | '\t' | '{' | '}' | '!' | ',' | '$' | '~' | '+' | '0'..='9' => after,
            '/' => past(after, '/').unwrap_or_default(),
            '\\' => {
                let mark = after.chars().next().unwrap_or('/');
                past(after.get(mark.len_utf8()..).unwrap_or_default(), mark).unwrap_or_default()
            }
            's' | 'y' => {
                let mark = after.chars().next().unwrap_or('/');
                let flags =
                    past(after.get(mark.len_utf8()..).unwrap_or_default(), mark).and_then(|rest| past(rest, mark));
                let flags = flags.unwrap_or_default();
                let end = flags.find([';', '\n', '}']).unwrap_or(flags.len());
                let own = flags.get(..end).unwrap_or_default();
                runs |= first == 's' && own.contains('e');
                writes |= first == 's' && own.contains('w');
                flags.get(end..).unwrap_or_default()
            }
            'a' | 'i' | 'c' | '#' | 'r' | 'R' => line_after(after),
            ':' | 'b' | 't' | 'T' => after.find([';', '\n', '}']).and_then(|end| after.get(end..)).unwrap_or_default(),
            'e' => {
                runs = true;
                line_after(after)
            }
            'w' | 'W' => {
                writes = true;
                line_after(after)
            }
            'I' | 'M' | 'p' | 'd' | 'D' | 'n' | 'N' | 'P' | 'q' | 'Q' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l'
            | 'z' | 'F' => after,
            // Nothing that `sed` knows: it may be anything.
            _ => {
                runs = true;
                after
            }
        };
    }
    (runs, writes)
}

fn line_after(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// What follows the next such mark that is not escaped.
fn past(text: &str, mark: char) -> Option<&str> {
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if c == mark && !escaped {
            return text.get(index + c.len_utf8()..);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}
