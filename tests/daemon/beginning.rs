//! A config that every check lets pass, and that Hob cannot begin with: the last good one runs, if there is any (row K5).

use rustix::process::Signal;

use hob_testkit::fake_model::Reply;
use hob_testkit::house::{ADA, House, OWNER};
use hob_testkit::process::{Hob, hob};

/// A persona on a model that is not there.
const TYPO: &str = "[personas.cook]\nprompt = 'You cook.'\nmodel = 'smrat'\n";

/// A Hob that ended, with a good config kept.
async fn proven() -> House {
    let mut house = House::running("").await;
    assert_eq!(house.ask(OWNER, "Hi", Reply::text("Hello.")).await, "Hello.");
    house.hob().until_log("config.kept").await;
    house.recorded(1).await;
    house.stop().await;
    house
}

async fn code_of(house: &House) -> (Option<i32>, String) {
    let mut hob = Hob::start(hob(house.home.path(), &["run"]));
    (hob.ended().await.code(), hob.log())
}

#[tokio::test]
async fn k5_a_config_that_hob_cannot_begin_with_gives_way_to_the_last_good_one() {
    let mut house = proven().await;
    house.configure(TYPO);
    house.start().await;
    let told = house.told(OWNER, 2).await.pop().unwrap();
    assert!(told.contains("personas.cook.model: there is no model \"smrat\""), "{told}");
    assert!(told.contains("last good config instead"), "{told}");
    assert_eq!(house.ask(ADA, "Are you there?", Reply::text("Yes.")).await, "Yes.");
    house.say(OWNER, "/status");
    let status = house.told(OWNER, 3).await.pop().unwrap();
    assert!(status.contains("degraded: config: ") && status.contains("last good config instead"), "{status}");
    house.configure(&TYPO.replace("smrat", "fake"));
    house.hob().until_log("config.reloaded").await;
    let mended = house.told(OWNER, 4).await.pop().unwrap();
    assert!(mended.contains("personas: added"), "{mended}");
    house.say(OWNER, "/status");
    assert!(!house.told(OWNER, 5).await.pop().unwrap().contains("degraded: config"));
}

#[tokio::test]
async fn k5_without_a_good_one_it_is_the_end_with_the_reason() {
    let house = House::with(TYPO).await;
    let (code, log) = code_of(&house).await;
    assert_eq!(code, Some(78), "{log}");
    assert!(log.contains("config.toml: personas.cook.model: there is no model \"smrat\""), "{log}");
}

#[tokio::test]
async fn k5_a_loop_on_a_tool_that_is_not_there_gives_way_to_the_newest_good_one() {
    let mut house = proven().await;
    let newer = "[tools.light]\ndescription = 'x'\ncommand = ['/bin/true']\n[agent]\nsystem_prompt = 'Newer.'\n";
    house.configure(newer);
    house.start().await;
    assert_eq!(house.ask(ADA, "Hi", Reply::text("Hello.")).await, "Hello.");
    house.hob().until_log("config.kept").await;
    house.recorded(1).await;
    house.stop().await;
    let condition = "[personas.cook.loop]\nmax_cycles = 3\n\
        terminate = [{ when = 'tool-result', tool = 'run_tests', contains = 'ok' }]\n";
    house.configure(condition);
    house.start().await;
    let told = house.hob().log();
    assert!(told.contains("personas.cook.loop.terminate[1].tool: is not the name of a tool"), "{told}");
    house.ask(ADA, "Which are you?", Reply::text("The newer.")).await;
    assert!(house.model.requests().last().unwrap().system().contains("Newer."));
}

#[tokio::test]
async fn k5_a_server_that_is_not_up_yet_is_waited_for_and_not_the_end() {
    let house = House::new().await;
    let text = std::fs::read_to_string(house.path("config.toml")).unwrap();
    let mut config: toml::Table = text.parse().unwrap();
    config.insert("provider".to_owned(), "kind = 'ollama'".parse::<toml::Table>().unwrap().into());
    std::fs::write(house.path("config.toml"), config.to_string()).unwrap();
    let mut hob = Hob::start(hob(house.home.path(), &["run"]));
    hob.until_log("hob.waits: [provider]: no model can be found at the configured Ollama").await;
    hob.signal(Signal::TERM);
    assert_eq!(hob.ended().await.code(), Some(0), "{}", hob.log());
}
