//! Typing and reactions.

use hob_core::domain::channel::{Channel as _, MessageReaction, PresenceSignal};
use hob_core::domain::outgoing::{DeliveryError, Destination};

use crate::discord::harness::{PACE, adapter, to};
use hob_testkit::fake_discord::world::{ADA, HALL, REACT, THREAD};
use hob_testkit::fake_discord::{FakeDiscord, Fault};

#[tokio::test]
async fn k2_one_reaction_tells_what_becomes_of_a_message() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    let said = fake.say(HALL, ADA, "do it");
    let place = Destination { reply_to: Some(said.to_string()), ..to(HALL) };
    let steps = [
        (MessageReaction::Seen, vec!["👀"]),
        (MessageReaction::Working, vec!["⏳"]),
        (MessageReaction::Waiting, vec!["❓"]),
        (MessageReaction::Working, vec!["⏳"]),
        (MessageReaction::Failed, vec!["❌"]),
        (MessageReaction::Done, vec!["✅"]),
        (MessageReaction::Gone, vec![]),
    ];
    for (mood, expected) in steps {
        discord.sign(&place, PresenceSignal::Mood(mood)).await.unwrap();
        assert_eq!(fake.look(|world| world.reactions(HALL, said).join("")), expected.concat(), "{mood:?}");
    }
    // Another process does not know what stands there.
    discord.sign(&place, PresenceSignal::Mood(MessageReaction::Working)).await.unwrap();
    adapter(&fake, PACE).sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(fake.look(|world| world.reactions(HALL, said).join("")), "✅");
    // Another one so soon waits for its turn.
    fake.fault("PUT reactions", Fault::Flood(0.02, false));
    fake.fault("DELETE reactions", Fault::Flood(0.02, false));
    discord.sign(&place, PresenceSignal::Mood(MessageReaction::Failed)).await.unwrap();
    discord.sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(fake.look(|world| world.reactions(HALL, said).join("")), "✅");
    // What could not be taken away goes with the next one.
    fake.faults("DELETE reactions", Fault::Proxy(502), 1);
    assert!(discord.sign(&place, PresenceSignal::Mood(MessageReaction::Working)).await.is_err());
    discord.sign(&place, PresenceSignal::Mood(MessageReaction::Waiting)).await.unwrap();
    assert_eq!(fake.look(|world| world.reactions(HALL, said).join("")), "❓");
    // Under a command there is nothing to react to.
    let command = Destination { reply_to: Some("in:7".to_owned()), ..to(HALL) };
    discord.sign(&command, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    fake.look(|world| world.deny(HALL, REACT));
    let refused = discord.sign(&place, PresenceSignal::Mood(MessageReaction::Seen)).await;
    assert!(matches!(refused, Err(DeliveryError::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn k2_typing_is_shown_where_the_conversation_is() {
    let fake = FakeDiscord::start().await;
    let discord = adapter(&fake, PACE);
    discord.sign(&to(THREAD), PresenceSignal::Typing).await.unwrap();
    assert_eq!(fake.look(|world| (world.channel(THREAD).typed, world.channel(HALL).typed)), (1, 0));
}
