//! Hob's calendar tools against real servers. Another program reads what they have written.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod between;
mod relocated;
mod server;
mod undone;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use hob_core::domain::ids::{CallId, UserId};
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_core::domain::tools::{DangerGrade, Risk};
use hob_core::domain::undo::InverseCall;
use hob_core::policy::access::Alias;
use hob_core::policy::net::AllowedPlaces;
use hob_dav::account::{Account, Accounts, Settings};
use hob_dav::tools;
use hob_store::users::{Identity, ensure};
use hob_store::{SchedulingMode, Store};
use hob_tools::audience::People;
use hob_tools::net::EgressGuard;
use hob_tools::net::resolve::SystemResolver;
use hob_tools::{Invocation, Outcome, Tool};

use crate::between::{lossy, way};
use crate::server::{Server, ServerKind};

/// A Thursday.
const NOW: &str = "2026-11-26T12:00:00Z";
const BOTH: [ServerKind; 2] = [ServerKind::Radicale, ServerKind::Xandikos];

/// Ada's and Ben's tools. Ada may know when Ben is busy.
struct Harness {
    _home: TempDir,
    tools: Vec<Arc<dyn Tool>>,
    users: [UserId; 2],
    calls: std::cell::Cell<usize>,
}

/// What a tool said.
struct ToolOutput {
    text: String,
    failed: bool,
    tainted: bool,
    /// The call that takes it back.
    back: Option<InverseCall>,
}

fn tool_output(outcome: Outcome) -> ToolOutput {
    match outcome {
        Outcome::Text(text) => ToolOutput { text, failed: false, tainted: false, back: None },
        Outcome::Error(text) | Outcome::Transient(text) => {
            ToolOutput { text, failed: true, tainted: false, back: None }
        }
        Outcome::Undoable(back, inner) => ToolOutput { back: Some(*back), ..tool_output(*inner) },
        Outcome::From(source, inner) => {
            assert_eq!(source.origin, Origin::Tool);
            ToolOutput { tainted: true, ..tool_output(*inner) }
        }
        other => panic!("{other:?}"),
    }
}

impl Harness {
    async fn of(server: &Server) -> Self {
        Self::with(&server.url(), "secret").await
    }

    async fn with(url: &str, password: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let mut users = [UserId(0); 2];
        for (user, name) in users.iter_mut().zip(["ada", "ben"]) {
            let now: Timestamp = NOW.parse().unwrap();
            *user = store
                .write(async move |tx| {
                    let (channel, account) = (ChannelKind::Telegram, DEFAULT_ACCOUNT);
                    let of =
                        Identity { channel, account, external_id: name, name, role: Role::User, others: Vec::new() };
                    ensure(tx, &of, now).await
                })
                .await
                .unwrap();
        }
        let guard = EgressGuard::new(AllowedPlaces::default(), Arc::new(SystemResolver));
        let people = |name: &str| People { owners: false, named: vec![vec![Alias::of(ChannelKind::Telegram, name)]] };
        let account = |name: &str, busy_for: People| {
            let settings = Settings {
                name: name.to_owned(),
                url: Url::parse(url).unwrap(),
                user: name.to_owned(),
                password: Secret::new(password.to_owned()),
                people: people(name),
                busy_for,
                calendar: None,
                addresses: vec![format!("{name}@home.example")],
            };
            Account::new(settings, &guard).unwrap()
        };
        let all = vec![account("ada", People::default()), account("ben", people("ada"))];
        let accounts = Accounts::new(all, store, TimeZone::get("Europe/Berlin").unwrap(), Arc::new(SystemRng));
        Self { _home: home, tools: tools::all(&Arc::new(accounts)), users, calls: std::cell::Cell::new(0) }
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().schema.name == name).unwrap()
    }

    fn invocation(&self, user: usize, arguments: &Value) -> Invocation {
        self.calls.set(self.calls.get() + 1);
        let invocation = Invocation::for_trial(arguments.clone());
        Invocation {
            principal: Principal { user: self.users[user], name: "?".to_owned(), ..invocation.principal },
            call: CallId::new(1, self.calls.get()),
            now: NOW.parse().unwrap(),
            ..invocation
        }
    }

    async fn ada(&self, tool: &str, arguments: Value) -> ToolOutput {
        tool_output(Outcome::of(self.tool(tool).call(self.invocation(0, &arguments)).await))
    }

    /// What Ada's calls come to, without the names of entries.
    async fn list(&self, from: &str, days: i64) -> String {
        let listed = self.ada("calendar_list", json!({ "from": from, "days": days })).await;
        assert!(listed.tainted && !listed.failed, "{}", listed.text);
        let line = |line: &str| line.rsplit_once(" [").map_or(line, |(line, _)| line).to_owned();
        listed.text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The name of the only entry that has these words.
    async fn name(&self, words: &str) -> String {
        let listed = self.ada("calendar_list", json!({ "days": 60, "words": words })).await.text;
        assert_eq!(listed.lines().count(), 1, "{listed}");
        listed.rsplit_once(" [").unwrap().1.trim_end_matches(']').to_owned()
    }
}

