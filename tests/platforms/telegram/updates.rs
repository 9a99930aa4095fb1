//! Which updates become what.

use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::inbound::{Audience, Inbound, InboundEvent, QuotedMessage};
use serde_json::json;

use crate::telegram::harness::RunningAdapter;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::{ChatKind, Post};
use hob_testkit::intake::text_of;

#[tokio::test]
async fn a_private_message_brings_who_where_and_when() {
    let fake = FakeTelegram::start().await;
    fake.say(7, "hello");
    let hob = RunningAdapter::start(&fake);
    let inbound = hob.intake.until(1).await.remove(0);
    insta::assert_snapshot!(serde_json::to_string(&inbound).unwrap(), @r#"{"conversation":{"channel":"telegram","account":"default","chat":"7","thread":null},"external_id":"1","sender":{"external_id":"7","name":"Person 7"},"happening":{"kind":"posted","text":"hello"},"sent_at":"2026-09-21T14:13:21Z"}"#);
    hob.end().await;
}

#[tokio::test]
async fn an_edit_names_the_message_it_changes() {
    let fake = FakeTelegram::start().await;
    let id = fake.say(7, "helo");
    fake.edit(7, id, "hello");
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(2).await;
    assert_eq!(seen[1].happening, InboundEvent::Edited { text: "hello".to_owned() });
    assert_eq!(seen[1].external_id, seen[0].external_id);
    assert!(seen[1].sent_at > seen[0].sent_at);
    hob.end().await;
}

#[tokio::test]
async fn what_has_no_text_is_named_unless_it_is_a_file() {
    let fake = FakeTelegram::start().await;
    let photo = json!([{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1, "file_size": 1}]);
    let voice = json!({"file_id": "a", "file_unique_id": "b", "duration": 1, "file_size": 1, "mime_type": "audio/ogg"});
    fake.post(Post::new(7, 7, "").with(json!({"photo": photo, "caption": "our cat"})));
    fake.post(Post::new(7, 7, "").with(json!({ "photo": photo })));
    fake.post(Post::new(7, 7, "").with(json!({ "voice": voice })));
    fake.post(Post::new(7, 7, "").with(json!({"dice": {"emoji": "🎲", "value": 3}})));
    fake.post(Post::new(7, 7, "").with(json!({"location": {"latitude": 52.5, "longitude": 13.4}})));
    let location = json!({"latitude": 48.2, "longitude": 16.37, "horizontal_accuracy": 12.4});
    fake.post(Post::new(7, 7, "").with(json!({
        "location": location, "venue": {"location": location, "title": "Café [Mozart]", "address": "Albertinaplatz 2"}
    })));
    fake.post(Post::new(7, 7, "").with(json!({"new_chat_title": "a notice"})));
    fake.say(7, "end");
    let hob = RunningAdapter::start(&fake);
    assert_eq!(
        hob.intake.texts(7).await,
        [
            "our cat",
            "",
            "",
            "[dice]",
            "[Place: (latitude 52.5, longitude 13.4)]",
            "[Place: Café  Mozart, Albertinaplatz 2 (latitude 48.2, longitude 16.37, within 12 m)]",
            "end"
        ]
    );
    hob.end().await;
}

#[tokio::test]
async fn a_message_of_a_shape_that_teloxide_does_not_know_is_not_lost() {
    let fake = FakeTelegram::start().await;
    let odd = json!({"photo": "not a list", "caption": "look at this"});
    fake.post(Post::new(7, 7, "").with(odd.clone()));
    fake.post(Post::new(7, 7, "").with(json!({"voice": 7})));
    fake.post(Post::new(-5, 7, "").with(json!({"voice": 7})));
    fake.post(Post::new(7, 7, "replying").with(json!({"reply_to_message": {"message_id": 1, "date": 1,
        "chat": {"id": 7, "type": "private"}, "photo": 1}})));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.texts(4).await;
    let unread = "[a message of a kind that Hob cannot read]";
    assert_eq!(seen, ["look at this", unread, unread, "replying"]);
    hob.end().await;
}

/// What was handed in, with a mark for what is said to Hob.
fn told(seen: &[Inbound]) -> Vec<String> {
    let mark = |inbound: &Inbound| if inbound.metadata.audience == Audience::Hob { "Hob: " } else { "" };
    seen.iter().map(|inbound| format!("{}{}", mark(inbound), text_of(inbound))).collect()
}

#[tokio::test]
async fn c4_in_a_group_all_is_handed_in_with_whom_it_is_said_to() {
    let fake = FakeTelegram::start().await;
    let group = -100_500;
    fake.group(group, &[]);
    let say = |text: &str| fake.post(Post::new(group, 7, text));
    say("not for the bot");
    say("@somebody_else hi");
    say("/status@other_bot");
    say("hey 👪 @Hob_Test_Bot, what time is it?");
    say("/status@hob_test_bot now");
    say("/help");
    let own = fake.look(|world| {
        let from = FakeTelegram::BOT_ID;
        world.open(group, ChatKind::Supergroup);
        world.chats.get_mut(&group).unwrap().messages.last_mut().unwrap().from = from;
        world.chat(group).messages.last().unwrap().id
    });
    fake.post(Post::new(group, 8, "and tomorrow?").replying(own));
    fake.post(Post::new(group, 8, "a reply to a person").replying(1));
    fake.post(Post::new(7, 7, "/start@hob_test_bot"));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(8).await;
    let expected = [
        "not for the bot",
        "@somebody_else hi",
        "Hob: hey 👪 @Hob_Test_Bot, what time is it?",
        "Hob: /status now",
        "Hob: /help",
        "Hob: and tomorrow?",
        "a reply to a person",
        "Hob: /start",
    ];
    assert_eq!(told(&seen), expected);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.attempts().len(), 8);
    hob.end().await;
}

