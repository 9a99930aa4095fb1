//! Files that are packed in one: so many, so large, and no larger than they really are.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::{DocumentError, Limits, damaged};

/// What is packed in a document.
pub(crate) struct Archive<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// How many bytes may be unpacked yet, whatever it says of itself.
    left: u64,
}

impl<'a> Archive<'a> {
    /// Those of `bytes`.
    pub(crate) fn of(bytes: &'a [u8], limits: &Limits) -> Result<Self, DocumentError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
        if archive.len() > limits.entries {
            return Err(DocumentError::TooMuch(format!("more than {} files are packed in it", limits.entries)));
        }
        Ok(Self { archive, left: limits.unpacked_bytes })
    }

    /// Is there one of this name?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name_raw(name.as_bytes()).is_some()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect()
    }

    /// One of them; none: there is none.
    pub(crate) fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, DocumentError> {
        let file = match self.archive.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(DocumentError::Encrypted),
            Err(error) => return Err(damaged(&error)),
        };
        let mut bytes = Vec::new();
        file.take(self.left + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        Ok(Some(bytes))
    }

    /// One that must be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<Vec<u8>, DocumentError> {
        self.get(name)?.ok_or_else(|| DocumentError::Damaged(format!("there is no {name:?} in it")))
    }

    /// Unpacks all of it once, for nothing but its size: others may unpack it after that.
    pub(crate) fn measure(
        &mut self,
        mut each: impl FnMut(&str, &[u8]) -> Result<(), DocumentError>,
    ) -> Result<(), DocumentError> {
        for name in self.names() {
            if let Some(bytes) = self.get(&name)? {
                each(&name, &bytes)?;
            }
        }
        Ok(())
    }
}

fn too_large() -> DocumentError {
    DocumentError::TooMuch("what is packed in it is too large when it is unpacked".to_owned())
}
