//! What a turn costs, counted (row N17): statements, commits and bytes written to the log. A feature that adds to a turn has to raise a
//! number here, and say why.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod allocations;
mod on_postgres;

use std::collections::BTreeMap;
use std::path::Path;

use hob_model::tokens;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{OWNER, TestHob};

/// Statements are told by sqlx, one event each, without their values.
const COUNTED: &str = "[daemon]\nlog = 'info,hob=debug,sqlx::query=debug'\nlog_format = 'json'";

/// What was done since some moment.
#[derive(Debug, Default, Clone)]
struct Cost {
    statements: BTreeMap<String, usize>,
    log_bytes: u64,
}

impl Cost {
    fn total(&self) -> usize {
        self.statements.values().sum()
    }

    fn commits(&self) -> usize {
        self.statements.get("COMMIT").copied().unwrap_or(0)
    }
}

/// The statements that the log tells of, from this byte on.
fn since(log: &str, from: usize) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in log[from..].lines().filter(|line| line.contains("sqlx::query")) {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        let summary = told.pointer("/fields/summary").or_else(|| told.get("summary")).unwrap_or(&told);
        let summary = summary.as_str().map_or_else(|| summary.to_string(), str::to_owned);
        // That the pool opens one more connection is not part of a turn.
        if !summary.starts_with("PRAGMA") {
            *found.entry(summary).or_default() += 1;
        }
    }
    found
}

fn log_file_bytes(hob: &TestHob) -> u64 {
    std::fs::metadata(hob.path("data/hob.db-wal")).map_or(0, |file| file.len())
}

/// Words that are looked for in memory.
const QUESTION: &str = "What stands on the shelf?";

/// Who is in the house's group.
const HALL: i64 = -100_123;

/// From where on a cost is counted.
struct Since {
    log: usize,
    wal: u64,
    delivered: usize,
}

impl Since {
    fn now(hob: &mut TestHob) -> Self {
        let log = hob.process().log();
        let delivered = log.matches("outbox.delivered").count();
        Self { log: log.len(), wal: log_file_bytes(hob), delivered }
    }

    /// What was done until so many more messages are recorded as delivered, and all that was said is taken in.
    async fn until_delivered(self, hob: &mut TestHob, messages: usize) -> Cost {
        hob.recorded(self.delivered + messages).await;
        hob.acknowledged().await;
        self.until_now(hob)
    }

    fn until_now(self, hob: &mut TestHob) -> Cost {
        let log_bytes = log_file_bytes(hob) - self.wal;
        Cost { statements: since(&hob.process().log(), self.log), log_bytes }
    }
}

/// A turn of the owner's, from a quiet moment to the next.
async fn turn(hob: &mut TestHob, text: &str) -> Cost {
    let since = Since::now(hob);
    hob.ask(OWNER, text, Reply::text("Hello.")).await;
    since.until_delivered(hob, 1).await
}

/// What one turn may cost. It is exact: who needs more raises it here and says why, and who needs less lowers it.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    statements: usize,
    commits: usize,
}

impl Cost {
    fn count(&self) -> Count {
        Count { statements: self.total(), commits: self.commits() }
    }
}

/// A house in which some turns have been taken, so that nothing is done for the first time.
async fn hob() -> TestHob {
    house_with("").await
}

async fn house_with(settings: &str) -> TestHob {
    let mut hob = TestHob::with(&format!("{COUNTED}\n{settings}")).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    for _ in 0..3 {
        turn(&mut hob, "hi").await;
    }
    hob
}

#[tokio::test]
async fn n17_a_plain_hi() {
    let mut hob = hob().await;
    let cost = turn(&mut hob, "hi").await;
    assert_eq!(cost.count(), Count { statements: 28, commits: 3 }, "{cost:#?}");
    // 55 pages of 1 KiB with their headers, give or take a tenth: which rows share a page is chance.
    assert!((51_000..=63_000).contains(&cost.log_bytes), "{cost:#?}");
}

/// What is asked is looked for in memory: nothing is where nothing is asked.
#[tokio::test]
async fn n17_a_question() {
    let mut hob = hob().await;
    turn(&mut hob, "The red jar stands on the shelf.").await;
    let cost = turn(&mut hob, QUESTION).await;
    // Two more than "hi": it is looked for in memories and in facts.
    assert_eq!(cost.count(), Count { statements: 30, commits: 3 }, "{cost:#?}");
}

