//! A change of the workspace is taken back: in chat, on the command line beside a Hob at work and without one.

use std::fs;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::ids::{CallId, RunId, SessionKey, UserId};
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::workspace::Workspace;

use hob_testkit::fake_model::Reply;
use hob_testkit::house::{ADA, BOB, House};
use hob_testkit::process::hob;

/// What a call of Ada's run has made in the workspace, as it is recorded.
async fn changed(house: &House, run: i64, name: &str) {
    let ada: i64 = house.value("SELECT user_id FROM identities WHERE external_id = '7'").await;
    let data = house.path("data");
    let drafts = Drafts::new(&data, &Workspace::of(&data));
    let now = SystemClock.now();
    let of = DraftOwner { run: RunId(run), session: SessionKey(ADA.to_string()), user: UserId(ada), now };
    let draft = drafts.open(&of, &DraftId::Call(CallId::new(1, 0))).unwrap();
    fs::write(draft.overlays()[0].upper.join(name), "x").unwrap();
    assert_eq!(draft.keep_all(now).unwrap().changes, 1);
    assert!(house.path("data/workspace").join(name).exists());
}

/// What `hob undo` prints.
async fn undo(house: &House) -> String {
    let output = hob(house.home.path(), &["undo"]).output().await.unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[tokio::test]
async fn a_change_is_taken_back_in_its_own_conversation_and_by_the_house() {
    let mut house = House::running("").await;
    house.ask(ADA, "hello", Reply::text("Hello.")).await;
    house.ask(BOB, "hello", Reply::text("Hello.")).await;
    for (run, name) in [(101, "one"), (102, "two"), (103, "three"), (104, "four")] {
        changed(&house, run, name).await;
    }
    let workspace = house.path("data/workspace");
    let there = |name: &str| workspace.join(name).exists();
    house.say(BOB, "/undo");
    let told = house.told(BOB, 2).await;
    assert_eq!(told[1], "I have changed nothing here within the last day that could be taken back.");
    assert!(there("four"));
    house.say(ADA, "/undo");
    assert_eq!(house.told(ADA, 2).await[1], "1 change taken back.");
    assert!(there("three") && !there("four"));
    // What somebody has touched since stays.
    fs::write(house.path("data/workspace/three"), "by hand").unwrap();
    house.say(ADA, "/undo");
    let told = house.told(ADA, 3).await;
    assert_eq!(told[2], "0 changes taken back.\nLeft as it is: three (it was changed since)");
    assert!(there("three"));
    assert_eq!(undo(&house).await, "1 change taken back.\n");
    assert!(there("one") && !there("two"));
    house.stop().await;
    assert_eq!(undo(&house).await, "1 change taken back.\n");
    assert!(!there("one"));
    assert!(undo(&house).await.contains("there is no change of the last day that could be taken back"));
    house.nothing_refused();
}
