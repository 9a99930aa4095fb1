//! `/attach PATH [words]` at the terminal: a file with a message.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::outgoing::OutgoingFile;

/// The word that a line with a file begins with.
const WORD: &str = "/attach";

/// The file that a line names, and its other words; none: it is a line like any other.
pub(super) fn parse(line: &str) -> Option<(Attachment, String)> {
    let rest = line.trim_start().strip_prefix(WORD)?;
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let (path, words) = first(rest.trim_start())?;
    let name = Path::new(&path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
    Some((Attachment { handle: path, name, bytes: None }, words.trim().to_owned()))
}

/// The path that a text begins with, quoted or with `\` before blanks as terminals write it, and what follows.
fn first(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    if let Some(quote) = quote {
        let (path, rest) = text.get(1..)?.split_once(quote)?;
        return Some((path.to_owned(), rest));
    }
    let mut path = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => path.extend(chars.next().map(|(_, next)| next)),
            c if c.is_whitespace() => return Some((path, text.get(at..)?)),
            c => path.push(c),
        }
    }
    (!path.is_empty()).then_some((path, ""))
}

/// Reads the file; a pipe or a device is not waited for.
///
/// # Errors
/// When it cannot be read, or is too large.
pub fn read(path: &str, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
    let failed = |error: std::io::Error| FetchError(format!("{path} cannot be read: {error}"));
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(FetchError(format!("{path} is not an ordinary file")));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(FetchError(format!("it is larger than {} MB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// A file that was sent to the terminal.
pub fn shown(file: &OutgoingFile) -> String {
    format!("[{} ({} bytes): {}]", file.name, file.bytes, file.path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_line_names_its_file() {
        let of = |line| parse(line).map(|(attachment, words)| (attachment.handle, attachment.name, words));
        let some = |path: &str, name: &str, words: &str| Some((path.to_owned(), name.to_owned(), words.to_owned()));
        assert_eq!(of("/attach /tmp/a.pdf what is this?"), some("/tmp/a.pdf", "a.pdf", "what is this?"));
        assert_eq!(of("/attach '/tmp/a b.pdf'"), some("/tmp/a b.pdf", "a b.pdf", ""));
        assert_eq!(of("/attach \"a b.pdf\" read it"), some("a b.pdf", "a b.pdf", "read it"));
        assert_eq!(of("/attach a\\ b.pdf x"), some("a b.pdf", "a b.pdf", "x"));
        for line in ["/attach", "/attach ", "/attached x", "attach x", "/attach 'open"] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn c6_only_ordinary_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "hello").unwrap();
        let path = path.display().to_string();
        assert_eq!(read(&path, 5).unwrap(), b"hello");
        assert!(read(&path, 4).unwrap_err().0.contains("larger"));
        assert!(read("/dev/zero", 4).unwrap_err().0.contains("not an ordinary file"));
        assert!(read(&dir.path().display().to_string(), 4).unwrap_err().0.contains("not an ordinary file"));
    }
}
