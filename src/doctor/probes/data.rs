//! What is stored.

use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::daemon::backups::folder;
use crate::doctor::DoctorInputs;
use crate::doctor::rules::data::{self, BackupState, DaemonState, ScheduleState};
use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::server;
use hob_core::policy::schedule::Rule;
use hob_store::backup::archives;
use hob_store::bystander_reader::Reader;
use hob_store::error::StoreError;
use hob_store::inspect::{inspect, inspect_server};
use hob_store::lock::holder;
use hob_store::place::StatePlace;
use hob_store::{Tx, schedules};
use hob_web::local_client::{AskError, ask};

/// How long a running Hob may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(8);
/// So many schedules are looked through.
const SCHEDULES_MAX: i64 = 10_000;

fn home(patient: &DoctorInputs) -> Option<&Path> {
    patient.data_dir.as_deref().ok()
}

pub(in crate::doctor) async fn database(patient: &DoctorInputs) -> Vec<Finding> {
    let Ok(state) = &patient.state else { return Vec::new() };
    match state {
        StatePlace::File(path) => data::database(&inspect(path, patient.live).await),
        StatePlace::Server(_) => server::database(&inspect_server(state, &*patient.clock).await),
    }
}

pub(in crate::doctor) async fn daemon(patient: &DoctorInputs) -> Vec<Finding> {
    let Some(dir) = home(patient).map(Path::to_owned) else { return Vec::new() };
    let looked = tokio::task::spawn_blocking(move || look_for_daemon(&dir)).await;
    data::daemon(&looked.unwrap_or_else(|error| DaemonState::Unknown { why: error.to_string() }))
}

fn look_for_daemon(dir: &Path) -> DaemonState {
    let holder = match holder(dir) {
        Ok(holder) => holder.map(|holder| holder.pid),
        Err(error) => return DaemonState::Unknown { why: error.to_string() },
    };
    match (ask(dir, "/health", ANSWERS_WITHIN), holder) {
        (Ok(answer), pid) => DaemonState::Answers { pid, ready: answer.status == 200 },
        (Err(AskError::NotRunning | AskError::Place(_)), None) => DaemonState::Absent,
        (Err(AskError::NotRunning), Some(pid)) => DaemonState::Silent { pid, why: "there is no socket".to_owned() },
        (Err(error), Some(pid)) => DaemonState::Silent { pid, why: error.to_string() },
        (Err(error), None) => DaemonState::Unknown { why: error.to_string() },
    }
}

async fn read_schedules(tx: &mut Tx, now: i64) -> Result<Vec<ScheduleState>, StoreError> {
    let rows = schedules::list(tx, None, SCHEDULES_MAX).await?;
    let scheduled = rows.into_iter().map(|row| {
        let rule = serde_json::from_str::<Rule>(&row.rule).err().map(|error| format!("its rule: {error}"));
        let zone = TimeZone::get(&row.zone).err().map(|error| format!("its time zone: {error}"));
        let late = row.next_at.map(|next| u64::try_from(now - next).unwrap_or(0));
        ScheduleState {
            id: row.id.0,
            state: row.state,
            why: row.why,
            unreadable: rule.or(zone),
            late: late.map(Duration::from_millis),
        }
    });
    Ok(scheduled.collect())
}

pub(in crate::doctor) async fn schedules(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(dir), Ok(state)) = (home(patient), &patient.state) else { return Vec::new() };
    let now = patient.clock.now().as_millisecond();
    let read = async { Reader::open(state).await?.read(async |tx| read_schedules(tx, now).await).await };
    let is_running = holder(dir).is_ok_and(|holder| holder.is_some());
    match read.await {
        Ok(all) => data::schedules(&all, is_running),
        // The check of the database has the words for that.
        Err(error) => vec![Finding::note(Check::Schedules, format!("not looked at: {error}"))],
    }
}

pub(in crate::doctor) fn backup(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(dir), Some(config)) = (home(patient), patient.config()) else { return Vec::new() };
    let to = folder(dir, config.backup.dir.as_ref());
    let now = patient.clock.now();
    let age = archives::newest_in(&to, dir, now).map(|made| now.duration_since(made));
    data::backup(&BackupState {
        folder: &to,
        every_hours: config.backup.every_hours,
        newest: age.map(|age| Duration::from_secs(u64::try_from(age.as_secs()).unwrap_or(0))),
        is_needed: match &patient.state {
            Ok(StatePlace::File(path)) => path.exists(),
            Ok(StatePlace::Server(_)) => true,
            Err(_told_by_others) => false,
        },
        is_beside: to.starts_with(dir),
    })
}
