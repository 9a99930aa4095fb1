//! Requests grow at their end only, so that a provider's cache holds (row C2).

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::machine::compaction::ContextView;
use crate::machine::effect::ModelCallPurpose;
use crate::machine::tests::{ANNA, BEN, Script, done, principal, says, steers, wants};
use crate::machine::transcript::Transcript;
use crate::prompt::{HistorySlice, PromptInputs, PromptSettings};
use hob_model::message::Message;
use hob_model::provider::{Request, ToolChoice, ToolSchema};

fn material(history: Vec<Message>, minute: i64) -> PromptInputs {
    let settings = PromptSettings { base: "You are Hob.".to_owned(), zone: TimeZone::UTC, history_messages_max: 40 };
    let now = Timestamp::from_second(60 * minute).unwrap();
    let parameters = serde_json::from_str("{\"type\":\"object\"}").unwrap();
    let look = ToolSchema { name: "look".to_owned(), description: "Looks.".to_owned(), parameters };
    PromptInputs {
        system: settings.base.clone(),
        tools: vec![look].into(),
        tail: settings.tail(now, &principal(ANNA), &[]),
        past: HistorySlice { messages: history, ..HistorySlice::default() },
    }
}

fn shown(request: &Request) -> String {
    let lines = request.messages.iter().map(|message| serde_json::to_string(message).unwrap());
    let tools = request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ");
    [request.system.clone(), format!("tools: {tools}")].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// One turn: a tool, a message of somebody else, an answer. Gives its requests.
fn turn(material: &PromptInputs) -> (Vec<Request>, Vec<Message>) {
    let mut run = Script::begun();
    let request =
        |run: &Script| material.request(&ContextView::default(), &run.run().transcript, None, ModelCallPurpose::Work);
    let mut requests = vec![request(&run)];
    run.on(wants(&["look"]));
    run.on(steers(BEN, "me too"));
    run.on(done("1.0"));
    requests.push(request(&run));
    run.on(says("seen"));
    (requests, run.run().transcript.messages().to_vec())
}

#[test]
fn a_request_word_for_word() {
    let history = vec![Message::user("good day"), Message::assistant("and to you", Vec::new())];
    let material = material(history, 0);
    let (requests, transcript) = turn(&material);
    insta::assert_snapshot!(shown(&requests[1]), @r#"
    You are Hob.
    tools: look
    {"role":"user","text":"good day"}
    {"role":"assistant","text":"and to you"}
    {"role":"user","text":"<context>\ntime: Thursday, 1 January 1970, 00:00 (UTC)\nspeaking: Anna\n</context>"}
    {"role":"user","text":"hello"}
    {"role":"assistant","text":"","calls":[{"id":"1.0","name":"look","arguments":"{\"a\":1}"}]}
    {"role":"tool","call":"1.0","name":"look","text":"ok","is_error":false}
    {"role":"user","text":"[Ben] me too"}
    "#);
    let mut first = Transcript::default();
    first.push(transcript[0].clone());
    let last = material.request(&ContextView::default(), &first, None, ModelCallPurpose::WrapUpIterations);
    assert_eq!((&requests[1].tool_choice, &last.tool_choice), (&ToolChoice::Auto, &ToolChoice::None));
    insta::assert_snapshot!(shown(&last), @r#"
    You are Hob.
    tools: look
    {"role":"user","text":"good day"}
    {"role":"assistant","text":"and to you"}
    {"role":"user","text":"<context>\ntime: Thursday, 1 January 1970, 00:00 (UTC)\nspeaking: Anna\n</context>"}
    {"role":"user","text":"hello"}
    {"role":"user","text":"The steps for this task are used up. Tools are no longer available. Tell the user plainly what has been done, what has not, and what should happen next."}
    "#);
}

#[test]
fn within_a_run_each_request_begins_with_the_one_before() {
    let (requests, _) = turn(&material(Vec::new(), 0));
    let (first, second) = (&requests[0], &requests[1]);
    assert_eq!((&first.system, &first.tools), (&second.system, &second.tools));
    assert!(second.messages.starts_with(&first.messages));
    assert!(second.messages.len() > first.messages.len());
}

#[test]
fn from_turn_to_turn_only_what_follows_the_tail_is_new() {
    let mut history = Vec::new();
    let mut before: Option<Request> = None;
    for minute in 0..5 {
        let (requests, transcript) = turn(&material(history.clone(), minute));
        let request = requests.last().unwrap();
        if let Some(before) = before {
            let tail = before.messages.iter().position(has_context).unwrap();
            assert_eq!((&request.system, &request.tools), (&before.system, &before.tools));
            assert!(request.messages.starts_with(&before.messages[..tail]), "turn {minute}");
        }
        assert_eq!(request.messages.iter().filter(|message| has_context(message)).count(), 1, "old tails are not kept");
        history.extend(transcript);
        before = Some(request.clone());
    }
}

fn has_context(message: &Message) -> bool {
    matches!(message, Message::User { .. } if message.text().starts_with("<context>"))
}

#[test]
fn f5_a_request_names_the_conversation_whose_it_is() {
    let script = Script::begun();
    let run = script.run();
    let request = material(Vec::new(), 0).request_of(run, &run.call_model());
    assert_eq!(request.session, Some(run.input.session_key()));
}
