//! What a server says while it works on a call: what it asks a person, and how far it is.

use std::fs;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::hostile::{FROM, hostile, list};
use super::{Harness, is_alive, told};
use crate::dialogue::{ActivityListener, Dialogue};
use crate::mcp::settings::Settings;
use crate::{Invocation, Outcome, Request};
use hob_core::domain::elicitation::ElicitReply;
use hob_core::domain::ids::CallId;

async fn world(names: &[&str]) -> Harness {
    let world = Harness::with(|dir| hostile(dir, ""));
    list(&world, names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect());
    world.asked().await
}

fn guests(count: u32) -> ElicitReply {
    ElicitReply::Accept { content: Map::from_iter([("guests".to_owned(), json!(count))]) }
}

impl Harness {
    /// The call of this number goes on with what a person said; none: it begins.
    async fn goes_on(&self, tool: &str, number: u32, answer: Option<ElicitReply>) -> Outcome {
        let dialogue = Dialogue { answer, ..Dialogue::default() };
        let call = CallId::new(1, number as usize);
        self.call_as(tool, Invocation { call, dialogue, ..Invocation::for_trial(json!({})) }).await
    }

    /// What the person is asked.
    async fn asks(&self, tool: &str, number: u32, answer: Option<ElicitReply>) -> String {
        match self.goes_on(tool, number, answer).await {
            Outcome::Request(Request::Ask { question, form: Some(form) }) => {
                assert_eq!(question, form.question);
                question
            }
            other => panic!("nobody is asked: {other:?}"),
        }
    }

