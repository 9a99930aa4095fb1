//! Files that come with messages, files that go out, and the workspace between them.

use serde_json::json;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::process::within;
use hob_testkit::test_hob::{ADA, BOB, HALL, OWNER, TestHob};

/// What is kept of files, by its names in the data directory.
fn kept(hob: &TestHob) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(hob.path("data/files")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn c6_a_file_that_came_is_read_by_its_id_and_by_nobody_elsewhere() {
    let hob = TestHob::running("").await;
    hob.model.reply(Reply::call("read_file", r#"{"id": 1}"#)).reply(Reply::text("It says milk."));
    hob.telegram.hand(ADA, "list.txt", b"milk\neggs\n", "what is on it?");
    hob.told(ADA, 1).await;
    let requests = hob.model.requests();
    assert!(
        requests[0]
            .last_user()
            .contains("what is on it?\n[File \"list.txt\", text/plain, 10 bytes: id 1, for read_file"),
        "{}",
        requests[0].last_user()
    );
    assert_eq!(requests[1].last_text(), "1\tmilk\n2\teggs");
    hob.model.reply(Reply::call("read_file", r#"{"id": 1}"#));
    hob.ask(BOB, "and you?", Reply::text("I can't.")).await;
    let read = hob.model.requests();
    assert!(read[3].last_text().starts_with("There is no file 1 in this conversation."), "{}", read[3].last_text());
    hob.nothing_refused();
}

/// A PNG of 2 × 2 pixels, as far as its header goes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0\xfd\xd4\x9as";

#[tokio::test]
async fn a_file_found_for_one_in_a_group_is_nobody_elses_until_it_is_sent_there() {
    let mut hob = TestHob::with("[workspace]\ntrusted = true").await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    std::fs::create_dir_all(hob.path("data/workspace")).unwrap();
    std::fs::write(hob.path("data/workspace/scan.png"), PNG).unwrap();
    let by_id = r#"{"id": 1}"#;
    let none = "There is no file 1 in this conversation.";
    for (runs, (person, tool, arguments, told)) in (1..).zip([
        (ADA, "read_file", r#"{"path": "scan.png"}"#, "id 1"),
        (BOB, "read_file", by_id, none),
        (ADA, "read_file", by_id, "This is image/png"),
        (ADA, "send_file", by_id, ""),
        (BOB, "read_file", by_id, "This is image/png"),
    ]) {
        // Nothing that was read before is in the way.
        hob.telegram.post(Post::new(HALL, person, "/new"));
        hob.model.reply(Reply::call(tool, arguments)).reply(Reply::text("Well."));
        hob.in_hall(person, "go on");
        hob.ended(runs).await;
        let result: String = hob.value("SELECT result FROM tool_calls ORDER BY run_id DESC LIMIT 1").await;
        assert!(result.contains(told), "{person} {tool}: {result}");
    }
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_file_that_cannot_be_had_costs_its_message_nothing() {
    let hob = TestHob::running("").await;
    hob.telegram.faults("getFile", Fault::BadRequest("wrong file_id".to_owned()), 1);
    hob.model.reply(Reply::text("Send it again."));
    hob.telegram.hand(ADA, "list.txt", b"milk", "read this");
    assert_eq!(hob.told(ADA, 1).await, ["Send it again."]);
    let asked = hob.model.requests();
    assert!(asked[0].last_user().contains("[The file \"list.txt\" did not come along: Telegram says: 400"));
    assert_eq!(kept(&hob), Vec::<String>::new());
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_stranger_fills_no_disk() {
    let hob = TestHob::running("").await;
    hob.telegram.hand(hob_testkit::test_hob::STRANGER, "x", b"x", "");
    hob.acknowledged().await;
    assert_eq!(hob.telegram.look(|world| world.called("getFile")), 0);
    assert_eq!(kept(&hob), Vec::<String>::new());
}

#[tokio::test]
async fn c6_a_file_is_written_sent_as_it_was_and_survives_a_kill() {
    let mut hob = TestHob::running("").await;
    let write = json!({ "path": "plans/garden.md", "content": "# Beds\n" }).to_string();
    hob.model.reply(Reply::call("write_file", &write));
    let send = json!({ "path": "plans/garden.md", "caption": "The plan" }).to_string();
    hob.telegram.faults("sendDocument", Fault::Server(500), 1_000);
    hob.model.reply(Reply::call("send_file", &send)).reply(Reply::text("Sent, I hope."));
    hob.say(ADA, "write a plan and send it to me");
    hob.asked(3).await;
    // All is recorded, and nothing delivered, when the process dies.
    hob.ended(1).await;
    let requests = hob.model.requests();
    assert!(requests[2].last_text().starts_with("The file is queued for delivery to this conversation"));
    let tried = || hob.telegram.look(|world| world.called("sendDocument"));
    within("attempt to send", async { hob.telegram.called("sendDocument", 1).await }).await;
    assert!(tried() > 0);
    // The file changes before it is delivered, and the process dies: what was to be sent is sent.
    std::fs::write(hob.path("data/workspace/plans/garden.md"), "changed").unwrap();
    hob.crash().await;
    hob.telegram.mend();
    hob.start().await;
    hob.telegram.until_sent(ADA, 2).await;
    let sent = hob.telegram.look(|world| world.chat(ADA).by_bot().cloned().collect::<Vec<_>>());
    let file = sent[0].file.clone().unwrap();
    assert!(sent[0].text.ends_with("The plan"), "{}", sent[0].text);
    assert_eq!((file.name.as_str(), file.bytes.as_slice()), ("garden.md", b"# Beds\n".as_slice()));
    assert_eq!(sent[1].text, "Sent, I hope.");
    assert_eq!(sent.len(), 2, "each once");
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_whoever_has_everything_forgotten_leaves_no_file() {
    let hob = TestHob::running("").await;
    hob.model.reply(Reply::text("Seen."));
    hob.telegram.hand(ADA, "a.txt", b"mine", "keep this");
    hob.told(ADA, 1).await;
    hob.model.reply(Reply::text("Seen."));
    hob.telegram.hand(BOB, "b.txt", b"his", "keep this");
    hob.told(BOB, 1).await;
    assert_eq!(kept(&hob).len(), 2);
    hob.say(ADA, "/forget everything yes");
    hob.told(ADA, 2).await;
    let path = hob.path("data/files");
    within("forgotten file", async {
        while std::fs::read_dir(&path).unwrap().count() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    hob.model.reply(Reply::call("read_file", r#"{"id": 2}"#));
    hob.ask(BOB, "read it", Reply::text("his")).await;
    assert_eq!(hob.model.requests().last().unwrap().last_text(), "1\this");
}

#[tokio::test]
async fn c5_the_owner_alone_has_others_written_to() {
    let hob = TestHob::running(&format!("[destinations.bob]\ntelegram_chat = {BOB}")).await;
    let call = r#"{"text": "Dinner is ready", "to": "bob"}"#;
    hob.model.reply(Reply::call("send_message", call));
    hob.ask(ADA, "tell Bob", Reply::text("I may not.")).await;
    assert_eq!(hob.heard(BOB), Vec::<String>::new());
    hob.model.reply(Reply::call("send_message", call)).otherwise(|_| Reply::text("Told."));
    hob.say(OWNER, "tell Bob");
    let told = hob.telegram.until_sent(OWNER, 1).await;
    // Where calls are assessed, the owner is asked first.
    if told[0].contains("send_message") {
        hob.say(OWNER, "1");
    }
    assert_eq!(hob.told(BOB, 1).await, ["Dinner is ready"]);
    hob.nothing_refused();
}
