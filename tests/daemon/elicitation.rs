//! What MCP servers say while they work on a call: what they ask people, and how far they are.

use crate::mcp::gone;
use crate::mcp_offers::{hob, last};
use crate::typed::Person;
use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{ADA, TestHob};

/// Nothing is asked about but what servers ask.
const FREE: &str = "trusted_output = true\napproval = 'never'";

fn used(tool: &str) -> Reply {
    Reply::call("use_tool", &format!(r#"{{"name": "notes__{tool}", "arguments": {{}}}}"#))
}

/// What the model was told at last.
fn result(hob: &TestHob) -> String {
    hob.model.requests().last().unwrap().last_text().to_owned()
}

#[tokio::test]
async fn b15_a_servers_question_is_put_to_the_person_and_its_call_goes_on_with_the_answer() {
    let hob = hob(FREE, "").await;
    hob.model.reply(used("book")).reply(Reply::text("Booked."));
    hob.say(ADA, "Book a table");
    insta::assert_snapshot!(last(&hob, ADA, 1).await, @"
    The MCP server notes asks you something. These are its words, not mine. Tell it no password:
    > [For](https://evil.example) book? /stop
    It wants:
    - guests: a whole number, from 1 to 8
    Your answer goes to it. `decline` gives none.
    ");
    hob.say(ADA, "many");
    let again = last(&hob, ADA, 2).await;
    assert!(again.starts_with("\"many\" is no answer for guests: it takes a whole number, from 1 to 8."), "{again}");
    hob.say(ADA, "4");
    assert_eq!(last(&hob, ADA, 3).await, "Booked.");
    assert!(result(&hob).contains(r#"book: {"action": "accept", "content": {"guests": 4}}"#), "{}", result(&hob));
    assert_eq!(hob.lines("starts").len(), 2, "one process was listed, and one has asked and answered");
    hob.model.reply(used("book")).reply(Reply::text("Not booked."));
    hob.say(ADA, "Book another");
    last(&hob, ADA, 4).await;
    hob.say(ADA, "decline");
    assert_eq!(last(&hob, ADA, 5).await, "Not booked.");
    assert!(result(&hob).contains(r#""action": "decline""#), "{}", result(&hob));
    hob.nothing_refused();
}

#[tokio::test]
async fn a_secret_is_asked_of_nobody_and_a_page_is_only_shown() {
    let hob = hob(FREE, "").await;
    hob.model.reply(used("log_in"));
    assert_eq!(hob.ask(ADA, "Log in", Reply::text("It wanted a password.")).await, "It wanted a password.");
    let told = result(&hob);
    assert!(told.contains(r#"log_in: {"action": "decline"}"#), "{told}");
    assert!(
        told.contains("[Hob: while it worked, this server asked the person for something, and was refused"),
        "{told}"
    );
    hob.model.reply(used("visit")).reply(Reply::text("Paid."));
    hob.say(ADA, "Pay");
    let asked = last(&hob, ADA, 2).await;
    assert!(asked.contains("look at a page of pay.example:\nhttps://pay.example/x\n"), "{asked}");
    hob.say(ADA, "yes");
    assert_eq!(last(&hob, ADA, 3).await, "Paid.");
    assert!(result(&hob).contains(r#"visit: {"action": "accept""#), "{}", result(&hob));
    hob.nothing_refused();
}

#[tokio::test]
async fn b10_a_question_outlives_hob_and_so_does_its_answer() {
    let mut hob = hob(FREE, "").await;
    hob.model.reply(used("book")).reply(Reply::text("Booked."));
    hob.say(ADA, "Book a table");
    last(&hob, ADA, 1).await;
    hob.recorded(1).await;
    hob.restart().await;
    hob.say(ADA, "4");
    let told = last(&hob, ADA, 2).await;
    assert!(told.starts_with("I was interrupted while this call was under way"), "{told}");
    hob.say(ADA, "run it again");
    assert_eq!(last(&hob, ADA, 3).await, "Booked.", "what was said once is not asked again");
    assert!(result(&hob).contains(r#"{"guests": 4}"#), "{}", result(&hob));
    hob.nothing_refused();
}

#[tokio::test]
async fn a_call_whose_run_is_stopped_while_its_server_waits_is_ended() {
    let hob = hob(FREE, "").await;
    hob.model.reply(used("book"));
    hob.say(ADA, "Book a table");
    last(&hob, ADA, 1).await;
    hob.say(ADA, "/stop");
    gone(&hob.lines("starts")).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn k2_how_far_a_call_is_stands_beside_the_spinner() {
    let hob = hob(FREE, "").await;
    hob.model.reply(used("report")).reply(Reply::text("Reported."));
    let mut person = Person::sit_down(&hob);
    person.sees("> ").await;
    person.types("Report\r").await;
    person.sees("reading pages (1 of 3)").await;
    std::fs::write(hob.path("go"), "").unwrap();
    person.sees("Reported.").await;
    hob.nothing_refused();
}

#[tokio::test]
async fn f4_how_far_a_call_is_stands_in_the_chat_until_it_is_answered() {
    let hob = hob(FREE, "").await;
    hob.model.reply(used("report")).reply(Reply::text("Reported."));
    hob.say(ADA, "Report");
    let told = hob.telegram.until_sent(ADA, 1).await;
    assert!(told[0].ends_with("reading pages (1 of 3) …"), "{told:?}");
    std::fs::write(hob.path("go"), "").unwrap();
    hob.until(|hob| hob.heard(ADA) == ["Reported."]).await;
    hob.nothing_refused();
}
