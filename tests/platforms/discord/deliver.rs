//! What goes out.

use std::time::Duration;

use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::channel::Channel as _;
use hob_core::domain::ids::OutboxId;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::outgoing::{Choice, DeliveryError, DraftMessage, MessageReplacement, Outgoing};
use hob_core::render::render;

use crate::discord::harness::{PACE, adapter, message, to};
use hob_testkit::fake_discord::world::{ADA, DM, HALL, HISTORY, Post, SEND, SEND_IN_THREADS, THREAD, VIEW};
use hob_testkit::fake_discord::{FakeDiscord, Fault};

fn name(outcome: &Result<hob_core::domain::outgoing::Receipt, DeliveryError>) -> &'static str {
    match outcome {
        Ok(_) => "sent",
        Err(DeliveryError::Retry { .. }) => "retry",
        Err(DeliveryError::Refused { .. }) => "refused",
        Err(DeliveryError::Unknown { .. }) => "unknown",
    }
}

#[tokio::test]
async fn k2_a_message_is_sent_quietly_under_its_number_and_as_an_answer() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let asked = fake.say(HALL, ADA, "Question?");
    let mut answer = message(HALL, "Answer, @everyone.");
    answer.destination.reply_to = Some(asked.to_string());
    answer.markup = Some("**Answer**, @everyone.".to_owned());
    let receipt = discord.deliver(&answer).await.unwrap();
    answer.destination = to(THREAD);
    // What isn't there any more is answered without.
    answer.destination.reply_to = Some("77".to_owned());
    discord.deliver(&answer).await.unwrap();
    answer.destination = to(DM);
    answer.destination.reply_to = Some("in:77".to_owned());
    discord.deliver(&answer).await.unwrap();
    let sent = fake.sent(HALL).remove(0);
    assert_eq!((sent.content.as_str(), sent.reply_to), ("**Answer**, @everyone.", Some(asked)));
    assert_eq!((sent.nonce.as_deref(), sent.flags & 4), (Some("hob-1"), 4));
    assert_eq!(receipt.external_id, Some(sent.id.to_string()));
    assert_eq!((fake.sent(THREAD).len(), fake.sent(DM).len()), (1, 1));
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_long_text_goes_out_whole() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let text = format!("# Plan\n\n{}\n\n```rust\n{}```\n", "Wörter 🎉 ".repeat(500), "let x = 1;\n".repeat(300));
    let chunks = render(&text, Capabilities::of(ChannelKind::Discord));
    assert!(chunks.len() > 3);
    for (index, chunk) in chunks.iter().enumerate() {
        let id = OutboxId(i64::try_from(index).unwrap() + 1);
        let outgoing = Outgoing { id, markup: Some(chunk.markup.clone()), ..message(HALL, &chunk.plain) };
        discord.deliver(&outgoing).await.unwrap();
    }
    let sent = fake.sent(HALL);
    assert_eq!(sent.len(), chunks.len());
    assert!(sent.iter().all(|message| message.content.chars().count() <= 2_000));
}

#[tokio::test]
async fn k2_what_is_refused_for_its_markup_goes_out_plain() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let mut outgoing = message(HALL, "plain");
    outgoing.markup = Some("**bold**".to_owned());
    fake.fault("POST messages", Fault::Api(400, 50035, "Invalid Form Body"));
    discord.deliver(&outgoing).await.unwrap();
    assert_eq!(fake.until_sent(HALL, 1).await, ["plain"]);
    fake.faults("POST messages", Fault::Api(400, 50035, "Invalid Form Body"), 2);
    assert_eq!(name(&discord.deliver(&outgoing).await), "refused");
}

#[tokio::test]
async fn k2_an_answer_goes_out_without_what_it_answers_where_no_history_may_be_read() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let asked = fake.say(HALL, ADA, "Question?");
    fake.look(|world| world.deny(HALL, HISTORY));
    let mut answer = message(HALL, "Answer.");
    answer.destination.reply_to = Some(asked.to_string());
    answer.markup = Some("**Answer.**".to_owned());
    discord.deliver(&answer).await.unwrap();
    let draft =
        DraftMessage { destination: answer.destination, external_id: None, text: "So".to_owned(), markup: None };
    discord.draft(&draft).await.unwrap();
    let sent: Vec<_> = fake.sent(HALL).into_iter().map(|message| (message.content, message.reply_to)).collect();
    assert_eq!(sent, [("**Answer.**".to_owned(), None), ("So".to_owned(), None)]);
    assert_eq!(fake.look(|world| world.called("POST messages")), 4);
    fake.nothing_wrong();
}

