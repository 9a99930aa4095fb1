use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A house with one agent, which is this script.
struct Harness {
    home: TempDir,
    tool: CliAgent,
}

fn trial(script: &str) -> Harness {
    let home = tempfile::tempdir().unwrap();
    let workspace = Workspace::of(home.path());
    std::fs::create_dir_all(workspace.root.join("garden")).unwrap();
    let path = home.path().join("fake");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = [path.to_str().unwrap(), "-p", TASK].map(str::to_owned).to_vec();
    let environment = vec![("FAKE_KEY".to_owned(), "k1".to_owned())];
    let programs = BTreeMap::from([("fake".to_owned(), Program { command, environment, own: None })]);
    let tool = CliAgent::new(programs, workspace, ProgramSandbox::none(home.path())).unwrap();
    Harness { home, tool }
}

impl Harness {
    async fn call(&self, arguments: Value) -> Outcome {
        Outcome::of(self.tool.call(Invocation::for_trial(arguments)).await)
    }

    async fn said(&self, arguments: Value) -> String {
        match self.call(arguments).await {
            Outcome::From(source, outcome) => {
                assert_eq!(source, OriginSource::new(Origin::Tool, "fake"));
                match *outcome {
                    Outcome::Exited { text, code } => format!("{code}: {text}"),
                    other => panic!("{other:?}"),
                }
            }
            Outcome::Error(why) => why,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_installed_agent_gets_its_task_its_folder_and_no_more_of_the_environment_than_was_named() {
    let trial = trial("printf '%s|' \"$@\"; basename \"$PWD\"; env | cut -d= -f1 | sort | tr '\\n' ' '");
    let said = trial.said(json!({ "agent": "fake", "task": "Dig; $(rm -rf /)", "dir": "garden" })).await;
    assert!(said.starts_with("0: [fake's own words; a claim]\n-p|Dig; $(rm -rf /)|garden\n"), "{said}");
    let names: Vec<&str> = said.lines().last().unwrap().split_whitespace().collect();
    assert!(names.contains(&"FAKE_KEY"), "{names:?}");
    let usual = ["FAKE_KEY", "HOB_TOOL_OF", "PATH", "HOME", "LANG", "LC_ALL", "TZ", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| usual.contains(name)), "{names:?}");
}

#[tokio::test]
async fn d5_a_task_is_no_option_and_a_failure_is_told() {
    let trial = trial("echo \"$2\"; echo broken >&2; exit 3");
    let said = trial.said(json!({ "agent": "fake", "task": "--dangerously-skip-permissions" })).await;
    assert_eq!(said, "3: exit status: 3\nTask: --dangerously-skip-permissions\nbroken");
}

#[tokio::test]
async fn it_stays_within_the_workspace() {
    let trial = trial("pwd");
    std::os::unix::fs::symlink("/", trial.home.path().join("workspace/out")).unwrap();
    std::fs::write(trial.home.path().join("workspace/file"), "x").unwrap();
    for (dir, why) in [
        ("..", "The folder \"..\" is outside the workspace."),
        ("/", "The folder \"/\" is outside the workspace."),
        ("out/tmp", "The folder \"out/tmp\" is outside the workspace."),
        ("file", "\"file\" is not a folder."),
        ("nowhere", "There is no folder \"nowhere\": No such file or directory (os error 2)."),
    ] {
        assert_eq!(trial.said(json!({ "agent": "fake", "task": "x", "dir": dir })).await, why);
    }
    assert!(trial.said(json!({ "agent": "fake", "task": "x" })).await.ends_with("/workspace"));
    let other = trial.said(json!({ "agent": "claude", "task": "x" })).await;
    assert_eq!(other, "There is no agent \"claude\". There are: fake.");
}

#[tokio::test]
async fn d6_each_call_is_graded_high_and_approved_anew() {
    let trial = trial("pwd");
    let spec = trial.tool.spec();
    assert_eq!((spec.role, spec.timeout, spec.idempotent), (Role::Admin, Timeout::Agent, false));
    assert_eq!((spec.facts.approval, spec.facts.risk), (Approval::Critical, Risk::Execute));
    assert_eq!(spec.schema.parameters.pointer("/properties/agent/enum"), Some(&json!(["fake"])));
    let call = Invocation::for_trial(json!({ "agent": "fake", "task": "x", "dir": "garden" }));
    let assessed = trial.tool.assess(&call, &|_| false).await;
    assert_eq!((assessed.risk, assessed.grade), (Risk::Execute, DangerGrade::High));
    assert_eq!(
        assessed.reasons,
        ["It runs fake, a program that decides by itself what to run and to change, in garden"]
    );
    let none =
        CliAgent::new(BTreeMap::new(), Workspace::of(trial.home.path()), ProgramSandbox::none(trial.home.path()));
    assert!(none.is_none(), "without an agent there is no tool");
}

#[tokio::test]
async fn e3_what_it_started_ends_with_its_call() {
    let trial = trial("sleep 300 & echo $! > child; wait");
    let call = trial.call(json!({ "agent": "fake", "task": "x" }));
    let file = trial.home.path().join("workspace/child");
    let pid = async {
        loop {
            match tokio::fs::read_to_string(&file).await {
                Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let pid = tokio::select! {
        pid = pid => pid,
        outcome = call => panic!("it ended: {outcome:?}"),
    };
    // The call is dropped: its whole process group is killed.
    let stat = format!("/proc/{pid}/stat");
    let gone = async {
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), gone).await.unwrap();
}