/// What the model is asked with for a first "hi": Hob's own words, the usual tools, and who speaks.
#[tokio::test]
async fn n17_the_tokens_of_a_first_hi() {
    let mut hob = TestHob::running(COUNTED).await;
    turn(&mut hob, "hi").await;
    let requests = hob.model.requests();
    let asked = requests.last().unwrap();
    let said: u64 = asked.messages().iter().map(|message| tokens::count(&message["content"].to_string())).sum();
    let offered = tokens::count(&asked.body["tools"].to_string());
    // The day's name and the clock's are of one length or another. Fourteen of the tools' are the pages of documents (row F2), a hundred are `plan` (row N16): it has to be seen before anything is read; three are the name of `ask_reader`.
    assert!(said.abs_diff(201) <= 10 && offered == 1_724, "{said} tokens are said, {offered} are tools");
}

/// An MCP server that has these, of whose tools one is on offer.
fn server(without: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/talking_mcp.py");
    let script = script.display();
    format!(
        "[mcp.notes]\nsandbox = false\ncommand = ['python3', '{script}', '$HOME'{without}]\nallow = ['echo', '*_resource*']\n\
         trusted_output = true\n"
    )
}

#[tokio::test]
async fn n17_a_plain_hi_beside_an_mcp_server() {
    // A request has four tokens more: that there are tools which are shown on need. What there is to read adds none to them.
    for without in [", 'prompts', 'resources'", ""] {
        let mut hob = house_with(&server(without)).await;
        hob.process().until_log("mcp.listed").await;
        // The first turn that has them stores the list of tools.
        turn(&mut hob, "hi").await;
        let cost = turn(&mut hob, "hi").await;
        assert_eq!(cost.count(), Count { statements: 28, commits: 3 }, "{cost:#?}");
        let requests = hob.model.requests();
        let offered = tokens::count(&requests.last().unwrap().body["tools"].to_string());
        assert_eq!(offered, 1_728, "{without}");
    }
}

