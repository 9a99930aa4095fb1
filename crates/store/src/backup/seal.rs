//! Encryption of archives: age, to public keys. Whoever makes a backup need not be able to open it.
//!
//! Streaming both ways: an archive is never in memory, and nothing of it is on the archive's disk in the clear.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use age::stream::StreamWriter;
use age::x25519::{Identity, Recipient};
use age::{DecryptError, Decryptor, Encryptor};

use crate::backup::{BackupError, at};

/// What every file of age begins with.
const MAGIC: &[u8] = b"age-encryption.org/";

/// The public keys that archives are encrypted to; with none of them they are not.
#[derive(Debug, Clone, Default)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Those that are named, and those in a file, one a line.
    ///
    /// # Errors
    /// When one is not a public key, or the file cannot be read or holds none.
    pub fn read(named: &[String], file: Option<&Path>) -> Result<Self, BackupError> {
        let mut all = Vec::<Recipient>::new();
        for text in named {
            all.push(
                text.trim()
                    .parse()
                    .map_err(|_why: &str| BackupError::Key(format!("{text:?} is not a public key of age (age1…)")))?,
            );
        }
        if let Some(file) = file {
            let text = at(file, fs::read_to_string(file))?;
            let before = all.len();
            for (line, key) in keys(&text) {
                let wrong = |_why: &str| {
                    BackupError::Key(format!("{}:{line}: is not a public key of age (age1…)", file.display()))
                };
                all.push(key.parse().map_err(wrong)?);
            }
            if all.len() == before {
                return Err(BackupError::Key(format!("{} holds no public key of age", file.display())));
            }
        }
        Ok(Self(all))
    }

    /// Archives are not encrypted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins to write to a file.
    pub(super) fn sink(&self, file: File) -> io::Result<ArchiveSink> {
        let file = BufWriter::new(file);
        if self.is_empty() {
            return Ok(ArchiveSink::Plain(file));
        }
        let recipients = self.0.iter().map(|key| key as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(recipients).map_err(io::Error::other)?;
        Ok(ArchiveSink::Sealed(Box::new(encryptor.wrap_output(file)?)))
    }
}

/// The lines of a file of keys, with their numbers; empty ones and comments are left out.
fn keys(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Where an archive's bytes go.
pub(super) enum ArchiveSink {
    Plain(BufWriter<File>),
    Sealed(Box<StreamWriter<BufWriter<File>>>),
}

impl ArchiveSink {
    /// Writes what is left.
    pub(super) fn finish(self) -> io::Result<File> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Sealed(stream) => stream.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for ArchiveSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Sealed(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Sealed(stream) => stream.flush(),
        }
    }
}

/// The secret keys that open archives.
#[derive(Clone, Default)]
pub struct Identities(Vec<Identity>);

impl Identities {
    /// Those of a file that `age-keygen` wrote.
    ///
    /// # Errors
    /// When it cannot be read, or holds none. What stands in it is never repeated.
    pub fn read(file: &Path) -> Result<Self, BackupError> {
        let text = at(file, fs::read_to_string(file))?;
        let mut all = Vec::<Identity>::new();
        for (line, key) in keys(&text) {
            let wrong = |_why: &str| BackupError::Key(format!("{}:{line}: is not a secret key of age", file.display()));
            all.push(key.parse().map_err(wrong)?);
        }
        if all.is_empty() {
            return Err(BackupError::Key(format!("{} holds no secret key of age", file.display())));
        }
        Ok(Self(all))
    }

    /// An archive's bytes, decrypted if they are encrypted.
    pub(super) fn open(&self, archive: &Path) -> Result<Box<dyn Read>, BackupError> {
        let mut file = BufReader::new(at(archive, File::open(archive))?);
        if !at(archive, io::BufRead::fill_buf(&mut file))?.starts_with(MAGIC) {
            return Ok(Box::new(file));
        }
        let broken = |why: &str| BackupError::Broken { archive: archive.to_path_buf(), why: why.to_owned() };
        let opened = Decryptor::new_buffered(file)
            .and_then(|decryptor| decryptor.decrypt(self.0.iter().map(|key| key as &dyn age::Identity)));
        match opened {
            Ok(stream) => Ok(Box::new(stream)),
            Err(DecryptError::NoMatchingKeys) => Err(BackupError::Key(format!(
                "{} is encrypted: name the file with the secret key by --identity{}",
                archive.display(),
                if self.0.is_empty() { "" } else { "; the one given opens it not" }
            ))),
            Err(DecryptError::Io(source)) => Err(BackupError::Io { path: archive.to_path_buf(), source }),
            Err(_) => Err(broken("its encryption is damaged")),
        }
    }
}

/// Whether an archive is encrypted.
pub fn is_sealed(archive: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    File::open(archive).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}
