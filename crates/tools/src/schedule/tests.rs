//! The tool, through the registry, on a real file.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::watch::{WatchCommand, WatchPage};
use super::{ScheduleKeeper, ScheduleTool};
use crate::changes::Drafts;
use crate::draft_workspace::DraftWorkspace;
use crate::net::tests::{FakeResolver, guard};
use crate::registry::Registry;
use crate::sandbox::Sandbox;
use crate::sandbox::confinement::Confinement;
use crate::sandbox::spec::{Limits, SandboxAccess};
use crate::workspace::Workspace;
use crate::{Invocation, Outcome};
use hob_core::domain::ids::{CallId, UserId};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{DangerGrade, Risk};
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx};

async fn rows(tx: &mut Tx) -> Result<(), StoreError> {
    for row in [
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0), (2, 'Bo', 'user', 0)",
        "INSERT INTO sessions (id, key, channel, created_at) VALUES (7, '7', 'telegram', 0)",
        "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
           disposition, sent_at, received_at) VALUES (1, 7, 1, 'telegram', 'default', '7', '1', 'hi', 0, 'run', 0, 0)",
        "INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES (12, 7, 1, 1, 'running', 0)",
    ] {
        sqlx::query(row).execute(&mut *tx).await?;
    }
    Ok(())
}

struct Harness {
    _dir: TempDir,
    store: Store,
    tools: Registry,
    alarm: Arc<Notify>,
}

impl Harness {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        store.write(rows).await.unwrap();
        let (alarm, zone) = (Arc::new(Notify::new()), TimeZone::get("Europe/Berlin").unwrap());
        let keeper = ScheduleKeeper { store: store.clone(), zone, alarm: Arc::clone(&alarm) };
        let confinement = {
            let reach =
                SandboxAccess { read: Vec::new(), write: Vec::new(), network: false, limits: Limits::default() };
            Confinement::new(Sandbox::none("this is a test"), reach, dir.path())
        };
        let draft_workspace =
            DraftWorkspace { confinement, drafts: Drafts::new(dir.path(), &Workspace::of(dir.path())) };
        let tools = Registry::default()
            .with(Arc::new(ScheduleTool::new(keeper.clone())))
            .with(Arc::new(WatchPage::new(keeper.clone(), guard(&[], FakeResolver::of(&[])))))
            .with(Arc::new(WatchCommand::new(keeper, draft_workspace, "/bin/sh".into())));
        Self { _dir: dir, store, tools, alarm }
    }

    async fn call(&self, invocation: Invocation) -> Result<String, String> {
        self.call_of("schedule", invocation).await
    }

    async fn call_of(&self, tool: &str, invocation: Invocation) -> Result<String, String> {
        assert_eq!(self.tools.argument_errors(tool, &invocation.arguments), None);
        match Outcome::of(self.tools.get(tool).unwrap().call(invocation).await) {
            Outcome::Text(text) => Ok(text),
            Outcome::Error(text) => Err(text),
            other => panic!("{other:?}"),
        }
    }
}

/// The nth call of Ada's run, on a Saturday at noon.
fn nth(index: usize, arguments: Value) -> Invocation {
    let call = CallId::new(1, index);
    Invocation { call, now: "2026-11-21T12:00:00Z".parse().unwrap(), ..Invocation::for_trial(arguments) }
}

fn create(when: &str, task: &str) -> Value {
    json!({"action": "create", "when": when, "task": task})
}

