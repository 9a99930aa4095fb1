//! Sending, and what the outbox is told.

use std::time::Duration;

use hob::domain::channel::Channel as _;
use hob::domain::outgoing::{Choice, DeliveryError};

use crate::harness::{PACE, adapter, message};
use crate::support::fake_telegram::{FakeTelegram, Fault};

async fn fake() -> FakeTelegram {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake
}

fn texts(fake: &FakeTelegram, chat: i64) -> Vec<String> {
    fake.look(|world| world.chat(chat).by_bot().map(|message| message.text.clone()).collect())
}

#[tokio::test]
async fn a_message_goes_out_as_it_is() {
    let fake = fake().await;
    let asked = fake.say(7, "question");
    let mut reply = message(7, "*not* <b>markup</b>\u{1b}\0 & so on");
    reply.destination.reply_to = Some(asked.to_string());
    reply.choices = vec![Choice { label: "yes".to_owned(), token: "y".to_owned() }];
    let receipt = adapter(&fake.api_url(), PACE).deliver(&reply).await.unwrap();
    assert_eq!(receipt.external_id.as_deref(), Some("2"));
    let sent = fake.look(|world| world.chat(7).message(2).unwrap().clone());
    assert_eq!((sent.text.as_str(), sent.reply_to), ("*not* <b>markup</b> & so on", Some(asked)));
    assert_eq!(sent.keyboard, [[("yes".to_owned(), "y".to_owned())]]);
}

#[tokio::test]
async fn the_longest_message_fits_and_a_longer_one_is_refused() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    telegram.deliver(&message(7, &"😀".repeat(2048))).await.unwrap();
    let refused = telegram.deliver(&message(7, &"x".repeat(4097))).await.unwrap_err();
    insta::assert_snapshot!(refused, @"refused: 400 Bad Request: message is too long");
    let refused = telegram.deliver(&message(7, "\0")).await.unwrap_err();
    insta::assert_snapshot!(refused, @"refused: 400 Bad Request: message text is empty");
    let refused = telegram.deliver(&message(99, "to nobody")).await.unwrap_err();
    insta::assert_snapshot!(refused, @"refused: 400 Bad Request: chat not found");
}

#[tokio::test]
async fn a_topic_or_a_reply_target_that_is_gone_is_done_without() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    fake.group(-5, &[3]);
    let mut lost = message(-5, "into the main chat");
    lost.destination.conversation.thread = Some("4".to_owned());
    telegram.deliver(&lost).await.unwrap();
    lost.destination.conversation.thread = Some("3".to_owned());
    lost.destination.reply_to = Some("77".to_owned());
    telegram.deliver(&lost).await.unwrap();
    let threads: Vec<_> = fake.look(|world| world.chat(-5).by_bot().map(|sent| (sent.thread, sent.reply_to)).collect());
    assert_eq!(threads, [(None, None), (Some(3), None)]);
    fake.fault("sendMessage", Fault::BadRequest("message to be replied not found".to_owned()));
    telegram.deliver(&lost).await.unwrap();
    assert_eq!(fake.look(|world| world.chat(-5).by_bot().count()), 3);
}

#[tokio::test]
async fn a_group_that_moved_is_followed() {
    let fake = fake().await;
    fake.group(-1009, &[]);
    fake.fault("sendMessage", Fault::Migrated(-1009));
    adapter(&fake.api_url(), PACE).deliver(&message(7, "moved")).await.unwrap();
    assert_eq!((texts(&fake, 7).len(), texts(&fake, -1009)), (0, vec!["moved".to_owned()]));
}

#[tokio::test]
async fn a_refusal_for_now_is_a_retry_with_telegrams_delay() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    fake.fault("sendMessage", Fault::Flood(7));
    let flood = telegram.deliver(&message(7, "hi")).await.unwrap_err();
    assert!(matches!(flood, DeliveryError::Retry { after: Some(after), .. } if after == Duration::from_secs(7)));
    for fault in [Fault::Unauthorized, Fault::Server(500), Fault::Proxy(503)] {
        fake.fault("sendMessage", fault.clone());
        let error = telegram.deliver(&message(7, "hi")).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Retry { after: None, .. }), "{fault:?}: {error}");
    }
    fake.fault("sendMessage", Fault::Blocked);
    let blocked = telegram.deliver(&message(7, "hi")).await.unwrap_err();
    insta::assert_snapshot!(blocked, @"refused: 403 Forbidden: bot was blocked by the user");
    assert_eq!(texts(&fake, 7).len(), 0);
}

#[tokio::test]
async fn nothing_listening_is_a_retry() {
    let outage = fake().await.outage().await;
    let telegram = adapter(&format!("http://{}", outage.address), PACE);
    let error = telegram.deliver(&message(7, "hi")).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Retry { .. }), "{error}");
    let fake = outage.end().await;
    telegram.deliver(&message(7, "hi")).await.unwrap();
    assert_eq!(texts(&fake, 7), ["hi"]);
}

#[tokio::test]
async fn what_may_have_arrived_is_unknown() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let faults = [
        (Fault::CutBefore, 0),
        (Fault::CutAfter, 1),
        (Fault::ProxyAfter(502), 2),
        (Fault::ProxyAfter(504), 3),
        (Fault::HangAfter, 4),
        (Fault::Hang, 4),
        (Fault::Body("<html>welcome to the hotel</html>".to_owned()), 4),
    ];
    for (fault, there) in faults {
        fake.fault("sendMessage", fault.clone());
        let error = telegram.deliver(&message(7, "hi")).await.unwrap_err();
        assert!(matches!(error, DeliveryError::Unknown { .. }), "{fault:?}: {error}");
        assert!(!error.to_string().contains(FakeTelegram::TOKEN), "{error}");
        assert_eq!(texts(&fake, 7).len(), there, "{fault:?}");
    }
}

#[tokio::test]
async fn a_repetition_says_so() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let mut short = message(7, "hi");
    short.may_repeat = true;
    telegram.deliver(&short).await.unwrap();
    let mut long = message(7, &"x".repeat(4096));
    long.may_repeat = true;
    telegram.deliver(&long).await.unwrap();
    let mark = "↻ (sent again after an interruption; you may have it already)";
    assert_eq!(texts(&fake, 7), [format!("{mark}\nhi"), mark.to_owned(), "x".repeat(4096)]);
}

#[tokio::test]
async fn a_mark_that_is_lost_leaves_the_chunk_to_be_tried_again() {
    let fake = fake().await;
    let mut long = message(7, &"x".repeat(4096));
    long.may_repeat = true;
    fake.fault("sendMessage", Fault::CutAfter);
    let error = adapter(&fake.api_url(), PACE).deliver(&long).await.unwrap_err();
    assert!(matches!(error, DeliveryError::Retry { .. }), "{error}");
}

#[tokio::test]
async fn an_address_that_is_no_chat_is_refused() {
    let fake = fake().await;
    let mut astray = message(7, "hi");
    astray.destination.conversation.chat = "kitchen".to_owned();
    let error = adapter(&fake.api_url(), PACE).deliver(&astray).await.unwrap_err();
    insta::assert_snapshot!(error, @"refused: not the address of a Telegram chat");
}
