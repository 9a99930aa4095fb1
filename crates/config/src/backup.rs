//! `[backup]`: backups that Hob makes by itself.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, values};

/// Backups that Hob makes by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<BackupConfig>)]
pub struct BackupConfig {
    /// The folder for them, as an absolute path, best on another disk. Without it: `backups` in the data directory.
    #[schemars(length(min = 1, max = 4000), example = &"/mnt/backups/hob")]
    pub dir: Option<PathBuf>,
    /// The public key (`age1…`, from `age-keygen`) that backups are encrypted to. Only its secret half opens them: keep that
    /// elsewhere. Without it they are not encrypted.
    #[schemars(length(min = 1, max = 4000), example = &"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")]
    pub recipient: Option<String>,
    /// A file with further public keys, one a line, as an absolute path.
    #[schemars(length(min = 1, max = 4000), example = &"/etc/hob/backup-recipients")]
    pub recipients_file: Option<PathBuf>,
    /// Hours between two backups; 0 makes none.
    #[schemars(range(max = 8760))]
    pub every_hours: u32,
    /// How many of the newest are kept.
    #[schemars(range(min = 1, max = 10_000))]
    pub keep: u32,
}

impl Default for BackupConfig {
    fn default() -> Self {
        Self { dir: None, recipient: None, recipients_file: None, every_hours: 0, keep: 7 }
    }
}

impl BackupConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let paths = [("dir", &self.dir), ("recipients_file", &self.recipients_file)];
        let paths = paths.into_iter().filter_map(|(key, path)| values::absolute_path(key, path.as_ref()?));
        let recipient =
            self.recipient.iter().filter(|text| text.parse::<age::x25519::Recipient>().is_err()).map(|_| {
                let why = "is not a public key of age, expected `age1` and 58 more characters";
                Finding::new("recipient", why, "`age-keygen` makes a pair; this is the line behind \"public key:\"")
            });
        paths.chain(recipient).collect()
    }
}
