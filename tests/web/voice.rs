//! A voice assistant talks with Hob: words to be read aloud, for nobody in particular.

use serde_json::{Value, json as object};

use crate::browser::{hob, json};
use crate::compat::{ApiClient, content, messages};
use crate::home_server::HomeServer;
use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{OWNER, PAYS};

#[tokio::test]
async fn f9_a_voice_assistant_gets_words_to_be_read_aloud_and_is_nobody_in_particular() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let written = "**Two** things:\n\n- the `door` is [shut](https://example.org)\n- it is 21 °C 🌡️";
    let read = "Two things: the door is shut. it is 21 °C.";
    for stream in [false, true] {
        hob.model.reply(Reply::text(written));
        let said = if stream { "And how is it streamed?" } else { "How is it at home?" };
        let asked = object!({ "model": "hob-voice", "stream": stream, "messages": messages(&[said]) });
        let answer = program.asks(&asked).send().await.unwrap();
        assert!(answer.headers()["x-hob-session"].to_str().unwrap().starts_with("aloud-v1-"));
        if stream {
            let streamed = answer.text().await.unwrap();
            assert!(streamed.contains(read) && !streamed.contains("**"), "{streamed}");
            assert!(streamed.contains("\"model\":\"hob-voice\""), "{streamed}");
        } else {
            assert_eq!(content(&json(answer).await), read);
        }
    }
    let request = hob.model.requests().pop().unwrap();
    let tail = request.messages().iter().map(|message| message["content"].to_string()).collect::<String>();
    assert!(tail.contains("answers here are read out by a voice"), "{tail}");
    assert!(tail.contains("speaking: somebody at the voice assistant"), "{tail}");
    // A conversation that is named is another one than that of the page.
    hob.model.reply(Reply::text("Yes."));
    let asked = object!({ "model": "hob-voice", "messages": messages(&["Are you there?"]) });
    let named = program.asks(&asked).header("x-hob-session", "kitchen").send().await.unwrap();
    assert_eq!(named.headers()["x-hob-session"], "aloud-kitchen");
    hob.nothing_refused();
}

#[tokio::test]
async fn f9_what_is_asked_about_by_voice_an_owner_allows() {
    let mut hob = hob(PAYS).await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let aloud = async |said: &[&str]| {
        let asked = object!({ "model": "hob-voice", "messages": messages(said) });
        content(&json(program.asks(&asked).send().await.unwrap()).await)
    };
    hob.say(OWNER, "/help");
    hob.told(OWNER, 1).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Eve"}"#)).reply(Reply::text("Paid."));
    let asked = aloud(&["Pay Eve."]).await;
    assert!(asked.starts_with("May I do this?") && asked.contains("Only an owner can approve it."), "{asked}");
    assert!(!asked.contains("Your next message"), "{asked}");
    let said = aloud(&["Pay Eve.", &asked, "approve"]).await;
    assert_eq!(said, "Only an owner can approve or deny that. Nothing has changed.");
    assert!(hob.lines("paid").is_empty());
    let put = hob.told(OWNER, 2).await.pop().unwrap();
    assert!(put.contains("somebody at the voice assistant") && put.contains("Eve"), "{put}");
    hob.press(OWNER, "approve");
    hob.until(|hob| hob.lines("paid") == ["Eve"]).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn f9_a_real_home_assistant_has_hob_answer_its_voice() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let server = HomeServer::with_agent(&program.at("/v1"), &program.key);
    hob.model.reply(Reply::text("It is **five**.")).reply(Reply::text("Plum cake."));
    let first = server.hears("What time is it?", None).await;
    assert_eq!(first["response"]["speech"]["plain"]["speech"], "It is five.", "{first}");
    let conversation = first["conversation_id"].as_str().unwrap();
    let second = server.hears("And what is there?", Some(conversation)).await;
    assert_eq!(second["response"]["speech"]["plain"]["speech"], "Plum cake.", "{second}");
    let asked = hob.model.requests();
    let told = |request: usize| asked[request].messages().iter().map(Value::to_string).collect::<String>();
    assert!(told(1).contains("What time is it?"), "it is the same conversation: {}", told(1));
    assert!(told(0).contains("somebody at the voice assistant"), "{}", told(0));
    hob.nothing_refused();
}
