//! `hob mcp add`: a server comes into the config, and its owner says what its tools do (row N16).

use std::path::Path;
use std::process::Stdio;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// A server that keeps what it does in its own folder.
fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/things_mcp.py").display().to_string()
}

async fn run(hob: &TestHob, arguments: &[&str]) -> String {
    let output = within("hob mcp", hob_command(hob.home.path(), arguments).output()).await.unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    told.replace(&script(), "SCRIPT").replace(&format!("{}/", hob.home.path().display()), "")
}

fn config(hob: &TestHob) -> String {
    std::fs::read_to_string(hob.path("config.toml")).unwrap()
}

fn called(tool: &str) -> Reply {
    Reply::call("use_tool", &format!(r#"{{"name": "things__{tool}", "arguments": {{}}}}"#))
}

#[tokio::test]
async fn n16_a_server_is_added_once_it_has_answered() {
    let mut hob = TestHob::with("# Ours.\n[memory]\nextract = false # not now\n").await;
    hob.start().await;
    let before = config(&hob);
    // What does not answer, or is nothing that a config could have, changes no byte.
    for (arguments, why) in [
        (["things", "--", "/nowhere/server"].as_slice(), "nothing was written"),
        (&["a__b", "--", "true"], "cannot name a server"),
        (&["things", "--url", "ftp://a.example"], "so nothing was changed"),
        (&["things"], "required arguments were not provided"),
    ] {
        let told = run(&hob, &[&["mcp", "add"], arguments].concat()).await;
        assert!(told.contains(why), "{arguments:?}: {told}");
        assert_eq!(config(&hob), before, "{arguments:?}");
    }
    let server = ["mcp", "add", "things", "--", "python3", &script(), "."];
    insta::assert_snapshot!(run(&hob, &server).await, @r#"
    ask       add_entry: Does add_entry. (its server says: nothing)
    ask       create_event: Does create_event. (its server says: nothing)
    ask       create_file: Does create_file. (its server says: nothing)
    ask       drop_entry: Does drop_entry. (its server says: nothing)
    ask       file_report: Does file_report. (its server says: nothing)
    ask       find_contacts: Does find_contacts. (its server says: looks)
    ask       find_events: Does find_events. (its server says: looks)
    ask       find_files: Does find_files. (its server says: looks)
    ask       find_letters: Does find_letters. (its server says: looks)
    ask       find_payments: Does find_payments. (its server says: looks)
    ask       move_event: Does move_event. (its server says: nothing)
    ask       send_money: Does send_money. (its server says: nothing)
    ask       share_file: Does share_file. (its server says: nothing)
    ask       write_to: Does write_to. (its server says: nothing)
    "ask": nobody has said what it does, so a person is asked at each call.
      hob mcp class things add_entry=CLASS   looks, changes, critical, off or ask
      hob mcp class things --as-it-says   takes the server's word for all of these
    config.toml: mcp.things.command: not set → ["python3", "SCRIPT", "."]
    A running Hob uses it from now on. To take it out again: hob config unset mcp.things
    "#);
    let section = format!("[mcp.things]\ncommand = [\"python3\", \"{}\", \".\"]\n", script());
    assert_eq!(config(&hob).replace(&section, "").trim_end(), before.trim_end(), "all else stays as it was");
    // The Hob that runs uses it, and asks about each call.
    hob.process().until_log("config.reloaded").await;
    let question = hob.ask(ADA, "Go", called("drop_entry")).await;
    assert!(question.starts_with("May I do this?\nthings__drop_entry"), "{question}");
    hob.model.reply(Reply::text("Not done."));
    hob.press(ADA, "deny");
    hob.told(ADA, 2).await;
    let again = run(&hob, &server).await;
    assert!(again.contains("there is [mcp.things] in the config already"), "{again}");
    let removed = run(&hob, &["config", "unset", "mcp.things"]).await;
    assert!(removed.contains("→ not set") && !config(&hob).contains("mcp"), "{removed}");
    hob.nothing_refused();
}

#[tokio::test]
async fn n16_whoever_adds_a_server_at_a_terminal_says_what_its_tools_do() {
    let mut hob = TestHob::with("[memory]\nextract = false\n").await;
    hob.start().await;
    let add = hob_command(hob.home.path(), &[]);
    let binary = add.as_std().get_program().display().to_string();
    let line = format!("stty cols 120 rows 50; exec {binary} mcp add things -- python3 {} .", script());
    let mut command = Command::new("script");
    command.args(["-qfec", &line, "/dev/null"]).current_dir(hob.home.path()).env_clear();
    command.envs(add.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "xterm").env("SHELL", "/bin/sh").kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = Vec::new();
    let asked = async {
        while !String::from_utf8_lossy(&seen).contains("Number [2]: ") {
            seen.push(screen.read_u8().await.unwrap());
        }
    };
    within("the question", asked).await;
    let told = String::from_utf8_lossy(&seen).into_owned();
    assert!(told.contains("find_events: Does find_events. (its server says: looks)"), "{told}");
    assert!(!config(&hob).contains("mcp"), "it is asked first");
    // Up from the second is the first.
    keys.write_all(b"\x1b[A\r").await.unwrap();
    within("end", screen.read_to_end(&mut seen)).await.unwrap();
    assert!(within("end", child.wait()).await.unwrap().success());
    let told = String::from_utf8_lossy(&seen).into_owned();
    assert!(told.contains("looks     find_events: ") && told.contains("changes   drop_entry: "), "{told}");
    // It holds in the Hob that runs since before.
    hob.process().until_log("config.reloaded").await;
    hob.model.reply(called("drop_entry"));
    assert_eq!(hob.ask(ADA, "Go", Reply::text("Dropped.")).await, "Dropped.");
    hob.nothing_refused();
}

#[tokio::test]
async fn n16_what_is_said_of_an_argument_that_there_is_not_is_told_with_the_one_that_may_be_meant() {
    let settings = format!(
        "[memory]\nextract = false\n[mcp.things]\nsandbox = false\ncommand = ['python3', '{}', '.']\n\
         [mcp.things.arguments.file_report]\nreprot = 'content'\nsummary = 'steering'\n\
         [mcp.things.arguments.write_too]\ntext = 'steering'\n",
        script()
    );
    let hob = TestHob::with(&settings).await;
    let checked = run(&hob, &["config", "check"]).await;
    assert!(checked.contains("no problems"), "what a server has is not known yet: {checked}");
    let wrong = [
        "mcp.things.arguments.file_report.reprot is no argument of this tool's, so nothing is said of any; did you mean `report`?",
        "mcp.things.arguments.write_too is no tool of this server's; did you mean `write_to`?",
    ];
    let tested = run(&hob, &["mcp", "test", "things"]).await;
    assert!(wrong.iter().all(|line| tested.contains(line)) && !tested.contains("summary"), "{tested}");
    let doctor = run(&hob, &["doctor", "--only", "mcp"]).await;
    assert!(wrong.iter().all(|line| doctor.contains(&format!("warn mcp: {line}"))), "{doctor}");
}