fn event(uid: &str, lines: &str) -> String {
    format!("BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20261101T000000Z\n{}\nEND:VEVENT", lines.trim())
}

async fn dentist(server: &Server, time: &str) {
    let lines = format!(
        "SUMMARY:Dentist\nX-OTHER;X-A=\"b;c\":keep\nDTSTART:{time}\nDURATION:PT1H\nBEGIN:VALARM\nACTION:DISPLAY\nDESCRIPTION:x\nTRIGGER:-PT1H\nEND:VALARM"
    );
    server.put("ada", "dentist", &event("dentist", &lines)).await;
}

const YOGA: &str = "SUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20261006T180000\nDTEND;TZID=Europe/Berlin:20261006T190000\nRRULE:FREQ=WEEKLY;BYDAY=TU\nEXDATE;TZID=Europe/Berlin:20261208T180000";

#[tokio::test]
async fn f3_what_is_on_is_told_in_local_time_with_exceptions() {
    for make in BOTH {
        let server = Server::start(make).await;
        dentist(&server, "20261201T130000Z").await;
        let moved = "SUMMARY:Yoga\\, outside\nRECURRENCE-ID;TZID=Europe/Berlin:20261201T180000\nDTSTART;TZID=Europe/Berlin:20261202T190000\nDTEND;TZID=Europe/Berlin:20261202T200000";
        let zone = "BEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19961027T030000\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nEND:STANDARD\n\
                    BEGIN:DAYLIGHT\nDTSTART:19810329T020000\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nEND:DAYLIGHT\nEND:VTIMEZONE";
        server.put("ada", "yoga", &format!("{zone}\n{}\n{}", event("yoga", YOGA), event("yoga", moved))).await;
        server
            .put("ada", "trip", &event("trip", "SUMMARY:Trip\nDTSTART;VALUE=DATE:20261204\nDTEND;VALUE=DATE:20261207"))
            .await;
        let harness = Harness::of(&server).await;
        assert_eq!(
            harness.list("2026-11-30", 16).await,
            "Tue 1 December, 14:00–15:00: Dentist\nWed 2 December, 19:00–20:00: Yoga, outside (repeats)\n\
             Fri 4 December to Sun 6 December, all day: Trip\nTue 15 December, 18:00–19:00: Yoga (repeats)",
            "{make:?}"
        );
        let read = harness.ada("calendar_read", json!({ "entry": "trip" })).await;
        assert!(
            read.tainted && read.text.starts_with("Fri 4 December to Sun 6 December, all day: Trip ["),
            "{}",
            read.text
        );
    }
}

