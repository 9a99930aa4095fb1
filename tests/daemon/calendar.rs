//! Calendars through a running Hob: a real Radicale, and a model whose words are given.

use std::net::{Ipv4Addr, TcpListener};

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use serde_json::{Value, json};

use crate::calendar_server::{Server, ServerKind};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_testkit::fake_model::Reply;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};

/// Ada's account and Bob's; she may know when he is busy.
async fn hob(server: &Server) -> TestHob {
    let account = |name: &str, of: &str, more: &str| {
        format!(
            "[dav.{name}]\nurl = '{}'\nuser = '{name}'\npassword = 'secret'\nfor = ['{of}']\n{more}\n",
            server.url()
        )
    };
    let people = format!(
        "[people.ada]\ntelegram_user_ids = [{ADA}]\n[people.bob]\ntelegram_user_ids = [{BOB}]\n[memory]\nextract = false\n"
    );
    let accounts = [account("ada", "ada", ""), account("ben", "bob", "busy_for = ['ada']")].concat();
    TestHob::running(&format!("{people}{accounts}")).await
}

fn call(tool: &str, arguments: Value) -> Reply {
    Reply::call("use_tool", &json!({ "name": tool, "arguments": arguments }).to_string())
}

/// What the last tool answered, as the model was shown it.
fn result(hob: &TestHob) -> String {
    let last = hob.model.requests().pop().unwrap();
    let mut results = last.messages().iter().rev().filter(|message| message["role"] == "tool");
    results.next().unwrap()["content"].as_str().unwrap().to_owned()
}

fn day(at: &Zoned) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

