//! What is known of a command before it runs, and programs that the operator put into the sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use hob_core::domain::ids::UserId;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};
use hob_tools::command::{CommandTool, Declaration};
use hob_tools::draft_workspace::DraftWorkspace;
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::confinement::Confinement;
use hob_tools::terminal::{Settings, Terminal};
use hob_tools::workspace::Workspace;
use hob_tools::{Outcome, Timeout, Tool};
use serde_json::{Value, json};

use crate::place::{Harness, IsolationMode, WAYS, invocation};

async fn assessed(terminal: &Terminal, arguments: Value) -> Assessment {
    terminal.assess(&invocation(UserId(1), arguments), &|_| false).await
}

#[tokio::test]
async fn d6_a_command_that_can_be_looked_at_afterwards_needs_no_judgement() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    assert!(place.draft_workspace.can_be_reviewed().await, "no overlay can be had here: {}", place.sandbox.strength());
    let of = async |command: &str| assessed(&place.terminal, json!({ "command": command })).await;
    let looks = of("cat notes").await;
    assert_eq!((looks.grade, looks.risk, looks.contained), (DangerGrade::Safe, Risk::Read, true));
    let works = of("rm -rf build && cargo test").await;
    assert_eq!((works.grade, works.risk, works.contained), (DangerGrade::Safe, Risk::Execute, true));
    assert_eq!(of("rm -rf /").await.grade, DangerGrade::Refused);
    let left = assessed(&place.terminal, json!({ "command": "make", "action": "start" })).await;
    assert_eq!((left.grade, left.contained), (DangerGrade::Medium, false));
    assert_eq!(left.reasons, ["What `make` changes is in the workspace at once and cannot be undone"]);
    let looks = assessed(&place.terminal, json!({ "command": "cat notes", "action": "start" })).await;
    assert_eq!((looks.grade, looks.risk), (DangerGrade::Safe, Risk::Read));
}

#[tokio::test]
async fn d6_the_network_is_asked_for_each_time() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let asked = assessed(&place.terminal, json!({ "command": "cat notes", "network": true })).await;
    assert_eq!((asked.grade, asked.risk, asked.contained), (DangerGrade::High, Risk::Send, false));
    assert_eq!(asked.reasons, ["It asks for the network"]);
    for (action, risk) in [("list", Risk::Read), ("check", Risk::Read), ("kill", Risk::Write)] {
        let looked = assessed(&place.terminal, json!({ "action": action, "id": "12/1.0" })).await;
        let contained = risk.is_read();
        assert_eq!(looked, Assessment { contained, ..Assessment::usual(risk) }, "{action}");
    }
}

#[tokio::test]
async fn d6_without_the_whole_sandbox_everything_is_asked_about() {
    for sandbox in [Harness::new(IsolationMode::LandlockAlone).await.sandbox, Sandbox::none("the kernel has none")] {
        let place = Harness::new(IsolationMode::Namespaces).await;
        let confinement = Confinement::new(sandbox, place.confinement.reach.clone(), &place.path("data"));
        let draft_workspace = DraftWorkspace { confinement, drafts: place.draft_workspace.drafts.clone() };
        let terminal = Terminal::new(Settings {
            draft_workspace,
            workspace: Workspace::of(&place.path("data")),
            shell: "/bin/sh".into(),
            timeout: Duration::from_secs(60),
            trusted_output: false,
            data_dir: place.path("data"),
        });
        let asked = assessed(&terminal, json!({ "command": "true" })).await;
        assert!(asked.grade >= DangerGrade::High, "{asked:?}");
        assert!(
            asked
                .reasons
                .iter()
                .any(|why| why.starts_with("Here commands") && why.contains("so each must be approved: ")),
            "{asked:?}"
        );
        // Once somebody has approved it, it runs, and still ends with all that it started.
        let call = json!({ "command": "setsid sleep 600 & echo up" });
        let Outcome::From(_, outcome) = Outcome::of(terminal.call(invocation(UserId(1), call)).await) else { panic!() };
        assert_eq!(*outcome, Outcome::Exited { text: "up".to_owned(), code: 0 });
        place.quiet().await;
    }
}

#[tokio::test]
async fn d6_a_declared_command_is_in_the_sandbox_if_the_operator_says_so() {
    for way in WAYS {
        let place = Harness::new(way).await;
        let tool = |confinement: Option<Confinement>| {
            CommandTool::new(Declaration {
                name: "look".to_owned(),
                description: "Looks.".to_owned(),
                command: ["/bin/cat", "{file}"].map(str::to_owned).to_vec(),
                parameters: BTreeMap::from([("file".to_owned(), "Which.".to_owned())]),
                module: "commands".to_owned(),
                role: Role::Guest,
                trusted_output: true,
                idempotent: true,
                facts: ToolFacts::default(),
                timeout: Timeout::Usual,
                working_dir: place.workspace(),
                leftovers: ProcessReaper::of(&place.path("data")),
                confinement,
            })
        };
        let call = invocation(UserId(1), json!({ "file": place.path("config.toml") }));
        let free = Outcome::of(tool(None).call(call.clone()).await);
        assert!(matches!(free, Outcome::Exited { code: 0, .. }), "{free:?}");
        let confinement = Outcome::of(tool(Some(place.confinement.clone())).call(call).await);
        assert!(
            matches!(&confinement, Outcome::Exited { text, code: 1 } if text.contains(way.refusal())),
            "{confinement:?}"
        );
    }
}
