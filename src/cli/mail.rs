//! `hob mail`: logins at the mailboxes of `[mail]` that take no password.

use anyhow::Context as _;
use clap::Subcommand;

use crate::cli::next_step::{refusal, refuse};
use crate::cli::{CliContext, runtime, show};
use crate::daemon::toolset;
use hob_mail::login::MailLogin;

/// What `hob mail` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum MailCommand {
    /// Log in to a mailbox that takes no password: shows a code to type into a browser, on any device
    Login {
        /// Its name in the config
        name: String,
    },
    /// Forget the login to a mailbox
    Logout {
        /// Its name in the config
        name: String,
    },
}

/// Carries it out. A running Hob uses the login from then on.
///
/// # Errors
/// When there is no such mailbox, or no login is to be had.
pub(super) fn run(command: &MailCommand, base: &CliContext) -> anyhow::Result<()> {
    match command {
        MailCommand::Login { name } => log_in(name, base),
        MailCommand::Logout { name } => {
            let told = match login(name, base)?.forget()? {
                true => format!(
                    "Forgot the login at {name}'s mail. Whoever issued its tokens may still count them as good.\n"
                ),
                false => format!("There was no login at {name}'s mail.\n"),
            };
            Ok(show(&told)?)
        }
    }
}

fn login(name: &str, base: &CliContext) -> anyhow::Result<MailLogin> {
    let config = &base.loaded.config;
    let Some(own) = config.mail.get(name) else {
        let names: Vec<&str> = config.mail.keys().map(String::as_str).collect();
        if names.is_empty() {
            refuse!("there is no [mail.{name}] in the config, and no other"; "add one, `hob help mail` says how");
        }
        refuse!("there is no [mail.{name}] in the config"; "name one of {}", names.join(", "));
    };
    let login = toolset::mail::login(name, own, config, &base.data_dir)
        .map_err(|why| refusal!("[mail.{name}] {why}"; "mend that section of config.toml"))?;
    login.with_context(|| refusal!("[mail.{name}] has a password"; "with [mail.{name}.oauth] instead, Hob can log in"))
}

fn log_in(name: &str, base: &CliContext) -> anyhow::Result<()> {
    let (runtime, login) = (runtime()?, login(name, base)?);
    std::fs::create_dir_all(&base.data_dir)?;
    let at_issuer = || format!("the login at {name}'s mail");
    let code = runtime.block_on(Box::pin(login.begin())).with_context(at_issuer)?;
    show(&format!(
        "Open this address in a browser, on any device, and type in the code:\n\n{}\n{}\n\nThis waits until that is done.\n",
        code.page, code.user_code
    ))?;
    runtime.block_on(Box::pin(login.finish(code, tokio::time::sleep))).with_context(at_issuer)?;
    Ok(show(&format!("Logged in at {name}'s mail. `hob doctor --only mail` looks whether its servers agree.\n"))?)
}
