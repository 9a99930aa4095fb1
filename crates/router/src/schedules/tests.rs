//! What becomes of a schedule that is due, on a real file.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use super::fire::{self, FireOutcome, FireSchedule};
use super::sync::DeclaredSchedule;
use super::{load_due, sync};
use hob_agent::journal;
use hob_agent::machine::accepted_input::RunKind;
use hob_core::domain::ids::{RunId, ScheduleId};
use hob_core::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::access::AccessList;
use hob_core::policy::schedule::check::LookTarget;
use hob_core::policy::schedule::read::read;
use hob_store::error::StoreError;
use hob_store::schedules::{DueFilter, NewSchedule, ScheduleRow, Timing};
use hob_store::users::Identity;
use hob_store::{SchedulingMode, Store, Tx, schedules, users};
use hob_tools::schedule::change::{self, Change, ChangeOutcome, Viewer};

mod looks;

#[tokio::test]
async fn n13_a_clock_that_was_ahead_delays_nothing() {
    let harness = Harness::new().await;
    let (hourly, once) = (harness.schedule("every hour").await, harness.schedule("2027-03-01 10:00").await);
    harness.fire(hourly, "2026-11-21T01:00:00Z").await;
    harness.end("completed").await;
    // A year ahead, and back again: nothing waits for that year.
    harness.fire(hourly, "2027-11-21T01:00:00Z").await;
    harness.end("completed").await;
    let back = at("2026-11-21T00:30:00Z");
    harness.store.write(async move |tx| fire::follow_clock(tx, back).await).await.unwrap();
    let next = |row: ScheduleRow| row.next_at.map(|next| Timestamp::from_millisecond(next).unwrap());
    assert_eq!(next(harness.row(hourly).await), Some(at("2026-11-21T01:00:00Z")));
    assert_eq!(next(harness.row(once).await), Some(at("2027-03-01T10:00:00Z")));
    // The hour that was done is not done again; the next one is.
    assert_eq!(harness.fire(hourly, "2026-11-21T01:00:00Z").await.begun, None);
    assert!(harness.fire(hourly, "2026-11-21T02:00:00Z").await.begun.is_some());
}

/// Midnight.
const NOW: &str = "2026-11-21T00:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// All that speak there.
fn among(platforms: &str) -> DueFilter<'_> {
    DueFilter { platforms, but: "[]" }
}

fn place() -> Conversation {
    let (account, chat) = (DEFAULT_ACCOUNT.to_owned(), "7".to_owned());
    Conversation { channel: ChannelKind::Telegram, account, chat, thread: None }
}

/// Any words to the database, and what they answer.
async fn ask(tx: &mut Tx, sql: &str) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(sqlx::AssertSqlSafe(sql.to_owned())).fetch_all(&mut *tx).await?)
}

async fn ada(tx: &mut Tx) -> Result<hob_core::domain::ids::UserId, StoreError> {
    let place = place();
    let identity = Identity {
        channel: place.channel,
        account: &place.account,
        external_id: "7",
        name: "Ada",
        role: Role::User,
        others: Vec::new(),
    };
    users::ensure(tx, &identity, at(NOW)).await
}

/// A house in which Ada may ask for things to be done later.
struct Harness {
    _dir: TempDir,
    store: Store,
    access: Arc<AccessList>,
    user: hob_core::domain::ids::UserId,
}

fn access(people: &[(&str, Role)]) -> AccessList {
    let mut list = AccessList::default();
    let door = list.account_access(ChannelKind::Telegram, DEFAULT_ACCOUNT);
    people.iter().for_each(|(id, role)| door.admit(id, *role));
    list
}

