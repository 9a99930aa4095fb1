//! Whose an archive is: a short id in its name, made once for a data directory and kept there.
//!
//! It is not a secret, and not in an archive: what is restored elsewhere becomes a Hob of its own there.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Its file in the data directory.
const FILE: &str = "backup-id";
/// So many hexadecimal digits.
const DIGITS: usize = 8;

/// Whether it is one.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The id of the Hob whose data this is; none: it has made no backup yet.
///
/// # Errors
/// When its file cannot be read, or holds something else.
pub(crate) fn lookup(data_dir: &Path) -> io::Result<Option<String>> {
    let file = data_dir.join(FILE);
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let id = text.trim();
    if is_id(id) {
        return Ok(Some(id.to_owned()));
    }
    let why =
        format!("{} is not an id of {DIGITS} hexadecimal digits: delete it, and a new one is made", file.display());
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// The id, made of `random` hexadecimal digits where there is none. Whoever else makes one at the same time gets the same.
pub(super) fn settle(data_dir: &Path, random: &str) -> io::Result<String> {
    if let Some(id) = lookup(data_dir)? {
        return Ok(id);
    }
    let mut file = NamedTempFile::new_in(data_dir)?;
    writeln!(file, "{}", random.get(..DIGITS).unwrap_or(random))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(data_dir.join(FILE)) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
        _ => {}
    }
    lookup(data_dir)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_an_id_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(lookup(dir.path()).unwrap(), None);
        assert_eq!(settle(dir.path(), "0123456789abcdef").unwrap(), "01234567");
        assert_eq!(settle(dir.path(), "fedcba9876543210").unwrap(), "01234567");
        fs::write(dir.path().join(FILE), "../../mine\n").unwrap();
        let error = settle(dir.path(), "0123456789abcdef").unwrap_err().to_string();
        assert!(error.ends_with("is not an id of 8 hexadecimal digits: delete it, and a new one is made"), "{error}");
    }
}
