//! What shows that Hob is at work.

use hob_core::domain::channel::{Channel as _, MessageReaction, PresenceSignal};
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, MessageReplacement, Outgoing};

use crate::slack::harness::{ADA, ADAS, HALL, adapter, message, to, workspace};
use hob_testkit::fake_slack::Fault;

#[tokio::test]
async fn k2_a_reaction_follows_what_becomes_of_a_message() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let ts = fake.say(ADAS, ADA, "hi");
    let place = Destination { reply_to: Some(ts.clone()), ..to(ADAS, None) };
    let table = [
        (MessageReaction::Seen, Some("eyes")),
        (MessageReaction::Working, Some("hourglass_flowing_sand")),
        (MessageReaction::Working, Some("hourglass_flowing_sand")),
        (MessageReaction::Waiting, Some("question")),
        (MessageReaction::Done, Some("white_check_mark")),
        (MessageReaction::Failed, Some("x")),
        (MessageReaction::Gone, None),
    ];
    for (mood, expected) in table {
        slack.sign(&place, PresenceSignal::Mood(mood)).await.unwrap();
        let shown = fake.look(|world| world.reactions(ADAS, &ts));
        assert_eq!(shown, Vec::from_iter(expected), "{mood:?}");
    }
}

#[tokio::test]
async fn k2_what_an_earlier_process_left_is_taken_away() {
    let fake = workspace().await;
    let ts = fake.say(ADAS, ADA, "hi");
    let place = Destination { reply_to: Some(ts.clone()), ..to(ADAS, None) };
    adapter(&fake.api_url()).sign(&place, PresenceSignal::Mood(MessageReaction::Working)).await.unwrap();
    adapter(&fake.api_url()).sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(fake.look(|world| world.reactions(ADAS, &ts)), ["white_check_mark"]);
    adapter(&fake.api_url()).sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    let press = Destination { reply_to: Some("press:1.2:U0ADA".to_owned()), ..place };
    adapter(&fake.api_url()).sign(&press, PresenceSignal::Mood(MessageReaction::Seen)).await.unwrap();
    assert_eq!(fake.look(|world| world.reactions(ADAS, &ts)), ["white_check_mark"]);
}

#[tokio::test]
async fn k2_a_thread_says_that_hob_works() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let root = fake.say(HALL, ADA, "<@U0HOB> hi");
    slack.sign(&to(HALL, Some(&root)), PresenceSignal::Typing).await.unwrap();
    slack.sign(&to(ADAS, None), PresenceSignal::Typing).await.unwrap();
    let statuses = fake.look(|world| world.statuses.clone());
    assert_eq!(statuses, [(HALL.to_owned(), root.clone(), "is thinking …".to_owned())]);
    fake.fault("assistant.threads.setStatus", Fault::Limited(3));
    let limited = slack.sign(&to(HALL, Some(&root)), PresenceSignal::Typing).await;
    assert!(matches!(limited, Err(DeliveryError::Retry { after: Some(_), .. })), "{limited:?}");
}

#[tokio::test]
async fn k2_a_reaction_that_slack_puts_off_is_shown_later() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let ts = fake.say(ADAS, ADA, "hi");
    let place = Destination { reply_to: Some(ts.clone()), ..to(ADAS, None) };
    let shown = || fake.look(|world| world.reactions(ADAS, &ts));
    let table = [
        ("reactions.add", MessageReaction::Seen, vec![], vec!["eyes"]),
        ("reactions.add", MessageReaction::Working, vec!["eyes"], vec!["hourglass_flowing_sand"]),
        ("reactions.remove", MessageReaction::Waiting, vec!["hourglass_flowing_sand", "question"], vec!["question"]),
        ("reactions.remove", MessageReaction::Done, vec!["question", "white_check_mark"], vec!["white_check_mark"]),
    ];
    for (method, mood, meanwhile, at_last) in table {
        fake.fault(method, Fault::Limited(3));
        let limited = slack.sign(&place, PresenceSignal::Mood(mood)).await;
        assert!(matches!(limited, Err(DeliveryError::Retry { after: Some(_), .. })), "{mood:?}: {limited:?}");
        assert_eq!(shown(), meanwhile, "{mood:?}");
        slack.sign(&place, PresenceSignal::Mood(mood)).await.unwrap();
        assert_eq!(shown(), at_last, "{mood:?}");
    }
    // One that was put off, and is not wanted any more, leaves nothing behind.
    fake.fault("reactions.remove", Fault::Limited(3));
    slack.sign(&place, PresenceSignal::Mood(MessageReaction::Working)).await.unwrap_err();
    slack.sign(&place, PresenceSignal::Mood(MessageReaction::Failed)).await.unwrap();
    assert_eq!(shown(), ["x"]);
}