#[tokio::test]
async fn f3_the_dentist_is_moved_to_thursday_and_others_can_read_it() {
    for make in BOTH {
        let server = Server::start(make).await;
        dentist(&server, "20261201T130000Z").await;
        let harness = Harness::of(&server).await;
        let moved = harness.ada("calendar_change", json!({ "entry": "dentist", "start": "2026-12-03" })).await;
        assert!(!moved.failed && !moved.tainted, "{}", moved.text);
        assert!(
            moved
                .text
                .starts_with("Changed. It was Tue 1 December, 14:00–15:00; it is now Thu 3 December, 14:00–15:00."),
            "{}",
            moved.text
        );
        let text = server.get("ada", "dentist").await.unwrap();
        assert!(text.contains("X-OTHER;X-A=\"b;c\":keep") && text.contains("TRIGGER:-PT1H"), "{make:?}: {text}");
        assert_eq!(server.khal("2026-11-26", "2026-12-20"), "2026-12-03 14:00-15:00 Dentist", "{make:?}");
        // The name is whoever made the entry's word: the answer does without it.
        let name = harness.name("dentist").await;
        let longer = harness.ada("calendar_change", json!({ "entry": name, "minutes": 90, "title": "Dr Grün" })).await;
        assert!(!longer.failed, "{}", longer.text);
        assert_eq!(server.khal("2026-11-26", "2026-12-20"), "2026-12-03 14:00-15:30 Dr Grün", "{make:?}");
        let off = harness.ada("calendar_cancel", json!({ "entry": "dr grün" })).await;
        assert_eq!(off.text, "Called off. It was Thu 3 December, 14:00–15:30.");
        assert_eq!(server.get("ada", "dentist").await, None);
    }
}

#[tokio::test]
async fn f3_one_time_of_a_series_or_all_of_it() {
    for make in BOTH {
        let server = Server::start(make).await;
        let harness = Harness::of(&server).await;
        server.put("ada", "yoga", &event("yoga", YOGA)).await;
        let once = harness
            .ada("calendar_change", json!({ "entry": "yoga", "on": "2026-12-15", "start": "2026-12-17T20:00" }))
            .await;
        assert!(!once.failed, "{}", once.text);
        let off = harness.ada("calendar_cancel", json!({ "entry": "yoga", "on": "2026-12-22" })).await;
        assert!(!off.failed, "{}", off.text);
        let all = harness
            .ada(
                "calendar_change",
                json!({ "entry": "yoga", "on": "2026-12-01", "start": "2026-12-02T17:00", "whole_series": true }),
            )
            .await;
        assert!(!all.failed, "{}", all.text);
        let expected = "2026-12-02 17:00-18:00 Yoga\n2026-12-17 20:00-21:00 Yoga\n2026-12-30 17:00-18:00 Yoga";
        assert_eq!(server.khal("2026-12-01", "2027-01-01"), expected, "{make:?}");
        let gone = harness.ada("calendar_cancel", json!({ "entry": "yoga", "whole_series": true })).await;
        assert!(gone.text.starts_with("Called off. The whole series was"), "{}", gone.text);
        assert_eq!(server.get("ada", "yoga").await, None);
    }
}

#[tokio::test]
async fn f3_nothing_of_another_program_is_overwritten() {
    for make in BOTH {
        let server = Server::start(make).await;
        dentist(&server, "20261201T130000Z").await;
        let harness = Harness::of(&server).await;
        let seen = harness.name("dentist").await;
        // Another program changes what nobody sees: that is kept.
        let lines = "SUMMARY:Dentist\nX-OTHER:new\nDTSTART:20261201T130000Z\nDURATION:PT1H";
        server.put("ada", "dentist", &event("dentist", lines)).await;
        let moved = harness.ada("calendar_change", json!({ "entry": seen, "start": "2026-12-03" })).await;
        assert!(!moved.failed, "{}", moved.text);
        let text = server.get("ada", "dentist").await.unwrap();
        assert!(text.contains("X-OTHER:new") && text.contains("20261203T130000Z"), "{text}");
        // It changes what was seen: nothing is done, and it is said.
        let seen = harness.name("dentist").await;
        dentist(&server, "20261202T080000Z").await;
        let refused = harness.ada("calendar_change", json!({ "entry": seen, "start": "2026-12-04" })).await;
        assert!(
            refused.failed
                && refused.tainted
                && refused.text.contains("It is now:\nWed 2 December, 09:00–10:00: Dentist ["),
            "{}",
            refused.text
        );
        let off = harness.ada("calendar_cancel", json!({ "entry": seen })).await;
        assert!(off.failed && server.get("ada", "dentist").await.unwrap().contains("20261202T080000Z"), "{}", off.text);
    }
}

