//! Recorded runs, looked at from the command line (rows N2, D8): beside a running Hob, and after it.

use std::process::Output;

use serde_json::{Value, json};

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::fifo::Fifo;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};

const MEET: &str = r#"
[tools.meet]
sandbox = false
trusted_output = true
description = "Meets."
command = ["/bin/sh", "-c", 'echo up > $HOME/up; read line < $HOME/go; echo "met $1"', "sh", "{who}"]
parameters = { who = "Who." }
idempotent = true
[models.'openai-compatible/fake']
input_usd = 1.0
output_usd = 10.0
"#;

async fn ran(hob: &TestHob, arguments: &[&str]) -> Output {
    within("end of the command", hob_command(hob.home.path(), arguments).output()).await.unwrap()
}

async fn stdout(hob: &TestHob, arguments: &[&str]) -> String {
    let output = ran(hob, arguments).await;
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// It must fail; its output, and its last words.
async fn fails(hob: &TestHob, arguments: &[&str]) -> (String, String) {
    let output = ran(hob, arguments).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A house whose first run called two tools, one after another.
async fn lived() -> TestHob {
    let mut hob = TestHob::with(MEET).await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::call("meet", r#"{"who": "Bea"}"#));
    hob.model.reply(Reply::call("current_time", "{}"));
    hob.model.reply(Reply::text("We met."));
    hob.say(ADA, "Meet Bea, please");
    assert_eq!(up.line().await, "up");

    let runs = stdout(&hob, &["runs"]).await;
    assert!(runs.starts_with("     1  ") && runs.contains("  running    "), "{runs}");
    assert!(runs.ends_with(" · Meet Bea, please\n"), "{runs}");
    let tree = stdout(&hob, &["replay", "1"]).await;
    assert!(tree.contains("  meet {\"who\": \"Bea\"} (1.0, execute)\n    no result yet\n"), "{tree}");
    assert!(tree.contains("\nnot over: 1 cycle, "), "{tree}");
    let verdict = stdout(&hob, &["replay", "1", "--verify"]).await;
    assert!(verdict.contains("The state is the one that was written down: state1:"), "{verdict}");

    go.tell("go").await;
    assert_eq!(hob.told(ADA, 1).await, ["We met."]);
    hob
}

#[tokio::test]
async fn d8_a_run_is_shown_while_it_lives_and_afterwards() {
    let mut hob = lived().await;
    let tree = stdout(&hob, &["replay", "1"]).await;
    assert!(tree.contains("\n> Meet Bea, please\n"), "{tree}");
    assert!(tree.contains("\n    = met Bea\n"), "{tree}");
    assert!(tree.contains("\nCycle 3: "), "{tree}");
    assert!(tree.contains("\nended by answer: 3 cycles, 33 tokens read (9 from cache), 21 written, $0.0002"), "{tree}");
    hob.stop().await;
    assert_eq!(stdout(&hob, &["replay", "1"]).await, tree, "the same when nobody writes");
    let data: Value = serde_json::from_str(&stdout(&hob, &["replay", "1", "--json"]).await).unwrap();
    assert_eq!((&data["text"], &data["terminated_by"]), (&"We met.".into(), &"answer".into()));
    assert_eq!((&data["cycles"], data["tree"].as_array().unwrap().len()), (&3.into(), 3));
    assert_eq!(data["tree"][0]["calls"][0]["result"]["text"], "met Bea");
    assert!(data["final_tool_result"].as_str().unwrap().contains("20"), "{data}");
}

#[tokio::test]
async fn n2_runs_are_listed_newest_first() {
    let hob = TestHob::running("").await;
    hob.ask(ADA, "One", Reply::text("1")).await;
    hob.ask(ADA, "Two", Reply::text("2")).await;
    let runs: Value = serde_json::from_str(&stdout(&hob, &["runs", "--json"]).await).unwrap();
    let told = |run: usize| (&runs[run]["run"], &runs[run]["message"], &runs[run]["state"], &runs[run]["cycles"]);
    assert_eq!(told(0), (&2.into(), &"Two".into(), &"completed".into(), &1.into()));
    assert_eq!(told(1), (&1.into(), &"One".into(), &"completed".into(), &1.into()));
    let session = runs[0]["session"].as_str().unwrap();
    let one = stdout(&hob, &["runs", "--session", session, "--state", "completed", "--limit", "1"]).await;
    assert_eq!(one.lines().count(), 1, "{one}");
    assert_eq!(stdout(&hob, &["runs", "--state", "queued"]).await, "No run.\n");
    let (_, words) = fails(&hob, &["runs", "--session", "nobody"]).await;
    insta::assert_snapshot!(words.trim_end(), @"hob: there is no session nobody: `hob runs` shows them all");
    let (_, words) = fails(&hob, &["replay", "9"]).await;
    insta::assert_snapshot!(words.trim_end(), @"hob: there is no run 9: there are 1, 2 (`hob runs` shows the newest)");
}

#[tokio::test]
async fn n2_what_was_tampered_with_is_told() {
    let mut hob = lived().await;
    hob.stop().await;
    let verdict = stdout(&hob, &["replay", "1", "--verify"]).await;
    assert!(verdict.contains("The journal replays to the same effects."), "{verdict}");
    let tampered = "UPDATE run_events SET body = replace(body, 'met Bea', 'met nobody') WHERE kind = 'tool.finished'";
    hob.execute(tampered).await;
    let (verdict, words) = fails(&hob, &["replay", "1", "--verify"]).await;
    assert!(verdict.contains("NOT THE SAME EFFECTS: event ") && verdict.contains("NOT THE SAME STATE:"), "{verdict}");
    assert_eq!(words, "hob: run 1 is not what was recorded: `hob replay 1` shows what was; please report it\n");
    hob.execute("UPDATE run_events SET body = '{}' WHERE seq = 6").await;
    let (tree, words) = fails(&hob, &["replay", "1"]).await;
    assert!(tree.contains("> Meet Bea, please\n") && tree.contains("Event 6 cannot be read"), "{tree}");
    assert!(words.starts_with("hob: the journal of run 1 cannot be read from event 6 on: tool.started of"), "{words}");
}

#[tokio::test]
async fn n2_another_policy_is_compared_without_a_call() {
    let mut hob = lived().await;
    hob.stop().await;
    let asked = hob.model.requests().len();
    let file = hob.path("policy.toml");
    let compare = ["replay", "1", "--what-if", "policy.toml"];
    std::fs::write(&file, "[limits]\niterations = 1\n").unwrap();
    let report = stdout(&hob, &compare).await;
    assert!(
        report.contains("  was:      ask the model: work\n  would be: ask the model: wrap_up_iterations\n"),
        "{report}"
    );
    std::fs::write(&file, "models = ['openai-compatible/other', 'openai-compatible/fake']\n").unwrap();
    let report = stdout(&hob, &compare).await;
    assert!(report.contains("; would be openai-compatible/other, "), "{report}");
    assert!(report.contains("The record was followed to its end."), "{report}");
    std::fs::write(&file, "[policy.guards]\nidentcal_max = 2\n").unwrap();
    let (_, words) = fails(&hob, &compare).await;
    assert!(words.starts_with("hob: policy.toml: ") && words.contains("unknown field `identcal_max`"), "{words}");
    assert_eq!(hob.model.requests().len(), asked);
}

/// All that is in the data directory, byte for byte; but for what SQLite puts beside a database that it reads: a log without a
/// word, and the marks of its readers.
fn kept(hob: &TestHob) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut open = vec![hob.path("data")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let content = path.is_file().then(|| std::fs::read(&path).unwrap());
            open.extend(content.is_none().then(|| path.clone()));
            let is_empty_log = path.ends_with("hob.db-wal") && content.as_ref().is_some_and(Vec::is_empty);
            if !path.ends_with("hob.db-shm") && !is_empty_log {
                all.push((path, content));
            }
        }
    }
    all.sort();
    all
}

/// What is there no more, is new, or has other bytes.
fn changed<'a>(
    before: &'a [(std::path::PathBuf, Option<Vec<u8>>)],
    after: &'a [(std::path::PathBuf, Option<Vec<u8>>)],
) -> Vec<&'a std::path::Path> {
    let gone = before.iter().filter(|entry| !after.contains(entry));
    let new = after.iter().filter(|entry| !before.contains(entry));
    gone.chain(new).map(|(path, _)| path.as_path()).collect()
}

