//! Pictures that people send, and models that see them or do not.

use serde_json::json;

use hob_testkit::fake_model::{FakeModel, Gate, Reply, Script};
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};

/// A PNG of 2 × 2 pixels, as far as its header goes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0\xfd\xd4\x9as";
/// The same as a data URL.
const URL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91Jpz";

/// Ada sends a photo with these words under it.
fn show(hob: &TestHob, bytes: &[u8], caption: &str) {
    let mut size = hob.telegram.look(|world| world.upload("", "image/jpeg", bytes));
    size["width"] = json!(2);
    size["height"] = json!(2);
    let photo = json!({ "photo": [size], "caption": caption });
    hob.telegram.post(Post::new(ADA, ADA, "").with(photo));
}

/// Ada sends a photo; the model's answer.
async fn shown(hob: &TestHob, bytes: &[u8], caption: &str) -> String {
    let before = hob.heard(ADA).len();
    hob.model.reply(Reply::text("I see."));
    show(hob, bytes, caption);
    hob.told(ADA, before + 1).await.pop().unwrap()
}

#[tokio::test]
async fn c6_a_photo_is_seen_and_only_its_reference_is_recorded() {
    let hob = TestHob::running("").await;
    assert_eq!(shown(&hob, PNG, "What is that?").await, "I see.");
    let asked = hob.model.requests();
    assert_eq!(asked[0].pictures(), [URL]);
    let words = "What is that?\n[File \"photo.jpg\", image/png, 33 bytes: id 1, for read_file and send_file]";
    assert!(asked[0].last_user().ends_with(words), "{}", asked[0].last_user());
    hob.ask(ADA, "And its colour?", Reply::text("Blue.")).await;
    assert_eq!(hob.model.requests()[1].pictures(), [URL], "it is in the history");
    let kept = hob.values::<String>("SELECT body FROM messages UNION ALL SELECT body FROM run_events").await.join("\n");
    assert!(kept.contains("\"is\":\"picture\"") && !kept.contains("iVBOR"), "{kept}");
    let begun = hob.values::<String>("SELECT body FROM run_events WHERE kind = 'run.begun' ORDER BY run_id").await;
    for begun in &begun {
        assert!(begun.contains(r#"{"o":"file","w":"photo.jpg"}"#), "who reads it has listened to a file: {begun}");
    }
    // Neither the runs' replay nor the conversation needs the bytes.
    for entry in std::fs::read_dir(hob.path("data/files")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for run in ["1", "2"] {
        let verified =
            within("verdict", hob_command(hob.home.path(), &["replay", run, "--verify"]).output()).await.unwrap();
        assert!(verified.status.success(), "{verified:?}");
    }
    hob.ask(ADA, "Are you sure?", Reply::text("No.")).await;
    let asked = hob.model.requests();
    assert_eq!(asked[2].pictures(), Vec::<&str>::new());
    let messages = asked[2].body["messages"].to_string();
    assert!(messages.contains(r#"[picture \"photo.jpg\": it is not kept any more]"#), "{messages}");
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_photo_is_loaded_again_after_a_crash() {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
    show(&hob, PNG, "What is that?");
    hob.asked(1).await;
    hob.model.reply(Reply::text("A dot."));
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["A dot."]);
    let asked = hob.model.requests();
    assert_eq!(asked[1].pictures(), [URL]);
    assert_eq!(asked[0].body["messages"], asked[1].body["messages"], "the same is asked again");
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_who_does_not_see_is_told_that_there_is_a_picture() {
    let hob = TestHob::running("[models.'openai-compatible/fake']\nsees_images = false").await;
    shown(&hob, PNG, "What is that?").await;
    let asked = hob.model.requests();
    assert_eq!(asked[0].pictures(), Vec::<&str>::new());
    let words = "\n\n[picture \"photo.jpg\": this model cannot see it]";
    assert!(asked[0].last_user().ends_with(words), "{}", asked[0].last_user());
    let begun = hob.values::<String>("SELECT body FROM run_events WHERE kind = 'run.begun'").await;
    assert!(!begun[0].contains("photo.jpg"), "nobody has read it: {}", begun[0]);
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_who_stands_in_and_does_not_see_is_told_as_well() {
    let other = FakeModel::start().await;
    let settings = format!(
        "[[provider.fallbacks]]\nkind = 'openai_compatible'\nmodel = 'other'\nbase_url = '{}'\napi_key = 'sk-other'
        [models.'openai-compatible/other']\nsees_images = false",
        other.base_url()
    );
    let hob = TestHob::running(&settings).await;
    hob.model.reply(Reply::status(401));
    other.reply(Reply::text("I cannot see it."));
    show(&hob, PNG, "What is that?");
    hob.telegram
        .until_true("answer", |world| world.chat(ADA).by_bot().any(|message| message.text == "I cannot see it."))
        .await;
    assert_eq!(hob.model.requests()[0].pictures(), [URL]);
    let asked = other.requests();
    assert_eq!(asked[0].pictures(), Vec::<&str>::new());
    assert!(asked[0].last_user().contains("this model cannot see it"), "{}", asked[0].last_user());
    assert_eq!(other.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn c6_a_photo_that_a_provider_does_not_take_ends_no_conversation() {
    let hob = TestHob::running("").await;
    hob.model.reply(Reply::status(400)).reply(Reply::text("I could not see it."));
    show(&hob, PNG, "What is that?");
    assert_eq!(hob.told(ADA, 1).await, ["I could not see it."]);
    let asked = hob.model.requests();
    assert_eq!((asked[0].pictures().len(), asked[1].pictures().len(), asked.len()), (1, 0, 2));
    assert!(asked[1].last_user().ends_with("[picture \"photo.jpg\": the model's provider did not take it]"));
    // What was sent is what is on record, each time.
    let digests = "SELECT DISTINCT json_extract(body, '$.body.digest') FROM run_events WHERE kind = 'model.asked'";
    assert_eq!(hob.values::<String>(digests).await.len(), 2);
    assert_eq!(hob.values::<String>("SELECT state FROM model_calls ORDER BY asked_seq").await, ["failed", "answered"]);
}

#[tokio::test]
async fn c6_what_is_no_picture_that_can_be_shown_is_a_line() {
    let hob = TestHob::running("").await;
    let mut bomb = PNG.to_vec();
    bomb[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
    let table: [(&[u8], &str); 3] = [
        (&PNG[..12], "[picture \"photo.jpg\": it is not shown to you: it is damaged]"),
        (&bomb, "it is not shown to you: it is 100000 × 2 pixels, and 8000 a side are the most]"),
        (b"just words", "[File \"photo.jpg\", text/plain, 10 bytes: id 3, for read_file and send_file]"),
    ];
    for (at, (bytes, words)) in table.into_iter().enumerate() {
        shown(&hob, bytes, "Look").await;
        let asked = hob.model.requests();
        assert_eq!(asked[at].pictures(), Vec::<&str>::new());
        assert!(asked[at].last_user().ends_with(words), "{}", asked[at].last_user());
    }
    hob.nothing_refused();
}

#[tokio::test]
async fn c6_a_photo_that_was_forgotten_is_shown_to_nobody() {
    let hob = TestHob::running("").await;
    shown(&hob, PNG, "What is that?").await;
    hob.ask(ADA, "/forget everything yes", Reply::text("unused")).await;
    hob.ask(ADA, "What did I show you?", Reply::text("Nothing.")).await;
    let asked = hob.model.requests();
    let last = asked.last().unwrap();
    assert_eq!(last.pictures(), Vec::<&str>::new());
    assert!(!last.body["messages"].to_string().contains("photo.jpg"), "{}", last.body["messages"]);
}
