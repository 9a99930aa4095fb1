//! `kill -9` at named moments: what the person sees is one answer, and the effect happens at most once.

use hob_store::Store;
use serde_json::Value;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, BOB, EFFECT, TestHob, command};

fn gated(gate: &Gate, text: &str) -> Reply {
    Script::default().gate(gate).text(text).finish("stop").into()
}

#[tokio::test]
async fn n1_n3_while_the_model_is_asked() {
    let mut hob = TestHob::running("").await;
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.model.reply(Reply::text("Once."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["Once."]);
    let requests = hob.model.requests();
    assert_eq!(requests[0].body["messages"], requests[1].body["messages"], "the same is asked again");
    assert_eq!(hob.ask(ADA, "More?", Reply::text("More.")).await, "More.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b10_while_an_idempotent_command_runs() {
    let mut hob = TestHob::with(&format!("{EFFECT}idempotent = true")).await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("effect", "{}"));
    hob.model.reply(Reply::text("Done."));
    hob.say(ADA, "Go");
    up.line().await;
    hob.restart().await;
    up.line().await;
    // One word is enough: the first attempt is not there to take it.
    go.tell("go").await;
    assert_eq!(hob.told(ADA, 1).await, ["Done."]);
    assert_eq!(hob.lines("effects").len(), 2);
    hob.nothing_refused();
}

#[tokio::test]
async fn b13_what_cannot_be_resumed_safely_has_its_published_name() {
    let mut hob = TestHob::with(EFFECT).await;
    let (mut up, _go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("effect", "{}"));
    hob.say(ADA, "Go");
    up.line().await;
    hob.restart().await;
    hob.told(ADA, 1).await;
    let log = hob.process().log();
    let line = log.lines().find(|line| line.contains("agent_run.resume_unsafe")).unwrap();
    assert!(line.contains("run=1") && line.contains("unsafe_call"), "{line}");
}

/// Hob died over Ada's run, and the next one does not see it at its start: as if that process died only afterwards.
async fn killed_unseen() -> TestHob {
    let mut hob = TestHob::running("[daemon]\nreconcile_secs = 1").await;
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.model.reply(Reply::text("At last."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    hob.process.take().unwrap().kill().await;
    hob.execute("UPDATE runs SET state = 'cancelled', ended_at = 1, lease_owner = NULL, lease_until = NULL").await;
    hob.start().await;
    hob
}

#[tokio::test]
async fn b9_b13_a_dead_run_is_found_while_hob_runs() {
    let mut hob = killed_unseen().await;
    hob.process().until_logged("agent_run.reconcile", 2).await;
    assert_eq!(hob.model.requests().len(), 1, "nobody has taken it up");
    let dead = "UPDATE runs SET state = 'running', ended_at = NULL, lease_owner = 'somebody', lease_until = 1";
    hob.execute(dead).await;
    assert_eq!(hob.told(ADA, 1).await, ["At last."]);
    let log = hob.process().log();
    let counts = "due=1 woken=1 at_work=0 unserved=0";
    assert!(log.lines().any(|line| line.contains("agent_run.reconcile") && line.contains(counts)), "{log}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b13_a_lane_that_cannot_go_on_is_logged_by_its_published_name_and_goes_on_later() {
    let mut hob = killed_unseen().await;
    let dead = "UPDATE runs SET state = 'running', ended_at = NULL, lease_owner = 'somebody', lease_until = 1;
                CREATE TRIGGER stuck BEFORE UPDATE OF lease_owner ON runs BEGIN SELECT RAISE(ABORT, 'stuck'); END";
    hob.execute(dead).await;
    hob.process().until_log("agent_run.dispatch_next_failed").await;
    assert_eq!(hob.model.requests().len(), 1, "nobody could take it up");
    hob.execute("DROP TRIGGER stuck").await;
    assert_eq!(hob.told(ADA, 1).await, ["At last."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn what_a_command_started_is_gone_before_it_is_asked_about() {
    let mut hob =
        TestHob::with(&command("hang", "exec 3> $HOME/hold; setsid sleep 600 & echo up >&3; wait", &[])).await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("hang", "{}"));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hob.restart().await;
    hold.abandoned().await;
    assert!(hob.process().log().contains("tool.leftover_killed"));
    assert!(hob.told(ADA, 1).await[0].contains("1. it happened\n2. run it again\n3. give up"));
    hob.nothing_refused();
}

#[tokio::test]
async fn n1_b10_after_the_command_while_the_model_is_asked_again() {
    let mut hob = TestHob::with(EFFECT).await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("effect", "{}"));
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.model.reply(Reply::text("Done."));
    hob.say(ADA, "Go");
    up.line().await;
    go.tell("go").await;
    hob.asked(2).await;
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["Done."]);
    assert_eq!(hob.lines("effects"), ["effect"]);
    assert_eq!(hob.model.requests()[2].last_text(), "did it");
    hob.nothing_refused();
}

#[tokio::test]
async fn n1_when_telegram_has_the_answer_and_has_not_said_so() {
    let mut hob = TestHob::running("").await;
    hob.telegram.fault("sendMessage", Fault::HangAfter);
    assert_eq!(hob.ask(ADA, "Go", Reply::text("Once.")).await, "Once.");
    hob.restart().await;
    let told = hob.told(ADA, 2).await;
    insta::assert_snapshot!(told[1], @"
    ↻ (sent again after an interruption; you may have it already)
    Once.
    ");
    assert_eq!(hob.ask(ADA, "More?", Reply::text("More.")).await, "More.");
    assert_eq!(hob.model.requests().len(), 2, "no answer is asked for twice");
}

#[tokio::test]
async fn when_telegram_was_given_the_answer_and_did_not_take_it() {
    let mut hob = TestHob::running("").await;
    hob.telegram.fault("sendMessage", Fault::Hang);
    hob.model.reply(Reply::text("Once."));
    hob.say(ADA, "Go");
    hob.telegram.until_true("attempt", |world| world.called("sendMessage") == 1).await;
    hob.restart().await;
    assert!(hob.told(ADA, 1).await[0].ends_with("\nOnce."));
}

#[tokio::test]
async fn n3_right_after_the_answer() {
    let mut hob = TestHob::running("").await;
    for number in 1..=5 {
        let answer = format!("Answer {number}.");
        hob.model.reply(Reply::text(&answer));
        hob.say(ADA, "Go");
        hob.telegram.until_true("answer", |world| world.chat(ADA).by_bot().any(|m| m.text == answer)).await;
        hob.restart().await;
    }
    // The last answer may be said again before: what is waited for is the end itself.
    hob.model.reply(Reply::text("The end."));
    hob.say(ADA, "The end");
    hob.telegram.until_true("the end", |world| world.chat(ADA).by_bot().any(|m| m.text == "The end.")).await;
    let heard = hob.heard(ADA);
    let first: Vec<&String> = heard.iter().filter(|text| !text.starts_with('↻')).collect();
    assert_eq!(first, ["Answer 1.", "Answer 2.", "Answer 3.", "Answer 4.", "Answer 5.", "The end."]);
    assert_eq!(hob.model.requests().len(), 6);
}

#[tokio::test]
async fn what_was_queued_is_answered_after_it_in_order() {
    let mut hob = TestHob::running("").await;
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.say(ADA, "one");
    hob.asked(1).await;
    hob.say(ADA, "two");
    hob.say(ADA, "three");
    hob.recorded(2).await;
    hob.model.otherwise(|asked| Reply::text(asked.last_text().lines().last().unwrap()));
    hob.restart().await;
    assert_eq!(hob.told(ADA, 5).await[2..], ["one", "two", "three"]);
}

#[tokio::test]
async fn three_times_in_a_row_and_the_run_is_parked() {
    let mut hob = TestHob::running("").await;
    for _ in 0..3 {
        hob.model.reply(gated(&Gate::default(), "Never."));
    }
    hob.say(ADA, "Go");
    for asked in 1..=3 {
        hob.asked(asked).await;
        hob.restart().await;
    }
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"
    I was cut off three times in a row at the same step of this, so I have stopped trying by myself. Shall I carry on?
    1. carry on
    2. give up
    ");
    assert_eq!(hob.ask(BOB, "hello", Reply::text("Hello.")).await, "Hello.");
    assert_eq!(hob.model.requests().len(), 4);
    hob.model.reply(Reply::text("At last."));
    hob.press(ADA, "carry on");
    assert_eq!(hob.told(ADA, 2).await[1], "At last.");
    hob.nothing_refused();
}

#[tokio::test]
async fn what_a_damaged_run_had_set_aside_is_free_again() {
    // A call sets aside some 41 cents; two do not fit.
    let prices = "[budget]\nday_usd = 0.6\n[models.'openai-compatible/fake']\ninput_usd = 0.01\noutput_usd = 100.0\n";
    let mut hob = TestHob::running(prices).await;
    hob.model.reply(gated(&Gate::default(), "Never."));
    hob.say(ADA, "Go");
    hob.asked(1).await;
    hob.crash().await;
    let damage = "UPDATE run_events SET version = 999 WHERE kind = 'model.asked'";
    hob.execute(damage).await;
    hob.start().await;
    let told = hob.told(ADA, 1).await;
    assert!(told[0].contains("put it aside"), "{told:?}");
    assert_eq!(hob.ask(ADA, "Hello", Reply::text("Hello Ada.")).await, "Hello Ada.");
}

/// What another edition has written of how a run began, and this one can make nothing of.
#[derive(Debug, Clone, Copy)]
enum Foreign {
    /// An event that it does not know.
    Unknown,
    /// An event with which its own code panics: a number that it adds to, and that is the largest there is.
    Breaking,
}

impl Foreign {
    /// Writes it into the record of Ada's run, and gives what stood there.
    async fn write(self, hob: &TestHob) -> (i64, String) {
        let begun = "SELECT version, body FROM run_events WHERE run_id = 1 AND kind = 'run.begun'";
        let (version, body): (i64, String) = hob.row(begun).await;
        let mut foreign: Value = serde_json::from_str(&body).unwrap();
        foreign["body"]["billing"]["context_tokens"] = u64::MAX.into();
        match self {
            Self::Unknown => record(hob, 999, &body).await,
            Self::Breaking => record(hob, version, &foreign.to_string()).await,
        }
        (version, body)
    }
}

/// What is on record of how Ada's run began.
async fn record(hob: &TestHob, version: i64, body: &str) {
    let mut database = Store::raw(&hob.path("data/hob.db")).await.unwrap();
    let write = "UPDATE run_events SET version = $1, body = $2 WHERE run_id = 1 AND kind = 'run.begun'";
    sqlx::query(write).bind(version).bind(body).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
}

/// A question of Ada's run is open when an edition starts that cannot fold it; gives what it could fold.
async fn asked_and_cut_off(foreign: Foreign) -> (TestHob, (i64, String)) {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    hob.say(ADA, "Paint it");
    hob.told(ADA, 1).await;
    hob.recorded(1).await;
    hob.crash().await;
    let own = foreign.write(&hob).await;
    hob.start().await;
    hob.model.reply(Reply::text("Hello Ada."));
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 3).await;
    assert!(told[1].contains("put it aside"), "{told:?}");
    assert_eq!(told[2], "Hello Ada.");
    (hob, own)
}

/// It is told, once, and shown; and goes on where it stood with an edition that can fold it.
async fn outlives(foreign: Foreign) {
    let (mut hob, (version, body)) = asked_and_cut_off(foreign).await;
    let why = match foreign {
        Foreign::Unknown => "version 999 of run.begun is not known here",
        Foreign::Breaking => "folding its journal panicked",
    };
    hob.process().until_logged(why, 1).await;
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 4).await[3].clone();
    assert!(status.contains("runs: 1 parked"), "{status}");
    // The same release again, and then one that can read it.
    hob.recorded(3).await;
    hob.restart().await;
    hob.say(ADA, "/status");
    let told = hob.told(ADA, 5).await;
    assert!(told.len() == 5 && told[4].contains("runs: 1 parked"), "it is told once: {told:?}");
    hob.recorded(1).await;
    hob.crash().await;
    record(&hob, version, &body).await;
    hob.start().await;
    hob.model.reply(Reply::text("Blue it is."));
    hob.say(ADA, "blue");
    let told = hob.told(ADA, 6).await;
    assert_eq!(told[5], "Blue it is.", "{told:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b11_a_run_outlives_a_release_that_cannot_read_it() {
    outlives(Foreign::Unknown).await;
}

#[tokio::test]
async fn b11_a_run_outlives_a_release_that_breaks_over_it() {
    outlives(Foreign::Breaking).await;
}

#[tokio::test]
async fn b11_what_was_put_aside_is_given_up_at_a_persons_word() {
    let (hob, _) = asked_and_cut_off(Foreign::Breaking).await;
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 4).await[3], "I gave up what I had put aside here.");
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 5).await[4], "Nothing is running here.");
    hob.nothing_refused();
}
