//! Files that come with messages, and files that go out.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use hob_core::domain::channel::Channel as _;
use hob_core::domain::ids::FileId;
use hob_core::domain::inbound::VoiceRecording;
use hob_core::domain::outgoing::{DeliveryError, Outgoing, OutgoingFile};
use serde_json::json;

use crate::telegram::harness::{PACE, RunningAdapter, adapter, message};
use hob_testkit::fake_speech::OPUS;
use hob_testkit::fake_telegram::world::{Post, Sent};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::intake::text_of;

/// More than any of them.
const MUCH: u64 = 1 << 30;

#[tokio::test]
async fn c6_each_kind_of_file_comes_with_its_name_and_its_words() {
    let fake = FakeTelegram::start().await;
    let photo = |name: &str, side: i64| {
        let mut size = fake.look(|world| world.upload(name, "image/jpeg", name.as_bytes()));
        size["width"] = json!(side);
        size["height"] = json!(side);
        size
    };
    let sizes = json!([photo("small", 90), photo("large", 1_280), photo("medium", 320)]);
    fake.post(Post::new(7, 7, "").with(json!({ "photo": sizes, "caption": "what is that?" })));
    let mut voice = fake.look(|world| world.upload("", "audio/ogg", b"OggS"));
    voice["duration"] = json!(3);
    fake.post(Post::new(7, 7, "").with(json!({ "voice": voice })));
    fake.hand(7, "a/b.pdf", b"%PDF-1.7", "");
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(3).await;
    let told: Vec<_> = seen.iter().map(|inbound| (text_of(inbound), inbound.attachments[0].name.clone())).collect();
    let expected = [("what is that?", "photo.jpg"), ("", "voice message.ogg"), ("", "a/b.pdf")];
    assert_eq!(told, expected.map(|(text, name)| (text.to_owned(), name.to_owned())));
    let spoken: Vec<_> = seen.iter().map(|inbound| inbound.metadata.spoken).collect();
    assert_eq!(spoken, [None, Some(VoiceRecording { seconds: Some(3) }), None]);
    assert_eq!(hob.adapter.fetch(&seen[0].attachments[0], MUCH).await.unwrap(), b"large");
    assert_eq!(hob.adapter.fetch(&seen[2].attachments[0], MUCH).await.unwrap(), b"%PDF-1.7");
    hob.end().await;
}

#[tokio::test]
async fn c6_what_fails_in_passing_is_fetched_again_and_what_is_too_big_is_told() {
    let fake = FakeTelegram::start().await;
    fake.hand(7, "a.txt", b"hello", "");
    fake.hand(7, "big", &vec![0; (20 << 20) + 1], "");
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(2).await;
    let (small, big) = (&seen[0].attachments[0], &seen[1].attachments[0]);
    for fault in [Fault::Server(500), Fault::CutBefore, Fault::Proxy(502)] {
        fake.fault("getFile", fault.clone());
        assert_eq!(hob.adapter.fetch(small, MUCH).await.unwrap(), b"hello", "{fault:?}");
        fake.fault("download", fault.clone());
        assert_eq!(hob.adapter.fetch(small, MUCH).await.unwrap(), b"hello", "{fault:?}");
    }
    fake.faults("download", Fault::CutBefore, 9);
    let failed = hob.adapter.fetch(small, MUCH).await.unwrap_err().to_string();
    assert!(
        failed.starts_with("Telegram could not be asked for it") && !failed.contains(FakeTelegram::TOKEN),
        "{failed}"
    );
    fake.mend();
    let too_big = "it is larger than the 20 MB that Telegram lets bots have";
    assert_eq!(hob.adapter.fetch(big, MUCH).await.unwrap_err().to_string(), too_big);
    let mut unsaid = big.clone();
    unsaid.bytes = None;
    assert_eq!(hob.adapter.fetch(&unsaid, MUCH).await.unwrap_err().to_string(), too_big);
    assert_eq!(hob.adapter.fetch(small, 4).await.unwrap_err().to_string(), too_big, "whoever asks may want less");
    hob.end().await;
}

/// A message with this file, which lies in `dir`.
fn with_file(dir: &tempfile::TempDir, name: &str, mime: &str, bytes: &[u8], text: &str) -> Outgoing {
    let path = dir.path().join("content");
    std::fs::write(&path, bytes).unwrap();
    let file = OutgoingFile {
        id: FileId(1),
        name: name.to_owned(),
        mime: mime.to_owned(),
        bytes: bytes.len() as u64,
        hash: String::new(),
        path,
    };
    Outgoing { file: Some(file), ..message(7, text) }
}

async fn fake() -> FakeTelegram {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake
}

fn sent(fake: &FakeTelegram) -> Vec<(String, Sent)> {
    let sent =
        |message: &hob_testkit::fake_telegram::world::Message| Some((message.text.clone(), message.file.clone()?));
    fake.look(|world| world.chat(7).by_bot().filter_map(sent).collect())
}