#[tokio::test]
async fn c4_a_channels_posts_and_their_copies_are_not_handed_in() {
    let fake = FakeTelegram::start().await;
    fake.look(|world| {
        world.open(-900, ChatKind::Channel);
    });
    fake.post(Post::new(-900, 7, "news @hob_test_bot"));
    let channel = json!({"id": -900, "type": "channel", "title": "News"});
    let copy = json!({"sender_chat": channel, "is_automatic_forward": true, "from": {"id": 777_000, "is_bot": false,
        "first_name": "Telegram"}, "forward_origin": {"type": "channel", "chat": channel, "message_id": 1, "date": 1}});
    fake.post(Post::new(-100_500, 7, "news @hob_test_bot").with(copy));
    let as_channel =
        json!({"sender_chat": channel, "from": {"id": 136_817_688, "is_bot": true, "first_name": "Channel"}});
    fake.post(Post::new(-100_500, 7, "I speak as my channel").with(as_channel));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(1).await;
    assert_eq!((text_of(&seen[0]).as_str(), seen[0].sender.name.as_str()), ("I speak as my channel", "News"));
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(hob.intake.attempts().len(), 1);
    hob.end().await;
}

#[tokio::test]
async fn c1_what_is_forwarded_says_whose_words_it_is_and_commands_nobody() {
    let fake = FakeTelegram::start().await;
    let ada = json!({"id": 9, "is_bot": false, "first_name": "Ada", "last_name": "L"});
    let home = json!({"id": -1001, "type": "supergroup", "title": "Home"});
    let news = json!({"id": -1002, "type": "channel", "title": "News"});
    let origins = [
        json!({"type": "user", "date": 1, "sender_user": ada}),
        json!({"type": "hidden_user", "date": 1, "sender_user_name": "Bob"}),
        json!({"type": "chat", "date": 1, "sender_chat": home}),
        json!({"type": "channel", "date": 1, "chat": news, "message_id": 5}),
        json!({"type": "telepathy", "date": 1, "sender_user_name": "Eve"}),
        json!({"type": "telepathy"}),
    ];
    for origin in &origins {
        fake.post(Post::new(7, 7, "/stop@hob_test_bot").with(json!({ "forward_origin": origin })));
    }
    fake.post(Post::new(-100_500, 7, "/stop@hob_test_bot").with(json!({ "forward_origin": origins[0] })));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(7).await;
    let from: Vec<_> = seen.iter().filter_map(|inbound| inbound.metadata.forwarded_from.as_deref()).collect();
    assert_eq!(from, ["Ada L", "Bob", "Home", "News", "Eve", "somebody", "Ada L"]);
    assert_eq!(text_of(&seen[0]), "/stop@hob_test_bot");
    assert_eq!(seen[6].metadata.audience, Audience::Group);
    hob.end().await;
}