#[tokio::test]
async fn f3_whoever_is_first_between_a_look_and_a_write_is_not_overwritten() {
    for make in BOTH {
        let server = Server::start(make).await;
        dentist(&server, "20261201T130000Z").await;
        // What nobody sees is kept, and the change is made upon it.
        let unseen = event("dentist", "SUMMARY:Dentist\nX-OTHER:new\nDTSTART:20261201T130000Z\nDURATION:PT1H");
        let harness = Harness::with(&way(&server, "dentist", &unseen), "secret").await;
        let moved = harness.ada("calendar_change", json!({ "entry": "dentist", "start": "2026-12-03" })).await;
        assert!(!moved.failed, "{make:?}: {}", moved.text);
        let text = server.get("ada", "dentist").await.unwrap();
        assert!(text.contains("X-OTHER:new") && text.contains("20261203T130000Z"), "{make:?}: {text}");
        // What is seen is told, and nothing is done.
        let seen = event("dentist", "SUMMARY:Dentist\nDTSTART:20261204T080000Z\nDURATION:PT1H");
        for (tool, arguments) in [
            ("calendar_change", json!({ "entry": "dentist", "start": "2026-12-07" })),
            ("calendar_cancel", json!({ "entry": "dentist" })),
        ] {
            dentist(&server, "20261201T130000Z").await;
            let harness = Harness::with(&way(&server, "dentist", &seen), "secret").await;
            let refused = harness.ada(tool, arguments).await;
            assert!(
                refused.failed && refused.text.contains("It is now:\nFri 4 December, 09:00–10:00: Dentist ["),
                "{make:?} {tool}: {}",
                refused.text
            );
            assert!(server.get("ada", "dentist").await.unwrap().contains("20261204T080000Z"), "{make:?} {tool}");
        }
    }
}

#[tokio::test]
async fn f3_a_call_that_is_made_again_does_nothing_twice() {
    for make in BOTH {
        let server = Server::start(make).await;
        let harness = Harness::of(&server).await;
        server.put("ada", "yoga", &event("yoga", YOGA)).await;
        let again = async |tool: &str, arguments: Value| {
            let invocation = harness.invocation(0, &arguments);
            let first = tool_output(Outcome::of(harness.tool(tool).call(invocation.clone()).await));
            assert!(!first.failed, "{}", first.text);
            let second =
                tool_output(Outcome::of(harness.tool(tool).call(Invocation { attempt: 2, ..invocation }).await));
            assert!(!second.failed && second.text.contains("already"), "{tool}: {}", second.text);
        };
        again("calendar_add", json!({ "title": "Tea", "start": "2026-12-03T16:00", "minutes": 30 })).await;
        // Its next time would be the one after, once it was moved behind that.
        again("calendar_change", json!({ "entry": "yoga", "start": "2026-12-20T18:00" })).await;
        again("calendar_cancel", json!({ "entry": "yoga", "on": "2026-12-15" })).await;
        let expected = "2026-12-03 16:00-16:30 Tea\n2026-12-20 18:00-19:00 Yoga\n2026-12-22 18:00-19:00 Yoga";
        assert_eq!(server.khal("2026-11-26", "2026-12-24"), expected, "{make:?}");
        let invocation = harness.invocation(0, &json!({ "entry": "tea" }));
        let off = tool_output(Outcome::of(harness.tool("calendar_cancel").call(invocation.clone()).await));
        assert!(off.text.starts_with("Called off."), "{}", off.text);
        let again = tool_output(Outcome::of(
            harness.tool("calendar_cancel").call(Invocation { attempt: 2, ..invocation }).await,
        ));
        assert!(!again.failed && again.text.contains("may have called it off"), "{}", again.text);
    }
}