#[tokio::test]
async fn f3_calendars_are_told_changed_and_compared_and_seen_by_nobody_else() {
    let server = Server::start(ServerKind::Radicale).await;
    let hob = hob(&server).await;
    let today = SystemClock.now().to_zoned(TimeZone::UTC);
    // A Tuesday and its Thursday, in the next days.
    let ahead = (1..=7).map(|days| today.checked_add(days.days()).unwrap());
    let tuesday = ahead.into_iter().find(|at| at.weekday() == Weekday::Tuesday).unwrap();
    let thursday = tuesday.checked_add(2.days()).unwrap();
    let stamp = |at: &Zoned, time: &str| format!("{}T{time}Z", at.strftime("%Y%m%d"));
    let event = |uid: &str, title: &str, at: &str, hours: u8| {
        format!(
            "BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20260101T000000Z\nSUMMARY:{title}\nDTSTART:{at}\nDURATION:PT{hours}H\nEND:VEVENT"
        )
    };
    server.put("ada", "dentist", &event("dentist", "Dentist", &stamp(&tuesday, "100000"), 1)).await;
    server.put("ben", "work", &event("work", "Secret work", &stamp(&thursday, "080000"), 2)).await;

    // Asked for with somebody's first words; and by somebody whom no account names, though they own this Hob.
    for (person, expected) in [(BOB, "Nothing is on today"), (OWNER, "I know no calendar of yours.")] {
        hob.say(person, "/today");
        let told = hob.told(person, 1).await.pop().unwrap();
        assert!(told.starts_with(expected), "{told}");
    }

    // Words of the title are enough: nothing that others wrote was read, and nobody is asked.
    hob.model.reply(call("calendar_change", json!({ "entry": "dentist", "start": day(&thursday) })));
    let told = hob.ask(ADA, "Move the dentist to Thursday", Reply::text("It is on Thursday now.")).await;
    assert!(told.starts_with("It is on Thursday now."), "{told}");
    assert!(result(&hob).contains("it is now Thu "), "{}", result(&hob));
    assert!(server.get("ada", "dentist").await.unwrap().contains(&format!("DTSTART:{}", stamp(&thursday, "100000"))));

    // No model is asked.
    let on = |day: &Zoned| {
        format!(
            "BEGIN:VEVENT\nUID:now\nDTSTAMP:20260101T000000Z\nSUMMARY:Today\nDTSTART;VALUE=DATE:{}\nEND:VEVENT",
            day.strftime("%Y%m%d")
        )
    };
    server.put("ada", "now", &on(&today)).await;
    let asked = hob.model.requests().len();
    hob.say(ADA, "/today");
    let told = hob.told(ADA, 2).await.pop().unwrap();
    assert!(told.contains(", all day: Today") && hob.model.requests().len() == asked, "{told}");

    hob.model.reply(call("calendar_free", json!({ "from": day(&thursday), "days": 1, "between": "08:00-13:00" })));
    hob.ask(ADA, "When are we all free on Thursday?", Reply::text("From eleven.")).await;
    let free = result(&hob);
    let times =
        free.lines().skip(1).filter_map(|line| line.split_once(", ")).map(|(_, times)| times).collect::<Vec<_>>();
    assert!(free.starts_with("Free for ada and ben, 60 minutes or longer:"), "{free}");
    assert_eq!(times, ["11:00–13:00"], "{free}");

    hob.model.reply(call("calendar_list", json!({ "days": 14 })));
    hob.ask(ADA, "What's on?", Reply::text("The dentist.")).await;
    let listed = result(&hob);
    assert!(listed.contains(", 10:00–11:00: Dentist [ada/calendar/dentist.ics~"), "{listed}");
    assert!(!listed.contains("Secret") && !listed.contains("BEGIN:"), "{listed}");

    // From now on others' words were read: whatever changes something is asked about.
    hob.model.reply(call("calendar_cancel", json!({ "entry": "dentist" })));
    hob.say(ADA, "Cancel the dentist");
    let asked = hob.told(ADA, 5).await.pop().unwrap();
    assert!(
        asked.starts_with("May I do this?\ncalendar_cancel – Thu ")
            && asked.contains(", 10:00–11:00: Dentist, in ada/calendar\n")
            && asked.contains("the calendar or the contacts of ada"),
        "{asked}"
    );
    assert!(server.get("ada", "dentist").await.is_some());
    hob.model.reply(Reply::text("It is off."));
    hob.press(ADA, "approve");
    hob.told(ADA, 6).await;
    assert_eq!(server.get("ada", "dentist").await, None);

    hob.model.reply(call("calendar_list", json!({ "days": 14 })));
    hob.ask(BOB, "What's on?", Reply::text("Work.")).await;
    let listed = result(&hob);
    assert!(listed.contains("Secret work") && !listed.contains("ada/"), "{listed}");
    hob.nothing_refused();

    let seen = hob_command(hob.home.path(), &["doctor", "--only", "calendars"]).output().await.unwrap();
    let seen = String::from_utf8(seen.stdout).unwrap();
    assert!(
        seen.starts_with("ok   calendars: ada answers; calendars: 1, address books: 1\nok   calendars: ben answers"),
        "{seen}"
    );
}

#[tokio::test]
async fn f3_a_calendar_that_does_not_answer_keeps_nobody_waiting() {
    // It takes connections, and says nothing.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let account = format!("[dav.ada]\nurl = '{url}'\nuser = 'ada'\npassword = 'secret'\nfor = ['ada']\n");
    let people = format!("[people.ada]\ntelegram_user_ids = [{ADA}]\n[memory]\nextract = false\n");
    let mut hob = TestHob::running(&format!("{people}{account}")).await;
    hob.say(ADA, "/today");
    // It is taken in, whatever the calendar does: what comes after it does not wait.
    let told = hob.ask(ADA, "Hello", Reply::text("Good morning.")).await;
    assert_eq!(told, "Good morning.");
    // Nor is it given again to a Hob that it might have ended.
    hob.acknowledged().await;
    hob.recorded(1).await;
    hob.restart().await;
    let told = hob.ask(ADA, "Hello again", Reply::text("Good evening.")).await;
    assert_eq!(told, "Good evening.");
    assert_eq!(hob.heard(ADA), ["Good morning.", "Good evening."]);
}

