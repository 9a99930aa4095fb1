//! `hob health`: whether a running Hob hears and is heard, as an exit code: for Docker, and for whoever watches.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::cli::{exit, show, show_json, standby_of, state_if_known};
use hob_config::environment::Environment;
use hob_store::lock::holder;
use hob_web::local_client::{AskError, ask};

/// How long Hob may take to answer: it asks its database, which has five seconds.
const WITHIN: Duration = Duration::from_secs(8);

/// What `hob health` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct HealthArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// As much of the report as is told here.
#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    ready: bool,
    #[serde(default)]
    channels: Vec<Account>,
}

#[derive(Debug, Deserialize)]
struct Account {
    channel: String,
    account: String,
    state: String,
    #[serde(default)]
    stuck: bool,
}

/// Asks, and ends with 0 (ready), 1 (not ready) or 2 (not running).
///
/// # Errors
/// Whatever is not ready, as an exit code.
pub(super) fn run(arguments: &HealthArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let (data_dir, state) = state_if_known(named, &Environment::of_process())?;
    let asked = match ask(&data_dir, "/health", WITHIN) {
        // Without a socket, as its path is too long, the lock still tells that somebody is there.
        Err(AskError::Place(_) | AskError::NotRunning) if holder(&data_dir)?.is_some() => {
            Err(match standby_of(&data_dir, &state) {
                Some(leader) => (0, format!("stands by: {leader} leads")),
                None => (
                    exit::FAILED,
                    "Hob runs, but its socket is not there: it starts or stops just now, or its log says why"
                        .to_owned(),
                ),
            })
        }
        Err(error @ (AskError::NotRunning | AskError::Place(_))) => Err((exit::NOT_RUNNING, error.to_string())),
        Err(error) => Err((exit::FAILED, error.to_string())),
        Ok(answer) => Ok(answer),
    };
    let (code, told, body) = match asked {
        Err((code, why)) => {
            (code, why.clone(), json!({ "live": code != exit::NOT_RUNNING, "ready": code == 0, "why": why }))
        }
        Ok(answer) => {
            let report: Report = serde_json::from_str(&answer.body)?;
            let code = if report.ready { 0 } else { exit::FAILED };
            (code, report_text(&report), serde_json::from_str(&answer.body)?)
        }
    };
    if arguments.json {
        show_json(&body)?
    } else {
        show(&format!("{told}\n"))?
    }
    if code == 0 { Ok(()) } else { Err(exit::SilentExit(code).into()) }
}

fn report_text(report: &Report) -> String {
    if report.ready {
        return "ready".to_owned();
    }
    let is_well = |account: &&Account| account.state == "connected" && !account.stuck;
    let line = |Account { channel, account, state, stuck }: &Account| {
        let stuck = if *stuck { ", and what comes in cannot be stored" } else { "" };
        format!("{channel} ({account}): {state}{stuck}")
    };
    let bad: Vec<String> = report.channels.iter().filter(|account| !is_well(account)).map(line).collect();
    let why = if bad.is_empty() { "the database does not answer".to_owned() } else { bad.join("; ") };
    format!("not ready: {why}; `hob status` shows more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_what_is_not_ready_is_named() {
        let told = |body: &str| report_text(&serde_json::from_str(body).unwrap());
        assert_eq!(told(r#"{"ready":true,"channels":[],"more":1}"#), "ready");
        insta::assert_snapshot!(told(r#"{"ready":false,"channels":[
            {"channel":"telegram","account":"default","state":"down","stuck":false},
            {"channel":"slack","account":"work","state":"connected","stuck":true},
            {"channel":"email","account":"default","state":"connected","stuck":false}]}"#), @"not ready: telegram (default): down; slack (work): connected, and what comes in cannot be stored; `hob status` shows more");
        insta::assert_snapshot!(told(r#"{"ready":false}"#), @"not ready: the database does not answer; `hob status` shows more");
    }
}