#[tokio::test]
async fn f3_a_call_that_was_cut_off_looks_for_nothing_else() {
    for make in BOTH {
        let server = Server::start(make).await;
        let harness = Harness::of(&server).await;
        for (tool, more) in [("calendar_cancel", json!({})), ("calendar_change", json!({ "start": "2026-12-09" }))] {
            dentist(&server, "20261201T130000Z").await;
            let mut arguments = json!({ "entry": "dentist" });
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let invocation = harness.invocation(0, &arguments);
            let first = tool_output(Outcome::of(harness.tool(tool).call(invocation.clone()).await));
            assert!(!first.failed, "{}", first.text);
            // Meanwhile somebody makes another that is called so, and takes away the first.
            if server.get("ada", "dentist").await.is_some() {
                let off = harness.ada("calendar_cancel", json!({ "entry": "dentist" })).await;
                assert!(!off.failed, "{}", off.text);
            }
            let lines = "SUMMARY:Dentist\nDTSTART:20261203T080000Z\nDURATION:PT1H";
            server.put("ada", "other", &event("other", lines)).await;
            let again =
                tool_output(Outcome::of(harness.tool(tool).call(Invocation { attempt: 2, ..invocation }).await));
            assert!(again.text.contains("There is no such entry any more"), "{make:?} {tool}: {}", again.text);
            assert!(server.get("ada", "other").await.unwrap().contains("20261203T080000Z"), "{make:?} {tool}");
            let off = harness.ada("calendar_cancel", json!({ "entry": "dentist" })).await;
            assert!(!off.failed, "{}", off.text);
        }
        // One that was cut off before it had found anything looks as if it were the first.
        dentist(&server, "20261201T130000Z").await;
        let late = Invocation { attempt: 2, ..harness.invocation(0, &json!({ "entry": "dentist" })) };
        let off = tool_output(Outcome::of(harness.tool("calendar_cancel").call(late).await));
        assert!(off.text.starts_with("Called off."), "{}", off.text);
    }
}

#[tokio::test]
async fn f3_a_mark_is_nobodys_to_guess_and_counts_for_a_call_that_was_cut_off_alone() {
    let server = Server::start(ServerKind::Radicale).await;
    let mut marks = Vec::new();
    for harness in [Harness::of(&server).await, Harness::of(&server).await] {
        dentist(&server, "20261201T130000Z").await;
        // The same run and call in both houses; what stands there already is not believed.
        for hour in [15, 16] {
            harness.calls.set(0);
            let start = format!("2026-12-01T{hour}:00");
            let moved = harness.ada("calendar_change", json!({ "entry": "dentist", "start": start })).await;
            assert!(moved.text.starts_with("Changed."), "{}", moved.text);
            let text = server.get("ada", "dentist").await.unwrap();
            marks.push(text.lines().find(|line| line.starts_with("X-HOB-CALL:")).unwrap().to_owned());
        }
    }
    let all: std::collections::BTreeSet<&String> = marks.iter().collect();
    assert!(all.len() == 4 && marks.iter().all(|mark| mark.trim().len() == "X-HOB-CALL:".len() + 32), "{marks:?}");
}

#[tokio::test]
async fn f3_a_write_whose_answer_is_lost_may_have_been_done_and_is_not_done_twice() {
    let server = Server::start(ServerKind::Radicale).await;
    let harness = Harness::with(&lossy(&server), "secret").await;
    let invocation = harness.invocation(0, &json!({ "title": "Tea", "start": "2026-12-03T16:00", "minutes": 30 }));
    let lost = Outcome::of(harness.tool("calendar_add").call(invocation.clone()).await);
    assert!(
        matches!(&lost, Outcome::Transient(text) if text.contains("it is not known whether it was done")),
        "{lost:?}"
    );
    let again =
        tool_output(Outcome::of(harness.tool("calendar_add").call(Invocation { attempt: 2, ..invocation }).await));
    assert!(!again.failed && again.text.contains("It was added already"), "{}", again.text);
    assert_eq!(harness.list("2026-12-03", 1).await, "Thu 3 December, 16:00–16:30: Tea");
}

