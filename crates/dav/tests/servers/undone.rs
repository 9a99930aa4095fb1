//! What was done to an entry is taken back by the call that was named when it was done (row N16).

use serde_json::{Value, json};

use crate::server::Server;
use crate::{BOTH, Harness, ToolOutput, YOGA, dentist, event};
use hob_core::domain::tools::Risk;
use hob_core::policy::undo::{can_be_taken_back, tells_nobody};
use hob_tools::registry::Registry;

impl Harness {
    /// What Ada has in the two weeks of these tests.
    async fn all(&self) -> String {
        self.list("2026-11-30", 16).await
    }

    /// The call that takes it back, made as it is offered.
    pub(crate) async fn undo(&self, done: ToolOutput) -> ToolOutput {
        let back = done.back.unwrap_or_else(|| panic!("no way back: {}", done.text));
        let arguments: Value = serde_json::from_str(&back.arguments).unwrap();
        let tools = self.tools.iter().cloned().fold(Registry::default(), Registry::with);
        assert_eq!(tools.argument_errors(&back.tool, &arguments), None, "{}", back.arguments);
        self.ada(&back.tool, arguments).await
    }
}

#[tokio::test]
async fn an_entry_is_as_it_was_when_what_was_done_to_it_is_taken_back() {
    for make in BOTH {
        let server = Server::start(make).await;
        let lunch = "SUMMARY:Lunch\nLOCATION:Rosa's\nSTATUS:CONFIRMED\nDTSTART;TZID=America/New_York:20261202T060000\nDTEND;TZID=America/New_York:20261202T070000";
        let trip = "SUMMARY:Trip\nDTSTART;VALUE=DATE:20261204\nDTEND;VALUE=DATE:20261207";
        for (name, lines) in [("lunch", lunch), ("trip", trip), ("yoga", YOGA)] {
            server.put("ada", name, &event(name, lines)).await;
        }
        let harness = Harness::of(&server).await;
        let before = harness.all().await;
        for (tool, arguments) in [
            ("calendar_add", json!({ "title": "Tea", "start": "2026-12-03T15:00" })),
            (
                "calendar_change",
                json!({ "entry": "Lunch", "start": "2026-12-03T13:30", "minutes": 30, "title": "Late lunch", "place": "", "notes": "x" }),
            ),
            ("calendar_change", json!({ "entry": "Trip", "start": "2026-12-05", "days": 1 })),
            ("calendar_change", json!({ "entry": "Yoga", "on": "2026-12-01", "start": "2026-12-02T19:00" })),
            ("calendar_cancel", json!({ "entry": "Lunch" })),
        ] {
            let written = arguments.to_string();
            assert!(tells_nobody(tool, &written, Risk::Write), "{tool} {written}");
            // What is called off is not graded lower, though it may be offered.
            assert_eq!(can_be_taken_back(tool, &written, Risk::Write), tool != "calendar_cancel");
            let done = harness.ada(tool, arguments).await;
            assert!(!done.failed && harness.all().await != before, "{tool} {written}: {}", done.text);
            let undone = harness.undo(done).await;
            assert!(!undone.failed, "{tool} {written}: {}", undone.text);
            assert_eq!(harness.all().await, before, "{tool} {written}, {make:?}");
        }
    }
}

#[tokio::test]
async fn what_tells_others_or_would_lose_something_has_no_way_back() {
    for make in BOTH {
        let server = Server::start(make).await;
        dentist(&server, "20261201T130000Z").await;
        server.put("ada", "yoga", &event("yoga", YOGA)).await;
        server.put("ada", "trip", &event("trip", "SUMMARY:Trip\nDTSTART;VALUE=DATE:20261204")).await;
        let harness = Harness::of(&server).await;
        for (tool, arguments) in [
            // No call makes a day again of what was given a time; the alarm would be gone.
            ("calendar_change", json!({ "entry": "Trip", "start": "2026-12-05T10:00" })),
            ("calendar_cancel", json!({ "entry": "Dentist" })),
            ("calendar_change", json!({ "entry": "Yoga", "start": "2026-12-01T19:00", "whole_series": true })),
            ("calendar_cancel", json!({ "entry": "Yoga", "whole_series": true })),
            ("calendar_add", json!({ "title": "Tea", "start": "2026-12-03T15:00", "invite": ["eve@away.example"] })),
            ("calendar_change", json!({ "entry": "Tea", "start": "2026-12-03T16:00", "tells": ["eve@away.example"] })),
        ] {
            let done = harness.ada(tool, arguments.clone()).await;
            assert!(!done.failed && done.back.is_none(), "{tool} {arguments}: {}", done.text);
        }
    }
}

#[tokio::test]
async fn what_somebody_has_changed_since_stays_as_it_is() {
    for make in BOTH {
        let server = Server::start(make).await;
        let harness = Harness::of(&server).await;
        let done = harness.ada("calendar_add", json!({ "title": "Tea", "start": "2026-12-03T15:00" })).await;
        harness.ada("calendar_change", json!({ "entry": "Tea", "title": "Coffee" })).await;
        let after = harness.all().await;
        let undone = harness.undo(done).await;
        assert!(undone.failed && undone.text.starts_with("Somebody has changed this entry"), "{}", undone.text);
        assert_eq!(harness.all().await, after);
    }
}
