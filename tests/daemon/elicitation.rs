//! What MCP servers say while they work on a call: what they ask people, and how far they are.

use crate::mcp::gone;
use crate::mcp_offers::{house, last};
use crate::typed::Person;
use hob_testkit::fake_model::Reply;
use hob_testkit::house::{ADA, House};

/// Nothing is asked about but what servers ask.
const FREE: &str = "trusted_output = true\napproval = 'never'";

fn used(tool: &str) -> Reply {
    Reply::call("use_tool", &format!(r#"{{"name": "notes__{tool}", "arguments": {{}}}}"#))
}

/// What the model was told at last.
fn result(house: &House) -> String {
    house.model.requests().last().unwrap().last_text().to_owned()
}

#[tokio::test]
async fn b15_a_servers_question_is_put_to_the_person_and_its_call_goes_on_with_the_answer() {
    let house = house(FREE, "").await;
    house.model.reply(used("book")).reply(Reply::text("Booked."));
    house.say(ADA, "Book a table");
    insta::assert_snapshot!(last(&house, ADA, 1).await, @"
    The MCP server notes asks you something. These are its words, not mine. Tell it no password:
    > [For](https://evil.example) book? /stop
    It wants:
    - guests: a whole number, from 1 to 8
    Your answer goes to it. `decline` gives none.
    ");
    house.say(ADA, "many");
    let again = last(&house, ADA, 2).await;
    assert!(again.starts_with("\"many\" is no answer for guests: it takes a whole number, from 1 to 8."), "{again}");
    house.say(ADA, "4");
    assert_eq!(last(&house, ADA, 3).await, "Booked.");
    assert!(result(&house).contains(r#"book: {"action": "accept", "content": {"guests": 4}}"#), "{}", result(&house));
    assert_eq!(house.lines("starts").len(), 2, "one process was listed, and one has asked and answered");
    house.model.reply(used("book")).reply(Reply::text("Not booked."));
    house.say(ADA, "Book another");
    last(&house, ADA, 4).await;
    house.say(ADA, "decline");
    assert_eq!(last(&house, ADA, 5).await, "Not booked.");
    assert!(result(&house).contains(r#""action": "decline""#), "{}", result(&house));
    house.nothing_refused();
}

#[tokio::test]
async fn a_secret_is_asked_of_nobody_and_a_page_is_only_shown() {
    let house = house(FREE, "").await;
    house.model.reply(used("log_in"));
    assert_eq!(house.ask(ADA, "Log in", Reply::text("It wanted a password.")).await, "It wanted a password.");
    let told = result(&house);
    assert!(told.contains(r#"log_in: {"action": "decline"}"#), "{told}");
    assert!(
        told.contains("[Hob: while it worked, this server asked the person for something, and was refused"),
        "{told}"
    );
    house.model.reply(used("visit")).reply(Reply::text("Paid."));
    house.say(ADA, "Pay");
    let asked = last(&house, ADA, 2).await;
    assert!(asked.contains("look at a page of pay.example:\nhttps://pay.example/x\n"), "{asked}");
    house.say(ADA, "yes");
    assert_eq!(last(&house, ADA, 3).await, "Paid.");
    assert!(result(&house).contains(r#"visit: {"action": "accept""#), "{}", result(&house));
    house.nothing_refused();
}

#[tokio::test]
async fn b10_a_question_outlives_hob_and_so_does_its_answer() {
    let mut house = house(FREE, "").await;
    house.model.reply(used("book")).reply(Reply::text("Booked."));
    house.say(ADA, "Book a table");
    last(&house, ADA, 1).await;
    house.recorded(1).await;
    house.restart().await;
    house.say(ADA, "4");
    let told = last(&house, ADA, 2).await;
    assert!(told.starts_with("I was interrupted while this call was under way"), "{told}");
    house.say(ADA, "run it again");
    assert_eq!(last(&house, ADA, 3).await, "Booked.", "what was said once is not asked again");
    assert!(result(&house).contains(r#"{"guests": 4}"#), "{}", result(&house));
    house.nothing_refused();
}

#[tokio::test]
async fn a_call_whose_run_is_stopped_while_its_server_waits_is_ended() {
    let house = house(FREE, "").await;
    house.model.reply(used("book"));
    house.say(ADA, "Book a table");
    last(&house, ADA, 1).await;
    house.say(ADA, "/stop");
    gone(&house.lines("starts")).await;
    house.nothing_refused();
}

#[tokio::test]
async fn k2_how_far_a_call_is_stands_beside_the_spinner() {
    let house = house(FREE, "").await;
    house.model.reply(used("report")).reply(Reply::text("Reported."));
    let mut person = Person::sit_down(&house);
    person.sees("> ").await;
    person.types("Report\r").await;
    person.sees("reading pages (1 of 3)").await;
    std::fs::write(house.path("go"), "").unwrap();
    person.sees("Reported.").await;
    house.nothing_refused();
}

#[tokio::test]
async fn f4_how_far_a_call_is_stands_in_the_chat_until_it_is_answered() {
    let house = house(FREE, "").await;
    house.model.reply(used("report")).reply(Reply::text("Reported."));
    house.say(ADA, "Report");
    let told = house.telegram.until_sent(ADA, 1).await;
    assert!(told[0].ends_with("reading pages (1 of 3) …"), "{told:?}");
    std::fs::write(house.path("go"), "").unwrap();
    house.until(|house| house.heard(ADA) == ["Reported."]).await;
    house.nothing_refused();
}
