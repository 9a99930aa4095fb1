//! `hob status`: how Hob does, on one screen; of one that does not run, what its database tells.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use jiff::tz::TimeZone;

use crate::cli::next_step::{refusal, refuse};
use crate::cli::{runtime, show, show_json, standby_of, state_if_known};
use crate::daemon::backups::folder;
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::load::load;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_store::bystander_reader::Reader;
use hob_store::error::StoreError;
use hob_store::lock::{LockHolder, holder};
use hob_web::local_client::{AskError, ask};
use hob_web::status::{self, StatusPaths, StatusReport, offline_report};

/// How long a running Hob may take to answer.
const WITHIN: Duration = Duration::from_secs(8);

/// What `hob status` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct StatusArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Asks the running Hob, else its database.
pub(super) fn run(arguments: &StatusArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let (data_dir, state) = state_if_known(named, &environment)?;
    let report: StatusReport = match ask(&data_dir, "/status", WITHIN) {
        Ok(answer) => serde_json::from_str(&answer.body)
            .context(refusal!("the Hob that runs is another version"; "restart it"))?,
        Err(AskError::NotRunning) => {
            // A broken config tells less, but keeps nobody from looking.
            let loaded = load(named, &environment);
            let (config, path) = match loaded {
                Ok(loaded) => (loaded.config, loaded.path),
                Err(_told_by_doctor) => (Config::default(), None),
            };
            let backups = folder(&data_dir, config.backup.dir.as_ref());
            offline_status(&config, StatusPaths { backups, data_dir, state, config: path })?
        }
        Err(error) => return Err(error.into()),
    };
    if arguments.json { show_json(&report) } else { Ok(show(&report.to_string())?) }
}

/// What can be told of a Hob that answers nobody.
fn offline_status(config: &Config, places: StatusPaths) -> anyhow::Result<StatusReport> {
    let now = SystemClock.now();
    let zone = config.agent.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
    let zone = zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
    let books = runtime()?.block_on(async {
        Reader::open(&places.state).await?.read(async |tx| status::read_store_status(tx, &zone, now).await).await
    });
    let books = match books {
        Ok(books) => Some(books),
        Err(StoreError::Missing(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let mut report = offline_report(&places, now);
    report.books = books;
    if let Some(LockHolder { pid, .. }) = holder(&places.data_dir)? {
        if let Some(leader) = standby_of(&places.data_dir, &places.state) {
            refuse!("Hob stands by here (pid {pid}): {leader} leads"; "ask there, or send `/status`");
        }
        refuse!(
            "Hob runs (pid {pid}), but its socket is not there: it starts or stops just now, or its log says why";
            "try again in a moment"
        );
    }
    Ok(report)
}