#[tokio::test]
async fn c1_what_a_bot_wrote_is_not_its_senders_word() {
    let fake = FakeTelegram::start().await;
    let bot = json!({"id": 55, "is_bot": true, "first_name": "Memes", "username": "memes_bot"});
    for key in ["via_bot", "sender_business_bot"] {
        fake.post(Post::new(7, 7, "/pair ABCD-EFGH").with(json!({ key: bot })));
    }
    fake.post(Post::new(7, 7, "approve"));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(3).await;
    let from: Vec<_> = seen.iter().map(|inbound| inbound.metadata.forwarded_from.as_deref()).collect();
    assert_eq!(from, [Some("the bot Memes"), Some("the bot Memes"), None]);
    hob.end().await;
}

#[tokio::test]
async fn k2_a_reply_brings_what_it_answers() {
    let fake = FakeTelegram::start().await;
    let asked = fake.say(7, "the milk is gone");
    fake.post(Post::new(7, 7, "buy some").replying(asked));
    fake.post(Post::new(7, 7, "this part").replying(asked).with(json!({"quote": {"text": "milk", "position": 4}})));
    let hob = RunningAdapter::start(&fake);
    let done = crate::telegram::harness::message(7, "Done.");
    let receipt = hob_core::domain::channel::Channel::deliver(hob.adapter.as_ref(), &done).await.unwrap();
    let answer: i64 = receipt.external_id.unwrap().parse().unwrap();
    fake.post(Post::new(7, 7, "thanks").replying(answer));
    let elsewhere = json!({"quote": {"text": "a word", "position": 0}, "external_reply": {"origin":
        {"type": "hidden_user", "date": 1, "sender_user_name": "Bob"}, "message_id": 3, "dice": {"emoji": "🎲", "value": 1}}});
    fake.post(Post::new(7, 7, "from another chat").with(elsewhere));
    let seen = hob.intake.until(5).await;
    let quoted: Vec<_> = seen.iter().map(|inbound| inbound.metadata.quoted.clone()).collect();
    let person = |text: &str| Some(QuotedMessage { author: "Person 7".to_owned(), text: text.to_owned(), own: false });
    assert_eq!(quoted[..3], [None, person("the milk is gone"), person("milk")]);
    assert_eq!(quoted[3], Some(QuotedMessage { author: "Hob".to_owned(), text: "Done.".to_owned(), own: true }));
    assert_eq!(quoted[4], Some(QuotedMessage { author: "Bob".to_owned(), text: "a word".to_owned(), own: false }));
    hob.end().await;
}