impl Harness {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let user = store.write(ada).await.unwrap();
        let access = Arc::new(access(&[("7", Role::User), ("1", Role::Owner)]));
        Self { _dir: dir, store, access, user }
    }

    async fn schedule(&self, when: &str) -> ScheduleId {
        self.look(when, None).await
    }

    async fn look(&self, when: &str, target: Option<LookTarget>) -> ScheduleId {
        let (zone, now) = (TimeZone::UTC, at(NOW));
        let rule = read(when, &zone, now).unwrap();
        let taint: Taint = [OriginSource::new(Origin::Web, "https://a.example")].into_iter().collect();
        let timing = Timing {
            rule: serde_json::to_string(&rule).unwrap(),
            zone: "UTC".to_owned(),
            asked: when.to_owned(),
            next: rule.next(&zone, now),
        };
        let new = NewSchedule {
            user: self.user,
            conversation: place(),
            task: "Water the plants.".to_owned(),
            timing,
            taint: serde_json::to_string(&taint).unwrap(),
            call: None,
            name: None,
            grace_secs: 3_600,
            coalesces: true,
            looks_at: target.map(|target| serde_json::to_string(&target).unwrap()),
            seen: None,
        };
        match self.store.write(async move |tx| change::make(tx, &new, now).await).await.unwrap() {
            ChangeOutcome::Done(row, _) => row.id,
            other => panic!("{other:?}"),
        }
    }

    async fn fire(&self, id: ScheduleId, now: &str) -> FireOutcome {
        let fire = FireSchedule { id, access: Arc::clone(&self.access), now: at(now), looked: None };
        self.store.write(async move |tx| fire.run(tx).await).await.unwrap()
    }

    async fn row(&self, id: ScheduleId) -> ScheduleRow {
        self.store.read(async |tx| Ok(schedules::lookup(tx, id).await?.unwrap())).await.unwrap()
    }

    async fn ask(&self, sql: &str) -> Vec<String> {
        let sql = sql.to_owned();
        self.store.write(async move |tx| ask(tx, &sql).await).await.unwrap()
    }

    /// What came of the instants, by the hour.
    async fn came(&self) -> Vec<String> {
        self.ask("SELECT strftime('%d %H', due_at / 1000, 'unixepoch') || ' ' || state FROM occurrences ORDER BY 1")
            .await
    }

    /// The run at work ends so.
    async fn end(&self, state: &str) {
        self.ask(&format!(
            "UPDATE runs SET state = '{state}', ended_at = 1 WHERE state IN ('queued', 'running') RETURNING ''"
        ))
        .await;
    }

    async fn alter(&self, id: ScheduleId, change: Change, now: &str) -> ChangeOutcome {
        let principal = Principal { user: self.user, name: "Ada".to_owned(), role: Role::User, trust: Trust::Trusted };
        let viewer = Viewer { principal, conversation: place() };
        let now = at(now);
        self.store.write(async move |tx| change::apply_change(tx, &viewer, id, change, now).await).await.unwrap()
    }
}