#[tokio::test]
async fn c6_a_file_goes_out_with_its_name_its_bytes_and_its_words() {
    let (fake, dir) = (fake().await, tempfile::tempdir().unwrap());
    let telegram = adapter(&fake.api_url(), PACE);
    let nasty = b"--hob-form-boundary\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n99\r\n\0\xff";
    let file = with_file(&dir, "no\"tes ü.bin", "application/octet-stream", nasty, "as you wished");
    let receipt = telegram.deliver(&file).await.unwrap();
    assert_eq!(receipt.external_id.as_deref(), Some("1"));
    let (words, out) = sent(&fake).pop().unwrap();
    assert_eq!((words.as_str(), out.field, out.bytes.as_slice()), ("as you wished", "document", nasty.as_slice()));
    assert!(out.name.ends_with("tes ü.bin"), "{}", out.name);
    telegram.deliver(&with_file(&dir, "p.png", "image/png", b"\x89PNG....", "")).await.unwrap();
    assert_eq!(sent(&fake)[1].1.field, "photo");
    telegram.deliver(&with_file(&dir, "odd.png", "image/png", b"no picture", "")).await.unwrap();
    assert_eq!(sent(&fake)[2].1.field, "document", "what Telegram does not take as a picture goes as a document");
}

#[tokio::test]
async fn f10_what_is_spoken_goes_out_as_a_voice_where_one_is_taken() {
    let (fake, dir) = (fake().await, tempfile::tempdir().unwrap());
    let telegram = adapter(&fake.api_url(), PACE);
    let spoken = with_file(&dir, "answer.ogg", "audio/opus", OPUS, "");
    telegram.deliver(&spoken).await.unwrap();
    fake.fault("sendVoice", Fault::BadRequest("VOICE_MESSAGES_FORBIDDEN".to_owned()));
    telegram.deliver(&spoken).await.unwrap();
    let out: Vec<_> = sent(&fake).into_iter().map(|(_, out)| (out.field, out.kind, out.bytes)).collect();
    let expected = [("voice", "audio/ogg"), ("document", "audio/opus")];
    assert_eq!(out, expected.map(|(field, kind)| (field, kind.to_owned(), OPUS.to_vec())));
}

#[tokio::test]
async fn c6_a_file_whose_outcome_was_lost_is_marked_and_what_cannot_be_sent_is_refused() {
    let (fake, dir) = (fake().await, tempfile::tempdir().unwrap());
    let telegram = adapter(&fake.api_url(), PACE);
    let mut file = with_file(&dir, "a.txt", "text/plain", b"hello", "here");
    fake.fault("sendDocument", Fault::CutAfter);
    assert!(matches!(telegram.deliver(&file).await, Err(DeliveryError::Unknown { .. })));
    file.may_repeat = true;
    telegram.deliver(&file).await.unwrap();
    let words: Vec<_> = sent(&fake).into_iter().map(|(words, _)| words).collect();
    assert_eq!(words[0], "here");
    assert!(words[1].starts_with('↻') && words[1].ends_with("\nhere"), "{words:?}");
    file.text = "x".repeat(1_024);
    telegram.deliver(&file).await.unwrap();
    let all: Vec<String> = fake.look(|world| world.chat(7).by_bot().map(|message| message.text.clone()).collect());
    let [.., mark, words] = all.as_slice() else { panic!("{all:?}") };
    assert!(mark.starts_with('↻') && words.len() == 1_024, "the mark goes first, alone");
    fake.fault("sendDocument", Fault::Flood(3));
    assert!(matches!(telegram.deliver(&file).await, Err(DeliveryError::Retry { after: Some(_), .. })));
    std::fs::remove_file(dir.path().join("content")).unwrap();
    assert!(matches!(telegram.deliver(&file).await, Err(DeliveryError::Refused { .. })));
}

#[tokio::test]
async fn c6_a_file_that_telegram_does_not_take_is_refused_in_words_and_its_words_may_have_markup() {
    let (fake, dir) = (fake().await, tempfile::tempdir().unwrap());
    let telegram = adapter(&fake.api_url(), PACE);
    let mut file = with_file(&dir, "a.txt", "text/plain", b"hello", "a < b");
    file.markup = Some("<b>a &lt; b</b>".to_owned());
    telegram.deliver(&file).await.unwrap();
    file.markup = Some("<b>a < b".to_owned());
    telegram.deliver(&file).await.unwrap();
    let words: Vec<_> = fake.look(|world| {
        let sent = world.chat(7).by_bot();
        sent.map(|message| (message.text.clone(), message.marked())).collect()
    });
    assert_eq!(words, [("a < b".to_owned(), vec!["bold:a < b".to_owned()]), ("a < b".to_owned(), Vec::new())]);
    if let Some(file) = &mut file.file {
        file.bytes = (50 << 20) + 1;
    }
    let refused = telegram.deliver(&file).await.unwrap_err();
    insta::assert_snapshot!(refused, @"refused: the file is larger than the 50 MB that Telegram takes from bots");
    assert_eq!(sent(&fake).len(), 2);
}
