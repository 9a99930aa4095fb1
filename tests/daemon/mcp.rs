//! MCP servers in a running house: on offer, called, and gone with Hob however it ends.

use std::path::Path;
use std::time::Duration;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

/// The section of a server that does what no server should, in this mode.
fn hostile(name: &str, mode: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile_mcp.py");
    let script = script.display();
    format!(
        "[mcp.{name}]
        sandbox = false
        command = ['python3', '{script}', '$HOME', '{mode}']
        trusted_output = true
        trusted_annotations = true
        approval = 'never'
        "
    )
}

fn called(tool: &str) -> Reply {
    Reply::call("use_tool", &format!(r#"{{"name": "{tool}", "arguments": {{}}}}"#))
}

/// Is such a process there? One that has ended and was not yet waited for is not.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Waits until none of these processes is there.
pub(crate) async fn gone(pids: &[String]) {
    let all = async {
        while pids.iter().any(|pid| is_alive(pid)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within("end of what a server started", all).await;
}

/// Has the server start processes, and returns all of its own.
async fn forked(hob: &mut TestHob) -> Vec<String> {
    let asked = hob.model.requests().len();
    hob.model.reply(called("s__fork"));
    assert_eq!(hob.ask(ADA, "Go", Reply::text("Done.")).await, "Done.");
    let mut pids: Vec<String> =
        hob.model.requests()[asked + 1].last_text().split_whitespace().map(str::to_owned).collect();
    pids.extend(hob.lines("starts").pop());
    assert!(pids.len() == 3 && pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    pids
}

#[tokio::test]
async fn what_a_server_started_is_gone_with_hob_however_hob_ends() {
    let mut hob = TestHob::running(&hostile("s", "")).await;
    hob.process().until_log("mcp.listed").await;
    assert_eq!(hob.lines("starts").len(), 1, "it was asked for its tools");
    let pids = forked(&mut hob).await;
    hob.recorded(1).await;
    hob.restart().await;
    gone(&pids).await;
    assert!(hob.process().log().contains("tool.leftover_killed"));
    // Its tools are known from before: nothing is started until one is called.
    assert_eq!(hob.lines("starts").len(), 2);
    let pids = forked(&mut hob).await;
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.pop().unwrap();
    assert!(status.contains("\nmcp s: ready, 12 tools\n"), "{status}");
    hob.stop().await;
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn a10_a_server_learns_session_and_taint_unless_it_is_kept_from_it() {
    let deaf =
        hostile("d", "").replace("$HOME'", "$HOME/deaf'").replace("trusted_output = true", "trusted_output = false");
    let mut hob = TestHob::with(&format!("{}\n{deaf}\nmeta = false\n", hostile("s", ""))).await;
    std::fs::create_dir(hob.path("deaf")).unwrap();
    hob.start().await;
    hob.process().until_logged("mcp.listed", 2).await;
    for tool in ["s__echo", "d__echo", "s__echo"] {
        hob.model.reply(called(tool));
    }
    hob.model.reply(Reply::text("Done."));
    hob.say(ADA, "Go");
    assert!(hob.told(ADA, 1).await[0].contains("s__echo"), "the other one's words have tainted the run");
    hob.say(ADA, "approve");
    assert_eq!(hob.told(ADA, 2).await[1], "Done.");
    let metas = hob.lines("metas");
    let metas: Vec<serde_json::Value> = metas.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |key: &str| metas.iter().map(|meta| meta[key].clone()).collect::<Vec<_>>();
    let session = ADA.to_string();
    assert_eq!(of("hob/session"), [session.as_str(), session.as_str()]);
    assert_eq!(of("hob/untrusted"), [false, true], "the other one's words taint the run");
    let kept = hob.lines("deaf/metas");
    assert!(kept.len() == 1 && !kept[0].contains("hob/"), "{kept:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn twenty_servers_that_say_nothing_delay_nothing() {
    let settings: String = (0..20).map(|n| hostile(&format!("s{n}"), "silent")).collect();
    let mut hob = TestHob::running(&settings).await;
    assert_eq!(hob.ask(ADA, "Are you there?", Reply::text("Yes.")).await, "Yes.");
    assert!(hob.lines("starts").len() <= 2, "few at a time");
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.pop().unwrap();
    assert!(status.matches(": not asked yet").count() == 4 && status.contains("16 more MCP servers"), "{status}");
    hob.stop().await;
    gone(&hob.lines("starts")).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn a_server_is_looked_at_from_the_command_line() {
    let hob =
        TestHob::with(&format!("{}deny = ['[a-z]*', 'die']\n{}", hostile("s", "pages"), hostile("t", "exit"))).await;
    let run = async |arguments: &[&str]| {
        let output = within("end of hob mcp", hob_command(hob.home.path(), arguments).output()).await.unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        text.replace(&hob.home.path().display().to_string(), "HOME").replace(env!("CARGO_MANIFEST_DIR"), "HOB")
    };
    insta::assert_snapshot!(run(&["mcp", "list"]).await, @"
    s: tools not known yet, its output and its annotations trusted: python3 HOB/tests/fixtures/hostile_mcp.py HOME pages
    t: tools not known yet, its output and its annotations trusted: python3 HOB/tests/fixtures/hostile_mcp.py HOME exit
    ");
    let tested = run(&["mcp", "test", "s"]).await;
    assert!(tested.starts_with("s answers after "), "{tested}");
    assert!(tested.contains("; tools on offer: 11\n  s__ask: Does ask.\n"), "{tested}");
    assert!(tested.ends_with("left out by the config: die\n"), "{tested}");
    gone(&hob.lines("starts")).await;
    assert!(run(&["mcp", "list"]).await.starts_with("s: 11 tools, its output and its annotations trusted: "));
    let failed = run(&["mcp", "test", "t"]).await;
    assert!(
        failed.starts_with("hob: the MCP server t: the connection broke off: ") && failed.contains("no such database"),
        "{failed}"
    );
    insta::assert_snapshot!(run(&["mcp", "test", "u"]).await, @"hob: there is no [mcp.u] in the config: name one of s, t");
}
