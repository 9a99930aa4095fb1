//! Where a secret is kept: in a file of its own, in the environment, or in the config.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::init::asker::SetupError;
use crate::cli::init::context::SetupContext;
use crate::cli::init::save::ConfigDraft;
use crate::cli::next_step::refuse;
use hob_core::domain::secret::Secret;

/// Where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretPlace {
    /// In a file of its own beside the config
    File,
    /// In the environment
    Env,
    /// In the config
    Plain,
}

impl SecretPlace {
    /// What is offered, the best first.
    pub(super) fn offered() -> &'static [Self] {
        &[Self::File, Self::Plain, Self::Env]
    }

    fn description(self, variable: &str) -> String {
        match self {
            Self::File => "in a file of its own beside the config, which only you can read (best)".to_owned(),
            Self::Env => format!("in the environment: you set {variable} wherever Hob is started"),
            Self::Plain => "in the config itself, which only you can read".to_owned(),
        }
    }
}

/// A secret, and what it is called where it is kept.
pub(super) struct NamedSecret<'a> {
    /// In the environment.
    pub(super) variable: &'a str,
    pub(super) file: &'a str,
    pub(super) secret: &'a Secret,
}

/// Asks where it is to be kept, keeps it there, and gives what the config says in its place.
pub(super) fn ask(setup: &mut SetupContext<'_>, what: &str, named: &NamedSecret<'_>) -> Result<String, SetupError> {
    let offered = SecretPlace::offered();
    let options: Vec<String> = offered.iter().map(|keep| keep.description(named.variable)).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let chosen = setup.choose(&format!("Where is {what} to be kept?"), &options, 0)?;
    let keep = offered.get(chosen).copied().unwrap_or(SecretPlace::Plain);
    let value = place(&mut setup.draft, keep, named)?;
    if keep == SecretPlace::Env {
        setup.tell(&format!(
            "Set it wherever Hob is started: `export {}=…` in a shell; for the service a line {}=… in \
             ~/.config/hob/environment (yours) or /etc/hob/environment (the machine's).",
            named.variable, named.variable
        ));
    }
    Ok(value)
}

/// Keeps it there, and gives what the config says in its place.
pub(super) fn place(draft: &mut ConfigDraft, keep: SecretPlace, named: &NamedSecret<'_>) -> Result<String, SetupError> {
    match keep {
        SecretPlace::File => Ok(format!("file:{}", draft.keep(named.file, named.secret)?.display())),
        SecretPlace::Env => {
            // It is not set here and now, but holds for the rest of the setup.
            let variable = (named.variable.to_owned(), named.secret.expose().to_owned());
            draft.env = draft.env.with([variable]);
            Ok(format!("${{{}}}", named.variable))
        }
        SecretPlace::Plain => Ok(named.secret.expose().to_owned()),
    }
}

/// What the config says of a secret in this file.
pub(super) fn file_reference(file: &Path) -> anyhow::Result<String> {
    let told = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(told)?;
    if text.trim().is_empty() {
        refuse!("{} is empty", told(); "write the key into it");
    }
    Ok(format!("file:{}", std::fs::canonicalize(file).with_context(told)?.display()))
}