#[tokio::test]
async fn k2_the_general_topic_is_the_main_chat_and_captions_are_edited_like_words() {
    let fake = FakeTelegram::start().await;
    let forum = -100_500;
    fake.group(forum, &[42]);
    fake.post(Post::new(forum, 7, "general").with(json!({"message_thread_id": 1, "is_topic_message": true})));
    let id = fake.hand(7, "a.txt", b"a", "old words");
    let document = json!({"file_id": "x", "file_unique_id": "y", "file_size": 1, "file_name": "a.txt"});
    let edited = json!({"message_id": id, "from": {"id": 7, "is_bot": false, "first_name": "Person 7"}, "date": 5,
        "chat": {"id": 7, "type": "private"}, "edit_date": 9, "document": document, "caption": "new words"});
    fake.raw_update(json!({ "edited_message": edited }));
    let mut moving = edited.clone();
    let fields = moving.as_object_mut().unwrap();
    fields.retain(|key, _| key != "document" && key != "caption");
    fields.insert("location".to_owned(), json!({"latitude": 52.5, "longitude": 13.4}));
    fake.raw_update(json!({ "edited_message": moving }));
    fake.say(7, "end");
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(4).await;
    assert_eq!((text_of(&seen[0]).as_str(), &seen[0].conversation.thread), ("general", &None));
    assert_eq!((text_of(&seen[2]).as_str(), &seen[2].external_id), ("edited: new words", &id.to_string()));
    assert_eq!(text_of(&seen[3]), "end", "a place that moves is not a change of words");
    hob.end().await;
}

#[tokio::test]
async fn k2_a_group_that_becomes_a_supergroup_is_told_on() {
    let fake = FakeTelegram::start().await;
    fake.look(|world| {
        world.open(-77, ChatKind::Group);
    });
    fake.post(Post::new(-77, 7, "in the old group"));
    fake.migrate(-77, -100_077);
    fake.post(Post::new(-100_077, 7, "in the new one"));
    let hob = RunningAdapter::start(&fake);
    assert_eq!(hob.intake.texts(2).await, ["in the old group", "in the new one"]);
    let moved = ("-77".to_owned(), "-100077".to_owned());
    assert_eq!(hob.intake.moves(), [moved.clone(), moved], "both chats tell");
    let mut late = crate::telegram::harness::message(-77, "an answer");
    late.destination.reply_to = Some("1".to_owned());
    hob_core::domain::channel::Channel::deliver(hob.adapter.as_ref(), &late).await.unwrap();
    let sent = fake
        .look(|world| world.chat(-100_077).by_bot().map(|sent| (sent.text.clone(), sent.reply_to)).collect::<Vec<_>>());
    assert_eq!(sent, [("an answer".to_owned(), None)]);
    hob.end().await;
}

#[tokio::test]
async fn c4_a_topic_is_a_thread_and_a_reply_is_none() {
    let fake = FakeTelegram::start().await;
    let forum = -100_500;
    fake.group(forum, &[42]);
    fake.post(Post::new(forum, 7, "/one").in_topic(42));
    fake.post(Post::new(forum, 7, "/two").with(json!({"message_thread_id": 9, "is_topic_message": false})));
    let opened = json!({"message_id": 42, "from": {"id": FakeTelegram::BOT_ID, "is_bot": true, "first_name": "Hob"},
        "chat": {"id": forum, "type": "supergroup", "title": "Home"}, "date": 1,
        "forum_topic_created": {"name": "Garden", "icon_color": 7_322_096}});
    fake.post(Post::new(forum, 7, "small talk").in_topic(42).with(json!({ "reply_to_message": opened })));
    fake.say(7, "end");
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(4).await;
    assert_eq!(seen[2].metadata.audience, Audience::Group, "it answers the topic's notice, not Hob");
    assert_eq!(seen[2].metadata.quoted, None);
    let threads: Vec<_> = seen.iter().map(|inbound| (text_of(inbound), inbound.conversation.thread.clone())).collect();
    let expected = [("/one", Some("42")), ("/two", None), ("small talk", Some("42")), ("end", None)];
    assert_eq!(threads, expected.map(|(text, thread)| (text.to_owned(), thread.map(str::to_owned))));
    hob.end().await;
}