#[tokio::test]
async fn f3_a_question_says_which_entry_it_is_about() {
    let server = Server::start(ServerKind::Radicale).await;
    let lines = "SUMMARY:Board meeting\nDTSTART:20261201T080000Z\nDURATION:PT1H\nORGANIZER:mailto:ada@home.example\n\
                 ATTENDEE:mailto:ada@home.example\nATTENDEE:mailto:cleo@else.example";
    server.put("ada", "6F2A", &event("board", lines)).await;
    let harness = Harness::of(&server).await;
    let name = harness.name("board").await;
    let tainted = |arguments: Value| {
        let mut invocation = harness.invocation(0, &arguments);
        invocation.taint.add(OriginSource::new(Origin::Tool, "a calendar"));
        invocation
    };
    for tool in ["calendar_cancel", "calendar_change", "calendar_answer"] {
        assert!(harness.tool(tool).spec().facts.by_state, "{tool} is looked at as it starts");
        let mut arguments = json!({ "entry": name });
        match tool {
            "calendar_change" => arguments["start"] = json!("2026-12-02"),
            "calendar_answer" => arguments["answer"] = json!("no"),
            _ => {}
        }
        let known = harness.tool(tool).assess(&tainted(arguments), &|_| false).await;
        assert_eq!(known.about, "Tue 1 December, 09:00–10:00: Board meeting, in ada/calendar", "{tool}");
        assert_eq!(known.reasons, ["these take part: cleo@else.example"], "{tool}");
    }
    let nowhere = tainted(json!({ "entry": "lunch" }));
    let known = harness.tool("calendar_cancel").assess(&nowhere, &|_| false).await;
    assert_eq!(
        (known.grade, known.reasons.as_slice()),
        (DangerGrade::High, ["which entry it is about could not be looked up".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn f3_what_others_have_chosen_taints_and_no_time_is_too_far() {
    let server = Server::start(ServerKind::Radicale).await;
    dentist(&server, "20261201T130000Z").await;
    let harness = Harness::of(&server).await;
    let nowhere =
        harness.ada("calendar_add", json!({ "title": "x", "start": "2026-12-03", "calendar": "ada/none" })).await;
    assert!(nowhere.failed && nowhere.tainted && nowhere.text.contains("There are: calendar"), "{}", nowhere.text);
    let far = json!({ "entry": "ada/calendar/dentist.ics!99991201T000000Z~3fa9c2d03fa9c2d0" });
    let gone = harness.ada("calendar_read", far).await;
    assert!(gone.failed && gone.text.contains("There is no such entry"), "{}", gone.text);
}

#[tokio::test]
async fn f3_an_entry_with_others_is_changed_only_by_a_call_that_names_them() {
    for make in BOTH {
        let server = Server::start(make).await;
        let harness = Harness::of(&server).await;
        let invite = json!({ "title": "Dinner", "start": "2026-12-05T19:00", "invite": ["cleo@else.example"] });
        let assessed = harness.tool("calendar_add").assess(&harness.invocation(0, &invite), &|_| false).await;
        assert_eq!((assessed.risk, assessed.grade), (Risk::Send, DangerGrade::High));
        assert_eq!(assessed.reasons, ["the calendar's server may send a letter to cleo@else.example"]);
        let added = harness.ada("calendar_add", invite).await;
        assert!(!added.failed, "{}", added.text);
        let alone = json!({ "entry": "dinner", "start": "2026-12-06" });
        let assessed = harness.tool("calendar_change").assess(&harness.invocation(0, &alone), &|_| false).await;
        assert_eq!((assessed.risk, assessed.grade), (Risk::Write, DangerGrade::Safe));
        let refused = harness.ada("calendar_change", alone).await;
        assert!(refused.failed && refused.text.contains("`tells` [\"cleo@else.example\"]"), "{}", refused.text);
        assert_eq!(harness.list("2026-12-05", 2).await, "Sat 5 December, 19:00–20:00: Dinner (with 1 more)");
        let wrong = harness
            .ada("calendar_change", json!({ "entry": "dinner", "start": "2026-12-06", "tells": ["eve@else.example"] }))
            .await;
        assert!(wrong.failed, "{}", wrong.text);
        let moved = harness
            .ada("calendar_change", json!({ "entry": "dinner", "start": "2026-12-06", "tells": ["Cleo@else.example"] }))
            .await;
        assert!(!moved.failed, "{}", moved.text);
        let lines = "SUMMARY:Party\nDTSTART:20261210T180000Z\nDURATION:PT3H\nORGANIZER:mailto:cleo@else.example\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ada@home.example";
        server.put("ada", "party", &event("party", lines)).await;
        let answered = harness
            .ada("calendar_answer", json!({ "entry": "party", "answer": "yes", "tells": ["cleo@else.example"] }))
            .await;
        assert!(answered.text.starts_with("Answered with yes."), "{}", answered.text);
        assert!(server.get("ada", "party").await.unwrap().contains("PARTSTAT=ACCEPTED"), "{make:?}");
    }
}

#[tokio::test]
async fn f3_people_see_what_is_theirs() {
    let server = Server::start(ServerKind::Radicale).await;
    dentist(&server, "20261201T130000Z").await;
    server
        .put("ben", "work", &event("work", "SUMMARY:Secret work\nDTSTART:20261201T080000Z\nDTEND:20261201T120000Z"))
        .await;
    let harness = Harness::of(&server).await;
    let ben = async |tool: &str, arguments: Value| {
        tool_output(Outcome::of(harness.tool(tool).call(harness.invocation(1, &arguments)).await))
    };
    let listed = ben("calendar_list", json!({ "days": 14 })).await.text;
    assert!(listed.contains("Secret work") && !listed.contains("Dentist"), "{listed}");
    let name = harness.name("dentist").await;
    for (tool, arguments) in [
        ("calendar_read", json!({ "entry": name })),
        ("calendar_cancel", json!({ "entry": name })),
        ("calendar_change", json!({ "entry": "dentist", "start": "2026-12-03" })),
    ] {
        let refused = ben(tool, arguments).await;
        assert!(refused.failed && !refused.text.contains("14:00"), "{tool}: {}", refused.text);
    }
    // Ada may know when Ben is busy, and not with what; he may not know it of her.
    let wanted = json!({ "from": "2026-12-01", "days": 1, "between": "08:00-18:00" });
    let free = harness.ada("calendar_free", wanted.clone()).await;
    assert_eq!(
        free.text,
        "Free for ada and ben, 60 minutes or longer:\nTue 1 December, 08:00–09:00\nTue 1 December, 13:00–14:00\nTue 1 December, 15:00–18:00"
    );
    assert!(!free.tainted);
    assert!(ben("calendar_free", wanted).await.text.starts_with("Free for ben, 60"));
    assert!(!harness.ada("calendar_list", json!({ "days": 14 })).await.text.contains("Secret"));
    let mut letter = harness.invocation(0, &json!({}));
    letter.principal.trust = Trust::Untrusted;
    let refused = tool_output(Outcome::of(harness.tool("calendar_list").call(letter).await));
    assert!(refused.failed && refused.text.starts_with("No calendar is set up"), "{}", refused.text);
}

#[tokio::test]
async fn f3_contacts_are_found_and_birthdays_come() {
    for make in BOTH {
        let server = Server::start(make).await;
        server
            .put_card(
                "ada",
                "ben",
                "N:Hill;Ben;;;\nFN:Ben Hill\nEMAIL:ben@else.example\nTEL:+49 30 1234567\nBDAY:1980-12-03",
            )
            .await;
        server.put_card("ada", "cleo", "N:Low;Cleo;;;\nFN:Cleo Low\nBDAY:--0201").await;
        let harness = Harness::of(&server).await;
        let found = harness.ada("contacts_find", json!({ "words": "ben" })).await;
        assert!(found.tainted);
        assert_eq!(
            found.text, "Ben Hill: ben@else.example; +49 30 1234567; birthday next on Thu 3 December, born 1980",
            "{make:?}"
        );
        let soon = harness.ada("contacts_find", json!({ "birthdays_within_days": 30 })).await.text;
        assert_eq!(soon, "Thu 3 December: birthday of Ben Hill (46)", "{make:?}");
    }
}

#[tokio::test]
async fn f3_a_wrong_password_is_said_and_nobody_is_called_free() {
    let server = Server::start(ServerKind::Radicale).await;
    let harness = Harness::with(&server.url(), "wrong").await;
    for (tool, arguments) in
        [("calendar_list", json!({})), ("calendar_free", json!({})), ("contacts_find", json!({ "words": "ben" }))]
    {
        let refused = harness.ada(tool, arguments).await;
        assert!(refused.failed && refused.text.contains("does not let the account in"), "{tool}: {}", refused.text);
        assert!(!refused.text.contains("wrong\""), "{}", refused.text);
    }
}
