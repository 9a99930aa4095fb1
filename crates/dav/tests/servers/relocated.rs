//! An entry goes to another calendar, and what others do meanwhile is neither lost nor overwritten.

use serde_json::{Value, json};

use crate::between::{lossy, way};
use crate::server::{Server, ServerKind};
use crate::{BOTH, Harness, ToolOutput, YOGA, dentist, event, tool_output};
use hob_tools::{Invocation, Outcome};

/// With a second calendar, and the dentist in the first.
async fn server(make: ServerKind) -> Server {
    let server = Server::start(make).await;
    server.add_family().await;
    dentist(&server, "20261201T130000Z").await;
    server
}

fn to_family(entry: &str) -> Value {
    json!({ "entry": entry, "calendar": "ada/family" })
}

impl Harness {
    async fn made_again(&self, invocation: Invocation, attempt: u32) -> ToolOutput {
        tool_output(Outcome::of(self.tool("calendar_change").call(Invocation { attempt, ..invocation }).await))
    }
}

#[tokio::test]
async fn f3_an_entry_goes_to_another_calendar_whole_and_back() {
    for make in BOTH {
        let server = server(make).await;
        let harness = Harness::of(&server).await;
        let before = harness.list("2026-11-30", 16).await;
        let mut arguments = to_family("dentist");
        arguments["start"] = json!("2026-12-03");
        let moved = harness.ada("calendar_change", arguments).await;
        assert!(!moved.failed && moved.text.ends_with("It is in ada/family now."), "{make:?}: {}", moved.text);
        assert_eq!(server.get("ada", "dentist").await, None, "{make:?}");
        let there = server.get_in_family("dentist").await.unwrap();
        for kept in ["X-OTHER;X-A=\"b;c\":keep", "BEGIN:VALARM", "20261203T130000Z", "UID:dentist"] {
            assert!(there.contains(kept), "{make:?}: {there}");
        }
        let undone = harness.undo(moved).await;
        assert!(!undone.failed, "{make:?}: {}", undone.text);
        assert_eq!((server.get_in_family("dentist").await, harness.list("2026-11-30", 16).await), (None, before));
        assert!(server.get("ada", "dentist").await.unwrap().contains("BEGIN:VALARM"), "{make:?}");
        // Where it is already it only stays.
        let stays = harness.ada("calendar_change", json!({ "entry": "dentist", "calendar": "ada/calendar" })).await;
        assert!(
            stays.back.is_none() && !stays.failed && server.get("ada", "dentist").await.is_some(),
            "{make:?}: {}",
            stays.text
        );
    }
}

#[tokio::test]
async fn f3_what_would_tell_others_or_break_a_series_stays_where_it_is() {
    for make in BOTH {
        let server = server(make).await;
        server.put("ada", "yoga", &event("yoga", YOGA)).await;
        let lunch = "SUMMARY:Lunch\nORGANIZER:mailto:ada@home.example\nATTENDEE:mailto:eve@away.example\nDTSTART:20261202T110000Z";
        server.put("ada", "lunch", &event("lunch", lunch)).await;
        server.put_in_family("dentist", &event("other", "SUMMARY:Other\nDTSTART:20261205T080000Z")).await;
        let harness = Harness::of(&server).await;
        let mut with_letters = to_family("lunch");
        with_letters["tells"] = json!(["eve@away.example"]);
        for (arguments, why) in [
            (to_family("yoga"), "A series goes to another calendar as a whole"),
            (with_letters, "Others take part in this entry"),
            (to_family("dentist"), "that calendar already has an entry of the same name"),
            (json!({ "entry": "dentist", "calendar": "ada/nowhere" }), "There is no such calendar to write to."),
            (json!({ "entry": "dentist", "calendar": "ben/calendar" }), "There is no such account."),
        ] {
            let refused = harness.ada("calendar_change", arguments.clone()).await;
            assert!(refused.failed && refused.text.contains(why), "{make:?} {arguments}: {}", refused.text);
        }
        for name in ["yoga", "lunch", "dentist"] {
            assert!(server.get("ada", name).await.is_some(), "{make:?}: {name}");
        }
        assert!(server.get_in_family("dentist").await.unwrap().contains("SUMMARY:Other"), "{make:?}");
        let mut whole = to_family("yoga");
        whole["whole_series"] = json!(true);
        let moved = harness.ada("calendar_change", whole).await;
        assert!(!moved.failed && moved.back.is_none(), "{make:?}: {}", moved.text);
        assert!(server.get_in_family("yoga").await.unwrap().contains("EXDATE"), "{make:?}");
        assert_eq!(server.get("ada", "yoga").await, None, "{make:?}");
    }
}

#[tokio::test]
async fn f3_who_is_first_while_an_entry_goes_is_not_overwritten() {
    for make in BOTH {
        let server = server(make).await;
        // What nobody sees goes along.
        let unseen = event("dentist", "SUMMARY:Dentist\nX-OTHER:new\nDTSTART:20261201T130000Z\nDURATION:PT1H");
        let harness = Harness::with(&way(&server, "dentist", &unseen), "secret").await;
        let moved = harness.ada("calendar_change", to_family("dentist")).await;
        assert!(!moved.failed, "{make:?}: {}", moved.text);
        assert!(server.get_in_family("dentist").await.unwrap().contains("X-OTHER:new"), "{make:?}");
        let back = Harness::of(&server).await.undo(moved).await;
        assert!(!back.failed, "{make:?}: {}", back.text);
        // What is seen is told, and it stays with its change.
        dentist(&server, "20261201T130000Z").await;
        let seen = event("dentist", "SUMMARY:Dentist\nDTSTART:20261204T080000Z\nDURATION:PT1H");
        let harness = Harness::with(&way(&server, "dentist", &seen), "secret").await;
        let refused = harness.ada("calendar_change", to_family("dentist")).await;
        assert!(refused.failed && refused.text.contains("It is now:\nFri 4 December"), "{make:?}: {}", refused.text);
        assert!(server.get("ada", "dentist").await.unwrap().contains("20261204T080000Z"), "{make:?}");
        assert_eq!(server.get_in_family("dentist").await, None, "{make:?}: the copy was taken back");
    }
}

#[tokio::test]
async fn f3_an_entry_that_goes_when_the_call_is_cut_off_goes_once() {
    for make in BOTH {
        let server = server(make).await;
        // Cut off after it was written there: it stands in both.
        let harness = Harness::with(&lossy(&server), "secret").await;
        let invocation = harness.invocation(0, &to_family("dentist"));
        let lost = harness.made_again(invocation.clone(), 1).await;
        assert!(lost.failed && lost.text.contains("it is not known whether it was done"), "{make:?}: {}", lost.text);
        assert!(server.get("ada", "dentist").await.is_some() && server.get_in_family("dentist").await.is_some());
        let again = harness.made_again(invocation.clone(), 2).await;
        assert!(again.text.starts_with("Changed."), "{make:?}: {}", again.text);
        assert!(server.get("ada", "dentist").await.is_none() && server.get_in_family("dentist").await.is_some());
        // And after it was taken away.
        let done = harness.made_again(invocation, 3).await;
        assert!(!done.failed && done.text.starts_with("It was done already"), "{make:?}: {}", done.text);
    }
}
