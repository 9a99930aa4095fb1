//! Files that come and go.
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

use hob_core::domain::channel::Channel as _;
use hob_core::domain::ids::FileId;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::outgoing::{DeliveryError, MessageReplacement, Outgoing, OutgoingFile};

use crate::discord::harness::{PACE, RunningAdapter, adapter, message};
use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{ADA, DM, HALL, Post};

fn enclosed(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> OutgoingFile {
    let path = dir.path().join("content");
    std::fs::write(&path, bytes).unwrap();
    OutgoingFile {
        id: FileId(1),
        name: name.to_owned(),
        mime: "text/plain".to_owned(),
        bytes: bytes.len() as u64,
        hash: String::new(),
        path,
    }
}

#[tokio::test]
async fn c6_a_file_comes_in_and_is_fetched_within_its_limit() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let bytes: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let sent = fake.post(Post::new(DM, ADA, "look").with_file("täble 1.bin", &bytes));
    let seen = running.intake.until(1).await;
    let [file] = seen[0].attachments.as_slice() else { panic!("{seen:?}") };
    assert_eq!((file.name.as_str(), file.bytes), ("täble 1.bin", Some(100_000)));
    assert_eq!(running.adapter.fetch(file, 1 << 20).await.unwrap(), bytes);
    let untold = Attachment { bytes: None, ..file.clone() };
    insta::assert_snapshot!(running.adapter.fetch(&untold, 99_999).await.unwrap_err(), @"it is larger than 0 MB");
    fake.look(|world| world.delete(DM, &[sent]));
    insta::assert_snapshot!(running.adapter.fetch(file, 1 << 20).await.unwrap_err(), @"Discord does not have it any more; send it again");
    let elsewhere = Attachment { handle: "http://169.254.169.254/latest".to_owned(), ..file.clone() };
    insta::assert_snapshot!(running.adapter.fetch(&elsewhere, 1 << 20).await.unwrap_err(), @"it does not lie on Discord's own servers");
    running.end().await;
}

#[tokio::test]
async fn c6_a_file_goes_out_with_words_under_it() {
    let fake = FakeDiscord::start().await;
    let (discord, dir) = (adapter(&fake, PACE), tempfile::tempdir().unwrap());
    let content = b"--hob-form-boundary--\r\n\x00\xff";
    let file = Some(enclosed(&dir, "plan \"a\".txt", content));
    let outgoing = Outgoing { file: file.clone(), ..message(HALL, "The plan") };
    discord.deliver(&outgoing).await.unwrap();
    let sent = fake.sent(HALL).remove(0);
    assert_eq!((sent.content.as_str(), sent.files[0].1.as_slice()), ("The plan", content.as_slice()));
    assert!(sent.files[0].0.starts_with("plan ") && sent.files[0].0.ends_with(".txt"), "{:?}", sent.files[0].0);
    let replaces = Some(MessageReplacement { external_id: sent.id.to_string(), or_send: false });
    discord.deliver(&Outgoing { file, replaces, ..message(HALL, "Two plans") }).await.unwrap();
    let changed = fake.sent(HALL).remove(0);
    assert_eq!((changed.content.as_str(), changed.files.len()), ("Two plans", 2));
    let big = Some(enclosed(&dir, "big", &vec![0; (10 << 20) + 1]));
    let refused =
        discord.deliver(&Outgoing { id: hob_core::domain::ids::OutboxId(2), file: big, ..message(HALL, "") }).await;
    let Err(DeliveryError::Refused { why }) = refused else { panic!("{refused:?}") };
    insta::assert_snapshot!(why, @"413 Request entity too large (40005: the file is larger than Discord takes here)");
    fake.nothing_wrong();
}
