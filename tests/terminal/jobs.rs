//! Commands in the background.

use std::process::Command;
use std::time::Duration;

use hob_core::domain::ids::{CallId, UserId};
use hob_tools::{Outcome, Tool as _};
use serde_json::json;

use crate::place::{Harness, IsolationMode, WAYS, invocation};

#[tokio::test]
async fn a_command_goes_on_in_the_background_and_is_looked_at() {
    for way in WAYS {
        let place = Harness::new(way).await;
        let command = "echo one; read line < more; echo $line; exit 3";
        let more = place.workspace().join("more");
        assert!(Command::new("mkfifo").arg(&more).status().unwrap().success());
        let started = place.told(json!({ "command": command, "action": "start" })).await;
        assert_eq!(started, "It runs in the background; what it changes cannot be undone. Its id: 12/1.0");
        // What is printed is told once, and what came meanwhile with the next look.
        let check = json!({ "action": "check", "id": "12/1.0" });
        let first = loop {
            let told = place.told(check.clone()).await;
            if !told.contains("nothing new") {
                break told;
            }
        };
        assert_eq!(first, "12/1.0: runs, since 0 s\none");
        assert_eq!(place.told(check.clone()).await, "12/1.0: runs, since 0 s\n(nothing new was printed)");
        let listed = place.told(json!({ "action": "list" })).await;
        assert_eq!(listed, format!("12/1.0: runs, since 0 s: {command:?}"));
        std::fs::write(&more, "two\n").unwrap();
        let waited = json!({ "action": "check", "id": "12/1.0", "timeout_secs": 60 });
        assert_eq!(place.told(waited).await, "12/1.0: has ended, exit code 3\ntwo");
        place.quiet().await;
    }
}

#[tokio::test]
async fn what_only_looks_in_the_background_changes_nothing() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let told = place.told(json!({ "command": "df -T .", "action": "start" })).await;
    assert_eq!(told, "It runs in the background; what it changes is thrown away. Its id: 12/1.0");
    let told = place.told(json!({ "action": "check", "id": "12/1.0", "timeout_secs": 60 })).await;
    assert!(told.starts_with("12/1.0: has ended, exit code 0") && told.contains(" overlay "), "{told}");
    assert_eq!(std::fs::read_dir(place.path("data/drafts")).unwrap().count(), 0, "nothing is left of its copy");
}

#[tokio::test]
async fn a_command_in_the_background_is_ended_with_all_it_started() {
    for way in WAYS {
        let place = Harness::new(way).await;
        let command = "trap '' TERM; setsid sleep 600 & sleep 600";
        place.told(json!({ "command": command, "action": "start" })).await;
        let told = place.told(json!({ "action": "kill", "id": "12/1.0" })).await;
        assert_eq!(told, "12/1.0: was ended, with all that it had started");
        place.quiet().await;
    }
}

#[tokio::test]
async fn those_in_the_background_are_few_and_ones_own_and_end_with_hob() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let started = async |index: usize| {
        let mut call = invocation(UserId(1), json!({ "command": "sleep 600", "action": "start" }));
        call.call = CallId::new(1, index);
        Outcome::of(place.terminal.call(call).await)
    };
    for index in 0..8 {
        assert!(matches!(started(index).await, Outcome::Text(_)));
    }
    assert!(
        matches!(started(8).await, Outcome::Error(text) if text.starts_with("8 commands run in the background already"))
    );
    let mut call = invocation(UserId(1), json!({ "command": "df", "action": "start" }));
    call.call = CallId::new(1, 9);
    assert!(matches!(Outcome::of(place.terminal.call(call).await), Outcome::Error(_)));
    // Those at work have a copy each.
    let gone = async {
        while std::fs::read_dir(place.path("data/drafts")).unwrap().count() > 8 {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), gone).await.is_ok(), "a copy is left of what never began");
    let (others, _) = place.call_of(UserId(2), json!({ "action": "list" })).await;
    assert_eq!(others, Outcome::Text("No command runs in the background of this conversation.".to_owned()));
    for action in ["check", "kill"] {
        let (others, _) = place.call_of(UserId(2), json!({ "action": action, "id": "12/1.0" })).await;
        assert!(matches!(others, Outcome::Error(text) if text.contains("it is gone")));
    }
    assert!(place.alive() >= 8);
    let Harness { terminal, dir, sandbox, confinement, draft_workspace } = place;
    drop(terminal);
    // The next Hob knows nothing of them, and says so.
    let next = Harness {
        terminal: Harness::new(IsolationMode::Namespaces).await.terminal,
        dir,
        sandbox,
        confinement,
        draft_workspace,
    };
    next.quiet().await;
    let told = next.told(json!({ "action": "check", "id": "12/1.0" })).await;
    assert!(
        told.ends_with("If there was one, it is gone: it ended long ago, or with the Hob that had started it."),
        "{told}"
    );
}
