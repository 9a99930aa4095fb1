//! Approvals (row D6, lesson 17), between a person's chat and a model that wants a careful tool.

use hob_testkit::fake_model::Reply;
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, BOB, HALL, OWNER, PAYS, TestHob};

/// A tool that is asked about each time, and leaves a line.
const WIPES: &str = r#"
[tools.wipe]
sandbox = false
trusted_output = true
description = "Wipes."
command = ["/bin/sh", "-c", "echo wiped >> $HOME/wiped; echo wiped"]
approval = "critical"
"#;

async fn careful(more: &str) -> TestHob {
    TestHob::running(&format!("{PAYS}{WIPES}{more}")).await
}

/// Ada has asked for something, and the model wants to pay Ben for it.
async fn asking(hob: &mut TestHob) {
    let before = hob.heard(ADA).len();
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    hob.say(ADA, "Pay Ben");
    hob.told(ADA, before + 1).await;
}

#[tokio::test]
async fn d6_a_button_approves_once() {
    let mut hob = careful("").await;
    asking(&mut hob).await;
    insta::assert_snapshot!(hob.heard(ADA)[0], @r#"
    May I do this?
    pay – Pays
    to: Ben
    It runs a program, which can do anything that its rights allow.
    "always": here I do not ask you again about: pay to="Ben"
    To say why not: deny: REASON
    1. approve
    2. always
    3. deny
    "#);
    assert_eq!(hob.buttons(ADA), ["approve", "always", "deny"]);
    assert!(hob.lines("paid").is_empty(), "it was not asked for nothing");
    let (message, token) = hob.telegram.look(|world| {
        let question = world.chat(ADA).by_bot().next().unwrap();
        (question.id, question.keyboard[0][0].1.clone())
    });
    hob.model.reply(Reply::text("Paid."));
    hob.press(ADA, "approve");
    assert_eq!(hob.told(ADA, 2).await[1], "Paid.");
    hob.telegram.press(ADA, ADA, message, &token);
    assert_eq!(hob.told(ADA, 3).await[2], "That question is no longer open.");
    assert_eq!((hob.lines("paid"), hob.last_result()), (vec!["Ben".to_owned()], "paid Ben".to_owned()));
    // The next call is asked about anew.
    asking(&mut hob).await;
    assert_eq!(hob.buttons(ADA).len(), 3);
    assert_eq!(hob.lines("paid").len(), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_words_approve_or_deny_with_a_reason() {
    let mut hob = careful("").await;
    asking(&mut hob).await;
    hob.say(ADA, "How much is it?");
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @"Queued, 1st. My question above comes first: please choose one of its answers.");
    hob.model.reply(Reply::text("Not paid."));
    hob.model.reply(Reply::text("Three."));
    hob.say(ADA, "no, because he owes me");
    assert_eq!(hob.told(ADA, 4).await[2..], ["Not paid.", "Three."]);
    let requests = hob.model.requests();
    insta::assert_snapshot!(requests[1].last_text(), @"
    Not run: a person did not approve this call. Their reason: because he owes me

    [It was denied. Don't try it again unless the user asks for it; say plainly that it was not done.]
    ");
    asking(&mut hob).await;
    hob.model.reply(Reply::text("Paid."));
    hob.say(ADA, "1");
    assert_eq!(hob.told(ADA, 6).await[5], "Paid.");
    assert_eq!(hob.lines("paid"), ["Ben"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_always_is_stored_listed_and_revoked_and_never_covers_the_critical() {
    let mut hob = careful("").await;
    asking(&mut hob).await;
    hob.model.reply(Reply::text("Paid."));
    hob.say(ADA, "always");
    hob.told(ADA, 2).await;
    // The question's last form is a delivery as well.
    hob.recorded(3).await;
    hob.restart().await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    assert_eq!(hob.ask(ADA, "And again", Reply::text("Paid too.")).await, "Paid too.");
    assert_eq!(hob.lines("paid"), ["Ben", "Ben"]);
    hob.say(ADA, "/grants");
    let listed = hob.told(ADA, 4).await.remove(3);
    assert!(listed.starts_with("I do these here without asking:\n1. pay to=\"Ben\" for Person 7, since "), "{listed}");
    hob.model.reply(Reply::call("wipe", "{}"));
    hob.say(ADA, "Wipe it");
    insta::assert_snapshot!(hob.told(ADA, 5).await[4], @"
    May I do this? (This is asked each time.)
    wipe – Wipes
    (no arguments)
    It runs a program, which can do anything that its rights allow.
    To say why not: deny: REASON
    1. approve
    2. deny
    ");
    hob.model.reply(Reply::text("Not wiped."));
    hob.press(ADA, "deny");
    hob.told(ADA, 6).await;
    assert!(hob.lines("wiped").is_empty());
    hob.say(ADA, "/grants revoke 2");
    hob.say(ADA, "/grants revoke 1");
    hob.say(ADA, "/grants");
    assert_eq!(
        hob.told(ADA, 9).await[6..],
        [
            "There is no grant 2 here; /grants lists the 1 that there are.",
            "Taken back, at once: I ask again before each pay to=\"Ben\" for Person 7.",
            "Nothing has a lasting permission here: I ask each time.",
        ]
    );
    asking(&mut hob).await;
    assert_eq!(hob.buttons(ADA), ["approve", "always", "deny"]);
    assert_eq!(hob.lines("paid").len(), 2);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_a_grant_is_one_persons_and_a_run_under_way_loses_it_at_once() {
    let mut hob = careful(
        r#"[tools.hold]
        sandbox = false
        trusted_output = true
        description = "Holds."
        command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go; echo held"]"#,
    )
    .await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    asking(&mut hob).await;
    hob.model.reply(Reply::text("Paid."));
    hob.say(ADA, "always");
    hob.told(ADA, 2).await;
    // Another person's conversation knows nothing of it.
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    hob.say(BOB, "Pay Ben");
    assert!(hob.told(BOB, 1).await[0].starts_with("May I do this?"));
    hob.model.reply(Reply::call("hold", "{}"));
    hob.model.reply(Reply::call("pay", r#"{"to": "Cleo"}"#));
    hob.say(ADA, "Hold, then pay Cleo");
    assert_eq!(up.line().await, "up");
    hob.say(ADA, "/grants revoke 1");
    hob.told(ADA, 3).await;
    go.tell("go").await;
    assert!(hob.told(ADA, 4).await[3].starts_with("May I do this?"));
    assert_eq!(hob.lines("paid"), ["Ben"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_nobody_but_the_requester_or_an_owner_answers() {
    let hob = careful("").await;
    hob.telegram.group(HALL, &[]);
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    hob.in_hall(ADA, "pay Ben");
    let question = hob.told(HALL, 1).await.remove(0);
    assert!(question.starts_with("May I do this?"), "{question}");
    let (message, token) = hob.telegram.look(|world| {
        let question = world.chat(HALL).by_bot().next().unwrap();
        (question.id, question.keyboard[0][0].1.clone())
    });
    hob.telegram.press(HALL, BOB, message, &token);
    insta::assert_snapshot!(hob.told(HALL, 2).await[1], @"Only who asked for that, or an owner, can approve or deny it. Nothing has changed.");
    hob.in_hall(BOB, "approve");
    assert_eq!(hob.told(HALL, 3).await[2], hob.heard(HALL)[1]);
    assert!(hob.lines("paid").is_empty());
    hob.model.reply(Reply::text("Paid."));
    hob.telegram.press(HALL, OWNER, message, &token);
    assert_eq!(hob.told(HALL, 4).await[3], "Paid.");
    assert_eq!(hob.lines("paid"), ["Ben"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_a_question_nobody_answers_expires_and_is_told() {
    let hob = careful("[approvals]\nexpire_secs = 1").await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    hob.model.reply(Reply::text("I could not pay."));
    hob.say(ADA, "Pay Ben");
    hob.told(ADA, 1).await;
    let buttons = hob.remembered(ADA);
    let told = hob.told(ADA, 3).await;
    insta::assert_snapshot!(told[1], @"Nobody approved pay in time, so I have not done it. If it is still wanted, say it again and I ask anew.");
    assert_eq!(told[2], "I could not pay.");
    insta::assert_snapshot!(hob.last_result(), @"
    Not run: a person had to approve this call, and nobody did in time. They have been told.

    [It was denied. Don't try it again unless the user asks for it; say plainly that it was not done.]
    ");
    hob.press_remembered(ADA, &buttons, "approve");
    assert_eq!(hob.told(ADA, 4).await[3], "That question is no longer open.");
    assert!(hob.lines("paid").is_empty());
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_expires_while_hob_is_off_expires_at_its_start() {
    let mut hob = careful("[approvals]\nexpire_secs = 2").await;
    asking(&mut hob).await;
    hob.recorded(1).await;
    hob.crash().await;
    hob.model.reply(Reply::text("I could not pay."));
    hob.start().await;
    assert_eq!(hob.told(ADA, 3).await[2], "I could not pay.");
    assert!(hob.lines("paid").is_empty());
}

#[tokio::test]
async fn d6_the_question_outlives_a_crash_and_its_approval_does_not_outlive_the_call() {
    let mut hob = careful(
        r#"[tools.effect]
        sandbox = false
        trusted_output = true
        description = "Has an effect."
        command = ["/bin/sh", "-c", "echo effect >> $HOME/effects; echo up > $HOME/up; read line < $HOME/go; echo did it"]
        idempotent = true
        approval = "ask""#,
    )
    .await;
    let (mut up, _go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.model.reply(Reply::call("effect", "{}"));
    hob.say(ADA, "Go");
    hob.told(ADA, 1).await;
    hob.recorded(1).await;
    hob.restart().await;
    hob.press(ADA, "approve");
    assert_eq!(up.line().await, "up");
    hob.restart().await;
    let question = hob.told(ADA, 2).await.remove(1);
    assert!(question.starts_with("I was interrupted while this call was under way"), "{question}");
    assert_eq!(hob.lines("effects"), ["effect"]);
    hob.model.reply(Reply::text("Good."));
    hob.press(ADA, "it happened");
    assert_eq!(hob.told(ADA, 3).await[2], "Good.");
    assert_eq!(hob.lines("effects"), ["effect"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_a_stop_voids_the_question() {
    let mut hob = careful("").await;
    asking(&mut hob).await;
    let buttons = hob.remembered(ADA);
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 2).await[1], "Stopped.");
    hob.press_remembered(ADA, &buttons, "approve");
    assert_eq!(hob.told(ADA, 3).await[2], "That question is no longer open.");
    assert_eq!(hob.ask(ADA, "approve", Reply::text("Approve what?")).await, "Approve what?");
    assert!(hob.lines("paid").is_empty());
    hob.nothing_refused();
}

/// Waits for the owner's question that says this, and presses this button under it.
async fn press_what_asks(hob: &TestHob, says: &str, label: &str) {
    let asks = |keyboard: &[Vec<(String, String)>]| keyboard.concat().into_iter().find(|(shown, _)| shown == label);
    let mut found = None;
    hob.telegram
        .until_true(says, |world| {
            let asking = world.chat(OWNER).by_bot().filter(|message| message.text.contains(says));
            found = asking.filter_map(|message| Some((message.id, asks(&message.keyboard)?.1))).last();
            found.is_some()
        })
        .await;
    let (message, token) = found.unwrap();
    hob.telegram.press(OWNER, OWNER, message, &token);
}

#[tokio::test]
async fn n6_each_config_change_of_one_reply_is_a_question_of_its_own() {
    let hob = careful("").await;
    let set = |value: &str| {
        let arguments = serde_json::json!({ "action": "set", "key": "agent.history_messages_max", "value": value });
        serde_json::json!({ "name": "manage_config", "arguments": arguments }).to_string()
    };
    let changes = ["11", "12", "13", "14"].map(set);
    let calls: Vec<(&str, &str)> = changes.iter().map(|change| ("use_tool", change.as_str())).collect();
    hob.model.reply(Reply::calls(&calls)).reply(Reply::text("One of four."));
    hob.say(OWNER, "Change it");
    // Beside the questions, the owner is told that the config was read anew: whichever comes first.
    press_what_asks(&hob, "agent.history_messages_max: not set → 11", "approve").await;
    // What it was asked about is what stands there by now, not what stood there when the model spoke.
    for change in ["11 → 12", "11 → 13", "11 → 14"] {
        press_what_asks(&hob, &format!("agent.history_messages_max: {change}"), "deny").await;
    }
    let is_last = |text: &str| text.starts_with("One of four.");
    hob.telegram.until_true("last word", |world| world.chat(OWNER).by_bot().any(|said| is_last(&said.text))).await;
    let written: Vec<String> =
        hob.lines("config.toml").into_iter().filter(|line| line.contains("history_messages_max")).collect();
    assert_eq!(written, ["history_messages_max = 11"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_a_question_leaves_out_goes_before_it_as_a_file() {
    let hob = careful("").await;
    let whom = format!("{}\u{202e}Mallory", "Ben, ".repeat(600));
    hob.model.reply(Reply::call("pay", &serde_json::json!({ "to": whom }).to_string()));
    hob.say(ADA, "Pay Ben");
    let told = hob.told(ADA, 2).await;
    assert!(told[1].contains("\nto: Ben, Ben, ") && told[1].contains("⟨U+202E⟩Mallory"), "{}", told[1]);
    assert!(told[1].contains("characters …⟩") && told[1].contains("The file above has the whole."), "{}", told[1]);
    let sent = hob.telegram.look(|world| world.chat(ADA).by_bot().cloned().collect::<Vec<_>>());
    let file = sent[0].file.clone().unwrap();
    assert_eq!(file.name, "arguments.txt");
    let content = String::from_utf8(file.bytes.clone()).unwrap();
    assert_eq!(content, format!("to: {}⟨U+202E⟩Mallory", "Ben, ".repeat(600)));
    assert!(hob.buttons(ADA).iter().all(|label| label != "always"), "nobody reads that in a line");
}

/// The content of the file that is to be written.
const NOTE: &str = r#"{"path": "contracts/rent.txt", "content": "100"}"#;

/// A persona that has these gates.
async fn gated(gates: &str) -> TestHob {
    TestHob::running(&format!("[agent]\npersona = 'clerk'\n[personas.clerk]\n{gates}")).await
}

#[tokio::test]
async fn d6_a_persona_has_each_call_of_a_built_in_tool_approved_anew() {
    let hob = gated("approvals = 'always'").await;
    hob.model.reply(Reply::calls(&[("write_file", NOTE), ("write_file", &NOTE.replace("rent", "heat"))]));
    hob.say(ADA, "Write it down");
    let first = hob.told(ADA, 1).await.pop().unwrap();
    assert!(first.contains("write_file") && first.contains("each such call is approved here"), "{first}");
    assert!(!first.contains("always\n"), "nothing covers the next one: {first}");
    hob.press(ADA, "approve");
    hob.told(ADA, 2).await;
    hob.model.reply(Reply::text("One is written."));
    hob.say(ADA, "deny: one is enough");
    assert_eq!(hob.told(ADA, 3).await[2].lines().next(), Some("One is written."));
    assert!(hob.path("data/workspace/contracts/rent.txt").exists());
    assert!(!hob.path("data/workspace/contracts/heat.txt").exists());
    let results = hob.model.requests()[1].body["messages"].to_string();
    assert!(results.contains("one is enough"), "the reason is a result: {results}");
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_may_change_a_protected_path_is_approved_and_the_rest_is_not() {
    let hob = gated("protected_paths = ['contracts']").await;
    hob.model.reply(Reply::call("write_file", &NOTE.replace("contracts/", "notes/")));
    hob.ask(ADA, "Write a note", Reply::text("Noted.")).await;
    hob.model.reply(Reply::call("write_file", NOTE));
    hob.say(ADA, "Write the contract");
    let asked = hob.told(ADA, 2).await.pop().unwrap();
    assert!(asked.contains("it may change what is protected: contracts"), "{asked}");
    hob.model.reply(Reply::text("It is written."));
    hob.press(ADA, "approve");
    assert_eq!(hob.told(ADA, 3).await[2], "It is written.");
    assert!(hob.path("data/workspace/contracts/rent.txt").exists());
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_is_protected_is_so_by_way_of_a_link_too() {
    let hob = gated("protected_paths = ['contracts']").await;
    let workspace = hob.path("data/workspace");
    std::fs::create_dir_all(workspace.join("contracts")).unwrap();
    std::os::unix::fs::symlink("contracts", workspace.join("c")).unwrap();
    hob.model.reply(Reply::call("write_file", &NOTE.replace("contracts/", "c/")));
    hob.say(ADA, "Write the contract");
    let asked = hob.told(ADA, 1).await.pop().unwrap();
    assert!(asked.contains("it may change what is protected: contracts"), "{asked}");
    assert!(!workspace.join("contracts/rent.txt").exists());
    hob.model.reply(Reply::text("It is not written."));
    hob.press(ADA, "deny");
    assert_eq!(hob.told(ADA, 2).await[1].lines().next(), Some("It is not written."));
    assert!(!workspace.join("contracts/rent.txt").exists());
    hob.nothing_refused();
}

#[tokio::test]
async fn n16_what_one_reply_wants_is_answered_in_one_word_for_all_or_some_or_none() {
    let hob = careful("").await;
    let wants = [("pay", r#"{"to": "Ben"}"#), ("pay", r#"{"to": "Eve"}"#), ("pay", r#"{"to": "Mia"}"#)];
    hob.model.reply(Reply::calls(&wants));
    hob.say(ADA, "Pay all of them");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @r#"
    May I do this? There are 3; all, some, or none.
    (1) pay – Pays
    to: Ben
    It runs a program, which can do anything that its rights allow.
    (2) pay – Pays
    to: Eve
    It runs a program, which can do anything that its rights allow.
    (3) pay – Pays
    to: Mia
    It runs a program, which can do anything that its rights allow.
    For some of them: only 1 and 3
    To say why not: deny: REASON
    1. only 1
    2. only 2
    3. only 3
    4. approve all
    5. deny
    "#);
    assert_eq!(hob.buttons(ADA), ["only 1", "only 2", "only 3", "approve all", "deny"]);
    // What is not clear makes none of them.
    hob.model.reply(Reply::text("Two paid."));
    hob.model.reply(Reply::text("So be it."));
    hob.say(ADA, "1 and 3");
    assert!(hob.told(ADA, 2).await[1].starts_with("Queued, 1st."));
    assert!(hob.lines("paid").is_empty());
    hob.say(ADA, "only 1 and 3");
    let told = hob.told(ADA, 4).await;
    assert!(told[2].starts_with("Two paid.") && told[2].contains("pay: 2 of 3 done, 1 not allowed"), "{told:?}");
    assert_eq!(paid(&hob), ["Ben", "Mia"]);
    let results = hob.model.requests()[1].body["messages"].to_string();
    assert_eq!(results.matches("a person did not approve this call").count(), 1, "{results}");
    for (label, news, expected) in [("approve all", "Paid.", 5), ("deny", "Not paid.", 5)] {
        let before = hob.heard(ADA).len();
        hob.model.reply(Reply::calls(&wants));
        hob.say(ADA, "Pay all of them");
        hob.told(ADA, before + 1).await;
        hob.model.reply(Reply::text(news));
        hob.press(ADA, label);
        assert_eq!(hob.told(ADA, before + 2).await[before + 1], news);
        assert_eq!(paid(&hob).len(), expected, "{label}");
    }
    hob.nothing_refused();
}

/// Who was paid. Calls that are let go together are made in any order.
fn paid(hob: &TestHob) -> Vec<String> {
    let mut paid = hob.lines("paid");
    paid.sort();
    paid
}
