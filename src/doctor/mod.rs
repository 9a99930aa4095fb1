//! `hob doctor`: looks at everything that a Hob needs, and says for each what to do.
//!
//! Never: a change of anything, a secret in a finding, or a check that holds up the others. What is wrong is decided in
//! [`rules`], of facts alone; `probes` go and find the facts, where a start does so too by the start's own code.
//! Start at [`run_checks`].

mod probes;
pub mod rules;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{LocalBoxFuture, join_all};

use crate::doctor::rules::finding::{Check, Finding, Report};
use crate::doctor::rules::service::InstalledUnit;
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::load::LoadedConfig;
use hob_core::domain::clock::Clock;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::Rng;
use hob_store::place::StatePlace;

/// How long a check may take.
const WITHIN: Duration = Duration::from_secs(30);
/// The same with `--live`, where models speak and servers start.
const LIVE_WITHIN: Duration = Duration::from_secs(150);

/// Who is looked at.
pub struct DoctorInputs {
    /// The config; none: it cannot be used.
    pub loaded: Option<LoadedConfig>,
    /// What is wrong with it, a line each.
    pub problems: Vec<String>,
    /// The data directory; else why there is none.
    pub data_dir: Result<PathBuf, String>,
    /// Where the state is; else why that is not known.
    pub state: Result<StatePlace, String>,
    /// The process's environment.
    pub environment: Environment,
    pub units: Vec<InstalledUnit>,
    /// What must not be seen.
    pub redactor: Redactor,
    /// Whether models may be made to speak and servers started.
    pub live: bool,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl DoctorInputs {
    fn config(&self) -> Option<&Config> {
        self.loaded.as_ref().map(|loaded| &loaded.config)
    }
}

/// Makes the checks, all at once, each with a time limit of its own.
pub async fn run_checks(patient: &DoctorInputs, checks: &[Check]) -> Report {
    let within = if patient.live { LIVE_WITHIN } else { WITHIN };
    let looked = checks.iter().map(|check| async move {
        match tokio::time::timeout(within, run_check(*check, patient)).await {
            Ok(findings) => findings,
            Err(_elapsed) => vec![overdue(*check, within)],
        }
    });
    Report::of(join_all(looked).await.concat()).redacted(&patient.redactor)
}

fn overdue(check: Check, within: Duration) -> Finding {
    let what = format!("nothing was found out within {} s", within.as_secs());
    Finding::fail(check, what, format!("try again by `hob doctor --only {}`; what it asks may hang", check.as_str()))
}

fn run_check(check: Check, patient: &DoctorInputs) -> LocalBoxFuture<'_, Vec<Finding>> {
    match check {
        Check::Config => Box::pin(async move { probes::host::config(patient) }),
        Check::Permissions => Box::pin(async move { probes::host::permissions(patient) }),
        Check::Data => Box::pin(async move { probes::host::data(patient) }),
        Check::Disk => Box::pin(async move { probes::host::disk(patient) }),
        Check::Files => Box::pin(async move { probes::host::files() }),
        Check::Clock => Box::pin(probes::network::clock(patient)),
        Check::Zone => Box::pin(async move { probes::host::zone(patient) }),
        Check::Database => Box::pin(probes::data::database(patient)),
        Check::Daemon => Box::pin(probes::data::daemon(patient)),
        Check::Models => Box::pin(probes::network::models(patient)),
        Check::Channels => Box::pin(probes::network::channels(patient)),
        Check::Sandbox => Box::pin(probes::tools::sandbox(patient)),
        Check::Embeddings => Box::pin(probes::tools::embeddings(patient)),
        Check::Mail => Box::pin(probes::network::mail(patient)),
        Check::Mcp => Box::pin(probes::tools::mcp(patient)),
        Check::Speech => Box::pin(probes::tools::speech(patient)),
        Check::Calendars => Box::pin(probes::calendars::calendars(patient)),
        Check::Home => Box::pin(probes::home::home(patient)),
        Check::Schedules => Box::pin(probes::data::schedules(patient)),
        Check::Service => Box::pin(async move { rules::service::service(&patient.units) }),
        Check::Backup => Box::pin(async move { probes::data::backup(patient) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_a_report_is_a_line_each_and_a_last_word() {
        let report = |findings: Vec<Finding>| Report::of(findings).to_string();
        let ok = || Finding::ok(Check::Disk, "8.1 GB free");
        let warn = || Finding::warn(Check::Clock, "2 min slow", "set it");
        let fail = || Finding::fail(Check::Models, "no\n  answer", "look at the key");
        insta::assert_snapshot!(report(vec![ok(), Finding::note(Check::Daemon, "not running"), warn(), fail()]), @r"
        ok   disk: 8.1 GB free
        note daemon: not running
        warn clock: 2 min slow; set it
        fail models: no answer; look at the key
        1 to be mended, 1 to see to.
        ");
        assert!(report(vec![ok(), warn()]).ends_with("Hob can work; 1 to see to.\n"));
        assert!(report(vec![fail()]).ends_with("1 to be mended.\n"));
        assert!(report(vec![ok()]).ends_with("All is well.\n"));
        insta::assert_snapshot!(serde_json::to_string(&Report::of(vec![ok(), fail()])).unwrap(), @r#"{"worst":"fail","findings":[{"verdict":"ok","check":"disk","what":"8.1 GB free"},{"verdict":"fail","check":"models","what":"no\n  answer","fix":"look at the key"}]}"#);
    }

    #[test]
    fn n12_no_secret_is_in_a_finding() {
        let redactor =
            Redactor::new(&[hob_core::domain::secret::Secret::new("sk-0123456789abcdef".to_owned())]).unwrap();
        let found = Finding::fail(Check::Models, "401 for sk-0123456789abcdef", "not sk-0123456789abcdef");
        let shown = Report::of(vec![found]).redacted(&redactor).to_string();
        assert!(!shown.contains("0123456789"), "{shown}");
    }

    #[test]
    fn the_names_are_told_apart() {
        let mut names = Check::ALL.map(Check::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Check::ALL.len());
    }
}
