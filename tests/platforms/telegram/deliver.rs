//! Sending, and what the outbox is told.

use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::outgoing::{Choice, DeliveryError, Outgoing};
use hob_core::render::{TextFormat, pieces};

use crate::telegram::harness::{PACE, adapter, message};
use hob_testkit::fake_telegram::world::ChatKind;
use hob_testkit::fake_telegram::{FakeTelegram, Fault};

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
    let gone = "(This belongs to a topic that is gone or closed.)";
    assert_eq!(texts(&fake, -5), [format!("{gone}\ninto the main chat"), "into the main chat".to_owned()]);
    fake.fault("sendMessage", Fault::BadRequest("message to be replied not found".to_owned()));
    telegram.deliver(&lost).await.unwrap();
    assert_eq!(fake.look(|world| world.chat(-5).by_bot().count()), 3);
}

#[tokio::test]
async fn k2_a_closed_topic_loses_no_answer() {
    let fake = fake().await;
    fake.group(-5, &[3]);
    let mut late = message(-5, "the answer");
    late.destination.conversation.thread = Some("3".to_owned());
    fake.fault("sendMessage", Fault::BadRequest("TOPIC_CLOSED".to_owned()));
    adapter(&fake.api_url(), PACE).deliver(&late).await.unwrap();
    let sent: Vec<_> =
        fake.look(|world| world.chat(-5).by_bot().map(|sent| (sent.thread, sent.text.clone())).collect());
    assert_eq!(sent, [(None, "(This belongs to a topic that is gone or closed.)\nthe answer".to_owned())]);
}

#[tokio::test]
async fn k2_a_chunk_without_room_for_a_note_has_it_before_it() {
    let fake = fake().await;
    fake.group(-5, &[3]);
    let mut lost = message(-5, &"x".repeat(4096));
    lost.destination.conversation.thread = Some("4".to_owned());
    adapter(&fake.api_url(), PACE).deliver(&lost).await.unwrap();
    assert_eq!(texts(&fake, -5), ["(This belongs to a topic that is gone or closed.)".to_owned(), "x".repeat(4096)]);
}

/// A message in Telegram's HTML.
fn marked(chat: i64, plain: &str, markup: &str) -> Outgoing {
    Outgoing { markup: Some(markup.to_owned()), ..message(chat, plain) }
}

#[tokio::test]
async fn k2_markup_is_shown_and_what_telegram_refuses_goes_out_plain_alone() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    telegram.deliver(&marked(7, "a < b, bold", "a &lt; b, <b>bold</b>")).await.unwrap();
    for (number, broken) in
        ["<blink>x</blink>", "<b>x", "x</b>", "<b><i>x</b></i>", "1 < 2", "<b></b>"].iter().enumerate()
    {
        telegram.deliver(&marked(7, &format!("plain {number}"), broken)).await.unwrap();
    }
    telegram.deliver(&marked(7, "next", "<i>next</i>")).await.unwrap();
    let sent = fake.look(|world| world.chat(7).messages.clone());
    let told: Vec<_> = sent.iter().map(|message| (message.text.as_str(), message.marked().join(" "))).collect();
    assert_eq!(told[0], ("a < b, bold", "bold:bold".to_owned()));
    for (number, told) in told[1..7].iter().enumerate() {
        assert_eq!(*told, (format!("plain {number}").as_str(), String::new()));
    }
    assert_eq!(told[7], ("next", "italic:next".to_owned()));
}

#[tokio::test]
async fn k2_the_longest_message_is_measured_without_its_markup() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let (plain, markup) = ("&".repeat(4096), format!("<b>{}</b>", "&amp;".repeat(4096)));
    telegram.deliver(&marked(7, &plain, &markup)).await.unwrap();
    assert_eq!(texts(&fake, 7), std::slice::from_ref(&plain));
    let mut again = marked(7, &plain[..4000], &format!("<b>{}</b>", "&amp;".repeat(4000)));
    again.may_repeat = true;
    telegram.deliver(&again).await.unwrap();
    let all = texts(&fake, 7);
    assert!(
        all.len() == 2 && all[1].starts_with('↻') && all[1].ends_with("&&&"),
        "the mark stands above: {}",
        all.len()
    );
}

#[tokio::test]
async fn k2_what_the_renderer_makes_is_what_telegram_reads() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    let part = "# Title & <co>\n\n> quoted **bold `code`**\n>> deeper\n\n* one\n  * two [a link](https://example.org/?a=1&b=\"2\")\n\n```rust\nlet a = b < c;\n```\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n_**both**_ <b>raw</b>\n\n";
    let text = part.repeat(60);
    let pieces = pieces(&text, TextFormat::Markdown, ChannelKind::Telegram);
    assert!(pieces.len() > 2);
    for piece in &pieces {
        let out = Outgoing { markup: piece.markup.clone(), ..message(7, &piece.text) };
        telegram.deliver(&out).await.unwrap();
    }
    let sent = fake.look(|world| world.chat(7).messages.clone());
    assert_eq!(sent.len(), pieces.len(), "each was taken at once");
    assert_eq!(fake.look(|world| world.called("sendMessage")), pieces.len());
    assert!(sent.iter().all(|message| !message.marked().is_empty() && message.entities.len() <= 100));
}

#[tokio::test]
async fn k2_a_group_that_moved_to_where_the_bot_is_not_is_refused() {
    let fake = fake().await;
    let telegram = adapter(&fake.api_url(), PACE);
    fake.look(|world| world.open(-7, ChatKind::Group).migrated_to = Some(-1007));
    let refused = telegram.deliver(&message(-7, "hi")).await.unwrap_err();
    assert!(matches!(refused, DeliveryError::Refused { .. }), "the new chat is unknown: {refused}");
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