/// A reply that has eighty facts remembered.
fn eighty_facts() -> Reply {
    let facts: Vec<String> =
        (0..80).map(|at| format!(r#"{{"category":"kitchen","key":"shelf {at}","value":"jar number {at}"}}"#)).collect();
    let calls: Vec<(&str, &str)> = facts.iter().map(|fact| ("remember_fact", fact.as_str())).collect();
    Reply::calls(&calls)
}

#[tokio::test]
async fn n17_the_same_with_eighty_facts() {
    let mut hob = hob().await;
    hob.model.reply(eighty_facts());
    turn(&mut hob, "Remember what stands on the shelves.").await;
    turn(&mut hob, "hi").await;
    let cost = turn(&mut hob, "hi").await;
    // One more than without: what was recalled is kept, all of it at once.
    assert_eq!(cost.count(), Count { statements: 29, commits: 3 }, "{cost:#?}");
}

/// What was said before is looked at by an index, however much it is.
#[tokio::test]
async fn n17_the_same_after_ten_thousand_messages() {
    let mut hob = hob().await;
    hob.stop().await;
    let much = r#"
        UPDATE sessions SET last_ordinal = last_ordinal + 10000 WHERE id = 1;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO messages (session_id, ordinal, run_id, role, user_id, body, text, at, tokens)
        SELECT 1, (SELECT max(ordinal) FROM messages) + i, 1, 'user', 1, '{"role":"user","text":"shelf ' || i || '"}',
               'shelf ' || i, unixepoch() * 1000, 5 FROM n;
        INSERT INTO episodes (scope, session_id, began_at, ended_at, turns)
        SELECT scope, session_id, 0, 0, 10000 FROM episodes LIMIT 1;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO memories (episode_id, place, scope, speaker, user_id, text, origin, importance, at)
        SELECT (SELECT max(id) FROM episodes), i, (SELECT scope FROM episodes LIMIT 1), 'Owner', 1, 'shelf ' || i, 'owner', 0.3, i
        FROM n"#;
    hob.execute(much).await;
    hob.start().await;
    // Four more than a question after little: common words are counted first, and recall looks at what stands around what it found.
    for (words, statements) in [("hi", 28), (QUESTION, 34)] {
        for _ in 0..2 {
            turn(&mut hob, words).await;
        }
        let cost = turn(&mut hob, words).await;
        assert_eq!(cost.count(), Count { statements, commits: 3 }, "{cost:#?}");
    }
}

#[tokio::test]
async fn n17_one_tool_call() {
    let mut hob = hob().await;
    hob.model.reply(Reply::call("current_time", "{}"));
    let cost = turn(&mut hob, "what time is it?").await;
    assert_eq!(cost.count(), Count { statements: 50, commits: 5 }, "{cost:#?}");
}

#[tokio::test]
async fn n17_a_question_answered() {
    let mut hob = hob().await;
    let since = Since::now(&mut hob);
    hob.ask(OWNER, "Paint it", Reply::call("ask_human", r#"{"question": "Red or blue?"}"#)).await;
    hob.ask(OWNER, "red", Reply::text("Red it is.")).await;
    let cost = since.until_delivered(&mut hob, 2).await;
    // Two turns, and the buttons taken away in between: beside the run, so that some commits are made together, or not.
    assert!(cost.total() <= 100 && cost.commits() <= 12, "{cost:#?}");
}

#[tokio::test]
async fn n17_an_approval_pressed() {
    let pay = "[tools.pay]\nsandbox = false\ntrusted_output = true\ndescription = 'Pays.'\ncommand = ['/bin/true']\napproval = 'ask'";
    let mut hob = house_with(pay).await;
    let since = Since::now(&mut hob);
    hob.ask(OWNER, "Pay Ben", Reply::call("pay", "{}")).await;
    hob.model.reply(Reply::text("Ben will be glad."));
    hob.press(OWNER, "approve");
    hob.told(OWNER, 5).await;
    let cost = since.until_delivered(&mut hob, 2).await;
    assert!(cost.total() <= 100 && cost.commits() <= 12, "{cost:#?}");
}

#[tokio::test]
async fn n17_what_a_group_says_and_not_to_hob() {
    let mut hob = hob().await;
    let mut cost = Cost::default();
    // The first makes a conversation of it.
    for _ in 0..2 {
        let since = Since::now(&mut hob);
        hob.telegram.post(Post::new(HALL, OWNER, "Who has the key?"));
        hob.acknowledged().await;
        cost = since.until_now(&mut hob);
    }
    assert_eq!(cost.count(), Count { statements: 7, commits: 1 }, "{cost:#?}");
}

#[tokio::test]
async fn n17_a_schedule_begins() {
    let mut hob = hob().await;
    let arguments = r#"{"action": "create", "when": "every year on 1 January at 9:00", "task": "Water the plants."}"#;
    hob.model.reply(Reply::call("schedule", arguments));
    turn(&mut hob, "Remind me").await;
    let since = Since::now(&mut hob);
    hob.model.reply(Reply::text("The plants are thirsty."));
    hob.say(OWNER, "/schedules run 1");
    let cost = since.until_delivered(&mut hob, 2).await;
    // What is said of it goes out beside the run, so that some commits are made together, or not.
    assert!(cost.total() <= 71 && cost.commits() <= 9, "{cost:#?}");
}

/// A look that finds nothing asks no model.
#[tokio::test]
async fn f1_n17_a_look_that_finds_nothing() {
    let look = "[[schedule]]\nname = 'box'\nwhen = 'every year on 1 January at 9:00'\ntask = 'x'\ncheck = ['/bin/echo', 'NO_WORK']";
    let mut hob = house_with(look).await;
    let asked = hob.model.requests().len();
    let mut cost = Cost::default();
    // For the first command the sandbox is tried.
    for _ in 0..2 {
        let since = Since::now(&mut hob);
        hob.say(OWNER, "/schedules run 1");
        cost = since.until_delivered(&mut hob, 2).await;
    }
    assert_eq!(hob.model.requests().len(), asked);
    // What is said of it goes out beside the look, so that some commits are made together, or not.
    assert!(cost.total() <= 60 && cost.commits() <= 8, "{cost:#?}");
}

#[tokio::test]
async fn n17_a_reload() {
    let mut hob = hob().await;
    let since = Since::now(&mut hob);
    hob.configure(&format!("{COUNTED}\n[agent]\niterations_max = 7"));
    hob.process().until_logged("config.reloaded", 1).await;
    let cost = since.until_now(&mut hob);
    // Looks at what is stored, some of them after it is told; nothing is written.
    assert!(cost.total() <= 15 && cost.log_bytes == 0, "{cost:#?}");
}

/// An idle house prolongs nothing and looks at nothing but whether something is due.
#[tokio::test]
async fn n17_an_idle_house() {
    let mut hob = TestHob::running(&format!("{COUNTED}\nreconcile_secs = 1")).await;
    turn(&mut hob, "hi").await;
    let since = Since::now(&mut hob);
    hob.process().until_logged("agent_run.reconcile", 3).await;
    let cost = since.until_now(&mut hob);
    assert_eq!(cost.commits(), 0, "{cost:#?}");
    assert_eq!(cost.log_bytes, 0, "{cost:#?}");
}
