//! `system_info`: what Hob runs on, and with what.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use sysinfo::{Disks, Error, System};

use crate::registry::spec_of;
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;

const ABOUT: &str =
    "Tells of Hob and the machine it runs on: version, uptime, processors, memory, disk, models, channels.";
const GIB: f64 = 1_073_741_824.0;

#[derive(Deserialize, JsonSchema)]
struct Arguments {}

/// What is known of this Hob since its start.
#[derive(Debug, Clone)]
pub struct InstanceInfo {
    pub started: Timestamp,
    /// Where it lives.
    pub zone: TimeZone,
    pub data_dir: PathBuf,
    /// The models that can be asked, the first one first.
    pub models: Vec<String>,
    /// The personas that it can be.
    pub personas: Vec<String>,
    /// Where it can be spoken to.
    pub channels: Vec<String>,
}

/// The tool.
pub struct SystemInfo {
    spec: ToolSpec,
    household: InstanceInfo,
}

impl SystemInfo {
    /// Tells of this household.
    pub fn new(household: InstanceInfo) -> Self {
        let spec = spec_of::<Arguments>("system_info", ABOUT, true).of("system", Role::User).shown_on_need();
        Self { spec, household }
    }
}

#[async_trait]
impl Tool for SystemInfo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let data_dir = self.household.data_dir.clone();
        // The system is asked through files: a disk that does not answer must not hold up the others.
        let machine = tokio::task::spawn_blocking(move || machine(&data_dir)).await;
        let mut lines = info_lines(&self.household, invocation.now);
        match machine {
            Ok(machine) => lines.extend(machine),
            Err(error) => lines.push(format!("The machine could not be looked at: {error}.")),
        }
        Ok(Outcome::Text(lines.join("\n")))
    }
}

fn info_lines(household: &InstanceInfo, now: Timestamp) -> Vec<String> {
    let InstanceInfo { started, zone, models, personas, channels, .. } = household;
    let all = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    vec![
        format!("Hob {}, up {}", env!("CARGO_PKG_VERSION"), span(now.as_second() - started.as_second())),
        format!("time zone: {}", zone.iana_name().unwrap_or("the machine's own")),
        format!("models: {}", all(models)),
        format!("personas: {}", all(personas)),
        format!("channels: {}", all(channels)),
    ]
}

/// What can be learnt of the machine; what cannot is said.
fn machine(data_dir: &Path) -> Vec<String> {
    let text = |what: Result<String, Error>| what.unwrap_or_else(|error| format!("unknown ({error})"));
    let load = System::load_average().map(|load| format!("{:.2} {:.2} {:.2}", load.one, load.five, load.fifteen));
    let uptime = System::uptime().map(|secs| span(i64::try_from(secs).unwrap_or(i64::MAX)));
    vec![
        format!("host: {}, {}, up {}", text(System::host_name()), text(System::long_os_version()), text(uptime)),
        format!("processors: {}, load {}", cores(), text(load)),
        format!("memory: {}", text(memory())),
        format!("disk with Hob's data: {}", text(disk(data_dir))),
    ]
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

fn memory() -> Result<String, Error> {
    let mut system = System::new()?;
    system.refresh_memory();
    Ok(free(system.available_memory(), system.total_memory()))
}

/// The disk that the directory is on: the deepest mount above it.
fn disk(dir: &Path) -> Result<String, Error> {
    let disks = Disks::new_with_refreshed_list()?;
    let above = disks.iter().filter(|disk| dir.starts_with(disk.mount_point()));
    let disk = above.max_by_key(|disk| disk.mount_point().as_os_str().len());
    Ok(disk.map_or_else(|| "unknown".to_owned(), |disk| free(disk.available_space(), disk.total_space())))
}

#[expect(clippy::cast_precision_loss, reason = "a tenth of a gibibyte is all that is told")]
fn free(available: u64, total: u64) -> String {
    format!("{:.1} of {:.1} GiB free", available as f64 / GIB, total as f64 / GIB)
}

fn span(secs: i64) -> String {
    let (days, hours, minutes) = (secs / 86_400, secs / 3_600 % 24, secs / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn it_tells_of_hob_and_of_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let household = InstanceInfo {
            started: Timestamp::from_second(-93_600).unwrap(),
            zone: TimeZone::UTC,
            data_dir: dir.path().to_owned(),
            models: vec!["openai/gpt".to_owned(), "ollama/qwen".to_owned()],
            personas: Vec::new(),
            channels: vec!["telegram".to_owned()],
        };
        let Outcome::Text(told) = Outcome::of(SystemInfo::new(household).call(Invocation::for_trial(json!({}))).await)
        else {
            panic!("it tells")
        };
        let lines: Vec<&str> = told.lines().collect();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(lines[0], format!("Hob {version}, up 1 d 2 h"));
        assert_eq!(
            lines[1..5],
            ["time zone: UTC", "models: openai/gpt, ollama/qwen", "personas: none", "channels: telegram"]
        );
        assert_eq!(lines.len(), 9, "{told}");
        assert!(lines[7].starts_with("memory: ") && lines[7].ends_with(" GiB free"), "{told}");
        assert!(!told.contains("unknown ("), "{told}");
    }

    #[test]
    fn spans_are_short() {
        assert_eq!([59, 3_660, 90_000].map(span), ["0 min", "1 h 1 min", "1 d 1 h"]);
    }
}