#[tokio::test]
async fn n13_an_instant_is_claimed_once_with_its_run_and_the_next() {
    let home = Harness::new().await;
    let id = home.schedule("every hour").await;
    assert_eq!(home.fire(id, "2026-11-21T00:59:59Z").await, FireOutcome::default(), "it is not due");
    let fired = home.fire(id, "2026-11-21T01:05:00Z").await;
    assert!(fired.begun.is_some() && fired.said.is_none());
    assert_eq!(home.fire(id, "2026-11-21T01:05:00Z").await, FireOutcome::default(), "it was claimed");
    assert_eq!(home.came().await, ["21 01 queued"]);
    assert_eq!(home.row(id).await.next_at, Some(at("2026-11-21T02:00:00Z").as_millisecond()));
    let run: i64 = home.ask("SELECT CAST(run_id AS TEXT) FROM occurrences").await[0].parse().unwrap();
    let accepted = home.store.read(async |tx| journal::load_accepted(tx, RunId(run)).await).await.unwrap().unwrap();
    insta::assert_snapshot!(accepted.text, @"
    [Schedule 1, every hour (UTC). Due Sat 2026-11-21 01:00 +00:00, begun 5 minutes late.]
    Water the plants.
    ");
    assert_eq!((accepted.order, accepted.principal.role), (RunKind::Scheduled, Role::User));
    assert_eq!(accepted.taint.sources().map(ToString::to_string).collect::<Vec<_>>(), ["the web (https://a.example)"]);
    home.end("completed").await;
    assert_eq!(home.came().await, ["21 01 done"]);
}

#[tokio::test]
async fn n13_even_a_row_that_was_set_back_is_not_run_twice() {
    let home = Harness::new().await;
    let id = home.schedule("every hour").await;
    home.fire(id, "2026-11-21T01:00:00Z").await;
    home.end("completed").await;
    // As a copy of the file from before would have it, but for the claim.
    let one = at("2026-11-21T01:00:00Z").as_millisecond();
    home.ask(&format!("UPDATE schedules SET next_at = {one} RETURNING ''")).await;
    assert_eq!(home.fire(id, "2026-11-21T01:00:30Z").await.begun, None);
    assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM runs").await, ["1"]);
}

#[tokio::test]
async fn n13_one_that_is_still_at_work_skips_the_next() {
    let home = Harness::new().await;
    let id = home.schedule("every hour").await;
    home.fire(id, "2026-11-21T01:00:00Z").await;
    assert_eq!(home.fire(id, "2026-11-21T02:00:00Z").await.begun, None);
    home.end("completed").await;
    assert!(home.fire(id, "2026-11-21T03:00:00Z").await.begun.is_some());
    assert_eq!(home.came().await, ["21 01 done", "21 02 skipped", "21 03 queued"]);
}

#[tokio::test]
async fn n13_what_is_too_late_is_missed_and_told() {
    let home = Harness::new().await;
    let id = home.schedule("every day at 6").await;
    let fired = home.fire(id, "2026-11-23T08:00:00Z").await;
    assert!(fired.begun.is_none() && fired.said.is_some());
    assert_eq!(home.came().await, ["21 06 missed", "22 06 missed", "23 06 missed"]);
    insta::assert_snapshot!(home.ask("SELECT text FROM outbox").await.join("\n"), @"
    I missed schedule 1 (every day at 06:00 (UTC)): it was due Mon 2026-11-23 06:00 +00:00, and 2 times before, and I was not running. It is not made up for.
    Water the plants.
    ");
    let once = home.schedule("tomorrow at 9").await;
    home.fire(once, "2026-11-23T08:00:00Z").await;
    assert_eq!(home.row(once).await.state, "done");
}

#[tokio::test]
async fn n13_five_failures_in_a_row_pause_it_and_are_told() {
    let home = Harness::new().await;
    let id = home.schedule("every hour").await;
    for (hour, (ends, failures)) in
        [("failed", 1), ("completed", 0), ("failed", 1), ("cancelled", 1), ("failed", 2), ("failed", 3), ("failed", 4)]
            .into_iter()
            .enumerate()
    {
        home.fire(id, &format!("2026-11-21T{:02}:00:00Z", hour + 1)).await;
        home.end(ends).await;
        let row = home.row(id).await;
        assert_eq!((row.failures, row.state.as_str()), (failures, "active"), "{hour}");
    }
    home.fire(id, "2026-11-21T08:00:00Z").await;
    home.end("failed").await;
    let row = home.row(id).await;
    assert_eq!((row.state.as_str(), row.why.as_deref()), ("paused", Some("failures")));
    let platforms = r#"["telegram"]"#.to_owned();
    let looked =
        home.store.read(async |tx| load_due(tx, among(&platforms), at("2026-11-21T09:00:00Z")).await).await.unwrap();
    assert_eq!((looked.due, looked.untold), (vec![], vec![id]));
    let now = at("2026-11-21T09:00:00Z");
    home.store.write(async move |tx| fire::tell_paused(tx, id, now).await).await.unwrap();
    insta::assert_snapshot!(home.ask("SELECT text FROM outbox").await.join("\n"), @"
    Schedule 1 is paused: it has failed 5 times in a row. `/schedules resume 1` lets it go on.
    Water the plants.
    ");
    home.alter(id, Change::Resume, "2026-11-21T10:30:00Z").await;
    let row = home.row(id).await;
    assert_eq!((row.failures, row.next_at), (0, Some(at("2026-11-21T11:00:00Z").as_millisecond())));
}

#[tokio::test]
async fn f1_nothing_is_looked_at_for_who_is_a_guest_by_now() {
    let mut home = Harness::new().await;
    let command = vec!["/bin/true".to_owned()];
    let id = home.look("every hour", Some(LookTarget::Command { command, network: false })).await;
    assert!(home.fire(id, "2026-11-21T01:00:00Z").await.to_look.is_some_and(|order| order.is_from_chat));
    home.access = Arc::new(access(&[("7", Role::Guest)]));
    assert_eq!(home.fire(id, "2026-11-21T02:00:00Z").await.to_look, None);
    assert_eq!(home.row(id).await.why.as_deref(), Some("access"));
}

#[tokio::test]
async fn n13_it_is_done_with_what_its_maker_may_now() {
    let mut home = Harness::new().await;
    let id = home.schedule("every hour").await;
    home.access = Arc::new(access(&[("7", Role::Guest)]));
    home.fire(id, "2026-11-21T01:00:00Z").await;
    let run: i64 = home.ask("SELECT CAST(run_id AS TEXT) FROM occurrences").await[0].parse().unwrap();
    let accepted = home.store.read(async |tx| journal::load_accepted(tx, RunId(run)).await).await.unwrap().unwrap();
    assert_eq!(accepted.principal.role, Role::Guest);
    home.end("completed").await;
    home.access = Arc::default();
    assert_eq!(home.fire(id, "2026-11-21T02:00:00Z").await.begun, None);
    assert_eq!(home.row(id).await.why.as_deref(), Some("access"));
    assert!(home.ask("SELECT text FROM outbox").await[0].contains("whoever made it may not have it done any more"));
}

#[tokio::test]
async fn n13_a_damaged_row_is_paused_and_stands_in_nobodys_way() {
    let home = Harness::new().await;
    let id = home.schedule("every hour").await;
    home.ask("UPDATE schedules SET rule = '{}' RETURNING ''").await;
    home.fire(id, "2026-11-21T01:00:00Z").await;
    assert_eq!(home.row(id).await.why.as_deref(), Some("damaged"));
}

#[tokio::test]
async fn n13_run_now_is_one_run_beside_the_rule() {
    let home = Harness::new().await;
    let id = home.schedule("every day at 6").await;
    home.alter(id, Change::Pause, NOW).await;
    for second in [10, 20] {
        home.alter(id, Change::RunNow, &format!("2026-11-21T00:00:{second}Z")).await;
    }
    assert!(home.fire(id, "2026-11-21T00:00:30Z").await.begun.is_some(), "also while it is paused");
    assert_eq!(home.fire(id, "2026-11-21T00:00:31Z").await, FireOutcome::default());
    assert_eq!(home.came().await, ["21 00 queued"]);
    assert_eq!(home.row(id).await.next_at, Some(at("2026-11-21T06:00:00Z").as_millisecond()));
}

#[tokio::test]
async fn n13_the_config_is_what_its_schedules_are() {
    let home = Harness::new().await;
    let declared = |name: &str, when: &str| {
        let (zone, now) = (TimeZone::UTC, at(NOW));
        let rule = read(when, &zone, now).unwrap();
        DeclaredSchedule {
            name: name.to_owned(),
            task: "x".to_owned(),
            timing: Some(Timing {
                rule: serde_json::to_string(&rule).unwrap(),
                zone: "UTC".to_owned(),
                asked: when.to_owned(),
                next: rule.next(&zone, now),
            }),
            conversation: place(),
            owner: "1".to_owned(),
            grace_secs: 60,
            coalesces: true,
            looks_at: None,
        }
    };
    let sync = async |declared: Vec<DeclaredSchedule>| {
        home.store.write(async move |tx| sync::SyncSchedules { declared, now: at(NOW) }.run(tx).await).await.unwrap();
        home.ask("SELECT name || ' ' || id || ' ' || asked || ' ' || state || ' ' || ifnull(next_at, '') FROM schedules ORDER BY id")
            .await
    };
    let six = at("2026-11-21T06:00:00Z").as_millisecond();
    let nine = at("2026-11-21T09:00:00Z").as_millisecond();
    let (a, b) = (declared("a", "every day at 6"), declared("b", "every day at 9"));
    let both = [format!("a 1 every day at 6 active {six}"), format!("b 2 every day at 9 active {nine}")];
    assert_eq!(sync(vec![a.clone(), b.clone()]).await, both);
    // What was due meanwhile is due still.
    let early = at(NOW).as_millisecond();
    home.ask(&format!("UPDATE schedules SET next_at = {early} WHERE id = 1 RETURNING ''")).await;
    let other = DeclaredSchedule { task: "y".to_owned(), ..a.clone() };
    let kept = [format!("a 1 every day at 6 active {early}"), both[1].clone()];
    assert_eq!(sync(vec![other, b]).await, kept);
    let later = declared("a", "every day at 9");
    assert_eq!(sync(vec![later]).await, [format!("a 1 every day at 9 active {nine}"), "b 2  removed ".to_owned()]);
    // What is past stays as it is.
    let past = DeclaredSchedule { timing: None, ..a };
    assert_eq!(sync(vec![past]).await[0], format!("a 1 every day at 9 active {nine}"));
}

#[tokio::test]
async fn n13_ten_thousand_schedules_are_one_look_a_minute() {
    let home = Harness::new().await;
    let id = home.schedule("every day at 6").await;
    home.ask(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO schedules (source, user_id, channel, account, chat, task, rule, zone, asked, taint, state, grace_secs,
           coalesces, next_at, created_at)
         SELECT source, user_id, channel, account, chat, task, rule, zone, asked, taint, state, grace_secs, coalesces,
           next_at + i, created_at FROM schedules, n RETURNING ''",
    )
    .await;
    let platforms = || r#"["telegram"]"#.to_owned();
    let looked = home.store.read(async |tx| load_due(tx, among(&platforms()), at(NOW)).await).await.unwrap();
    assert!(looked.due.is_empty() && looked.next.is_some());
    let due =
        home.store.read(async |tx| load_due(tx, among(&platforms()), at("2026-11-21T06:00:00Z")).await).await.unwrap();
    assert_eq!(due.due, [id]);
    assert!(
        home.store
            .read(async |tx| load_due(tx, among(r#"["terminal"]"#), at(NOW) + SignedDuration::from_hours(9)).await)
            .await
            .unwrap()
            .due
            .is_empty(),
        "nobody could be told here"
    );
}