const ASK: [&str; 5] = ["replay", "1", "--what-if", "policy.toml", "--ask"];

#[tokio::test]
async fn n2_where_the_record_ends_the_model_is_asked_and_nothing_is_written() {
    let mut hob = lived().await;
    hob.stop().await;
    let (asked, before) = (hob.model.requests().len(), kept(&hob));
    std::fs::write(hob.path("policy.toml"), "[limits]\niterations = 1\n").unwrap();
    hob.model.reply(Reply::text("We met, and that is all."));
    let report = stdout(&hob, &ASK).await;
    let report = report.split_once("From here on the model was asked. ").unwrap().1;
    insta::assert_snapshot!(report, @"
    No tool was run, and nothing of it is recorded:
      asked openai-compatible/fake: 11 tokens read (3 from cache), 7 written, $0.000081
        said: We met, and that is all.
    It ends here: the run is over (completed).
    Would be: completed after 2 cycles, 22 tokens read (6 from cache), 14 written, $0.00016
    Asking took 1 call, $0.000081 of at most $0.50.
    Your provider bills that; Hob's own sums and budgets leave it out.
    ");
    let requests = hob.model.requests();
    assert_eq!(requests.len(), asked + 1);
    let last = &requests[asked];
    assert_eq!(last.last_role(), "user", "it is told to come to an end");
    assert!(last.messages().iter().any(|message| message["content"] == "met Bea"), "{last:?}");
    assert_eq!(last.system(), requests[0].system(), "the prompt that the run began with");
    assert_eq!(last.tools(), requests[0].tools());
    assert_eq!(changed(&before, &kept(&hob)), Vec::<&std::path::Path>::new());
    hob.nothing_refused();
}

#[tokio::test]
async fn n2_tools_answer_from_the_record_and_no_other_is_performed() {
    let mut hob = lived().await;
    hob.stop().await;
    let (asked, before) = (hob.model.requests().len(), kept(&hob));
    std::fs::write(hob.path("policy.toml"), "system = 'You are another.'\n").unwrap();
    hob.model.reply(Reply::call("meet", r#"{"who":"Bea"}"#)).reply(Reply::call("meet", r#"{"who": "Cem"}"#));
    hob.model.reply(Reply::text("Only Bea."));
    let data: Value = serde_json::from_str(&stdout(&hob, &[&ASK[..], &["--json"]].concat()).await).unwrap();
    let went_on = &data["went_on"];
    let steps: Vec<_> =
        went_on["steps"].as_array().unwrap().iter().map(|step| (&step["is"], &step["is_recorded"])).collect();
    let (answered, called) = (Value::from("answered"), Value::from("called"));
    let none = Value::Null;
    let (yes, no) = (Value::from(true), Value::from(false));
    assert_eq!(steps, [(&answered, &none), (&called, &yes), (&answered, &none), (&called, &no), (&answered, &none)]);
    assert_eq!((&went_on["ended"], &went_on["calls"]), (&"the run is over (completed)".into(), &3.into()));
    assert_eq!(went_on["spent_nano_usd"], 3 * (8_000 + 3_000 + 70_000));
    let requests = &hob.model.requests()[asked..];
    assert!(requests.iter().all(|request| request.system() == "You are another."), "{requests:?}");
    assert_eq!(requests[1].last_text(), "met Bea");
    let refused = "Not performed in a what-if: the record has no call of meet with these arguments.";
    assert!(requests[2].last_text().starts_with(refused), "{:?}", requests[2]);
    assert_eq!(changed(&before, &kept(&hob)), Vec::<&std::path::Path>::new());
    hob.nothing_refused();
}

#[tokio::test]
async fn n2_what_may_cost_more_than_is_allowed_is_not_asked() {
    let mut hob = lived().await;
    hob.stop().await;
    let asked = hob.model.requests().len();
    std::fs::write(hob.path("policy.toml"), "system = 'You are another.'\n").unwrap();
    let report = stdout(&hob, &[&ASK[..], &["--max-usd", "0.01"]].concat()).await;
    assert!(report.contains("It ends here: the next call may cost $0.0"), "{report}");
    assert!(
        report.contains("and --max-usd leaves $0.01.") && report.contains("Asking took 0 calls, $0.00 of"),
        "{report}"
    );
    let report = stdout(&hob, &[&ASK[..], &["--max-calls", "0"]].concat()).await;
    assert!(report.contains("It ends here: --max-calls allows no more than 0."), "{report}");
    assert_eq!(hob.model.requests().len(), asked);
    // The same model, without a price.
    hob.configure("");
    let report = stdout(&hob, &[&ASK[..], &["--max-tokens", "4096"]].concat()).await;
    assert!(report.contains("tokens of unknown price, and --max-tokens leaves 4096."), "{report}");
    assert_eq!(hob.model.requests().len(), asked);
    hob.model.reply(Reply::text("Done."));
    let report = stdout(&hob, &ASK).await;
    assert!(report.contains("18 tokens of unknown price of at most 100,000."), "{report}");
}

#[tokio::test]
async fn n2_where_nothing_has_run_it_is_said() {
    let hob = TestHob::new().await;
    let (_, words) = fails(&hob, &["runs"]).await;
    assert!(words.starts_with("hob: there is no database at ") && words.contains("hob.db: nothing has run"), "{words}");
    assert!(!hob.path("data").exists(), "looking makes nothing");
}

#[tokio::test]
async fn the_log_names_run_session_and_channel_and_no_words() {
    let mut hob = TestHob::new().await;
    hob.configure("[daemon]\nlog_format = 'json'");
    hob.start().await;
    hob.ask(ADA, "A confided question", Reply::text("A confided answer.")).await;
    hob.process().until_ended(1).await;
    let log = hob.process().log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in ["agent_run.started", "agent_run.completed"] {
        let line = lines.iter().find(|line| line["fields"]["message"] == name).unwrap();
        assert_eq!((&line["span"]["run"], &line["span"]["channel"]), (&"1".into(), &"telegram".into()), "{line}");
        assert_eq!(line["span"]["session"], ADA.to_string());
    }
    assert!(!log.contains("confided"), "{log}");
}

#[tokio::test]
async fn n2_another_number_of_a_guard_is_compared() {
    let mut hob = TestHob::running("").await;
    for _ in 0..2 {
        hob.model.reply(Reply::call("recall", r#"{"query": "bins"}"#));
    }
    hob.ask(ADA, "When do the bins go out?", Reply::text("I don't know.")).await;
    hob.stop().await;
    std::fs::write(hob.path("policy.toml"), "[policy.guards]\nidentical_max = 2\n").unwrap();
    let report = stdout(&hob, &["replay", "1", "--what-if", "policy.toml"]).await;
    assert!(report.contains("note agent.loop.detected: circle identical"), "{report}");
    std::fs::write(hob.path("policy.toml"), "[policy.guards]\nidentical_max = 3\n").unwrap();
    let report = stdout(&hob, &["replay", "1", "--what-if", "policy.toml"]).await;
    assert!(report.contains("It would have decided the same."), "{report}");
}

/// As in `hob replay 1 --json | head -1`.
#[tokio::test]
async fn n2_who_reads_no_further_is_no_error() {
    let hob = lived().await;
    for arguments in [&["replay", "1", "--json"][..], &["replay", "1"], &["runs"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = hob_command(hob.home.path(), arguments).stdout(writer).output();
        let output = within("end of the command", output).await.unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[tokio::test]
async fn what_others_wrote_steers_no_terminal() {
    let mut hob = TestHob::with(
        "[tools.look]\nsandbox = false\ndescription = 'Looks.'\n\
         command = ['/usr/bin/printf', '\\033]52;c;bWFsbG9yeQ==\\007\\033[2J\\302\\2332J']",
    )
    .await;
    hob.start().await;
    hob.model.reply(Reply::call("look", "{}")).reply(Reply::text("\u{1b}[2Jdone\u{9b}2J"));
    let name = json!({"from": {"id": ADA, "is_bot": false, "first_name": "Ada\u{1b}]0;owned\u{7}\u{202e}"}});
    hob.telegram.post(Post::new(ADA, ADA, "look").with(name));
    hob.ended(1).await;
    for arguments in
        [&["runs"][..], &["replay", "1"], &["replay", "1", "--json"], &["runs", "--json"], &["memory", "export"]]
    {
        let shown = stdout(&hob, arguments).await;
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{arguments:?}: {shown:?}");
        if arguments.contains(&"--json") {
            let data: Value = serde_json::from_str(&shown).unwrap();
            assert!(data.to_string().contains("owned"), "programs get all of it: {data}");
        }
    }
}
