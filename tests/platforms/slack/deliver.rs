//! What Hob says goes out as Slack wants it, and exactly once.

use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::outgoing::{Choice, DeliveryError, DraftMessage, MessageReplacement, Outgoing, Receipt};
use hob_core::render::{TextFormat, pieces};

use crate::slack::harness::{ADA, ADAS, HALL, adapter, message, to, workspace};
use hob_testkit::fake_slack::{FakeSlack, Fault};

/// Markdown as the outbox has it, one row.
fn said(chat: &str, markdown: &str) -> Outgoing {
    let piece = pieces(markdown, TextFormat::Markdown, ChannelKind::Slack).remove(0);
    Outgoing { markup: piece.markup, ..message(chat, &piece.text) }
}

fn choice(label: &str) -> Choice {
    Choice { label: label.to_owned(), token: format!("t:{label}") }
}

async fn posted(fake: &FakeSlack, message: &Outgoing) -> String {
    let receipt = adapter(&fake.api_url()).deliver(message).await.unwrap();
    receipt.external_id.unwrap()
}

#[tokio::test]
async fn k2_markdown_goes_out_as_blocks() {
    let fake = workspace().await;
    let ts = posted(&fake, &said(HALL, "**Dinner** at *six* & <later>")).await;
    let message = fake.look(|world| world.message(HALL, &ts).clone());
    assert_eq!(message["text"], "Dinner at six &amp; &lt;later&gt;");
    // Slack is not to guess links, also not in code.
    let text = "*Dinner* at _six_ &amp; &lt;later&gt;";
    assert_eq!(message["blocks"][0]["text"], serde_json::json!({"type": "mrkdwn", "text": text, "verbatim": true}));
    let call = fake.look(|world| world.last_call("chat.postMessage").clone());
    for (key, expected) in [("unfurl_links", false), ("unfurl_media", false), ("link_names", false)] {
        assert_eq!(call[key], expected, "{key}");
    }
}

#[tokio::test]
async fn k2_plain_words_call_nobody() {
    let fake = workspace().await;
    let ts = posted(&fake, &message(HALL, "<!channel> *1* < 2")).await;
    let (said, call) =
        fake.look(|world| (world.message(HALL, &ts).clone(), world.last_call("chat.postMessage").clone()));
    assert_eq!(said["text"], "&lt;!channel&gt; *1* &lt; 2");
    assert_eq!(call["mrkdwn"], false);
}

#[tokio::test]
async fn k2_long_answers_are_messages_that_slack_takes() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let text: String = (0..900).map(|number| format!("Line {number} of <it>, with `code` & more.\n\n")).collect();
    let rows = pieces(&text, TextFormat::Markdown, ChannelKind::Slack);
    assert!(rows.len() > 2, "{}", rows.len());
    for row in &rows {
        slack.deliver(&Outgoing { markup: row.markup.clone(), ..message(ADAS, &row.text) }).await.unwrap();
    }
    let whole = fake.look(|world| world.by_bot(ADAS)).concat();
    for number in [0, 450, 899] {
        assert!(whole.contains(&format!("Line {number} of &lt;it&gt;")), "{number}");
    }
    assert_eq!(fake.look(|world| world.called("chat.postMessage")), rows.len(), "none was refused");
}

#[tokio::test]
async fn k2_what_slack_refuses_goes_out_as_text_alone() {
    let fake = workspace().await;
    for code in ["invalid_blocks", "msg_blocks_too_long", "msg_too_long"] {
        fake.fault("chat.postMessage", Fault::error(code));
        let ts = posted(&fake, &said(HALL, "**bold**")).await;
        assert!(fake.look(|world| world.message(HALL, &ts)["blocks"].as_array().is_none_or(Vec::is_empty)), "{code}");
    }
    assert_eq!(fake.look(|world| world.by_bot(HALL)), ["bold", "bold", "bold"]);
    // Blocks that Slack does not take at all.
    let broken = Outgoing {
        markup: Some(r#"[{"type":"section","text":{"type":"mrkdwn","text":""}}]"#.into()),
        ..message(HALL, "still said")
    };
    posted(&fake, &broken).await;
    assert_eq!(fake.look(|world| world.by_bot(HALL)).last().unwrap(), "still said");
}

#[tokio::test]
async fn a12_an_answer_stays_in_its_thread_or_goes_nowhere() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let root = fake.say(HALL, ADA, "<@U0HOB> hi");
    let threaded = |thread: &str| Outgoing { destination: to(HALL, Some(thread)), ..message(HALL, "hello") };
    let ts = posted(&fake, &threaded(&root)).await;
    assert_eq!(fake.look(|world| world.message(HALL, &ts)["thread_ts"].clone()), root.as_str());
    let before = fake.look(|world| world.by_bot(HALL).len());
    let gone = slack.deliver(&threaded("1712345678.000100")).await;
    assert!(matches!(gone, Err(DeliveryError::Refused { .. })), "{gone:?}");
    // A Slack that shows it to the channel instead: it is taken back.
    fake.look(|world| world.strays = true);
    let stray = slack.deliver(&threaded("1712345678.000100")).await;
    assert!(matches!(stray, Err(DeliveryError::Refused { .. })), "{stray:?}");
    assert_eq!(fake.look(|world| world.by_bot(HALL).len()), before);
    let nowhere = slack.deliver(&threaded("not-a-thread")).await;
    assert!(matches!(nowhere, Err(DeliveryError::Refused { .. })), "{nowhere:?}");
}

