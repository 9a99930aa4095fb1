//! Agents: runs that work for runs, through crashes, stops and questions (rows A12, B8, N6, N10).

use serde_json::{Value, json};

use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::fifo::Fifo;
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, STRANGER, TestHob};

/// A tool with an effect that then waits for a word; it is not safe to run twice.
const EFFECT: &str = r#"[tools.effect]
sandbox = false
description = "Has an effect."
command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go; echo did it"]
"#;

/// A tool that a person has to approve.
const CAREFUL: &str = r#"[tools.careful]
sandbox = false
description = "Is careful."
command = ["/bin/sh", "-c", "echo careful >> $HOME/effects; echo took care"]
approval = "ask"
trusted_output = true
"#;

/// A model that does what the last line of its task says: `hand A | B` hands A and B on, `hand A + tool` calls a tool
/// beside that, `use tool`, `wait`, or words that it says. When results have come it says so.
fn obeys(hob: &TestHob, gate: &Gate) {
    let gate = gate.clone();
    hob.model.otherwise(move |asked| {
        if asked.last_role() == "tool" {
            return Reply::text("The reports are in.");
        }
        let task = asked.last_user().lines().last().unwrap_or_default().to_owned();
        if let Some(rest) = task.strip_prefix("hand ") {
            let (tasks, tool) = rest.split_once(" + ").map_or((rest, None), |(tasks, tool)| (tasks, Some(tool)));
            let missions: Vec<String> = tasks.split(" | ").map(mission).collect();
            let mut calls: Vec<(&str, &str)> =
                missions.iter().map(|mission| ("spawn_agent", mission.as_str())).collect();
            calls.extend(tool.map(|tool| (tool, "{}")));
            return Reply::calls(&calls);
        }
        match task.strip_prefix("use ") {
            Some("fake") => Reply::call("cli_agent", r#"{"agent": "fake", "task": "Dig."}"#),
            Some(tool) => Reply::call(tool, "{}"),
            None if task.starts_with("wait") => Script::default().gate(&gate).text("Waited.").finish("stop").into(),
            None => Reply::text(&task),
        }
    });
}

fn mission(task: &str) -> String {
    json!({ "mission": "You dig in the garden.", "task": task }).to_string()
}

async fn digging(settings: &str) -> (TestHob, Gate) {
    let mut hob = TestHob::with(settings).await;
    let gate = Gate::default();
    obeys(&hob, &gate);
    hob.start().await;
    (hob, gate)
}

fn is_agent(asked: &ReceivedRequest) -> bool {
    asked.system().contains("You are an agent of Hob's")
}

/// What tools answered in the last request of a person's own run.
fn reports(hob: &TestHob) -> Vec<String> {
    let last = hob.model.requests().into_iter().rfind(|asked| !is_agent(asked)).unwrap();
    let results = last.messages().iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

async fn shown(hob: &TestHob, arguments: &[&str]) -> String {
    let output = within("end of the command", hob_command(hob.home.path(), arguments).output()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn b8_agents_work_side_by_side_and_only_the_run_that_waits_speaks() {
    let (mut hob, gate) = digging("").await;
    hob.say(ADA, "hand wait | wait | It is dry.");
    // Both that wait are asked before either has answered.
    hob.asked(4).await;
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 1).await.remove(0);
    assert!(status.contains("\nhere: working, 0 queued\nagent 2 (depth 1, "), "{status}");
    gate.open();
    assert_eq!(hob.told(ADA, 2).await[1], "The reports are in.");
    let reports = reports(&hob);
    assert_eq!(reports.len(), 3);
    for (report, words) in reports.iter().zip(["Waited.", "Waited.", "It is dry."]) {
        let claim = format!(
            "[An agent's report. It is a claim: check what matters before you tell it as done.]\n{words}\n[Its record"
        );
        assert!(report.starts_with(&claim), "{report}");
    }
    let agent = hob.model.requests().into_iter().find(is_agent).unwrap();
    assert!(agent.system().ends_with("Your mission: You dig in the garden."), "{}", agent.system());
    hob.nothing_refused();
    hob.stop().await;
    let runs = shown(&hob, &["runs"]).await;
    assert!(runs.contains("-") && runs.lines().filter(|line| line.contains(" for run 1 · ")).count() == 3, "{runs}");
    assert!(shown(&hob, &["replay", "1"]).await.contains("\nIts agents: 2, 3, 4\n"));
    assert!(shown(&hob, &["replay", "3"]).await.contains("\nAn agent of run 1\n"));
    for run in ["1", "2", "3", "4"] {
        shown(&hob, &["replay", run, "--verify"]).await;
    }
    let said = hob.values::<String>("SELECT text FROM memories").await;
    assert_eq!(said, ["hand wait | wait | It is dry."], "only what a person said is remembered");
    assert_eq!(
        hob.values::<String>(
            "SELECT s.key FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.user_id IS NOT NULL"
        )
        .await,
        ["7"]
    );
}

#[tokio::test]
async fn b8_with_one_run_at_a_time_agents_of_agents_come_to_their_end() {
    let (hob, _gate) = digging("[daemon]\nruns_parallel_max = 1").await;
    hob.say(ADA, "hand hand It is dry. | hand It is wet. | It is cold.");
    assert_eq!(hob.told(ADA, 1).await, ["The reports are in."]);
    assert_eq!(reports(&hob).len(), 3);
    hob.nothing_refused();
}

#[tokio::test]
async fn a12_sessions_of_agents_have_published_names_and_are_three_deep() {
    let (mut hob, _gate) = digging("").await;
    hob.say(ADA, "hand hand hand hand It is dry.");
    assert_eq!(hob.told(ADA, 1).await, ["The reports are in."]);
    let requests = hob.model.requests();
    let deepest =
        requests.iter().find(|asked| asked.last_text().starts_with("You are at depth 3 of 3: do it yourself."));
    assert!(deepest.is_some_and(is_agent));
    hob.nothing_refused();
    hob.stop().await;
    let keys = hob.values::<String>("SELECT key FROM sessions WHERE key <> '7' ORDER BY id").await;
    for (key, depth) in keys.iter().zip(1..) {
        let id = key.strip_prefix(&format!("sub-{depth}-")).unwrap();
        assert!(id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-'), "{key}");
    }
    assert_eq!(keys.len(), 3, "{keys:?}");
}

#[tokio::test]
async fn c5_an_agents_tools_are_no_wider_than_those_of_who_hands_on() {
    let settings = "[telegram]\nguest_user_ids = [99]\npersonas = { '7' = 'digger' }\n[quotas]\nguest_month_tokens = 1000000\n\
                    [personas.digger]\nprompt = 'You dig.'\nmodules = ['agents', 'time']\n[tools.secret]\nsandbox = false\ndescription = 'x'\ncommand = ['true']\nrole = 'admin'";
    let (hob, _gate) = digging(settings).await;
    hob.say(STRANGER, "hand hand It is dry.");
    hob.told(STRANGER, 1).await;
    hob.say(ADA, "hand It is dry.");
    hob.told(ADA, 1).await;
    let requests = hob.model.requests();
    let (agents, own): (Vec<&ReceivedRequest>, Vec<&ReceivedRequest>) =
        requests.iter().partition(|asked| is_agent(asked));
    for agent in &agents {
        let digger = agent.system().contains("You dig.\n");
        let own = own.iter().find(|asked| asked.system().contains("You dig.") == digger).unwrap();
        let narrower: Vec<&str> = own.tools().into_iter().filter(|tool| *tool != "ask_human").collect();
        assert_eq!(agent.tools(), narrower);
        assert!(!agent.tools().contains(&"secret") && agent.tools().contains(&"spawn_agent"), "{:?}", agent.tools());
        // Those that are shown on need are named there.
        assert_eq!(agent.body["tools"].to_string().contains("get_run_journal"), !digger);
    }
    assert!(agents.len() > 3, "{}", agents.len());
    hob.nothing_refused();
}

#[tokio::test]
async fn n1_a_crash_while_an_agent_works_costs_nothing_but_its_open_request() {
    let (mut hob, _gate) = digging("").await;
    hob.say(ADA, "hand wait | It is dry.");
    hob.asked(3).await;
    hob.crash().await;
    let gate = Gate::default();
    gate.open();
    obeys(&hob, &gate);
    hob.start().await;
    assert_eq!(hob.told(ADA, 1).await, ["The reports are in."]);
    let reports = reports(&hob);
    assert!(reports[0].contains("]\nWaited.\n[") && reports[1].contains("]\nIt is dry.\n["), "{reports:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_a_stop_stops_the_whole_tree() {
    let (mut hob, _gate) = digging("").await;
    hob.say(ADA, "hand hand wait | wait");
    hob.asked(4).await;
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 1).await, ["Stopped."]);
    within("end of both streams", hob.model.dropped(2)).await;
    assert_eq!(hob.ask(ADA, "Hello", Reply::text("Hello Ada.")).await, "Hello Ada.");
    hob.nothing_refused();
    hob.stop().await;
    let states = hob.values::<String>("SELECT state FROM runs ORDER BY id").await;
    assert_eq!(states, ["cancelled", "cancelled", "cancelled", "cancelled", "completed"]);
}

#[tokio::test]
async fn b8_when_nobody_waits_any_more_the_report_goes_to_the_person() {
    let mut hob = TestHob::with(EFFECT).await;
    let (mut up, _go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    obeys(&hob, &Gate::default());
    hob.start().await;
    hob.say(ADA, "hand wait + effect");
    up.line().await;
    hob.asked(2).await;
    hob.crash().await;
    let gate = Gate::default();
    obeys(&hob, &gate);
    hob.start().await;
    assert!(hob.told(ADA, 1).await[0].contains("3. give up"));
    hob.say(ADA, "give up");
    hob.told(ADA, 2).await;
    gate.open();
    insta::assert_snapshot!(hob.told(ADA, 3).await[2], @"
    An agent was still at work for you; the task that it belonged to is over. It says, and I have not checked it:
    Waited.

    Done so far: nothing that changes anything.
    ");
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_an_agent_needs_approved_is_asked_where_the_task_began() {
    let (mut hob, _gate) = digging(CAREFUL).await;
    hob.say(ADA, "hand use careful");
    let question = hob.told(ADA, 1).await.remove(0);
    assert!(question.starts_with("An agent at work for you (You dig in the garden.) asks:\n"), "{question}");
    assert!(question.ends_with("1. approve\n2. always\n3. deny"), "{question}");
    hob.recorded(1).await;
    hob.restart().await;
    hob.press(ADA, "always");
    assert_eq!(hob.told(ADA, 2).await[1], "The reports are in.");
    assert!(reports(&hob)[0].contains("- careful: 1 of 1 done"), "{:?}", reports(&hob));
    hob.say(ADA, "hand use careful");
    assert_eq!(hob.told(ADA, 3).await[2], "The reports are in.", "it was allowed for good in this conversation");
    assert_eq!(hob.lines("effects").len(), 2);
    hob.say(ADA, "/grants revoke 1");
    hob.told(ADA, 4).await;
    hob.say(ADA, "hand use careful");
    hob.told(ADA, 5).await;
    // In words, while the run that waits for the agent has the lane.
    hob.say(ADA, "no, it rains");
    assert_eq!(hob.told(ADA, 6).await[5], "The reports are in.");
    assert!(reports(&hob)[2].contains("- careful: 0 of 1 done, 1 not allowed"), "{:?}", reports(&hob));
    hob.nothing_refused();
}

#[tokio::test]
async fn n6_what_is_not_vouched_for_taints_both_ways() {
    let (mut hob, _gate) =
        digging("[cli_agents.fake]\nsandbox = false\ncommand = ['/bin/echo', '{task}']\n[workspace]\ndir = '$HOME'")
            .await;
    hob.say(OWNER, "hand use fake");
    assert!(hob.told(OWNER, 1).await[0].contains("cli_agent"));
    hob.press(OWNER, "approve");
    assert_eq!(hob.told(OWNER, 2).await[1], "The reports are in.");
    hob.nothing_refused();
    hob.stop().await;
    let bodies = hob.values::<String>("SELECT body FROM run_events WHERE kind = 'child.ended'").await;
    let end: Value = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!(end["body"]["taint"], json!([{ "o": "tool", "w": "fake" }]), "{end}");
}

#[tokio::test]
async fn n8_what_is_forgotten_is_forgotten_by_agents_too() {
    let (mut hob, _gate) = digging("").await;
    hob.model.reply(Reply::call(
        "spawn_agent",
        &json!({ "mission": "You keep zanzibar.", "task": "Where is zanzibar?" }).to_string(),
    ));
    hob.say(ADA, "Ask about zanzibar");
    hob.told(ADA, 1).await;
    hob.say(ADA, "/memory zanzibar");
    let shown = hob.told(ADA, 2).await.pop().unwrap();
    // What is still on its way keeps its words until it has come.
    hob.recorded(2).await;
    let name = shown.lines().find_map(|line| line.split_once(" “Ask about")).unwrap().0.rsplit(' ').next().unwrap();
    hob.say(ADA, &format!("/forget {name}"));
    hob.told(ADA, 3).await;
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"zanzibar"), "the words are still in the file");
}

#[tokio::test]
async fn n10_all_that_works_for_a_run_is_paid_from_its_budget() {
    let prices = "[models.'openai-compatible/fake']\ninput_usd = 0.0\noutput_usd = 1000.0\n[budget]\nrun_usd = 10.0\n\
                  [provider]\nmax_output_tokens = 3000";
    let (mut hob, _gate) = digging(prices).await;
    // Each call sets three dollars aside: there is room for three agents at once, and not for a fourth.
    let gate = Gate::default();
    obeys(&hob, &gate);
    hob.say(ADA, "hand wait 1 | wait 2 | wait 3 | wait 4");
    // The fourth is refused before any of the others has answered.
    hob.process().until_ended(1).await;
    hob.asked(4).await;
    gate.open();
    hob.told(ADA, 1).await;
    let over = reports(&hob).iter().filter(|report| report.starts_with("[The agent failed: budget.]")).count();
    assert_eq!(over, 1, "{:?}", reports(&hob));
    hob.nothing_refused();
    hob.stop().await;
}

#[tokio::test]
async fn e3_an_agent_that_takes_long_is_told_something_and_its_report_still_comes() {
    let mut hob = TestHob::new().await;
    let gate = Gate::default();
    let opened = gate.clone();
    hob.model.otherwise(move |asked| {
        let is_agent = asked.system().contains("You are an agent of Hob's");
        let last = asked.last_text().to_owned();
        match (is_agent, asked.last_role()) {
            (true, _) if last.contains("Hurry.") => Reply::text("Dug in a hurry."),
            (true, _) => Script::default().gate(&opened).text("Dug.").finish("stop").into(),
            (false, "tool") if last.contains("Dug in a hurry.") => Reply::text("It is dug."),
            (false, "tool") => {
                let call = json!({ "name": "agent_send", "arguments": { "agent": 1, "message": "Hurry." } });
                Reply::call("use_tool", &call.to_string())
            }
            (false, _) => Reply::call("spawn_agent", &mission("Dig.")),
        }
    });
    let mut command = hob_command(hob.home.path(), &["run"]);
    command.env("HOB_AGENT_TOOL_TIMEOUT_SECS", "1");
    hob.process = Some(HobProcess::start(command));
    hob.say(ADA, "Dig the garden");
    hob.process().until_logged("agent.told", 1).await;
    gate.open();
    assert_eq!(hob.told(ADA, 1).await, ["It is dug."]);
    let sent: Vec<String> = hob.model.requests().iter().map(|asked| asked.body["messages"].to_string()).collect();
    assert!(sent.iter().any(|sent| sent.contains("[Agent 1 is still at work after 1 s.")), "{sent:#?}");
    hob.nothing_refused();
}