#[tokio::test]
async fn n11_a_number_is_sent_once_however_often_it_is_tried() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    for fault in [Fault::CutAfter, Fault::ProxyAfter(502)] {
        fake.fault("POST messages", fault);
    }
    let receipt = discord.deliver(&message(HALL, "once")).await.unwrap();
    assert_eq!(fake.until_sent(HALL, 1).await, ["once"]);
    assert_eq!(receipt.external_id, Some(fake.sent(HALL)[0].id.to_string()));
    // All tries are lost: nobody knows. The same process tries again, and the nonce still holds.
    fake.fault("POST messages", Fault::CutAfter);
    fake.faults("POST messages", Fault::CutBefore, 2);
    let mut second = Outgoing { id: OutboxId(2), ..message(HALL, "twice?") };
    assert_eq!(name(&discord.deliver(&second).await), "unknown");
    second.may_repeat = true;
    discord.deliver(&second).await.unwrap();
    assert_eq!(fake.until_sent(HALL, 2).await, ["once", "twice?"]);
    fake.nothing_wrong();
}

#[tokio::test]
async fn another_process_looks_for_the_number_or_marks_what_it_repeats() {
    let fake = FakeDiscord::start().await;
    adapter(&fake, PACE).deliver(&message(HALL, "there")).await.unwrap();
    let there = fake.sent(HALL)[0].id.to_string();
    let discord = adapter(&fake, PACE);
    let again = Outgoing { may_repeat: true, ..message(HALL, "there") };
    assert_eq!(discord.deliver(&again).await.unwrap().external_id, Some(there));
    assert_eq!(fake.look(|world| world.called("POST messages")), 1);
    let lost = Outgoing { id: OutboxId(2), may_repeat: true, ..message(HALL, "lost?") };
    discord.deliver(&lost).await.unwrap();
    let sent = fake.until_sent(HALL, 2).await;
    let mark = "↻ (sent again after an interruption; you may have it already)";
    assert_eq!(sent[1], format!("{mark}\nlost?"));
    // What fills a message has no room for it.
    let long = "x".repeat(1_990);
    let lost = Outgoing { id: OutboxId(3), may_repeat: true, ..message(HALL, &long) };
    discord.deliver(&lost).await.unwrap();
    assert_eq!(fake.until_sent(HALL, 4).await[2..], [mark.to_owned(), long]);
}

#[tokio::test]
async fn n11_rate_limits_are_obeyed_and_told() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    fake.look(|world| world.bucket = Some((2, 0.3)));
    let send = async |number: i64| discord.deliver(&Outgoing { id: OutboxId(number), ..message(HALL, "x") }).await;
    assert_eq!((name(&send(1).await), name(&send(2).await)), ("sent", "sent"));
    let held = send(3).await;
    let Err(DeliveryError::Retry { after: Some(after), .. }) = held else { panic!("{held:?}") };
    assert!(after <= Duration::from_millis(300));
    assert_eq!(fake.look(|world| world.called("POST messages")), 2, "it was not even asked");
    // Another channel has a limit of its own.
    fake.look(|world| (world.bucket, world.spent) = (None, 0));
    assert_eq!(name(&discord.deliver(&message(DM, "y")).await), "sent");
    tokio::time::sleep(after).await;
    fake.fault("POST messages", Fault::Flood(0.2, true));
    let flood = send(4).await;
    assert!(matches!(flood, Err(DeliveryError::Retry { after: Some(_), .. })), "{flood:?}");
    assert_eq!(
        name(&discord.deliver(&Outgoing { id: OutboxId(5), ..message(DM, "z") }).await),
        "retry",
        "for all routes"
    );
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_errors_mean_what_they_say() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let table = [
        (Fault::Api(404, 10003, "Unknown Channel"), "refused"),
        (Fault::Api(403, 50001, "Missing Access"), "refused"),
        (Fault::Api(403, 50007, "Cannot send messages to this user"), "refused"),
        (Fault::Api(403, 50013, "Missing Permissions"), "refused"),
        (Fault::Api(401, 0, "401: Unauthorized"), "retry"),
        (Fault::Api(503, 0, "Service Unavailable"), "retry"),
        (Fault::Proxy(503), "retry"),
    ];
    for (number, (fault, expected)) in (1..).zip(table) {
        fake.fault("POST messages", fault.clone());
        let outcome = discord.deliver(&Outgoing { id: OutboxId(number), ..message(HALL, "x") }).await;
        assert_eq!(name(&outcome), expected, "{fault:?}");
    }
    assert_eq!(name(&discord.deliver(&message(5, "x")).await), "refused");
    fake.look(|world| world.deny(HALL, SEND));
    let Err(DeliveryError::Refused { why }) = discord.deliver(&message(HALL, "x")).await else { panic!("taken") };
    insta::assert_snapshot!(why, @"403 Missing Permissions (50013: let the bot's role send messages, use threads, attach files and add reactions here)");
    fake.look(|world| world.deny(HALL, VIEW));
    assert_eq!(name(&discord.deliver(&message(HALL, "x")).await), "refused");
    assert_eq!(name(&discord.deliver(&message(THREAD, "x")).await), "sent");
    fake.look(|world| world.deny(THREAD, SEND_IN_THREADS));
    assert_eq!(name(&discord.deliver(&Outgoing { id: OutboxId(9), ..message(THREAD, "x") }).await), "refused");
}

