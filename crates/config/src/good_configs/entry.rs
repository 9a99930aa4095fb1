//! A good config as it is kept: a header that says what it is, then the source text, byte for byte.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::Config;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;

/// The first line.
const ABOUT: &str =
    "# A config with which a model answered, kept by Hob. Do not edit it; `hob config rollback` puts it back.";
/// What ends the header.
const END: &str = "#\n";

#[derive(Debug, Clone, PartialEq)]
pub struct GoodConfig {
    /// The Hob that it ran on.
    pub version: String,
    /// When a model answered with it for the first time.
    pub when: Timestamp,
    /// The file that it was loaded from.
    pub file: PathBuf,
    /// The source text as it was loaded. It may hold keys.
    pub text: Secret,
    text_print: String,
    resolved_print: String,
}

/// Why a kept file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenEntry {
    /// It has no header of Hob's.
    #[error("does not begin as Hob writes it")]
    Header,
    /// The text is not the one that was kept.
    #[error("is not what Hob wrote: it was cut off or edited")]
    Print,
    /// It is not text.
    #[error("is not UTF-8 text")]
    NotUtf8,
    /// It is not a file.
    #[error("{0}")]
    NoFile(&'static str),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

impl GoodConfig {
    /// This config, as it was loaded from `file`.
    pub fn new(file: &Path, text: &Secret, config: &Config, when: Timestamp) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            when,
            file: file.to_owned(),
            text: text.clone(),
            text_print: print(text.expose()),
            resolved_print: resolved(config),
        }
    }

    /// The fingerprint of the source text.
    pub fn text_print(&self) -> &str {
        &self.text_print
    }

    /// Whether the text means the same to this Hob, here, as it did then. Secrets do not count.
    pub(crate) fn means_same(&self, config: &Config) -> bool {
        self.resolved_print == resolved(config)
    }

    /// What its file is called.
    pub(super) fn file_name(&self) -> String {
        let short = self.text_print.get(..8).unwrap_or(&self.text_print);
        format!("{}-{short}.toml", self.when.strftime("%Y%m%dT%H%M%SZ"))
    }

    /// The whole file.
    pub(super) fn written(&self) -> String {
        let Self { version, when, file, text, text_print, resolved_print } = self;
        let file = file.display().to_string().replace('\n', " ");
        format!(
            "{ABOUT}\n# hob {version}\n# when {when}\n# file {file}\n# text sha256 {text_print}\n# resolved sha256 \
             {resolved_print}\n{END}{}",
            text.expose()
        )
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// When it is not, or no longer, what Hob wrote.
    pub fn read(bytes: &[u8]) -> Result<Self, BrokenEntry> {
        let text = std::str::from_utf8(bytes).map_err(|_error| BrokenEntry::NotUtf8)?;
        let mut rest = text.strip_prefix(ABOUT).and_then(|rest| rest.strip_prefix('\n')).ok_or(BrokenEntry::Header)?;
        let mut line = |name: &str| {
            let (line, after) = rest.split_once('\n').ok_or(BrokenEntry::Header)?;
            rest = after;
            line.strip_prefix(name).ok_or(BrokenEntry::Header)
        };
        let (version, when, file) = (line("# hob ")?, line("# when ")?, line("# file ")?);
        let (text_print, resolved_print) = (line("# text sha256 ")?, line("# resolved sha256 ")?);
        let text = rest.strip_prefix(END).ok_or(BrokenEntry::Header)?;
        if print(text) != text_print {
            return Err(BrokenEntry::Print);
        }
        Ok(Self {
            version: version.to_owned(),
            when: when.parse().map_err(|_error| BrokenEntry::Header)?,
            file: PathBuf::from(file),
            text: Secret::new(text.to_owned()),
            text_print: text_print.to_owned(),
            resolved_print: resolved_print.to_owned(),
        })
    }
}

fn print(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Secrets show as such in it, whatever they are.
fn resolved(config: &Config) -> String {
    print(&format!("{config:?}"))
}
