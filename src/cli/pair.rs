//! `hob pair`: who waits to be let in, and letting them in. Beside a running Hob.

use std::path::Path;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::cli::load_running_config;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::{runtime, show};
use crate::daemon::triggers::how_to_own;
use hob_config::data_dir::data_dir;
use hob_config::environment::Environment;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::principal::Role;
use hob_core::domain::text::chosen_name;
use hob_core::policy::pairing::Code;
use hob_router::pairing;
use hob_router::pairing::codes::{self, PairingOverview};
use hob_store::bystander_reader::Reader;
use hob_store::bystander_writer::BystanderWriter;
use hob_store::lock::{DataLock, LockError};
use hob_store::pairings::PendingPairing;
use hob_store::place::StatePlace;

/// What somebody may who is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArgument {
    /// Guest: no memory, no commands, few tokens
    Guest,
    /// What members of the household may
    User,
    /// See, stop and edit what users and guests do, too
    Admin,
    /// Everything
    Owner,
}

/// What `hob pair` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct PairArguments {
    /// The code that Hob gave them; without it, show who is waiting
    pub code: Option<String>,
    /// What they may
    #[arg(long, value_enum, default_value = "user", requires = "code")]
    pub role: RoleArgument,
}

/// Shows who waits, or lets somebody in.
///
/// # Errors
/// When the database cannot be read or written, or nobody has the code.
pub(super) fn run(arguments: PairArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let config = load_running_config(named, &environment)?.config;
    let directory = data_dir(&config.state, &environment)?;
    let state = StatePlace::of(config.state.url.as_ref(), &directory);
    let now = SystemClock.now();
    runtime()?.block_on(async {
        let Some(code) = &arguments.code else {
            let shown = Reader::open(&state).await?.read(async |tx| codes::pairing_overview(tx, now).await).await?;
            let is_running = matches!(DataLock::take(&directory), Err(LockError::Taken { .. }));
            return Ok(show(&render(&shown, is_running))?);
        };
        let code = Code::parse(code)
            .context(refusal!("that is not a pairing code"; "it has eight letters and digits, such as ABCD-EFGH"))?;
        let role = match arguments.role {
            RoleArgument::Guest => Role::Guest,
            RoleArgument::User => Role::User,
            RoleArgument::Admin => Role::Admin,
            RoleArgument::Owner => Role::Owner,
        };
        let mut beside = BystanderWriter::open(&state).await?;
        let confirmed = beside.write(async move |tx| pairing::confirm(tx, &code, role, now).await).await?;
        beside.close().await;
        match confirmed {
            Some(confirmed) => Ok(show(&paired(&confirmed.pairing, role))?),
            None => {
                refuse!("nobody has that code: codes hold an hour and work once"; "whoever writes to Hob anew gets another")
            }
        }
    })
}

fn paired(pairing: &PendingPairing, role: Role) -> String {
    let PendingPairing { name, channel, .. } = pairing;
    format!(
        "{} ({channel}) may talk with Hob now, as {}. They are told when Hob next looks, or they write.\n",
        chosen_name(name),
        role.as_str()
    )
}

fn render(shown: &PairingOverview, is_running: bool) -> String {
    let mut lines = Vec::new();
    match (&shown.first_owner, is_running) {
        (Some(code), true) => lines.push(format!("Nobody owns this Hob yet. {}", how_to_own(code))),
        (None, true) if shown.is_void => {
            lines.push("The owner's code was guessed wrong too often: restart Hob for another.".to_owned());
        }
        (_, false) => lines.push("Hob is not running: codes are given and taken by `hob run`.".to_owned()),
        (None, true) => {}
    }
    let waiting = shown.waiting.iter();
    lines.extend(waiting.map(|one| {
        format!(
            "waits to be let in: {} ({}); `hob pair CODE` with the code that they got",
            chosen_name(&one.name),
            one.channel
        )
    }));
    let members = shown.members.iter();
    lines.extend(members.map(|member| {
        format!("p{} {} – {}, {}", member.id, chosen_name(&member.name), member.role.as_str(), member.channel)
    }));
    if lines.is_empty() {
        lines.push("Nobody waits to be let in, and nobody was paired.".to_owned());
    }
    lines.join("\n") + "\n"
}