    async fn pids(&self) -> Vec<String> {
        fs::read_to_string(self.dir.path().join("starts")).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_call_waits_at_its_server_for_what_a_person_says() {
    let world = world(&["book"]).await;
    for (number, (answer, said)) in [
        (guests(4), r#"{"action": "accept", "content": {"guests": 4}}"#),
        (ElicitReply::Decline, r#"{"action": "decline"}"#),
        (ElicitReply::Cancel, r#"{"action": "cancel"}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let number = u32::try_from(number).unwrap();
        let question = world.asks("s__book", number, None).await;
        assert!(
            question.contains("The MCP server s asks you something") && question.contains("> A table?"),
            "{question}"
        );
        assert_eq!(told(world.goes_on("s__book", number, Some(answer)).await), format!("{FROM}{said}"));
    }
    assert_eq!(world.starts(), 2, "the list, and one process for all of it");
    world.stopped().await;
}

#[tokio::test]
async fn what_waited_in_a_process_that_is_gone_is_cut_off() {
    let world = world(&["book"]).await;
    let cut = world.goes_on("s__book", 0, Some(guests(4))).await;
    assert!(matches!(cut, Outcome::Request(Request::CutOff)), "{cut:?}");
    world.stopped().await;
}

#[tokio::test]
async fn whoever_ends_the_run_ends_what_waits_for_them() {
    let world = world(&["book"]).await;
    world.asks("s__book", 0, None).await;
    let of = Invocation::for_trial(json!({})).run;
    world.server().parked().drop_run(of);
    world.gone().await;
    let pids = world.pids().await;
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn a_server_that_dies_while_a_person_thinks_is_told_of() {
    let world = world(&["ask_and_die"]).await;
    world.asks("s__ask_and_die", 0, None).await;
    fs::write(world.dir.path().join("die"), "").unwrap();
    let died = told(world.goes_on("s__ask_and_die", 0, Some(guests(4))).await);
    assert!(died.contains("the connection broke off: it ended (exit status: 3)"), "{died}");
    world.stopped().await;
}

#[tokio::test]
async fn where_it_is_not_known_whose_question_it_is_nobody_is_asked() {
    let world = world(&["crowd"]).await;
    let both = tokio::join!(world.goes_on("s__crowd", 0, None), world.goes_on("s__crowd", 1, None));
    let both = (told(both.0), told(both.1));
    let nobody = format!(r#"{FROM}{{"action": "cancel"}}"#);
    assert_eq!(both, (nobody.clone(), nobody));
    world.stopped().await;
}

#[tokio::test]
async fn a_person_is_not_asked_without_end() {
    let world = world(&["nag"]).await;
    world.asks("s__nag", 0, None).await;
    for _ in 1..10 {
        world.asks("s__nag", 0, Some(guests(1))).await;
    }
    let actions = told(world.goes_on("s__nag", 0, Some(guests(1))).await);
    assert_eq!(actions, format!("{FROM}[{}\"cancel\", \"cancel\"]", r#""accept", "#.repeat(10)));
    world.stopped().await;
}

#[tokio::test]
async fn what_is_asked_of_nobody_is_told_with_the_answer() {
    let world = world(&["page", "ask"]).await;
    let page = told(world.call("s__page", json!({ "url": "https://192.168.0.1/reboot" })).await);
    insta::assert_snapshot!(page, @r#"
    <MCP server s> {"action": "decline"}

    [Hob: while it worked, this server asked the person for something, and was refused: a page needs an https address on the public internet, without a user name in it. Tell them so.]
    "#);
    let asked = world.says("s__ask", json!({})).await;
    insta::assert_snapshot!(asked, @r#"
    <MCP server s> ["sampling/createMessage", {"action": "decline"}, {"roots": []}]

    [Hob: while it worked, this server asked the person for something, and was refused: it looks as if it asked for a password, a key, a token or a code, and nobody is asked for that. Tell them so.]
    "#);
    world.stopped().await;
}

#[tokio::test]
async fn a_question_in_an_answer_is_answered_by_the_next_call() {
    let world = Harness::with(|dir| hostile(dir, "modern"));
    list(&world, json!([{ "name": "rounds", "inputSchema": {} }]));
    let world = world.asked().await;
    assert!(world.asks("s__rounds", 0, None).await.contains("> A table?"));
    let said = told(world.goes_on("s__rounds", 0, Some(guests(4))).await);
    assert_eq!(said, format!(r#"{FROM}[{{"action": "accept", "content": {{"guests": 4}}}}, "so far"]"#));
    world.stopped().await;
}

#[tokio::test]
async fn a_call_is_followed_how_far_it_is() {
    let world = world(&["steps"]).await;
    let (hears, heard) = mpsc::channel();
    let call = |at: &str| {
        let (hears, dir, at) = (hears.clone(), world.dir.path().to_owned(), at.to_owned());
        let arguments = json!({ "at": at });
        let activity = ActivityListener::new(move |words: &str| {
            hears.send(format!("{at}: {words}")).unwrap();
            fs::write(dir.join(&at), "").unwrap();
        });
        let dialogue = Dialogue { activity, ..Dialogue::default() };
        world.call_as("s__steps", Invocation { dialogue, ..Invocation::for_trial(arguments) })
    };
    let (one, two) = tokio::join!(call("one"), call("two"));
    assert_eq!((told(one), told(two)), (format!("{FROM}at one"), format!("{FROM}at two")));
    let words: Vec<String> = heard.try_iter().collect();
    assert_eq!(words, ["one: one (3 of 10)", "two: two (3 of 10)"]);
    world.stopped().await;
}

#[tokio::test]
async fn a_structured_answer_is_held_against_what_its_tool_promises() {
    let world = Harness::with(|dir| Settings { call_within: Duration::from_secs(20), ..hostile(dir, "") });
    let output = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    list(&world, json!([{ "name": "count", "inputSchema": {}, "outputSchema": output }]));
    let world = world.asked().await;
    assert_eq!(world.says("s__count", json!({ "n": 3 })).await, format!("{FROM}Counted."));
    let wrong = world.says("s__count", json!({ "n": Value::Null })).await;
    insta::assert_snapshot!(wrong, @r#"
    <MCP server s> Counted.

    [Hob: this answer has not the structured part that its tool promises: value is not of type "integer".]
    "#);
    world.stopped().await;
}