#[tokio::test]
async fn k2_no_status_stands_when_the_work_is_over() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let standing = || fake.look(|world| world.status.len());
    // A streamed answer, a silent or a stopped turn, one that failed, a question.
    for (mood, drafts) in [
        (MessageReaction::Done, true),
        (MessageReaction::Gone, false),
        (MessageReaction::Failed, false),
        (MessageReaction::Waiting, true),
    ] {
        let root = fake.say(HALL, ADA, "<@U0HOB> hi");
        let place = Destination { reply_to: Some(root.clone()), ..to(HALL, Some(&root)) };
        slack.sign(&place, PresenceSignal::Typing).await.unwrap();
        if drafts {
            let draft =
                DraftMessage { destination: place.clone(), external_id: None, text: "Once".to_owned(), markup: None };
            let id = slack.draft(&draft).await.unwrap().external_id.unwrap();
            assert_eq!(standing(), 0, "a message takes it away");
            slack.sign(&place, PresenceSignal::Typing).await.unwrap();
            let replaces = Some(MessageReplacement { external_id: id, or_send: true });
            let whole = Outgoing { destination: place.clone(), replaces, ..message(HALL, "Once upon a time") };
            slack.deliver(&whole).await.unwrap();
            assert_eq!(standing(), 1, "a change does not");
        }
        fake.fault("assistant.threads.setStatus", Fault::Limited(3));
        slack.sign(&place, PresenceSignal::Mood(mood)).await.unwrap_err();
        slack.sign(&place, PresenceSignal::Mood(mood)).await.unwrap();
        assert_eq!(standing(), 0, "{mood:?}");
    }
    // Where a message took it away there is nothing to do.
    let root = fake.say(HALL, ADA, "<@U0HOB> hi");
    let place = Destination { reply_to: Some(root.clone()), ..to(HALL, Some(&root)) };
    slack.sign(&place, PresenceSignal::Typing).await.unwrap();
    slack.deliver(&Outgoing { destination: place.clone(), ..message(HALL, "hello") }).await.unwrap();
    let asked = fake.look(|world| world.called("assistant.threads.setStatus"));
    slack.sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    assert_eq!(fake.look(|world| world.called("assistant.threads.setStatus")), asked);
}

#[tokio::test]
async fn k2_what_the_app_may_not_show_is_left_out() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let root = fake.say(HALL, ADA, "<@U0HOB> hi");
    let place = Destination { reply_to: Some(root.clone()), ..to(HALL, Some(&root)) };
    fake.look(|world| world.scopes.clear());
    for _ in 0..3 {
        slack.sign(&place, PresenceSignal::Typing).await.unwrap();
        slack.sign(&place, PresenceSignal::Mood(MessageReaction::Seen)).await.unwrap();
        slack.sign(&place, PresenceSignal::Mood(MessageReaction::Done)).await.unwrap();
    }
    let calls = fake.look(|world| (world.called("assistant.threads.setStatus"), world.called("reactions.add")));
    assert_eq!(calls, (1, 1));
}
