//! Messages that change, grow, and are taken back.

use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::outgoing::{Choice, DeliveryError, DraftMessage, MessageReplacement, Outgoing};

use crate::telegram::harness::{PACE, adapter, message, to};
use hob_testkit::fake_telegram::world::{ChatKind, Message};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};

async fn fake() -> FakeTelegram {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake
}

fn all(fake: &FakeTelegram) -> Vec<Message> {
    fake.look(|world| world.chat(7).messages.clone())
}

/// Words that are to stand in this message's place.
fn instead(id: &str, text: &str, or_send: bool) -> Outgoing {
    let replaces = Some(MessageReplacement { external_id: id.to_owned(), or_send });
    Outgoing { replaces, markup: Some(format!("<b>{text}</b>")), ..message(7, text) }
}

#[tokio::test]
async fn k2_a_message_takes_another_form_and_loses_its_buttons() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let mut question = message(7, "Sure?");
    question.choices = vec![Choice { label: "yes".to_owned(), token: "y".to_owned() }];
    let asked = telegram.deliver(&question).await.unwrap().external_id.unwrap();
    for _ in 0..2 {
        // The second time it reads so already.
        let receipt = telegram.deliver(&instead(&asked, "Yes.", false)).await.unwrap();
        assert_eq!(receipt.external_id.as_deref(), Some(asked.as_str()));
    }
    let now = all(&fake);
    assert_eq!((now.len(), now[0].text.as_str(), now[0].marked().join(" ").as_str()), (1, "Yes.", "bold:Yes."));
    assert!(now[0].keyboard.is_empty() && now[0].edits == 1);
    let broken = Outgoing { markup: Some("<b>No".to_owned()), ..instead(&asked, "No.", false) };
    telegram.deliver(&broken).await.unwrap();
    assert_eq!((all(&fake)[0].text.as_str(), all(&fake)[0].entities.len()), ("No.", 0));
}

#[tokio::test]
async fn k2_what_cannot_be_changed_is_sent_or_done_without() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let theirs = fake.say(7, "mine").to_string();
    for id in ["99", theirs.as_str(), "cb:4"] {
        let receipt = telegram.deliver(&instead(id, "nothing", false)).await.unwrap();
        assert_eq!((receipt.external_id, all(&fake).len()), (None, 1), "{id}");
    }
    let receipt = telegram.deliver(&instead("99", "the answer", true)).await.unwrap();
    assert_eq!((receipt.external_id.as_deref(), all(&fake)[1].text.as_str()), (Some("2"), "the answer"));
}

#[tokio::test]
async fn k2_a_change_whose_outcome_is_lost_is_tried_again_and_a_flood_waits() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let id = telegram.deliver(&message(7, "one")).await.unwrap().external_id.unwrap();
    for fault in [Fault::CutAfter, Fault::ProxyAfter(502), Fault::Proxy(503)] {
        fake.fault("editMessageText", fault.clone());
        let error = telegram.deliver(&instead(&id, "two", true)).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Retry { after: None, .. }), "{fault:?}: {error}");
    }
    telegram.deliver(&instead(&id, "two", true)).await.unwrap();
    assert_eq!(all(&fake).len(), 1);
    fake.look(|world| world.chats.get_mut(&7).unwrap().edits_left = Some(1));
    telegram.deliver(&instead(&id, "three", true)).await.unwrap();
    let flood = telegram.deliver(&instead(&id, "four", true)).await.unwrap_err();
    assert!(matches!(flood, DeliveryError::Retry { after: Some(after), .. } if after == Duration::from_secs(3)));
    assert_eq!(all(&fake)[0].text, "three");
}

fn growing(external_id: Option<&str>, text: &str) -> DraftMessage {
    let external_id = external_id.map(str::to_owned);
    DraftMessage { destination: to(7), external_id, text: text.to_owned(), markup: Some(format!("<i>{text}</i>")) }
}

#[tokio::test]
async fn k2_a_draft_is_posted_grows_and_is_taken_back() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let id = telegram.draft(&growing(None, "Let")).await.unwrap().external_id.unwrap();
    for text in ["Let me", "Let me", "Let me see"] {
        let receipt = telegram.draft(&growing(Some(&id), text)).await.unwrap();
        assert_eq!(receipt.external_id.as_deref(), Some(id.as_str()));
    }
    let mut broken = growing(Some(&id), "Let me see <");
    broken.markup = Some("<i>Let me see <".to_owned());
    telegram.draft(&broken).await.unwrap();
    assert_eq!((all(&fake).len(), all(&fake)[0].text.as_str()), (1, "Let me see <"));
    fake.fault("editMessageText", Fault::Flood(9));
    let flood = telegram.draft(&growing(Some(&id), "more")).await.unwrap_err();
    assert!(matches!(flood, DeliveryError::Retry { after: Some(after), .. } if after == Duration::from_secs(9)));
    for _ in 0..2 {
        telegram.retract(&to(7), &id).await.unwrap();
        assert!(all(&fake).is_empty());
    }
    let gone = telegram.draft(&growing(Some(&id), "more")).await.unwrap_err();
    insta::assert_snapshot!(gone, @"refused: the message that was to grow is gone");
    assert_eq!(telegram.deliver(&message(7, "new")).await.unwrap().external_id.as_deref(), Some("2"));
}

#[tokio::test]
async fn k2_no_draft_is_posted_where_it_does_not_belong() {
    let fake = fake().await;
    fake.group(-5, &[3]);
    let mut lost = growing(None, "Let");
    lost.destination = to(-5);
    lost.destination.conversation.thread = Some("4".to_owned());
    let error = adapter(&fake.api_url(), PACE).draft(&lost).await.unwrap_err();
    insta::assert_snapshot!(error, @"refused: 400 Bad Request: message thread not found");
    assert_eq!(fake.look(|world| world.chat(-5).messages.len()), 0);
}

#[tokio::test]
async fn k2_what_grows_does_not_begin_in_another_chat() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let begun = |thread: Option<&str>| {
        let mut destination = to(-77);
        destination.conversation.thread = thread.map(str::to_owned);
        DraftMessage { destination, external_id: None, text: "So far …".to_owned(), markup: None }
    };
    fake.look(|world| {
        world.open(-77, ChatKind::Group);
    });
    fake.migrate(-77, -100_077);
    let before = fake.look(|world| world.chat(-100_077).messages.len());
    let refused = telegram.draft(&begun(None)).await.unwrap_err();
    assert!(matches!(refused, DeliveryError::Refused { .. }), "{refused}");
    // The name of such a message would be looked for in the old chat, and it would stay for ever.
    assert_eq!(fake.look(|world| world.chat(-100_077).messages.len()), before);
    telegram.deliver(&message(-77, "So far, and no further.")).await.unwrap();
    assert_eq!(fake.look(|world| world.chat(-100_077).messages.len()), before + 1, "the whole goes there");
    fake.fault("sendMessage", Fault::BadRequest("TOPIC_CLOSED".to_owned()));
    let refused = telegram.draft(&begun(Some("3"))).await.unwrap_err();
    assert!(matches!(refused, DeliveryError::Refused { .. }), "{refused}");
}
