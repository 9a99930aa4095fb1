//! A change of the workspace is taken back: in chat, on the command line beside a Hob at work and without one.

use std::fs;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::ids::{CallId, RunId, SessionKey, UserId};
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::workspace::Workspace;
use serde_json::json;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, BOB, TestHob};

/// What a call of Ada's run has made in the workspace, as it is recorded.
async fn changed(hob: &TestHob, run: i64, name: &str) {
    let ada: i64 = hob.value("SELECT user_id FROM identities WHERE external_id = '7'").await;
    let data = hob.path("data");
    let drafts = Drafts::new(&data, &Workspace::of(&data));
    let now = SystemClock.now();
    let of = DraftOwner { run: RunId(run), session: SessionKey(ADA.to_string()), user: UserId(ada), now };
    let draft = drafts.open(&of, &DraftId::Call(CallId::new(1, 0))).unwrap();
    fs::write(draft.overlays()[0].upper.join(name), "x").unwrap();
    assert_eq!(draft.keep_all(now).unwrap().changes, 1);
    assert!(hob.path("data/workspace").join(name).exists());
}

/// What `hob undo` prints.
async fn undo(hob: &TestHob) -> String {
    let output = hob_command(hob.home.path(), &["undo"]).output().await.unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[tokio::test]
async fn a_change_is_taken_back_in_its_own_conversation_and_by_the_house() {
    let mut hob = TestHob::running("").await;
    hob.ask(ADA, "hello", Reply::text("Hello.")).await;
    hob.ask(BOB, "hello", Reply::text("Hello.")).await;
    for (run, name) in [(101, "one"), (102, "two"), (103, "three"), (104, "four")] {
        changed(&hob, run, name).await;
    }
    let workspace = hob.path("data/workspace");
    let there = |name: &str| workspace.join(name).exists();
    hob.say(BOB, "/undo");
    let told = hob.told(BOB, 2).await;
    assert_eq!(told[1], "I have changed nothing here within the last day that could be taken back.");
    assert!(there("four"));
    hob.say(ADA, "/undo");
    assert_eq!(hob.told(ADA, 2).await[1], "1 change taken back.");
    assert!(there("three") && !there("four"));
    // What somebody has touched since stays.
    fs::write(hob.path("data/workspace/three"), "by hand").unwrap();
    hob.say(ADA, "/undo");
    let told = hob.told(ADA, 3).await;
    assert_eq!(told[2], "0 changes taken back.\nLeft as it is: three (it was changed since)");
    assert!(there("three"));
    assert_eq!(undo(&hob).await, "1 change taken back.\n");
    assert!(there("one") && !there("two"));
    hob.stop().await;
    assert_eq!(undo(&hob).await, "1 change taken back.\n");
    assert!(!there("one"));
    assert!(undo(&hob).await.contains("there is no change of the last day that could be taken back"));
    hob.nothing_refused();
}

/// As a kill leaves it between the command that was taken in and what it asks for, before that was begun and after it was done.
#[tokio::test]
async fn an_undo_that_was_cut_off_takes_back_one_change_at_most_and_says_so() {
    let not_begun = "I was restarted before anything was taken back. If it is still to be, say /undo again.";
    for (has_begun, is_done, expected) in
        [(false, false, not_begun), (true, false, "1 change taken back."), (true, true, "1 change taken back.")]
    {
        let mut hob = TestHob::running("").await;
        hob.ask(ADA, "hello", Reply::text("Hello.")).await;
        hob.recorded(1).await;
        changed(&hob, 101, "one").await;
        changed(&hob, 102, "two").await;
        hob.crash().await;
        if is_done {
            assert_eq!(undo(&hob).await, "1 change taken back.\n");
        }
        let draft = if has_begun { "'run-102-call-1.0'" } else { "NULL" };
        hob.execute(
            "INSERT INTO inbound (session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at, received_at)
             SELECT session_id, user_id, channel, account, chat, 'cut-off', '/undo', 0, 'command', sent_at, received_at FROM inbound",
        )
        .await;
        let (message, user, session) = hob
            .row::<(i64, i64, i64)>("SELECT id, user_id, session_id FROM inbound WHERE external_id = 'cut-off'")
            .await;
        let request = json!({
            "action": "undo",
            "principal": { "user": user, "name": "Ada", "role": "user", "trust": "trusted" },
            "session": ADA.to_string(),
            "session_id": session,
            "place": { "channel": "telegram", "account": "default", "chat": ADA.to_string(), "thread": null },
        });
        let add =
            format!("INSERT INTO follow_ups (inbound_id, request, draft) VALUES ({message}, '{request}', {draft})");
        hob.execute(sqlx::AssertSqlSafe(add)).await;
        hob.start().await;
        assert_eq!(hob.told(ADA, 2).await[1], expected);
        let there = |name: &str| hob.path("data/workspace").join(name).exists();
        assert_eq!((there("one"), there("two")), (true, !has_begun), "one change at most, and no other");
        assert_eq!(hob.value::<i64>("SELECT count(*) FROM follow_ups").await, 0);
        hob.recorded(1).await;
        hob.restart().await;
        assert_eq!(hob.ask(ADA, "and now?", Reply::text("Nothing.")).await, "Nothing.");
        assert_eq!(hob.heard(ADA).len(), 3, "it is said once");
        hob.nothing_refused();
    }
}