#[tokio::test]
async fn c4_buttons_stand_under_a_question_until_it_is_answered() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let asking = Outgoing { choices: vec![choice("Yes"), choice("No")], ..message(ADAS, "Really <all>?") };
    let ts = posted(&fake, &asking).await;
    let blocks = fake.look(|world| world.message(ADAS, &ts)["blocks"].clone());
    assert_eq!(blocks[0]["text"]["text"], "Really <all>?");
    assert_eq!(
        (&blocks[1]["elements"][1]["value"], &blocks[1]["elements"][1]["text"]["text"]),
        (&"t:No".into(), &"No".into())
    );
    let replaces = Some(MessageReplacement { external_id: ts.clone(), or_send: false });
    let answered = Outgoing { replaces: replaces.clone(), ..message(ADAS, "Really *all*? Yes.") };
    assert_eq!(slack.deliver(&answered).await, Ok(Receipt { external_id: Some(ts.clone()) }));
    let shown = fake.look(|world| world.message(ADAS, &ts).clone());
    // Its stars are stars.
    let plain = serde_json::json!({"type": "plain_text", "text": "Really *all*? Yes."});
    assert_eq!((&shown["text"], &shown["blocks"][0]["text"]), (&"Really *all*? Yes.".into(), &plain));
    assert_eq!(shown["blocks"].as_array().unwrap().len(), 1, "no buttons");
    fake.fault("chat.update", Fault::error("msg_blocks_too_long"));
    slack.deliver(&answered).await.unwrap();
    assert_eq!(fake.look(|world| world.message(ADAS, &ts)["blocks"].clone()), serde_json::json!([]));
    // Gone: done without, or sent anew.
    fake.delete(ADAS, &ts);
    assert_eq!(slack.deliver(&answered).await, Ok(Receipt { external_id: Some(ts.clone()) }));
    assert_eq!(fake.look(|world| world.by_bot(ADAS)), Vec::<String>::new());
    let anew = Outgoing { replaces: Some(MessageReplacement { external_id: ts, or_send: true }), ..answered };
    slack.deliver(&anew).await.unwrap();
    assert_eq!(fake.look(|world| world.by_bot(ADAS)), ["Really *all*? Yes."]);
}

#[tokio::test]
async fn k2_a_draft_grows_and_takes_its_final_form() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let draft = |external_id: Option<String>, markdown: &str| {
        let row = said(ADAS, markdown);
        DraftMessage { destination: to(ADAS, None), external_id, text: row.text, markup: row.markup }
    };
    let id = slack.draft(&draft(None, "Once")).await.unwrap().external_id;
    assert_eq!(slack.draft(&draft(id.clone(), "Once **upon")).await.unwrap().external_id, id);
    let ts = id.unwrap();
    let whole = Outgoing {
        replaces: Some(MessageReplacement { external_id: ts.clone(), or_send: true }),
        ..said(ADAS, "Once **upon** a time")
    };
    slack.deliver(&whole).await.unwrap();
    let shown = fake.look(|world| world.message(ADAS, &ts).clone());
    assert_eq!(shown["blocks"][0]["text"]["text"], "Once *upon* a time");
    assert_eq!(fake.look(|world| world.by_bot(ADAS).len()), 1);
    slack.retract(&to(ADAS, None), &ts).await.unwrap();
    slack.retract(&to(ADAS, None), &ts).await.unwrap();
    assert_eq!(fake.look(|world| world.by_bot(ADAS).len()), 0);
}

