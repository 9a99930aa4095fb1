//! The whole Hob as people in a workspace meet it: the real process, between Slack and a model.

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::slack::harness::{ADA, ADAS, BOB, HALL, workspace};
use hob_testkit::fake_model::{FakeModel, Gate, Reply, Script};
use hob_testkit::fake_slack::world::World;
use hob_testkit::fake_slack::{FakeSlack, Fault};
use hob_testkit::process::{Hob, hob};

struct House {
    slack: FakeSlack,
    model: FakeModel,
    home: TempDir,
    hob: Option<Hob>,
}

impl House {
    async fn new() -> Self {
        let mut house = Self::idle().await;
        std::fs::write(house.path("config.toml"), house.config()).unwrap();
        house.start().await;
        house
    }

    async fn idle() -> Self {
        let (slack, model, home) = (workspace().await, FakeModel::start().await, tempfile::tempdir().unwrap());
        Self { slack, model, home, hob: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn config(&self) -> String {
        format!(
            "[provider]
            kind = 'openai_compatible'
            base_url = '{model}'
            api_key = 'sk-test'
            [provider.models]
            primary = 'fake'
            [slack]
            bot_token = '{bot}'
            app_token = '{app}'
            allowed_user_ids = ['{ADA}']
            owner_user_ids = ['U0OWNER']
            api_url = '{slack}'
            [delivery]
            backoff_base_ms = 10
            [daemon]
            log = 'info,hob=debug'
            [agent]
            time_zone = 'UTC'",
            model = self.model.base_url(),
            bot = FakeSlack::BOT_TOKEN,
            app = FakeSlack::APP_TOKEN,
            slack = self.slack.api_url(),
        )
    }

    async fn start(&mut self) {
        let known = self.slack.look(|world| world.sockets_opened);
        self.hob = Some(Hob::start(hob(self.home.path(), &["run"])));
        self.slack.until_true("socket of a started Hob", |world| world.sockets_opened > known).await;
    }
}

#[tokio::test]
async fn k2_a_message_is_answered_where_it_was_said() {
    let house = House::new().await;
    house.model.reply(Reply::text("Hello **Ada**."));
    house.slack.say(ADAS, ADA, "hi");
    assert_eq!(house.slack.until_sent(ADAS, 1).await, ["Hello Ada."]);
    house.model.reply(Reply::text("Pizza."));
    let ts = house.slack.say(HALL, ADA, "<@U0HOB> what's for dinner?");
    assert_eq!(house.slack.until_sent(HALL, 1).await, ["Pizza."]);
    let shown = house.slack.look(|world| world.posts_of_bot(HALL).remove(0));
    assert_eq!(shown["thread_ts"], ts.as_str());
    // Who is not let in is not answered, and what is not said to Hob is not either.
    house.slack.say(HALL, BOB, "<@U0HOB> and for me?");
    house.slack.command(ADAS, ADA, "status");
    let told = house.slack.until_sent(ADAS, 2).await;
    assert!(told[1].contains("slack: connected (@hob in Home)"), "{told:?}");
    house.slack.acknowledged().await;
    assert_eq!(house.slack.look(|world| world.by_bot(HALL).len()), 1);
    assert_eq!(house.model.refused(), Vec::<String>::new());
}

/// A tool that is asked about, and leaves a line.
const CAREFUL: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/paid; echo paid "$1"', "sh", "{to}"]
parameters = { to = "Whom." }
approval = "ask"
"#;

#[tokio::test]
async fn c4_an_approval_is_given_with_a_button_by_who_asked() {
    let mut house = House::idle().await;
    let careful = CAREFUL.replace("$HOME", &house.home.path().display().to_string());
    std::fs::write(house.path("config.toml"), format!("{}\n{careful}", house.config())).unwrap();
    house.start().await;
    house.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    let root = house.slack.say(HALL, ADA, "<@U0HOB> Pay Ben");
    house.slack.until_sent(HALL, 1).await;
    let question = house.slack.look(|world| world.posts_of_bot(HALL).remove(0));
    assert_eq!(question["thread_ts"], root.as_str());
    let ts = question["ts"].as_str().unwrap().to_owned();
    // Bob may not.
    house.slack.press(HALL, &ts, BOB, "approve");
    house.slack.acknowledged().await;
    assert!(!house.path("paid").exists());
    house.model.reply(Reply::text("Ben is paid."));
    house.slack.press(HALL, &ts, ADA, "approve");
    house.slack.until_true("answer", |world| world.by_bot(HALL).contains(&"Ben is paid.".to_owned())).await;
    assert_eq!(std::fs::read_to_string(house.path("paid")).unwrap(), "Ben\n");
}

#[tokio::test]
async fn k2_a_crash_in_between_repeats_nothing() {
    let mut house = House::new().await;
    house.slack.fault("chat.postMessage", Fault::HangAfter);
    house.model.reply(Reply::text("Once."));
    house.slack.say(ADAS, ADA, "hi");
    house.slack.until_sent(ADAS, 1).await;
    house.hob.take().unwrap().kill().await;
    house.slack.until_true("closed socket", |world| world.sockets.is_empty()).await;
    house.slack.say(ADAS, ADA, "are you there?");
    house.model.reply(Reply::text("Yes."));
    house.start().await;
    assert_eq!(house.slack.until_sent(ADAS, 2).await, ["Once.", "Yes."]);
}

#[tokio::test]
async fn k2_each_workspace_has_its_own_people_and_answers() {
    let mut house = House::idle().await;
    let work = workspace().await;
    let (bot, app, address) = (FakeSlack::BOT_TOKEN, FakeSlack::APP_TOKEN, work.api_url());
    let account = format!(
        "[slack_accounts.work]\nbot_token = '{bot}'\napp_token = '{app}'\napi_url = '{address}'\nallowed_user_ids = ['{BOB}']"
    );
    std::fs::write(house.path("config.toml"), format!("{}\n{account}", house.config())).unwrap();
    house.start().await;
    work.connected().await;
    // At home Bob is nobody, and at work Ada is.
    house.slack.say(HALL, BOB, "<@U0HOB> hi");
    work.say(ADAS, ADA, "hi");
    house.model.reply(Reply::text("Good morning."));
    work.say("D0BOB", BOB, "hi");
    assert_eq!(work.until_sent("D0BOB", 1).await, ["Good morning."]);
    house.slack.acknowledged().await;
    work.acknowledged().await;
    assert!(house.slack.look(|world| world.by_bot(HALL).is_empty()));
    let told = work.until_sent(ADAS, 1).await;
    assert!(told.len() == 1 && told[0].starts_with("I do not know you yet."), "{told:?}");
}

#[tokio::test]
async fn c6_a_slow_file_holds_up_no_press_and_no_command() {
    let mut house = House::idle().await;
    let careful = CAREFUL.replace("$HOME", &house.home.path().display().to_string());
    std::fs::write(house.path("config.toml"), format!("{}\n{careful}", house.config())).unwrap();
    house.start().await;
    house.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    house.slack.say(HALL, ADA, "<@U0HOB> Pay Ben");
    house.slack.until_sent(HALL, 1).await;
    let ts = house.slack.look(|world| world.posts_of_bot(HALL)[0]["ts"].as_str().unwrap().to_owned());
    house.slack.acknowledged().await;
    // A file that does not come; Slack sends its message again and again.
    house.slack.fault("download", Fault::HangAfter);
    house.slack.look(|world| world.redeliver_after = Duration::from_millis(200));
    house.slack.hand(ADAS, ADA, house.slack.file("clip.txt", b"milk"), "my list");
    house.slack.until_true("question for the file", |world| world.called("download") > 0).await;
    house.slack.look(|world| world.redeliver_after = Duration::from_secs(3));
    house.model.reply(Reply::text("Ben is paid."));
    house.slack.press(HALL, &ts, ADA, "approve");
    house.slack.until_true("answer", |world| world.by_bot(HALL).contains(&"Ben is paid.".to_owned())).await;
    house.slack.command(ADAS, ADA, "status");
    let told = house.slack.until_sent(ADAS, 1).await;
    assert!(told[0].contains("slack: connected"), "{told:?}");
    // Both are acknowledged, and the file is still awaited.
    let only_events = |world: &World| {
        !world.envelopes.is_empty() && world.envelopes.iter().all(|envelope| envelope.kind == "events_api")
    };
    house.slack.until_true("acknowledgements", only_events).await;
    assert_eq!(house.slack.look(|world| world.called("download")), 1);
}

#[tokio::test]
async fn k2_no_thread_says_that_hob_works_once_it_does_not() {
    let house = House::new().await;
    let (streamed, silent) = (Gate::default(), Gate::default());
    let (begun, whole) = ("Once upon a time there was a king who had three daughters ", "and a dragon.");
    let said = Script::default().text(begun).gate(&streamed).text(whole).finish("stop");
    house.model.reply(said.into());
    let works = async || house.slack.until_true("status", |world| !world.status.is_empty()).await;
    let ts = house.slack.say(HALL, ADA, "<@U0HOB> Tell me a story");
    house.slack.until_sent(HALL, 1).await;
    works().await;
    streamed.open();
    house.slack.until_true("whole", |world| world.by_bot(HALL) == [format!("{begun}{whole}")]).await;
    house.slack.until_true("sign", |world| world.reactions(HALL, &ts) == ["white_check_mark"]).await;
    house.slack.until_true("end of the status", |world| world.status.is_empty()).await;
    house.model.reply(Script::default().gate(&silent).text("NO_REPLY").finish("stop").into());
    let ts = house.slack.say(HALL, ADA, "<@U0HOB> Say nothing");
    works().await;
    silent.open();
    let rests = |world: &World| world.status.is_empty() && world.reactions(HALL, &ts).is_empty();
    house.slack.until_true("end of sign and status", rests).await;
    house.model.reply(Script::default().stall().into());
    let ts = house.slack.say(HALL, ADA, "<@U0HOB> Think for ever");
    works().await;
    house.slack.reply(HALL, &ts, ADA, "<@U0HOB> !stop");
    let rests = |world: &World| world.status.is_empty() && world.reactions(HALL, &ts).is_empty();
    house.slack.until_true("end of sign and status", rests).await;
    house.slack.until_sent(HALL, 2).await;
}

/// Who Hob is where, for an app that two workspaces have.
const STAFF: &str = "
[personas.clerk]
prompt = 'A clerk.'
[personas.night]
prompt = 'A watchman.'
[personas.cook]
prompt = 'A cook.'
";

#[tokio::test]
async fn c3_a_slack_workspace_has_a_persona_between_its_channels_and_the_platforms() {
    let mut house = House::idle().await;
    let assigned = format!(
        "[slack]\npersona = 'clerk'\nworkspace_personas = {{ T1 = 'night' }}\npersonas = {{ '{ADAS}' = 'cook' }}"
    );
    let config = house.config().replace("[slack]", &assigned);
    std::fs::write(house.path("config.toml"), format!("{config}\n{STAFF}")).unwrap();
    house.slack.look(|world| world.is_organisation = true);
    house.start().await;
    // In one workspace, in the other, and in the other's channel of its own.
    for (workspace, channel, sent) in [("T0", HALL, 1), ("T1", HALL, 2), ("T1", ADAS, 1)] {
        house.slack.look(|world| world.workspace = workspace);
        house.model.reply(Reply::text("Yes."));
        house.slack.say(channel, ADA, "<@U0HOB> who are you?");
        house.slack.until_sent(channel, sent).await;
    }
    house.slack.command(ADAS, ADA, "persona");
    let told = house.slack.until_sent(ADAS, 2).await.pop().unwrap();
    assert!(told.starts_with("I am cook (set for this chat)."), "{told}");
    house.slack.say(HALL, ADA, "<@U0HOB> !persona");
    let told = house.slack.until_sent(HALL, 3).await.pop().unwrap();
    assert!(told.starts_with("I am night (set for this workspace)."), "{told}");
    let requests = house.model.requests();
    let systems: Vec<&str> = requests.iter().filter_map(|asked| asked.system().rsplit("\n\n").next()).collect();
    assert_eq!(systems, ["A clerk.", "A watchman.", "A cook."]);
    assert_eq!(house.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn c3_a_slack_thread_has_a_persona_of_its_own() {
    let mut house = House::idle().await;
    let config = house.config().replace("[slack]", "[slack]\npersona = 'clerk'");
    std::fs::write(house.path("config.toml"), format!("{config}\n{STAFF}")).unwrap();
    house.start().await;
    house.model.otherwise(|_asked| Reply::text("Yes."));
    let thread = house.slack.say(HALL, ADA, "<@U0HOB> who are you?");
    house.slack.until_sent(HALL, 1).await;
    house.slack.reply(HALL, &thread, ADA, "<@U0HOB> !persona cook");
    house.slack.until_sent(HALL, 2).await;
    house.slack.reply(HALL, &thread, ADA, "<@U0HOB> and now?");
    house.slack.until_sent(HALL, 3).await;
    house.slack.say(HALL, ADA, "<@U0HOB> and outside of it?");
    house.slack.until_sent(HALL, 4).await;
    let requests = house.model.requests();
    let systems: Vec<&str> = requests.iter().filter_map(|asked| asked.system().rsplit("\n\n").next()).collect();
    assert_eq!(systems, ["A clerk.", "A cook.", "A clerk."]);
    assert_eq!(house.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn c3_an_app_of_one_workspace_knows_it_also_of_what_was_missed() {
    let mut house = House::idle().await;
    let config = house.config().replace("[slack]", "[slack]\nworkspace_personas = { T0 = 'night' }");
    std::fs::write(house.path("config.toml"), format!("{config}\n{STAFF}")).unwrap();
    house.start().await;
    house.model.reply(Reply::text("Hello."));
    house.slack.say(ADAS, ADA, "hi");
    house.slack.until_sent(ADAS, 1).await;
    house.slack.acknowledged().await;
    house.hob.take().unwrap().kill().await;
    house.slack.say(HALL, ADA, "<@U0HOB> who are you?");
    house.model.reply(Reply::text("The watchman."));
    house.start().await;
    assert_eq!(house.slack.until_sent(HALL, 1).await, ["The watchman."]);
    for asked in house.model.requests() {
        assert!(asked.system().ends_with("A watchman."), "{}", asked.system());
    }
}
