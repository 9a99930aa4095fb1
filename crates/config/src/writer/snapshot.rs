//! What stands in a file's place, so that a change is made to that and to nothing else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::load::FILE_BYTES_MAX;

/// How many links are followed.
const LINKS_MAX: usize = 40;

/// What stands in a file's place.
#[derive(Clone, PartialEq, Eq)]
pub enum FileSnapshot {
    Nothing,
    /// A file with these bytes; of one that is bigger than any config, the first.
    File(Vec<u8>),
    /// A folder, or something else that is not a file.
    NoFile,
    /// A file that may not be read.
    Closed,
}

impl FileSnapshot {
    /// What stands there now.
    pub fn at(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let limit = FILE_BYTES_MAX + 1;
        // What is not a file may never end, or never begin.
        match fs::metadata(path) {
            Ok(about) if !about.is_file() => return Ok(Self::NoFile),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            Err(error) => return Err(error),
        }
        match File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Self::File(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Nothing),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Self::Closed),
            Err(error) => Err(error),
        }
    }

    /// Its text; none where nothing stands, or something that is not text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::File(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Nothing | Self::NoFile | Self::Closed => None,
        }
    }

    /// In words, where it is not what it should be.
    pub fn told(&self) -> &'static str {
        match self {
            Self::Nothing => "is not there",
            Self::File(bytes) if bytes.len() as u64 > FILE_BYTES_MAX => "is bigger than any config",
            Self::File(bytes) if std::str::from_utf8(bytes).is_err() => "is not UTF-8 text",
            Self::File(_) => "is a text",
            Self::NoFile => "is not a file",
            Self::Closed => "may not be read by this user",
        }
    }
}

/// The contents may be secret.
impl std::fmt::Debug for FileSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.told())
    }
}

/// Where the file itself lies: a link is followed, also to where nothing is yet.
///
/// # Errors
/// When links lead in a circle, or one cannot be read.
pub(crate) fn resolve_link(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => {
                let to = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("/")).join(to);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}
