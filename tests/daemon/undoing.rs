//! A change of the workspace is taken back: in chat, on the command line beside a Hob at work and without one.

use std::fs;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::ids::{CallId, RunId, SessionKey, UserId};
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::workspace::Workspace;

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
