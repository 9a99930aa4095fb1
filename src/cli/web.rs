//! `hob web`: a link that logs somebody in to the page, and programs' keys to its API. Beside a running Hob.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use url::{Host, Url};

use crate::cli::next_step::{refusal, refuse};
use crate::cli::{qr, runtime, show, state_if_known};
use hob_config::environment::Environment;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::rng::SystemRng;
use hob_store::Tx;
use hob_store::bystander_writer::BystanderWriter;
use hob_store::error::StoreError;
use hob_store::web_access::{self, ApiToken};
use hob_web::access::login::{self, link};
use hob_web::access::{PageRole, hash, new_key};
use hob_web::local_client::{AskError, ask};
use hob_web::page::PageAddress;

/// How long a running Hob may take to answer.
const WITHIN: Duration = Duration::from_secs(8);

/// What `hob web` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct WebArguments {
    /// Make the link read-only
    #[arg(long)]
    pub viewer: bool,
    /// Manage the keys of programs
    #[command(subcommand)]
    pub command: Option<WebCommand>,
}

/// What `hob web` can do besides.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum WebCommand {
    /// Keys with which programs call the API
    #[command(subcommand)]
    Token(TokenCommand),
}

/// What can be done with programs' keys.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum TokenCommand {
    /// Make one; it is shown once
    Add {
        /// Its name
        name: String,
        /// It can look, but change nothing
        #[arg(long)]
        viewer: bool,
    },
    /// List keys
    List,
    /// Revoke a key
    Remove {
        /// Its name
        name: String,
    },
}

/// Prints a link, or changes keys.
///
/// # Errors
/// When Hob does not run or serves no page, or the database cannot be written.
pub(super) fn run(arguments: WebArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let (directory, state) = state_if_known(named, &environment)?;
    let now = SystemClock.now();
    runtime()?.block_on(async {
        let mut beside = BystanderWriter::open(&state).await?;
        let told = match arguments.command {
            None => {
                let page = page(&directory)?;
                let role = role(arguments.viewer);
                let link = invite(&mut beside, &page, role, now).await?;
                link_text(&link, role, std::io::stdout().is_terminal())
            }
            Some(WebCommand::Token(command)) => tokens(&mut beside, command, now).await?,
        };
        beside.close().await;
        Ok(show(&told)?)
    })
}

/// A new link to the page.
pub(super) async fn invite(
    beside: &mut BystanderWriter,
    page: &str,
    role: PageRole,
    now: Timestamp,
) -> Result<String, StoreError> {
    let key = new_key(&SystemRng);
    beside.write(async |tx| login::invite(tx, &key, role, now).await).await?;
    Ok(link(page, &key))
}

/// The link, with what it does; at a terminal also as a code for a phone, if a phone can reach it.
pub(super) fn link_text(link: &str, role: PageRole, is_terminal: bool) -> String {
    let code = if is_terminal && !is_local_link(link) { qr::code(link) } else { None };
    let code = code.map_or_else(String::new, |code| format!("{code}\n"));
    let here = if is_local_link(link) {
        "Only this machine reaches it: `hob init` or [server] in the config opens the page to your phone.\n"
    } else {
        ""
    };
    format!("{code}{link}\nIt logs somebody in as {}, once, within 15 minutes.\n{here}", role.as_str())
}

/// Whether only this machine reaches the link.
fn is_local_link(link: &str) -> bool {
    let host = Url::parse(link).ok().and_then(|url| url.host().map(|host| host.to_owned()));
    match host {
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Domain(name)) => name == "localhost",
        None => true,
    }
}

/// Where the Hob that runs serves its page: another's server may be where its own was to be.
pub(super) fn page(directory: &Path) -> anyhow::Result<String> {
    let answer = match ask(directory, "/page", WITHIN) {
        Ok(answer) => answer,
        Err(AskError::NotRunning) => refuse!("Hob is not running"; "the page is served by `hob run`"),
        Err(error) => return Err(error.into()),
    };
    let told: PageAddress =
        serde_json::from_str(&answer.body).context(refusal!("the Hob that runs is another version"; "restart it"))?;
    told.at.context(
        refusal!("this Hob serves no page: [server] listen is `off`, or the port is somebody else's, as its log says";
            "set another with `hob config set server.listen ADDRESS`, and restart Hob"),
    )
}

fn role(viewer: bool) -> PageRole {
    if viewer { PageRole::Viewer } else { PageRole::Owner }
}

async fn tokens(beside: &mut BystanderWriter, command: TokenCommand, now: Timestamp) -> anyhow::Result<String> {
    match command {
        TokenCommand::Add { name, viewer } => {
            let key = new_key(&SystemRng);
            let (role, hash) = (role(viewer), hash(key.expose()));
            let add = async |tx: &mut Tx| web_access::add_token(tx, &name, role.as_str(), &hash, now).await;
            if !beside.write(add).await? {
                refuse!("there is a key called {name:?} already"; "`hob web token remove {name}` takes it back");
            }
            Ok(format!("{}\nIt is shown only now. Programs send it as `Authorization: Bearer KEY`.\n", key.expose()))
        }
        TokenCommand::List => {
            let all = beside.write(web_access::tokens).await?;
            let line = |token: &ApiToken| {
                let used = token.used_at.and_then(|at| Timestamp::from_millisecond(at).ok());
                let used = used.map_or_else(|| "never used".to_owned(), |at| format!("last used {at:.0}"));
                format!("{} – {}, {used}\n", token.name, token.role)
            };
            let lines: String = all.iter().map(line).collect();
            Ok(if lines.is_empty() { "There are no keys.\n".to_owned() } else { lines })
        }
        TokenCommand::Remove { name } => {
            if !beside.write(async |tx| web_access::remove_token(tx, &name).await).await? {
                refuse!("there is no key called {name:?}"; "`hob web token list` shows them");
            }
            Ok(format!("{name} opens nothing any more.\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_shown_for_what_a_phone_can_reach() {
        let table = [
            ("http://127.0.0.1:8787/login#k", true),
            ("http://[::1]:8787/login#k", true),
            ("http://0.0.0.0:8787/login#k", true),
            ("http://localhost:8787/login#k", true),
            ("http://192.168.1.5:8787/login#k", false),
            ("https://hob.example.org/login#k", false),
        ];
        for (link, here) in table {
            assert_eq!(is_local_link(link), here, "{link}");
            assert_eq!(link_text(link, PageRole::Owner, true).contains('█'), !here, "{link}");
            assert!(!link_text(link, PageRole::Owner, false).contains('█'), "{link}");
        }
    }
}
