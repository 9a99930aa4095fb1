//! `hob schedule`: what is to be done later, and what a rule means.

use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::load_running_config;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::replay::open;
use crate::cli::{runtime, show};
use hob_config::environment::Environment;
use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::policy::schedule::read::read;
use hob_store::error::StoreError;
use hob_store::{Tx, occurrences, schedules};
use hob_tools::schedule::render;

/// The most that are listed.
const LISTED_MAX: i64 = 10_000;
/// So much of what came of each is listed.
const HISTORY: i64 = 3;

/// What `hob schedule` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ScheduleCommand {
    /// List schedules, with what came of the last runs
    List,
    /// Show when a rule would be due, without storing it
    Next {
        /// The rule: "weekdays at 8:30", "in 2h", "30 8 * * 1-5"
        when: String,
        /// The time zone, by its IANA name; by default the household's, as in the config
        #[arg(long)]
        zone: Option<String>,
        /// How many
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
        count: u16,
    },
}

async fn list(tx: &mut Tx, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let mut cards = Vec::new();
    for row in schedules::list(tx, None, LISTED_MAX).await? {
        let history = occurrences::history(tx, row.id, HISTORY).await?;
        cards.push(format!("{}\n   for: {}\n", render::card(&row, &history, now), row.user_name));
    }
    Ok(cards)
}

/// Lists schedules, or reads a rule.
///
/// # Errors
/// When the database cannot be read, or the rule is none.
pub(super) fn run(command: ScheduleCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let now = SystemClock.now();
    match command {
        ScheduleCommand::List => {
            let cards = runtime()?.block_on(async {
                anyhow::Ok(open(named).await?.reader.read(async |tx| list(tx, now).await).await?)
            })?;
            let text = if cards.is_empty() { "Nothing is scheduled.\n".to_owned() } else { cards.concat() };
            Ok(show(&text)?)
        }
        ScheduleCommand::Next { when, zone, count } => {
            let zone = match &zone {
                Some(name) => TimeZone::get(name)
                    .with_context(|| refusal!("there is no time zone {name:?}"; "write it like Europe/Berlin"))?,
                None => household(named)?,
            };
            let rule = match read(&when, &zone, now) {
                Ok(rule) => rule,
                Err(error) => refuse!("{error}"; "`hob help schedules` shows what can be said"),
            };
            let next = rule.next_few(&zone, now, usize::from(count));
            let lines: Vec<String> = next.iter().map(|at| render::instant(*at, &zone) + "\n").collect();
            let whose = zone.iana_name().unwrap_or("UTC");
            Ok(show(&format!("{} ({whose}):\n{}", rule.in_words(&zone), lines.concat()))?)
        }
    }
}

/// The zone that chats go by.
fn household(named: Option<&Path>) -> anyhow::Result<TimeZone> {
    let config = load_running_config(named, &Environment::of_process())?.config;
    let zone = config.agent.time_zone.and_then(|name| TimeZone::get(&name).ok());
    Ok(zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC)))
}