#[tokio::test]
async fn k2_an_archived_thread_is_opened_where_that_is_allowed() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    fake.look(|world| world.channels.get_mut(&THREAD).unwrap().archived = true);
    assert_eq!(name(&discord.deliver(&message(THREAD, "x")).await), "sent");
    fake.fault("POST messages", Fault::Api(400, 50083, "Thread is archived"));
    assert_eq!(name(&discord.deliver(&Outgoing { id: OutboxId(2), ..message(THREAD, "y") }).await), "sent");
    fake.look(|world| {
        let thread = world.channels.get_mut(&THREAD).unwrap();
        (thread.archived, thread.locked) = (true, true);
    });
    assert_eq!(name(&discord.deliver(&Outgoing { id: OutboxId(3), ..message(THREAD, "z") }).await), "refused");
}

#[tokio::test]
async fn k2_a_draft_grows_and_takes_its_final_form() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let mut draft = DraftMessage { destination: to(HALL), external_id: None, text: "So".to_owned(), markup: None };
    let begun = discord.draft(&draft).await.unwrap().external_id.unwrap();
    draft.external_id = Some(begun.clone());
    draft.markup = Some("So **far**".to_owned());
    assert_eq!(discord.draft(&draft).await.unwrap().external_id, Some(begun.clone()));
    assert_eq!(fake.until_sent(HALL, 1).await, ["So **far**"]);
    let replaces = |or_send| Some(MessageReplacement { external_id: begun.clone(), or_send });
    let last = Outgoing { replaces: replaces(true), ..message(HALL, "So far, so good.") };
    fake.fault("PATCH messages", Fault::CutAfter);
    assert_eq!(name(&discord.deliver(&last).await), "retry", "a change can be repeated");
    assert_eq!(discord.deliver(&last).await.unwrap().external_id, Some(begun.clone()));
    assert_eq!(fake.until_sent(HALL, 1).await, ["So far, so good."]);
    let there = begun.parse().unwrap();
    fake.look(|world| world.delete(HALL, &[there]));
    assert_eq!(
        discord.deliver(&Outgoing { replaces: replaces(false), ..last.clone() }).await.unwrap().external_id,
        None
    );
    assert_eq!(fake.sent(HALL).len(), 0);
    discord.deliver(&last).await.unwrap();
    assert_eq!(fake.until_sent(HALL, 1).await, ["So far, so good."]);
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_draft_that_came_to_nothing_is_taken_back() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let draft = DraftMessage { destination: to(DM), external_id: None, text: "Hm".to_owned(), markup: None };
    let begun = discord.draft(&draft).await.unwrap().external_id.unwrap();
    for _ in 0..2 {
        discord.retract(&to(DM), &begun).await.unwrap();
    }
    assert!(fake.sent(DM).is_empty());
    let foreign = fake.post(Post::new(DM, ADA, "mine"));
    assert!(matches!(discord.retract(&to(DM), &foreign.to_string()).await, Err(DeliveryError::Refused { .. })));
}

#[tokio::test]
async fn k2_a_question_loses_its_buttons_when_it_is_resolved() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let mut asked = message(HALL, "Which?");
    asked.choices =
        (1..=7).map(|number| Choice { label: format!("Number {number}"), token: format!("q:{number}") }).collect();
    let id = discord.deliver(&asked).await.unwrap().external_id.unwrap();
    let rows = |fake: &FakeDiscord| -> Vec<usize> {
        let rows = fake.sent(HALL)[0].components.clone();
        rows.as_array().unwrap().iter().map(|row| row["components"].as_array().unwrap().len()).collect()
    };
    assert_eq!(rows(&fake), [5, 2]);
    let resolved = Outgoing {
        replaces: Some(MessageReplacement { external_id: id, or_send: false }),
        choices: Vec::new(),
        ..message(HALL, "Which? Number 3.")
    };
    discord.deliver(&resolved).await.unwrap();
    assert_eq!((rows(&fake), fake.sent(HALL)[0].content.as_str()), (vec![], "Which? Number 3."));
}