#[tokio::test]
async fn k2_what_may_have_arrived_is_looked_up() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let root = fake.say(HALL, ADA, "<@U0HOB> hi");
    for place in [to(ADAS, None), to(HALL, Some(&root))] {
        let row = Outgoing { destination: place.clone(), ..message("", "Dinner is ready") };
        for fault in [Fault::CutAfter, Fault::ErrorAfter("internal_error".to_owned()), Fault::HangAfter] {
            fake.fault("chat.postMessage", fault.clone());
            let lost = slack.deliver(&row).await;
            assert!(matches!(lost, Err(DeliveryError::Unknown { .. })), "{fault:?}: {lost:?}");
            let chat = place.conversation.chat.as_str();
            let there = fake.look(|world| world.posts_of_bot(chat).pop().unwrap()["ts"].as_str().unwrap().to_owned());
            let again = Outgoing { may_repeat: true, ..row.clone() };
            assert_eq!(slack.deliver(&again).await, Ok(Receipt { external_id: Some(there.clone()) }));
            assert_eq!(fake.look(|world| world.by_bot(chat)), ["Dinner is ready"]);
            fake.delete(chat, &there);
        }
        // It has not arrived: it is sent, and carries no mark.
        slack.deliver(&Outgoing { may_repeat: true, ..row }).await.unwrap();
        assert_eq!(fake.look(|world| world.by_bot(&place.conversation.chat)), ["Dinner is ready"]);
    }
}

#[tokio::test]
async fn k2_where_hob_may_not_look_the_reader_is_told() {
    let fake = workspace().await;
    fake.look(|world| world.scopes.retain(|scope| !scope.ends_with(":history")));
    posted(&fake, &Outgoing { may_repeat: true, ..said(ADAS, "**Dinner**") }).await;
    let shown = fake.look(|world| world.posts_of_bot(ADAS).remove(0));
    assert!(shown["text"].as_str().unwrap().starts_with("↻ (sent again"), "{shown}");
    assert_eq!(shown["blocks"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn k2_each_refusal_is_what_the_outbox_makes_of_it() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    let seconds = |after| Some(Duration::from_secs(after));
    let table = [
        (Fault::Limited(7), "retry", seconds(7)),
        (Fault::CutBefore, "unknown", None),
        (Fault::Proxy(502), "unknown", None),
        (Fault::Proxy(503), "retry", None),
        (Fault::Proxy(200), "unknown", None),
        (Fault::error("service_unavailable"), "retry", None),
        (Fault::error("invalid_auth"), "retry", None),
        (Fault::error("is_archived"), "refused", None),
        (Fault::error("account_inactive"), "refused", None),
    ];
    for (fault, expected, wait) in table {
        fake.fault("chat.postMessage", fault.clone());
        let (name, after) = match slack.deliver(&message(ADAS, "hi")).await.unwrap_err() {
            DeliveryError::Retry { after, .. } => ("retry", after),
            DeliveryError::Refused { .. } => ("refused", None),
            DeliveryError::Unknown { .. } => ("unknown", None),
        };
        assert_eq!((name, after), (expected, wait), "{fault:?}");
    }
    let nowhere = slack.deliver(&message("C0NONE", "hi")).await;
    assert!(matches!(nowhere, Err(DeliveryError::Refused { .. })), "{nowhere:?}");
    fake.look(|world| world.channels.get_mut(HALL).unwrap().member = false);
    let outside = slack.deliver(&message(HALL, "hi")).await;
    assert!(matches!(outside, Err(DeliveryError::Refused { .. })), "{outside:?}");
    let address = fake.api_url();
    let outage = fake.outage().await;
    let away = adapter(&address).deliver(&message(ADAS, "hi")).await;
    assert!(matches!(away, Err(DeliveryError::Retry { .. })), "{away:?}");
    drop(outage);
}

#[tokio::test]
async fn no_token_and_no_words_stand_in_an_error() {
    let fake = workspace().await;
    let slack = adapter(&fake.api_url());
    for fault in [Fault::error("invalid_auth"), Fault::Proxy(404), Fault::CutBefore] {
        fake.fault("chat.postMessage", fault);
        let error = slack.deliver(&message(ADAS, "a secret plan")).await.unwrap_err().to_string();
        assert!(!error.contains("xoxb") && !error.contains("secret plan"), "{error}");
    }
}
