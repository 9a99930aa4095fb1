//! The config of a running Hob is exchanged as a whole or not at all, and what runs goes on with what it began with (row K5).

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::World;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};

/// A running Hob that its owner has written to.
async fn owned(settings: &str) -> TestHob {
    let hob = TestHob::running(settings).await;
    assert_eq!(hob.ask(OWNER, "Hi", Reply::text("Hello.")).await, "Hello.");
    hob
}

fn prompt(words: &str) -> String {
    format!("[agent]\nsystem_prompt = '{words}'\n")
}

/// What the bot says next to the owner, who has heard so much.
async fn told_next(hob: &TestHob, heard: usize) -> String {
    hob.telegram.until_sent(OWNER, heard + 1).await.pop().unwrap()
}

fn system_of(hob: &TestHob, request: usize) -> String {
    hob.model.requests()[request].system().to_owned()
}

fn connects(telegram: &FakeTelegram) -> usize {
    telegram.look(|world| world.called("getMe"))
}

#[tokio::test]
async fn k5_a_key_changes_in_place_and_a_run_ends_with_what_it_began_with() {
    let mut hob = owned(&prompt("You are old.")).await;
    let (gate, known) = (Gate::default(), connects(&hob.telegram));
    let call = Script::default().gate(&gate).fragment(0, Some("call_1"), Some("current_time"), "{}");
    hob.model.reply(call.finish("tool_calls").into()).reply(Reply::text("It is late."));
    hob.say(ADA, "What time is it?");
    hob.asked(2).await;
    hob.configure(&prompt("You are new."));
    hob.process().until_log("config.reloaded").await;
    gate.open();
    assert_eq!(hob.told(ADA, 1).await, ["It is late."]);
    assert_eq!(hob.ask(ADA, "And now?", Reply::text("Later.")).await, "Later.");
    for (request, expected) in [(1, "You are old."), (2, "You are old."), (3, "You are new.")] {
        assert!(system_of(&hob, request).contains(expected), "{request}: {}", system_of(&hob, request));
    }
    assert_eq!(connects(&hob.telegram), known, "the bot was left alone");
    insta::assert_snapshot!(told_next(&hob, 1).await, @r#"
    I reloaded the config: 1 change.
    - agent.system_prompt: "You are old." → "You are new."
    "#);
    hob.nothing_refused();
}

#[tokio::test]
async fn k5_what_happens_to_files_beside_the_config_makes_no_line_of_the_log() {
    let mut hob = TestHob::running("[daemon]\nlog = 'trace'").await;
    // If each made a line, a log that lies there would feed itself.
    std::fs::write(hob.path("hob.log"), "a line").unwrap();
    hob.configure("agent = { iterations_max = 9 }\ndaemon = { log = 'trace' }");
    hob.process().until_log("config.reloaded").await;
    let log = hob.process().log();
    assert!(log.contains("TRACE") && !log.contains("inotify"), "{log}");
}

#[tokio::test]
async fn k5_who_is_let_in_changes_at_once() {
    let mut hob = owned("").await;
    hob.say(BOB, "/help");
    hob.told(BOB, 1).await;
    hob.configure(&format!("telegram = {{ allowed_user_ids = [{ADA}] }}\ndaemon = {{ log_format = 'json' }}"));
    hob.process().until_log("config.reloaded").await;
    let said = told_next(&hob, 1).await;
    assert!(said.contains("telegram.allowed_user_ids: [7, 8] → [7]"), "{said}");
    assert!(said.ends_with("Waits for a restart: daemon.log_format."), "{said}");
    hob.say(BOB, "/help");
    let told = hob.told(BOB, 2).await;
    assert!(told[0].contains("/stop – ") && !told[1].contains("/stop – "), "he is a stranger now: {}", told[1]);
    hob.say(OWNER, "/status");
    let status = told_next(&hob, 2).await;
    let line = status.lines().find(|line| line.starts_with("config: ")).unwrap();
    assert!(line.contains(", 2 changes; waits for a restart: daemon.log_format"), "{line}");
}

#[tokio::test]
async fn k5_what_cannot_be_is_refused_and_its_end_noticed() {
    let mut hob = owned("").await;
    let file = hob.path("config.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let write = |text: String| std::fs::write(&file, text).unwrap();
    let mut heard = 1;
    let mut refused = 0;
    for (bad, expected) in [
        ("[agent\n", ":1: "),
        ("[agent]\niteratons_max = 3\n", "agent.iteratons_max: is not a known key; did you mean `iterations_max`?"),
        ("[agent]\niterations_max = 0\n", "agent.iterations_max: "),
        ("[agent]\nsystem_prompt = '${NOWHERE}'\n", "NOWHERE"),
        ("", "no channel is configured any more"),
    ] {
        let process = hob.process.as_mut().unwrap();
        write(if bad.is_empty() { String::new() } else { format!("{bad}\n{}", without_agent(&good)) });
        refused += 1;
        process.until_logged("config.refused", refused).await;
        let said = told_next(&hob, heard).await;
        assert!(said.starts_with("I did not apply the config file") && said.contains(expected), "{said}");
        write(good.clone());
        let again = told_next(&hob, heard + 1).await;
        assert_eq!(again, "The config file is valid again: it matches the settings in use.");
        heard += 2;
    }
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    assert!(!hob.process().log().contains("config.reloaded"));
}

/// The config without its own section of that name.
fn without_agent(text: &str) -> String {
    let mut table: toml::Table = text.parse().unwrap();
    table.remove("agent");
    table.to_string()
}

#[tokio::test]
async fn k5_a_start_from_the_last_good_config_is_over_when_the_file_is_as_it_was() {
    let mut hob = owned("").await;
    let (file, good) = (hob.path("config.toml"), std::fs::read_to_string(hob.path("config.toml")).unwrap());
    hob.process().until_logged("config.kept", 1).await;
    hob.recorded(1).await;
    hob.stop().await;
    std::fs::write(&file, format!("{good}\n[agnet]\n")).unwrap();
    hob.start().await;
    let told = told_next(&hob, 1).await;
    assert!(told.contains("agnet: is not a known") && told.contains("last good config instead"), "{told}");
    // A second look at the same file tells nothing new.
    hob.process().signal(Signal::HUP);
    hob.process().until_logged("config.refused_still", 1).await;
    hob.say(OWNER, "/status");
    let status = told_next(&hob, 2).await;
    assert!(status.contains("degraded: config: ") && status.contains("last good config instead"), "{status}");
    std::fs::write(&file, &good).unwrap();
    assert_eq!(told_next(&hob, 3).await, "The config file is valid again: it matches the settings in use.");
    hob.say(OWNER, "/status");
    assert!(!told_next(&hob, 4).await.contains("degraded: config"));
}

#[tokio::test]
async fn k5_a_file_that_is_gone_or_something_else_changes_nothing() {
    let mut hob = owned("").await;
    let (file, good) = (hob.path("config.toml"), hob.path("good.toml"));
    std::fs::copy(&file, &good).unwrap();
    std::fs::remove_file(&file).unwrap();
    hob.process().until_logged("config.refused", 1).await;
    assert!(told_next(&hob, 1).await.contains("is not there any more"));
    std::fs::create_dir(&file).unwrap();
    hob.process().until_logged("config.refused", 2).await;
    assert!(told_next(&hob, 2).await.contains("is a directory"));
    hob.say(OWNER, "/status");
    let status = told_next(&hob, 3).await;
    assert!(status.contains("degraded: config: the config file was not taken over"), "{status}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::copy(&good, &file).unwrap();
    assert!(told_next(&hob, 4).await.starts_with("The config file is valid again"));
    hob.say(OWNER, "/status");
    assert!(!told_next(&hob, 5).await.contains("degraded: config"));
}

#[tokio::test]
async fn k5_half_a_file_is_waited_for() {
    let mut hob = owned("").await;
    let file = hob.path("config.toml");
    hob.configure(&prompt("You are whole."));
    hob.process().until_log("config.reloaded").await;
    let whole = std::fs::read_to_string(&file).unwrap().replace("whole", "more");
    // In the middle of a text.
    let (head, tail) = whole.split_at(whole.find(FakeTelegram::TOKEN).unwrap() + 9);
    std::fs::write(&file, head).unwrap();
    hob.process().until_log("config.doubted").await;
    std::fs::write(&file, format!("{head}{tail}")).unwrap();
    hob.process().until_logged("config.reloaded", 2).await;
    hob.ask(ADA, "Who?", Reply::text("Me.")).await;
    assert!(system_of(&hob, 1).contains("You are more."));
    assert!(!hob.process().log().contains("config.refused"), "{}", hob.process().log());
}

#[tokio::test]
async fn k5_a_folder_that_is_exchanged_by_a_link_is_seen() {
    let mut hob = TestHob::new().await;
    // As a mounted ConfigMap is laid out.
    let folder = |name: &str, words: &str| -> PathBuf {
        hob.configure(&prompt(words));
        let folder = hob.path(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::rename(hob.path("config.toml"), folder.join("config.toml")).unwrap();
        folder
    };
    let (one, two) = (folder("..1", "You are one."), folder("..2", "You are two."));
    symlink(one, hob.path("..data")).unwrap();
    symlink("..data/config.toml", hob.path("config.toml")).unwrap();
    hob.start().await;
    symlink(two, hob.path("..new")).unwrap();
    std::fs::rename(hob.path("..new"), hob.path("..data")).unwrap();
    hob.process().until_log("config.reloaded").await;
    hob.ask(ADA, "Who?", Reply::text("Me.")).await;
    assert!(system_of(&hob, 0).contains("You are two."));
}

#[tokio::test]
async fn k5_edited_a_hundred_times_the_last_edit_holds_and_no_message_is_lost() {
    let mut hob = owned("").await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().len())));
    let mut beat = tokio::time::interval(Duration::from_millis(50));
    for edit in 0..100 {
        beat.tick().await;
        hob.configure(&prompt(&format!("You are edit {edit}.")));
        if edit % 10 == 0 {
            hob.say(ADA, &format!("A {edit}"));
            hob.say(BOB, &format!("B {edit}"));
        }
    }
    let last =
        |world: &World| world.chat(OWNER).by_bot().any(|message| message.text.ends_with("→ \"You are edit 99.\""));
    hob.telegram.until_true("word of the last edit", last).await;
    // Those that came during a run are answered each by itself.
    for person in [ADA, BOB] {
        let answered = |world: &World| {
            world.chat(person).by_bot().filter(|message| message.text.starts_with("You said")).count() == 10
        };
        hob.telegram.until_true("ten answers", answered).await;
    }
    hob.say(OWNER, "Who?");
    hob.ended(22).await;
    let requests = hob.model.requests();
    assert!(requests.last().unwrap().system().contains("You are edit 99."));
    assert_eq!(requests.len(), 22, "each was answered once");
    assert!(!hob.process().log().contains("config.refused"));
}

#[tokio::test]
async fn k5_one_account_restarts_comes_and_goes_and_the_other_keeps_its_connection() {
    let work = FakeTelegram::start().await;
    work.person(ADA);
    // Two accounts are two bots.
    let token = FakeTelegram::TOKEN.replace("110201543", "220201543");
    work.look(|world| token.clone_into(&mut world.token));
    let second = |timeout: u32| {
        format!(
            "[telegram_accounts.work]\nbot_token = '{}'\nallowed_user_ids = [{ADA}]\napi_url = '{}'\npoll_timeout_secs = {timeout}",
            token,
            work.api_url()
        )
    };
    let mut hob = owned("").await;
    let known = connects(&hob.telegram);
    hob.configure(&second(20));
    hob.process().until_logged("config.reloaded", 1).await;
    assert!(told_next(&hob, 1).await.contains("telegram_accounts: "));
    work.until_true("poll", |world| world.called("getUpdates") > 0).await;
    hob.model.reply(Reply::text("One."));
    work.say(ADA, "1");
    assert_eq!(work.until_sent(ADA, 1).await, ["One."]);
    let asked = connects(&work);
    // Said while nobody listens there, and not acknowledged: the next adapter gets it.
    hob.configure(&second(21));
    hob.process().until_logged("config.reloaded", 2).await;
    hob.model.reply(Reply::text("Two."));
    work.say(ADA, "2");
    assert_eq!(work.until_sent(ADA, 2).await, ["One.", "Two."]);
    assert!(connects(&work) > asked, "it was asked who Hob is, and connected anew");
    // What is not part of the connection leaves it alone.
    let asked = connects(&work);
    hob.configure(&second(21).replace(&format!("[{ADA}]"), &format!("[{ADA}, {BOB}]")));
    hob.process().until_logged("config.reloaded", 3).await;
    hob.model.reply(Reply::text("Three."));
    work.say(ADA, "3");
    work.until_sent(ADA, 3).await;
    assert_eq!(connects(&work), asked);
    hob.configure("");
    hob.process().until_logged("config.reloaded", 4).await;
    let polls = work.look(|world| world.called("getUpdates"));
    assert_eq!(hob.ask(ADA, "Here?", Reply::text("Here.")).await, "Here.");
    assert_eq!(work.look(|world| world.called("getUpdates")), polls, "nobody listens there any more");
    assert_eq!(connects(&hob.telegram), known, "the first one was never touched");
    hob.nothing_refused();
}

#[tokio::test]
async fn k5_a_platform_that_refuses_keeps_everything_as_it_was() {
    let mut hob = owned("").await;
    let known = connects(&hob.telegram);
    hob.configure("telegram = { bot_token = '110201543:BBHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw', allowed_user_ids = [7] }");
    hob.process().until_log("config.refused").await;
    let said = told_next(&hob, 1).await;
    assert!(
        said.contains("[telegram] (default): Telegram does not know this bot token") && !said.contains("BBHdq"),
        "{said}"
    );
    assert!(!hob.process().log().contains("BBHdq"));
    assert_eq!(hob.ask(BOB, "Still there?", Reply::text("Yes.")).await, "Yes.");
    assert_eq!(connects(&hob.telegram), known);
}

#[tokio::test]
async fn k5_a_model_that_does_not_answer_keeps_everything_as_it_was() {
    let mut hob = owned("").await;
    hob.model.require_key("sk-test");
    hob.configure("provider = { api_key = 'sk-another-one' }");
    hob.process().until_log("config.refused").await;
    let said = told_next(&hob, 1).await;
    assert!(said.contains("[provider]: openai-compatible/fake was asked and did not answer"), "{said}");
    assert!(!hob.process().log().contains("another-one"));
    // Whoever asks has it tried again; the owner is not told twice.
    hob.process().signal(Signal::HUP);
    hob.process().until_logged("config.refused_still", 1).await;
    assert_eq!(hob.heard(OWNER).len(), 2);
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    // The new key is good now.
    hob.model.require_key("sk-another-one");
    hob.model.reply(Reply::text("yes"));
    hob.process().signal(Signal::HUP);
    hob.process().until_log("config.reloaded").await;
    let said = told_next(&hob, 2).await;
    assert!(said.contains("provider.api_key: changed"), "{said}");
    assert_eq!(hob.ask(ADA, "And now?", Reply::text("Now.")).await, "Now.");
}

#[tokio::test]
async fn k5_whoever_asks_hears_what_came_of_it_if_it_is_an_owner() {
    let mut hob = owned("").await;
    hob.say(ADA, "/reload");
    assert_eq!(hob.told(ADA, 1).await, ["Only an owner can do that."]);
    hob.say(OWNER, "/reload");
    assert_eq!(told_next(&hob, 1).await, "The config file has not changed.");
    let unchanged = hob.process().log().matches("config.unchanged").count();
    hob.process().signal(Signal::HUP);
    hob.process().until_logged("config.unchanged", unchanged + 1).await;
    assert_eq!(hob.heard(OWNER).len(), 2, "nobody is told that nothing happened");
}

#[tokio::test]
async fn k5_a_reload_at_the_stop_neither_happens_nor_holds_it_up() {
    let mut hob = owned("").await;
    let gate = Gate::default();
    // The new model takes its time to say whether it is there.
    hob.model.reply(Script::default().gate(&gate).text("yes").finish("stop").into());
    hob.configure("provider = { temperature = 0.5 }");
    hob.asked(2).await;
    assert!(hob.stop().await.success());
    hob.start().await;
    assert_eq!(hob.ask(ADA, "Hi", Reply::text("Hello.")).await, "Hello.");
    let asked = hob.model.requests().pop().unwrap();
    assert_eq!(asked.body["temperature"], 0.5, "the next start takes the file as it is");
}

#[tokio::test]
async fn k5_what_waits_for_an_owner_begins_when_there_is_one() {
    let settings = "telegram = { owner_user_ids = [], allowed_user_ids = [7] }\n[[schedule]]\nname = 'tea'\nwhen = 'every day at 17:00'\ntask = 'Make tea.'";
    let mut hob = TestHob::running(settings).await;
    hob.process().until_log("to become its owner").await;
    let shown = hob_command(hob.home.path(), &["pair"]).output().await.unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let code = shown.split("/pair ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    hob.say(OWNER, &format!("/pair {code}"));
    hob.told(OWNER, 1).await;
    hob.process().until_log("begins.owner_known").await;
    hob.say(OWNER, "/schedules");
    let listed = hob.told(OWNER, 2).await.pop().unwrap();
    assert!(listed.contains("Make tea."), "{listed}");
}

#[tokio::test]
async fn n9_owners_are_told_when_no_model_answers() {
    let mut hob = owned("").await;
    hob.model.reply(Reply::status(401));
    hob.say(ADA, "Hi");
    hob.ended(2).await;
    let said = told_next(&hob, 1).await;
    assert!(said.starts_with("Something does not work. model: no model answers: openai-compatible/fake ("), "{said}");
}
