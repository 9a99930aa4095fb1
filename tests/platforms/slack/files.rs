//! Files in and out.

use std::path::Path;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::ids::FileId;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::outgoing::{DeliveryError, Outgoing, OutgoingFile};

use crate::slack::harness::{ADA, ADAS, HALL, RunningAdapter, adapter, message, to, workspace};
use hob_testkit::fake_slack::{FakeSlack, Fault};

#[tokio::test]
async fn c6_a_file_comes_in() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.hand(ADAS, ADA, fake.file("list.txt", b"milk"), "my list");
    let seen = running.intake.until(1).await;
    assert_eq!(running.intake.texts(1).await, ["my list"]);
    let file = &seen[0].attachments[0];
    assert_eq!((file.name.as_str(), file.bytes), ("list.txt", Some(4)));
    assert_eq!(running.adapter.fetch(file, 4).await.unwrap(), b"milk");
    assert!(running.adapter.fetch(file, 3).await.unwrap_err().to_string().contains("larger"));
    // Slack told no size, and it is too large all the same.
    let sizeless = Attachment { bytes: None, ..file.clone() };
    assert!(running.adapter.fetch(&sizeless, 3).await.unwrap_err().to_string().contains("larger"));
    running.end().await;
}

#[tokio::test]
async fn c6_a_file_from_elsewhere_is_asked_for_by_its_id() {
    let fake = workspace().await;
    let id = fake.look(|world| world.store_file("b.txt", b"bread")["id"].as_str().unwrap().to_owned());
    let file = Attachment { handle: id, name: "b.txt".to_owned(), bytes: None };
    assert_eq!(adapter(&fake.api_url()).fetch(&file, 100).await.unwrap(), b"bread");
}

#[tokio::test]
async fn c6_the_token_is_shown_to_slack_alone() {
    let (fake, stranger) = (workspace().await, FakeSlack::start().await);
    let slack = adapter(&fake.api_url());
    let elsewhere = stranger.api_url().replace("/api", "/files-pri/T0-F1/download/x");
    let file = Attachment { handle: elsewhere, name: "x".to_owned(), bytes: None };
    let refused = slack.fetch(&file, 100).await.unwrap_err();
    assert!(refused.to_string().contains("does not lie on one of Slack's servers"), "{refused}");
    assert_eq!(stranger.look(|world| world.calls.len()), 0);
    let gone = Attachment { handle: fake.api_url().replace("/api", "/files-pri/T0-F9/download/x"), ..file };
    assert!(slack.fetch(&gone, 100).await.unwrap_err().to_string().contains("gone from Slack"));
    fake.look(|world| world.scopes.remove("files:read"));
    assert!(slack.fetch(&gone, 100).await.unwrap_err().to_string().contains("files:read"));
}

fn enclosed(path: &Path) -> OutgoingFile {
    let (name, mime) = ("plan.pdf".to_owned(), "application/pdf".to_owned());
    OutgoingFile { id: FileId(1), name, mime, bytes: 4, hash: String::new(), path: path.to_owned() }
}

#[tokio::test]
async fn c6_a_file_goes_out_into_its_thread() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("content");
    std::fs::write(&path, b"plan").unwrap();
    let root = fake.say(HALL, ADA, "<@U0HOB> the plan?");
    let row =
        Outgoing { destination: to(HALL, Some(&root)), file: Some(enclosed(&path)), ..message(HALL, "Here < there") };
    slack.deliver(&row).await.unwrap();
    let shown = fake.look(|world| world.posts_of_bot(HALL).remove(0));
    assert_eq!((&shown["text"], &shown["thread_ts"]), (&"Here &lt; there".into(), &root.as_str().into()));
    let id = shown["files"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(fake.look(|world| world.files[&id].bytes.clone()).unwrap(), b"plan");
    // Before the last step nobody has seen anything.
    fake.fault("files.getUploadURLExternal", Fault::CutAfter);
    let lost = slack.deliver(&row).await;
    assert!(matches!(lost, Err(DeliveryError::Retry { .. })), "{lost:?}");
    fake.fault("files.completeUploadExternal", Fault::CutAfter);
    let lost = slack.deliver(&row).await;
    assert!(matches!(lost, Err(DeliveryError::Unknown { .. })), "{lost:?}");
    slack.deliver(&Outgoing { may_repeat: true, ..row.clone() }).await.unwrap();
    assert!(fake.look(|world| world.by_bot(HALL)).last().unwrap().starts_with("↻ (sent again"));
    let missing = Outgoing { file: Some(enclosed(&home.path().join("none"))), ..row };
    assert!(matches!(slack.deliver(&missing).await, Err(DeliveryError::Refused { .. })));
}

#[tokio::test]
async fn a12_a_file_for_a_thread_that_is_gone_goes_nowhere() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("content");
    std::fs::write(&path, b"plan").unwrap();
    let gone = to(HALL, Some("1712345678.000100"));
    let row = Outgoing { destination: gone, file: Some(enclosed(&path)), ..message(HALL, "Here") };
    for strays in [false, true] {
        fake.look(|world| world.strays = strays);
        let refused = slack.deliver(&row).await;
        assert!(matches!(refused, Err(DeliveryError::Refused { .. })), "{refused:?}");
    }
    assert_eq!(fake.look(|world| (world.by_bot(HALL).len(), world.called("upload"))), (0, 0));
    // Where Hob may not look, it sends; and it asks again when Slack puts it off.
    let root = fake.say(HALL, ADA, "<@U0HOB> the plan?");
    let row = Outgoing { destination: to(HALL, Some(&root)), ..row };
    fake.fault("conversations.replies", Fault::Limited(7));
    let limited = slack.deliver(&row).await;
    assert!(matches!(limited, Err(DeliveryError::Retry { after: Some(_), .. })), "{limited:?}");
    fake.fault("conversations.replies", Fault::error("missing_scope"));
    slack.deliver(&row).await.unwrap();
    assert_eq!(fake.look(|world| world.by_bot(HALL)), ["Here"]);
}
