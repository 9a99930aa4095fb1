//! A config that every check lets pass, and that Hob cannot begin with: the last good one runs, if there is any (row K5).

use rustix::process::Signal;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{HobProcess, hob_command};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

/// A persona on a model that is not there.
const TYPO: &str = "[personas.cook]\nprompt = 'You cook.'\nmodel = 'smrat'\n";

/// A Hob that ended, with a good config kept.
async fn proven() -> TestHob {
    let mut hob = TestHob::running("").await;
    assert_eq!(hob.ask(OWNER, "Hi", Reply::text("Hello.")).await, "Hello.");
    hob.process().until_log("config.kept").await;
    hob.recorded(1).await;
    hob.stop().await;
    hob
}

async fn code_of(hob: &TestHob) -> (Option<i32>, String) {
    let mut process = HobProcess::start(hob_command(hob.home.path(), &["run"]));
    (process.ended().await.code(), process.log())
}

#[tokio::test]
async fn k5_a_config_that_hob_cannot_begin_with_gives_way_to_the_last_good_one() {
    let mut hob = proven().await;
    hob.configure(TYPO);
    hob.start().await;
    let told = hob.told(OWNER, 2).await.pop().unwrap();
    assert!(told.contains("personas.cook.model: there is no model \"smrat\""), "{told}");
    assert!(told.contains("last good config instead"), "{told}");
    assert_eq!(hob.ask(ADA, "Are you there?", Reply::text("Yes.")).await, "Yes.");
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 3).await.pop().unwrap();
    assert!(status.contains("degraded: config: ") && status.contains("last good config instead"), "{status}");
    hob.configure(&TYPO.replace("smrat", "fake"));
    hob.process().until_log("config.reloaded").await;
    let mended = hob.told(OWNER, 4).await.pop().unwrap();
    assert!(mended.contains("personas: added"), "{mended}");
    hob.say(OWNER, "/status");
    assert!(!hob.told(OWNER, 5).await.pop().unwrap().contains("degraded: config"));
}

#[tokio::test]
async fn k5_without_a_good_one_it_is_the_end_with_the_reason() {
    let hob = TestHob::with(TYPO).await;
    let (code, log) = code_of(&hob).await;
    assert_eq!(code, Some(78), "{log}");
    assert!(log.contains("config.toml: personas.cook.model: there is no model \"smrat\""), "{log}");
}

#[tokio::test]
async fn k5_a_loop_on_a_tool_that_is_not_there_gives_way_to_the_newest_good_one() {
    let mut hob = proven().await;
    let newer = "[tools.light]\ndescription = 'x'\ncommand = ['/bin/true']\n[agent]\nsystem_prompt = 'Newer.'\n";
    hob.configure(newer);
    hob.start().await;
    assert_eq!(hob.ask(ADA, "Hi", Reply::text("Hello.")).await, "Hello.");
    hob.process().until_log("config.kept").await;
    hob.recorded(1).await;
    hob.stop().await;
    let condition = "[personas.cook.loop]\nmax_cycles = 3\n\
        terminate = [{ when = 'tool-result', tool = 'run_tests', contains = 'ok' }]\n";
    hob.configure(condition);
    hob.start().await;
    let told = hob.process().log();
    assert!(told.contains("personas.cook.loop.terminate[1].tool: is not the name of a tool"), "{told}");
    hob.ask(ADA, "Which are you?", Reply::text("The newer.")).await;
    assert!(hob.model.requests().last().unwrap().system().contains("Newer."));
}

#[tokio::test]
async fn k5_a_server_that_is_not_up_yet_is_waited_for_and_not_the_end() {
    let hob = TestHob::new().await;
    let text = std::fs::read_to_string(hob.path("config.toml")).unwrap();
    let mut config: toml::Table = text.parse().unwrap();
    config.insert("provider".to_owned(), "kind = 'ollama'".parse::<toml::Table>().unwrap().into());
    std::fs::write(hob.path("config.toml"), config.to_string()).unwrap();
    let mut process = HobProcess::start(hob_command(hob.home.path(), &["run"]));
    process.until_log("hob.waits: [provider]: no model can be found at the configured Ollama").await;
    process.signal(Signal::TERM);
    assert_eq!(process.ended().await.code(), Some(0), "{}", process.log());
}
