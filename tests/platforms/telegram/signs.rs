//! That Hob types, and what becomes of a message.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::time::Duration;

use hob_core::domain::channel::{Channel as _, MessageReaction, PresenceSignal};
use hob_core::domain::outgoing::{DeliveryError, Destination};

use crate::telegram::harness::{PACE, adapter, to};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};

/// All of them, in the order of a message's life.
const LIFE: [MessageReaction; 6] = [
    MessageReaction::Seen,
    MessageReaction::Working,
    MessageReaction::Waiting,
    MessageReaction::Done,
    MessageReaction::Failed,
    MessageReaction::Gone,
];

fn about(chat: i64, message: i64) -> Destination {
    Destination { reply_to: Some(message.to_string()), ..to(chat) }
}

fn shown(fake: &FakeTelegram, chat: i64, message: i64) -> Vec<Option<String>> {
    fake.look(|world| world.chat(chat).message(message).unwrap().reactions.clone())
}

#[tokio::test]
async fn k2_typing_is_shown_in_its_topic() {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    fake.group(-5, &[3]);
    let telegram = adapter(&fake.api_url(), PACE);
    telegram.sign(&to(7), PresenceSignal::Typing).await.unwrap();
    let mut topic = to(-5);
    topic.conversation.thread = Some("3".to_owned());
    telegram.sign(&topic, PresenceSignal::Typing).await.unwrap();
    let typing = |topic| vec![("typing".to_owned(), topic)];
    let actions = fake.look(|world| (world.chat(7).actions.clone(), world.chat(-5).actions.clone()));
    assert_eq!(actions, (typing(None), typing(Some(3))));
    fake.fault("sendChatAction", Fault::Flood(4));
    let flood = telegram.sign(&to(7), PresenceSignal::Typing).await.unwrap_err();
    assert!(matches!(flood, DeliveryError::Retry { after: Some(after), .. } if after == Duration::from_secs(4)));
    fake.fault("sendChatAction", Fault::Blocked);
    assert!(matches!(telegram.sign(&to(7), PresenceSignal::Typing).await, Err(DeliveryError::Refused { .. })));
}

#[tokio::test]
async fn k2_each_mood_is_a_reaction_that_telegram_knows() {
    let fake = FakeTelegram::start().await;
    let message = fake.say(7, "hello");
    let telegram = adapter(&fake.api_url(), PACE);
    for mood in LIFE {
        telegram.sign(&about(7, message), PresenceSignal::Mood(mood)).await.unwrap();
    }
    let expected = [Some("👀"), Some("✍"), Some("🤔"), Some("👍"), Some("👎"), None];
    assert_eq!(shown(&fake, 7, message), expected.map(|emoji| emoji.map(str::to_owned)));
    telegram.sign(&to(7), PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    let press = Destination { reply_to: Some("cb:7".to_owned()), ..to(7) };
    telegram.sign(&press, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(fake.look(|world| world.called("setMessageReaction")), LIFE.len(), "of no message nothing is shown");
}

#[tokio::test]
async fn k2_a_chat_that_takes_no_reactions_is_left_in_peace() {
    let fake = FakeTelegram::start().await;
    fake.group(-5, &[]);
    fake.group(-6, &[]);
    let say = |chat| fake.post(hob_testkit::fake_telegram::world::Post::new(chat, 7, "hello"));
    let (here, there) = (say(-5), say(-6));
    fake.look(|world| world.chats.get_mut(&-5).unwrap().reactions = Some(vec!["👀".to_owned()]));
    let telegram = adapter(&fake.api_url(), PACE);
    for mood in LIFE {
        telegram.sign(&about(-5, here), PresenceSignal::Mood(mood)).await.unwrap();
    }
    assert_eq!(shown(&fake, -5, here), [Some("👀".to_owned()), None], "what was allowed does not stay for ever");
    assert_eq!(fake.look(|world| world.called("setMessageReaction")), 3, "then it is left alone");
    telegram.sign(&about(-6, there), PresenceSignal::Mood(MessageReaction::Seen)).await.unwrap();
    assert_eq!(shown(&fake, -6, there), [Some("👀".to_owned())]);
    let gone = telegram.sign(&about(-6, 99), PresenceSignal::Mood(MessageReaction::Seen)).await.unwrap_err();
    insta::assert_snapshot!(gone, @"refused: 400 Bad Request: message to react not found");
    telegram.sign(&about(-6, there), PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(shown(&fake, -6, there).len(), 2, "one message that is gone says nothing of its chat");
}
