//! Several daemons on one PostgreSQL, each a process with a home of its own: one leads, the others stand by.

use rustix::process::Signal;
use tempfile::TempDir;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::postgres::{Cluster, Database};
use hob_testkit::process::{HobProcess, hob_command};
use hob_testkit::standby::Standby;
use hob_testkit::test_hob::{ADA, TestHob};

/// A household whose state is in this database, and whose Hob runs.
async fn household(database: &Database<'_>) -> TestHob {
    TestHob::running(&format!("[state]\nurl = '{}'", database.url())).await
}

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

#[tokio::test]
async fn n15_a_conversation_goes_on_at_another_daemon_after_a_kill_and_after_a_stop() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let mut hob = household(&database).await;
    let mut other = Standby::of(&hob).await;
    let health = hob_command(other.home.path(), &["health"]).output().await.unwrap();
    let told = String::from_utf8(health.stdout).unwrap();
    assert!(health.status.success() && told.starts_with("stands by: "), "{told}");
    assert_eq!(hob.ask(ADA, "One", Reply::text("Uno.")).await, "Uno.");
    hob.recorded(1).await;
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.model.reply(Reply::text("Due."));
    hob.say(ADA, "Two");
    hob.asked(2).await;
    hob.crash().await;
    assert_eq!(hob.told(ADA, 2).await[1], "Due.");
    // What was killed stands by when it is back, and the other one stops in order.
    let mut back = HobProcess::start(hob_command(hob.home.path(), &["run"]));
    back.until_log("daemon.stands_by").await;
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 3).await[2].clone();
    let data = |home: &TempDir| home.path().join("data").display().to_string();
    assert!(status.contains(&format!("{} (0.1.0) leads", data(&other.home))), "{status}");
    assert!(status.contains(&format!("{} (0.1.0) stands by", data(&hob.home))), "{status}");
    let folder = other.home.path().join("data/workspace").canonicalize().unwrap();
    assert!(status.contains(&format!("\nworkspace: {} on the machine that leads", folder.display())), "{status}");
    let drained = hob_command(other.home.path(), &["drain"]).output().await.unwrap();
    let drained = String::from_utf8(drained.stdout).unwrap();
    assert!(drained.ends_with(&format!("{} leads\n", data(&hob.home))), "{drained}");
    assert!(other.process.ended().await.success());
    hob.process = Some(back);
    assert_eq!(hob.ask(ADA, "Three", Reply::text("Tre.")).await, "Tre.");
    assert!(hob.stop().await.success());
    assert_eq!(database.ask("SELECT count(*) FROM daemons"), "0");
    hob.nothing_refused();
}

#[tokio::test]
async fn n15_a_daemon_that_was_stopped_past_its_lease_and_wakes_does_nothing_more() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let mut hob = household(&database).await;
    let _other = Standby::of(&hob).await;
    let gate = Gate::default();
    hob.model.reply(gated(&gate, "Never."));
    hob.model.reply(Reply::text("Once."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    let mut stopped = hob.process.take().unwrap();
    stopped.signal(Signal::STOP);
    assert_eq!(hob.told(ADA, 1).await, ["Once."]);
    let events = "SELECT count(*), max(seq) FROM run_events";
    let recorded = database.ask(events);
    gate.open();
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.ended().await.code(), Some(1), "systemd starts it again");
    assert!(stopped.log().contains("daemon.fenced"), "{}", stopped.log());
    assert_eq!(database.ask(events), recorded);
    assert_eq!(hob.ask(ADA, "More?", Reply::text("More.")).await, "More.");
    assert_eq!(hob.heard(ADA), ["Once.", "More."]);
}

#[tokio::test]
async fn n15_an_answer_on_its_way_when_the_lease_was_lost_is_repeated_once_and_marked() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let mut hob = household(&database).await;
    let _other = Standby::of(&hob).await;
    hob.telegram.fault("sendMessage", Fault::HangAfter);
    assert_eq!(hob.ask(ADA, "Go", Reply::text("Once.")).await, "Once.");
    let mut stopped = hob.process.take().unwrap();
    stopped.signal(Signal::STOP);
    let told = hob.told(ADA, 2).await;
    assert!(told[1].starts_with('↻') && told[1].ends_with("\nOnce."), "{told:?}");
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.ended().await.code(), Some(1));
    assert_eq!(hob.heard(ADA).len(), 2);
}

#[tokio::test]
async fn n15_a_schedule_that_is_due_while_the_leading_daemon_dies_is_done_once() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let mut hob = household(&database).await;
    let _other = Standby::of(&hob).await;
    let arguments = r#"{"action": "create", "when": "every year on 1 January at 9:00", "task": "Water the plants."}"#;
    hob.model.reply(Reply::call("schedule", arguments));
    assert_eq!(hob.ask(ADA, "Remind me", Reply::text("I will.")).await, "I will.");
    hob.recorded(1).await;
    hob.model.otherwise(|_| Reply::text("The plants are thirsty."));
    database.ask("UPDATE schedules SET next_at = clock_ms()");
    hob.crash().await;
    assert_eq!(hob.told(ADA, 2).await[1], "The plants are thirsty.");
    assert_eq!(database.ask("SELECT count(*), count(DISTINCT run_id) FROM occurrences"), "1|1");
}

/// Beside a file there is nobody to hand over to: it ends all the same, and what it had begun is kept.
#[tokio::test]
async fn n15_drain_has_a_hob_end_and_says_when_it_has() {
    let mut hob = TestHob::running("[daemon]\ndrain_secs = 1").await;
    let (cut_off, answer) = (Gate::default(), "It was cut off.");
    hob.model.reply(gated(&cut_off, "Never."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    let drain = async || {
        let drained = hob_command(hob.home.path(), &["drain"]).output().await.unwrap();
        (drained.status.success(), String::from_utf8(drained.stdout).unwrap())
    };
    let (is_done, told) = drain().await;
    assert!(is_done && told.ends_with("has ended; what it had begun goes on at the next start\n"), "{told}");
    assert!(hob.process.take().unwrap().ended().await.success());
    let (is_done, told) = drain().await;
    assert!(is_done && told.starts_with("no Hob runs on "), "{told}");
    hob.model.reply(Reply::text(answer));
    hob.start().await;
    assert_eq!(hob.told(ADA, 1).await, [answer]);
}

/// The server is away for a moment, for all of them: nobody takes over from anybody.
#[tokio::test]
async fn n15_a_server_that_falls_over_leaves_the_lease_where_it_is() {
    let cluster = Cluster::own("falls-under-daemons");
    let database = cluster.database();
    let mut hob = household(&database).await;
    let _other = Standby::of(&hob).await;
    let leader = "SELECT boot FROM leases WHERE what = 'house'";
    let before = database.ask(leader);
    cluster.cut_off();
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    assert_eq!(database.ask(leader), before);
    assert!(hob.stop().await.success());
}
