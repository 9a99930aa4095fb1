//! The home through a running Hob: a real Home Assistant, and a model whose words are given.

use serde_json::{Value, json};

use crate::home_server::HomeServer;
use hob_testkit::fake_model::Reply;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

async fn hob(server: &HomeServer) -> TestHob {
    let settings = format!(
        "[memory]\nextract = false\n[home_assistant]\nurl = '{}'\naccess_token = '{}'\n\
         entities = ['light.kitchen', 'lock.front_door', 'sensor.washing_machine', 'sensor.washing_machine_power']\n",
        server.url(),
        server.token()
    );
    TestHob::running(&settings).await
}

fn call(tool: &str, arguments: Value) -> Reply {
    Reply::call("use_tool", &json!({ "name": tool, "arguments": arguments }).to_string())
}

/// What the model was told last by whoever is no tool.
fn woken(hob: &TestHob) -> String {
    hob.model.requests().pop().unwrap().last_text().to_owned()
}

#[tokio::test]
async fn f9_n16_a_light_is_switched_and_back_and_a_lock_is_asked_about() {
    let server = HomeServer::start();
    let hob = hob(&server).await;
    let lamp = json!({ "service": "light.turn_on", "entities": ["light.kitchen"] });
    hob.model.reply(call("home_do", lamp));
    let told = hob.ask(ADA, "Light in the kitchen, please", Reply::text("It is on.")).await;
    assert!(told.starts_with("It is on."), "nobody was asked: {told}");
    assert_eq!(server.state("light.kitchen").await, "on");
    assert!(hob.last_result().contains("light.kitchen: on (it was off)"), "{}", hob.last_result());
    hob.say(ADA, "/undo");
    assert_eq!(hob.told(ADA, 2).await[1], "Taken back: home_do.");
    assert_eq!(server.state("light.kitchen").await, "off");

    let door = json!({ "service": "lock.lock", "entities": ["lock.front_door"] });
    hob.model.reply(call("home_do", door));
    hob.say(ADA, "Lock the door");
    let asked = hob.told(ADA, 3).await.pop().unwrap();
    assert!(asked.starts_with("May I do this? (This is asked each time.)\nhome_do"), "{asked}");
    assert!(asked.contains("\nRisk: critical. It "), "{asked}");
    let why = "lock.front_door is of a kind that is asked about each time (lock)";
    assert!(asked.contains(why) && asked.contains("lock.lock"), "{asked}");
    assert_eq!(server.state("lock.front_door").await, "unlocked");
    hob.model.reply(Reply::text("It is locked."));
    hob.press(ADA, "approve");
    hob.told(ADA, 4).await;
    assert_eq!(server.state("lock.front_door").await, "locked");

    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.pop().unwrap();
    assert!(status.contains("\nHome Assistant: answered just now\n"), "{status}");
    let seen = hob_command(hob.home.path(), &["doctor", "--only", "home"]).output().await.unwrap();
    let seen = String::from_utf8(seen.stdout).unwrap();
    assert!(seen.starts_with("ok   home: 2024.3.3 answers; entities exposed: 4\n"), "{seen}");
    hob.nothing_refused();
}

#[tokio::test]
async fn f9_whoever_waits_for_the_washing_machine_is_told_though_hob_was_down() {
    let server = HomeServer::start();
    let mut hob = hob(&server).await;
    let option = |option: &str| json!({ "option": option });
    let watch = json!({ "entity": "sensor.washing_machine", "becomes": "done", "task": "Tell Ada that it is done.", "again": true });
    hob.model.reply(call("home_watch", watch));
    hob.ask(ADA, "Tell me whenever the washing machine is done", Reply::text("I will.")).await;
    assert!(hob.last_result().contains("sensor.washing_machine: running"), "{}", hob.last_result());
    // The socket is open. Whether the first look was made is all one: how it stood when she asked is known.
    let mut told = 1;
    loop {
        hob.say(OWNER, "/status");
        let status = hob.told(OWNER, told).await.pop().unwrap();
        told += 1;
        if status.contains("; 1 thing is watched\n") {
            break;
        }
    }
    hob.model.reply(Reply::text("The washing machine is done."));
    server.does("input_select.select_option", "input_select.washer", &option("done")).await;
    let said = hob.told(ADA, 2).await.pop().unwrap();
    assert!(said.starts_with("The washing machine is done."), "{said}");
    let prompt = woken(&hob);
    assert!(prompt.contains("Tell Ada that it is done.\n\nWhat was waited for has come: it is \"done\"."), "{prompt}");
    assert!(prompt.contains("\n> sensor.washing_machine: done (it was running)"), "{prompt}");

    // It runs again, and Hob sees that; then Hob is down while it gets done.
    server.does("input_select.select_option", "input_select.washer", &option("running")).await;
    hob.say(ADA, "/schedules run 1");
    let looked = hob.told(ADA, 4).await.pop().unwrap();
    assert!(looked.contains("there is nothing to do"), "{looked}");
    hob.stop().await;
    server.does("input_select.select_option", "input_select.washer", &option("done")).await;
    hob.model.reply(Reply::text("The washing machine is done again."));
    hob.start().await;
    let said = hob.told(ADA, 5).await.pop().unwrap();
    assert!(said.starts_with("The washing machine is done again."), "{said}");
    hob.say(ADA, "/schedules");
    let listed = hob.told(ADA, 6).await.pop().unwrap();
    assert!(listed.contains("looks first at sensor.washing_machine until it is \"done\""), "{listed}");
    hob.nothing_refused();
}
