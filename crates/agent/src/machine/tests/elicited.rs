//! What a tool's server asks a person while it works on a call (MCP's elicitation).

use serde_json::{Map, json};

use super::agents::agent;
use super::{
    ANNA, Script, accepted, answers, begun, crash, done, finished, presses, principal, stop, stopped_tool, wants,
};
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::answer_rights::{PermittedAnswerer, pending_question};
use crate::machine::batch::CallProgress;
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::state::{ActiveState, Phase};
use hob_core::domain::elicitation::{ElicitReply, Elicitation, ElicitationSource};
use hob_core::domain::ids::CallId;
use hob_core::domain::principal::{Principal, Role, Trust};

pub(crate) fn form() -> Elicitation {
    let schema = json!({ "type": "object", "required": ["guests"], "properties": { "guests": { "type": "integer" } } });
    let form = Elicitation::form(ElicitationSource { server: "notes", message: "How many?" }, &schema, &[]).unwrap();
    Elicitation { question: "How many?".to_owned(), ..form }
}

fn elicits(call: &str) -> Event {
    finished(call, ToolOutcome::Ask { question: "How many?".to_owned(), form: Some(Box::new(form())) })
}

/// What the server of a call is told.
fn told(run: &ActiveState, call: &str) -> Option<ElicitReply> {
    let Phase::Acting(batch) = &run.phase else { return None };
    let open = batch.get(&CallId(call.to_owned()))?;
    let CallProgress::Started { attempt } = open.progress else { return None };
    open.reply(attempt).cloned()
}

fn guests(count: u32) -> Option<ElicitReply> {
    Some(ElicitReply::Accept { content: Map::from_iter([("guests".to_owned(), json!(count))]) })
}

#[test]
fn b15_an_answer_goes_to_the_server_and_its_call_goes_on() {
    let mut run = Script::acting(&["send", "look"]);
    run.check(elicits("1.0"), &[]);
    run.check(done("1.1"), &["human 1.0 asks: How many?"]);
    run.check(crash(), &[]);
    let again =
        format!("human 1.0 asks: \"approve\" is no answer for guests: it takes a whole number.\n\n{}", form().question);
    run.check(answers("approve"), &[again.as_str()]);
    run.check(presses(1, "4"), &["ignored: that question is no longer open"]);
    run.check(answers("4"), &["run 1.0 send #1"]);
    assert_eq!(told(run.run(), "1.0"), guests(4));
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(answers("decline"), &["run 1.0 send #1"]);
    assert_eq!(told(run.run(), "1.0"), Some(ElicitReply::Decline));
    run.check(done("1.0"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0: ok");
}

#[test]
fn several_servers_ask_one_after_another() {
    let mut run = Script::acting(&["send", "send"]);
    run.check(elicits("1.1"), &[]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(answers("1"), &["run 1.0 send #1"]);
    run.check(done("1.0"), &["human 1.1 asks: How many?"]);
    run.check(answers("2"), &["run 1.1 send #1"]);
    assert_eq!(told(run.run(), "1.1"), guests(2));
    run.check(done("1.1"), &["ask a/one Work"]);
}

#[test]
fn nobody_answered_in_time() {
    let mut run = Script::acting(&["send"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(Event::Expired { question: 1 }, &["run 1.0 send #1"]);
    assert_eq!(told(run.run(), "1.0"), Some(ElicitReply::Cancel));
    run.check(done("1.0"), &["ask a/one Work"]);
}

#[test]
fn b10_a_server_that_is_gone_when_the_answer_comes_leaves_a_doubtful_call_and_the_answer_is_kept() {
    let mut run = Script::acting(&["send"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(crash(), &[]);
    run.check(answers("4"), &["run 1.0 send #1"]);
    run.check(stopped_tool("1.0"), &["human unsafe 1.0 send"]);
    run.check(answers("run it again"), &["run 1.0 send #2"]);
    assert_eq!(told(run.run(), "1.0"), None, "it is a call like the first");
    run.check(elicits("1.0"), &["run 1.0 send #2"]);
    assert_eq!(told(run.run(), "1.0"), guests(4), "it was said already");
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(answers("5"), &["run 1.0 send #2"]);
    run.check(crash(), &["human unsafe 1.0 send #2"]);
    run.check(answers("it happened"), &["ask a/one Work"]);
}

#[test]
fn b10_a_call_that_is_safe_to_run_twice_is_run_again_by_itself() {
    let mut run = Script::acting(&["look"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(crash(), &[]);
    run.check(answers("4"), &["run 1.0 look #1"]);
    run.check(stopped_tool("1.0"), &["run 1.0 look #2"]);
    run.check(elicits("1.0"), &["run 1.0 look #2"]);
    assert_eq!(told(run.run(), "1.0"), guests(4));
    run.check(crash(), &["run 1.0 look #3"]);
    run.check(elicits("1.0"), &["run 1.0 look #3"]);
    run.check(done("1.0"), &["ask a/one Work"]);
}

#[test]
fn where_nobody_is_there_nobody_is_asked() {
    let unattended = [
        AcceptedInput { order: RunKind::Scheduled, ..accepted() },
        AcceptedInput { agent: Some(Box::new(agent(1))), ..accepted() },
        AcceptedInput { principal: Principal { role: Role::Guest, ..principal(ANNA) }, ..accepted() },
        AcceptedInput { principal: Principal { trust: Trust::Untrusted, ..principal(ANNA) }, ..accepted() },
    ];
    for input in unattended {
        let mut run = Script::fresh();
        run.on(Event::Accepted(input));
        run.on(Event::Begun(Box::new(begun())));
        run.on(wants(&["send"]));
        run.check(elicits("1.0"), &["run 1.0 send #1"]);
        assert_eq!(told(run.run(), "1.0"), Some(ElicitReply::Decline));
        run.check(done("1.0"), &["ask a/one Work"]);
    }
}

#[test]
fn d6_only_the_requester_or_an_owner_answers_a_server() {
    let mut run = Script::acting(&["send"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    let question = pending_question(run.run()).unwrap();
    assert_eq!(PermittedAnswerer::of(run.run(), question), PermittedAnswerer::Requester);
}

#[test]
fn a_paused_run_hands_nothing_over_until_it_goes_on() {
    let mut run = Script::acting(&["send"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    run.check(Event::PauseRequested { by: ANNA }, &[]);
    run.check(answers("4"), &["paused"]);
    run.check(Event::PauseLifted { by: ANNA }, &["run 1.0 send #1"]);
    assert_eq!(told(run.run(), "1.0"), guests(4));
}

#[test]
fn whoever_stops_the_run_is_not_asked_any_more() {
    let mut run = Script::acting(&["send"]);
    run.check(elicits("1.0"), &["human 1.0 asks: How many?"]);
    let effects = run.on(stop());
    assert_eq!(effects.last().map(String::as_str), Some("end Cancelled"), "{effects:?}");
    run.check(answers("4"), &["ignored: the run is over"]);
}