#[tokio::test]
async fn n13_the_answer_is_what_was_stored() {
    let home = Harness::new().await;
    let made = home.call(nth(0, create("weekdays at 8:30", "Tell the weather."))).await;
    insta::assert_snapshot!(made.unwrap(), @"
    Stored as:
    1. on weekdays at 08:30 (Europe/Berlin): Tell the weather.
       next: Mon 2026-11-23 08:30 +01:00, Tue 2026-11-24 08:30 +01:00, Wed 2026-11-25 08:30 +01:00
    ");
    home.alarm.notified().await;
    let elsewhere = json!({"action": "create", "when": "in 2h", "task": "Call.", "zone": "Asia/Tokyo"});
    insta::assert_snapshot!(home.call(nth(1, elsewhere)).await.unwrap(), @"
    Stored as:
    2. on 21 November 2026 at 23:00 (Asia/Tokyo): Call.
       next: Sat 2026-11-21 23:00 +09:00
    ");
    insta::assert_snapshot!(home.call(nth(2, json!({"action": "pause", "id": 1}))).await.unwrap(), @"
    Paused:
    1. [paused] on weekdays at 08:30 (Europe/Berlin): Tell the weather.
    ");
    insta::assert_snapshot!(home.call(nth(3, json!({"action": "list"}))).await.unwrap(), @"
    1. [paused] on weekdays at 08:30 (Europe/Berlin): Tell the weather.
    2. on 21 November 2026 at 23:00 (Asia/Tokyo): Call.
       next: Sat 2026-11-21 23:00 +09:00
    ");
    assert!(home.call(nth(4, json!({"action": "delete", "id": 2}))).await.unwrap().starts_with("Deleted"));
    assert!(home.call(nth(5, json!({"action": "delete", "id": 2}))).await.unwrap_err().contains("no such schedule"));
    let again = Invocation { attempt: 2, ..nth(4, json!({"action": "delete", "id": 2})) };
    assert_eq!(home.call(again).await.unwrap(), "Deleted.");
}

#[tokio::test]
async fn n13_the_same_call_makes_one() {
    let home = Harness::new().await;
    let first = home.call(nth(0, create("every day at 9", "x"))).await.unwrap();
    let again = Invocation { attempt: 2, ..nth(0, create("every day at 9", "x")) };
    assert_eq!(home.call(again).await.unwrap(), first);
    assert!(home.call(nth(1, create("every day at 9", "x"))).await.unwrap().contains("2. every day"));
}

#[tokio::test]
async fn n13_what_cannot_be_is_refused_and_nothing_stored() {
    let home = Harness::new().await;
    for (arguments, why) in [
        (create("on 31 February at 9", "x"), "Not stored: that day does not exist."),
        (create("today at 9", "x"), "Not stored: that time is past."),
        (create("", "x"), "To create one, `when` is needed."),
        (create("every day at 9", " "), "To create one, `task` is needed."),
        (
            json!({"action": "create", "when": "every day at 9", "task": "x", "zone": "Mars/Base"}),
            "There is no time zone \"Mars/Base\". Write it like `Europe/Berlin`.",
        ),
        (json!({"action": "pause"}), "This action needs `id`: list the schedules to see it."),
        (json!({"action": "pause", "id": 9}), "There is no such schedule. List them to see their numbers."),
    ] {
        assert_eq!(home.call(nth(0, arguments)).await, Err(why.to_owned()));
    }
    let unclear = home.call(nth(0, create("when it rains", "x"))).await.unwrap_err();
    assert!(unclear.contains("weekdays at 8:30") && unclear.contains("cron"), "{unclear}");
    assert_eq!(home.call(nth(0, json!({"action": "list"}))).await.unwrap(), "Nothing is scheduled.");
}

#[tokio::test]
async fn n13_n4_ones_own_are_ones_own() {
    let home = Harness::new().await;
    home.call(nth(0, create("every day at 9", "Ada's secret"))).await.unwrap();
    let bo = |arguments: Value, role: Role| {
        let mut invocation = nth(1, arguments);
        invocation.principal.user = UserId(2);
        invocation.principal.role = role;
        invocation
    };
    let list = || json!({"action": "list"});
    assert_eq!(home.call(bo(list(), Role::User)).await.unwrap(), "Nothing is scheduled.");
    assert!(home.call(bo(json!({"action": "delete", "id": 1}), Role::User)).await.is_err());
    assert!(home.call(bo(list(), Role::Admin)).await.unwrap().contains("for: Ada"));
    // In a group it is nobody's business, not even for whom it is.
    let mut hall = nth(2, list());
    hall.destination.conversation.chat = "-5".to_owned();
    assert_eq!(home.call(hall).await.unwrap(), "Nothing is scheduled.");
    assert!(home.call(bo(json!({"action": "pause", "id": 1}), Role::Admin)).await.is_ok());
}

#[tokio::test]
async fn n6_what_its_run_had_read_goes_along() {
    let home = Harness::new().await;
    let taint = Taint::from_iter([OriginSource::new(Origin::Web, "https://a.example")]);
    home.call(Invocation { taint: taint.clone(), ..nth(0, create("in 2h", "x")) }).await.unwrap();
    let stored = home
        .store
        .read(async |tx| {
            Ok(sqlx::query_scalar::<_, String>("SELECT taint FROM schedules ORDER BY id").fetch_all(&mut *tx).await?)
        })
        .await
        .unwrap();
    assert_eq!(serde_json::from_str::<Taint>(&stored[0]).unwrap(), taint);
    let tool = home.tools.get("schedule").unwrap();
    let assessed = async |arguments| tool.assess(&nth(0, arguments), &|_| false).await.risk;
    assert_eq!(assessed(create("in 2h", "x")).await, Risk::Write);
    assert_eq!(assessed(json!({"action": "list"})).await, Risk::Read);
}

#[tokio::test]
async fn f1_what_looks_first_is_a_schedule_that_says_so() {
    let home = Harness::new().await;
    let page = json!({"url": "https://a.example/news#top", "when": "every day at 9", "task": "Tell what is new."});
    insta::assert_snapshot!(home.call_of("watch_page", nth(0, page.clone())).await.unwrap(), @"
    Stored as:
    1. every day at 09:00 (Europe/Berlin): Tell what is new.
       looks first at https://a.example/news
       next: Sun 2026-11-22 09:00 +01:00, Mon 2026-11-23 09:00 +01:00, Tue 2026-11-24 09:00 +01:00
    ");
    let again = Invocation { attempt: 2, ..nth(0, page) };
    assert!(home.call_of("watch_page", again).await.unwrap().contains("\n1. "), "the same call makes one");
    let command = json!({"command": "ls box", "when": "every day at 9", "task": "Sort them."});
    // There is no sandbox here, and nobody is asked each time.
    let unwalled = home.call_of("watch_command", nth(1, command)).await.unwrap_err();
    assert!(unwalled.contains("none looks unattended"), "{unwalled}");
    let none = json!({"url": "file:///etc/passwd", "when": "every day at 9", "task": "x"});
    assert!(home.call_of("watch_page", nth(2, none)).await.unwrap_err().contains("cannot be asked"));
    assert_eq!(home.call(nth(3, json!({"action": "list"}))).await.unwrap().matches("looks first").count(), 1);
}

#[tokio::test]
async fn f1_a_command_that_is_run_again_and_again_is_asked_about() {
    let home = Harness::new().await;
    let known = async |tool: &str, arguments: Value, is_heard: bool| {
        home.tools.get(tool).unwrap().assess(&nth(0, arguments), &move |_| is_heard).await
    };
    for command in ["ls", "rm -r box", "curl https://a.example"] {
        let known = known("watch_command", json!({ "command": command }), true).await;
        assert!(known.grade >= DangerGrade::Medium && known.risk >= Risk::Execute && !known.contained, "{known:?}");
        assert!(known.reasons.iter().any(|why| why.contains("again and again")), "{known:?}");
    }
    let refused = known("watch_command", json!({ "command": "rm -rf /" }), true).await;
    assert_eq!(refused.grade, DangerGrade::Refused);
    // To go to a page that somebody named is no more than to keep a schedule; to one that nobody named tells its host something.
    let url = json!({ "url": "https://a.example/x" });
    let (heard, unheard) = (known("watch_page", url.clone(), true).await, known("watch_page", url, false).await);
    assert_eq!((heard.risk, heard.site, unheard.risk), (Risk::Write, None, Risk::Send));
}