#[tokio::test]
async fn f3_a_morning_schedule_tells_what_is_on_and_asks_no_model() {
    let server = Server::start(ServerKind::Radicale).await;
    let today = SystemClock.now().to_zoned(TimeZone::UTC).strftime("%Y%m%d").to_string();
    let event = format!(
        "BEGIN:VEVENT\nUID:now\nDTSTAMP:20260101T000000Z\nSUMMARY:Today\nDTSTART;VALUE=DATE:{today}\nEND:VEVENT"
    );
    server.put("ada", "now", &event).await;
    let settings = format!(
        "[memory]\nextract = false\n[dav.own]\nurl = '{}'\nuser = 'ada'\npassword = 'secret'\n\
         [[schedule]]\nname = 'morning'\nwhen = 'every year on 1 January at 7:00'\ntask = '/today'\n",
        server.url()
    );
    let hob = TestHob::running(&settings).await;
    hob.say(OWNER, "/schedules run 1");
    hob.until(|hob| hob.heard(OWNER).iter().any(|told| told.contains(", all day: Today"))).await;
    hob.say(OWNER, "/schedules");
    hob.until(|hob| hob.heard(OWNER).iter().any(|told| told.contains("looked: told"))).await;
    assert_eq!(hob.model.requests().len(), 0, "{:?}", hob.heard(OWNER));
    // The same where somebody asks for it in a chat; whoever has no calendar is told so.
    let arguments = json!({ "action": "create", "when": "every day at 7", "task": "/today" });
    hob.model.reply(call("schedule", arguments));
    hob.ask(BOB, "Tell me each morning what is on.", Reply::text("I do.")).await;
    let (asked, heard) = (hob.model.requests().len(), hob.heard(BOB).len());
    hob.say(BOB, "/schedules run 2");
    let none = "looked at the calendars and has no answer: I know no calendar of yours";
    hob.until(|hob| hob.heard(BOB)[heard..].iter().any(|told| told.contains(none))).await;
    assert_eq!(hob.model.requests().len(), asked);
    hob.nothing_refused();
}

#[tokio::test]
async fn n16_what_was_done_to_an_entry_is_undone_by_a_word_the_last_first() {
    let server = Server::start(ServerKind::Radicale).await;
    server.add_family().await;
    let hob = hob(&server).await;
    let tomorrow = SystemClock.now().to_zoned(TimeZone::UTC).checked_add(1.day()).unwrap();
    let calls = [
        call(
            "calendar_add",
            json!({ "title": "Tea", "start": format!("{}T15:00", day(&tomorrow)), "calendar": "ada/calendar" }),
        ),
        call("calendar_change", json!({ "entry": "Tea", "calendar": "ada/family" })),
    ];
    for (heard, done) in (1..).zip(calls) {
        hob.model.reply(done);
        let told = hob.ask(ADA, "Put tea there", Reply::text("It is there.")).await;
        assert!(told.contains("(To take back within an hour"), "{heard}: {told}");
    }
    let lists = async || {
        hob.model.reply(call("calendar_list", json!({ "days": 3 })));
        hob.ask(ADA, "What is on?", Reply::text("That.")).await;
        result(&hob)
    };
    assert!(lists().await.contains("Tea [ada/family/"), "{}", result(&hob));
    for tool in ["calendar_change", "calendar_add"] {
        let heard = hob.heard(ADA).len();
        hob.say(ADA, "/undo");
        assert_eq!(hob.told(ADA, heard + 1).await[heard], format!("Taken back: {tool}."));
        let left = lists().await;
        assert_eq!(left.contains("Tea [ada/calendar/"), tool == "calendar_change", "{left}");
        assert!(!left.contains("family"), "{left}");
    }
    hob.nothing_refused();
}