#[tokio::test]
async fn other_bots_are_not_heard_and_an_anonymous_administrator_is_the_group() {
    let fake = FakeTelegram::start().await;
    let group = -100_500;
    let anonymous = json!({"from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group"},
        "sender_chat": {"id": group, "type": "supergroup", "title": "Home"}});
    fake.post(Post::new(group, 9, "/beep").with(json!({"from": {"id": 9, "is_bot": true, "first_name": "Beep"}})));
    fake.post(Post::new(group, 9, "/hello").with(anonymous));
    let hob = RunningAdapter::start(&fake);
    let seen = hob.intake.until(1).await;
    assert_eq!((text_of(&seen[0]), seen[0].sender.external_id.as_str()), ("/hello".to_owned(), "-100500"));
    hob.end().await;
}

#[tokio::test]
async fn a_press_is_handed_in_and_then_answered() {
    let fake = FakeTelegram::start().await;
    fake.person(7);
    let hob = RunningAdapter::start(&fake);
    let mut question = crate::telegram::harness::message(7, "Sure?");
    let choice =
        |label: &str| hob_core::domain::outgoing::Choice { label: label.to_owned(), token: format!("t:{label}") };
    question.choices = vec![choice("yes"), choice("no")];
    let receipt = hob_core::domain::channel::Channel::deliver(hob.adapter.as_ref(), &question).await.unwrap();
    let asked = receipt.external_id.unwrap().parse().unwrap();
    hob.intake.fail("busy", 1);
    let press = fake.press(7, 7, asked, "t:no");
    let seen = hob.intake.until(1).await;
    assert_eq!((text_of(&seen[0]), &seen[0].external_id), ("pressed: t:no".to_owned(), &format!("cb:{press}")));
    fake.until_true("an answered press", |world| world.presses[&press]).await;
    assert_eq!(fake.look(|world| world.called("answerCallbackQuery")), 1);
    assert_eq!(fake.look(|world| world.answers[&press].clone()), None);
    hob.intake.answer(UpdateOutcome::Ignored);
    let press = fake.press(7, 7, asked, "t:no");
    fake.until_true("an answered press", |world| world.presses[&press]).await;
    let words = "This is not for you, or it is too late.";
    assert_eq!(fake.look(|world| world.answers[&press].clone()).as_deref(), Some(words));
    hob.end().await;
}

#[tokio::test]
async fn a_press_under_an_old_message_keeps_its_topic() {
    let fake = FakeTelegram::start().await;
    let forum = -100_500;
    fake.group(forum, &[42]);
    let hob = RunningAdapter::start(&fake);
    let mut question = crate::telegram::harness::message(forum, "Sure?");
    question.destination.conversation.thread = Some("42".to_owned());
    question.choices =
        vec![hob_core::domain::outgoing::Choice { label: "yes".to_owned(), token: "q:1:2:3".to_owned() }];
    let receipt = hob_core::domain::channel::Channel::deliver(hob.adapter.as_ref(), &question).await.unwrap();
    let asked: i64 = receipt.external_id.unwrap().parse().unwrap();
    let data = fake.look(|world| world.chat(forum).message(asked).unwrap().keyboard.concat()[0].1.clone());
    let from = json!({"id": 7, "is_bot": false, "first_name": "Person 7"});
    // What Telegram tells of a message that is older than 48 hours.
    let old = json!({"message_id": asked, "date": 0, "chat": {"id": forum, "type": "supergroup", "title": "Home"}});
    for data in [data.as_str(), "q:1:2:3"] {
        let query = json!({"id": data, "from": from, "message": old, "chat_instance": "7", "data": data});
        fake.raw_update(json!({ "callback_query": query }));
    }
    let seen = hob.intake.until(2).await;
    let told: Vec<_> = seen.iter().map(|inbound| (text_of(inbound), inbound.conversation.thread.as_deref())).collect();
    let token = "pressed: q:1:2:3".to_owned();
    assert_eq!(told, [(token.clone(), Some("42")), (token, None)], "an old button names no topic");
    hob.end().await;
}
