//! The whole Hob as people in a workspace meet it: the real process, between Slack and a model.

use std::time::Duration;

use crate::channels::conversations::PAY;
use crate::slack::harness::{ADA, ADAS, BOB, HALL, workspace};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_slack::world::World;
use hob_testkit::fake_slack::{FakeSlack, Fault};
use hob_testkit::test_hob::TestHob;

/// A house that is in a workspace as well.
async fn on(slack: &FakeSlack, more: &str) -> TestHob {
    let (bot, app, url) = (FakeSlack::BOT_TOKEN, FakeSlack::APP_TOKEN, slack.api_url());
    let people = format!("allowed_user_ids = ['{ADA}']\nowner_user_ids = ['U0OWNER']");
    TestHob::with(&format!("[slack]\nbot_token = '{bot}'\napp_token = '{app}'\napi_url = '{url}'\n{people}\n{more}"))
        .await
}

/// Starts Hob, and waits for its socket.
async fn start(slack: &FakeSlack, hob: &mut TestHob) {
    let known = slack.look(|world| world.sockets_opened);
    hob.start().await;
    slack.until_true("socket of a started Hob", |world| world.sockets_opened > known).await;
}

#[tokio::test]
async fn k2_a_message_is_answered_where_it_was_said() {
    let slack = workspace().await;
    let mut hob = on(&slack, "").await;
    start(&slack, &mut hob).await;
    hob.model.reply(Reply::text("Hello **Ada**."));
    slack.say(ADAS, ADA, "hi");
    assert_eq!(slack.until_sent(ADAS, 1).await, ["Hello Ada."]);
    hob.model.reply(Reply::text("Pizza."));
    let ts = slack.say(HALL, ADA, "<@U0HOB> what's for dinner?");
    assert_eq!(slack.until_sent(HALL, 1).await, ["Pizza."]);
    let shown = slack.look(|world| world.posts_of_bot(HALL).remove(0));
    assert_eq!(shown["thread_ts"], ts.as_str());
    // Who is not let in is not answered, and what is not said to Hob is not either.
    slack.say(HALL, BOB, "<@U0HOB> and for me?");
    slack.command(ADAS, ADA, "status");
    let told = slack.until_sent(ADAS, 2).await;
    assert!(told[1].contains("slack: connected (@hob in Home)"), "{told:?}");
    slack.acknowledged().await;
    assert_eq!(slack.look(|world| world.by_bot(HALL).len()), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn c4_an_approval_is_given_with_a_button_by_who_asked() {
    let slack = workspace().await;
    let mut hob = on(&slack, PAY).await;
    start(&slack, &mut hob).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    let root = slack.say(HALL, ADA, "<@U0HOB> Pay Ben");
    slack.until_sent(HALL, 1).await;
    let question = slack.look(|world| world.posts_of_bot(HALL).remove(0));
    assert_eq!(question["thread_ts"], root.as_str());
    let ts = question["ts"].as_str().unwrap().to_owned();
    // Bob may not.
    slack.press(HALL, &ts, BOB, "approve");
    slack.acknowledged().await;
    assert!(!hob.path("paid").exists());
    hob.model.reply(Reply::text("Ben is paid."));
    slack.press(HALL, &ts, ADA, "approve");
    slack.until_true("answer", |world| world.by_bot(HALL).contains(&"Ben is paid.".to_owned())).await;
    assert_eq!(hob.lines("paid"), ["Ben"]);
}

#[tokio::test]
async fn k2_a_crash_in_between_repeats_nothing() {
    let slack = workspace().await;
    let mut hob = on(&slack, "").await;
    start(&slack, &mut hob).await;
    slack.fault("chat.postMessage", Fault::HangAfter);
    hob.model.reply(Reply::text("Once."));
    slack.say(ADAS, ADA, "hi");
    slack.until_sent(ADAS, 1).await;
    hob.crash().await;
    slack.until_true("closed socket", |world| world.sockets.is_empty()).await;
    slack.say(ADAS, ADA, "are you there?");
    hob.model.reply(Reply::text("Yes."));
    start(&slack, &mut hob).await;
    assert_eq!(slack.until_sent(ADAS, 2).await, ["Once.", "Yes."]);
}

#[tokio::test]
async fn k2_each_workspace_has_its_own_people_and_answers() {
    let (slack, work) = (workspace().await, workspace().await);
    let (bot, app, address) = (FakeSlack::BOT_TOKEN, FakeSlack::APP_TOKEN, work.api_url());
    let account = format!(
        "[slack_accounts.work]\nbot_token = '{bot}'\napp_token = '{app}'\napi_url = '{address}'\nallowed_user_ids = ['{BOB}']"
    );
    let mut hob = on(&slack, &account).await;
    start(&slack, &mut hob).await;
    work.connected().await;
    // At home Bob is nobody, and at work Ada is.
    slack.say(HALL, BOB, "<@U0HOB> hi");
    work.say(ADAS, ADA, "hi");
    hob.model.reply(Reply::text("Good morning."));
    work.say("D0BOB", BOB, "hi");
    assert_eq!(work.until_sent("D0BOB", 1).await, ["Good morning."]);
    slack.acknowledged().await;
    work.acknowledged().await;
    assert!(slack.look(|world| world.by_bot(HALL).is_empty()));
    let told = work.until_sent(ADAS, 1).await;
    assert!(told.len() == 1 && told[0].starts_with("I do not know you yet."), "{told:?}");
}

#[tokio::test]
async fn c6_a_slow_file_holds_up_no_press_and_no_command() {
    let slack = workspace().await;
    let mut hob = on(&slack, PAY).await;
    start(&slack, &mut hob).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    slack.say(HALL, ADA, "<@U0HOB> Pay Ben");
    slack.until_sent(HALL, 1).await;
    let ts = slack.look(|world| world.posts_of_bot(HALL)[0]["ts"].as_str().unwrap().to_owned());
    slack.acknowledged().await;
    // A file that does not come; Slack sends its message again and again.
    slack.fault("download", Fault::HangAfter);
    slack.look(|world| world.redeliver_after = Duration::from_millis(200));
    slack.hand(ADAS, ADA, slack.file("clip.txt", b"milk"), "my list");
    slack.until_true("question for the file", |world| world.called("download") > 0).await;
    slack.look(|world| world.redeliver_after = Duration::from_secs(3));
    hob.model.reply(Reply::text("Ben is paid."));
    slack.press(HALL, &ts, ADA, "approve");
    slack.until_true("answer", |world| world.by_bot(HALL).contains(&"Ben is paid.".to_owned())).await;
    slack.command(ADAS, ADA, "status");
    let told = slack.until_sent(ADAS, 1).await;
    assert!(told[0].contains("slack: connected"), "{told:?}");
    // Both are acknowledged, and the file is still awaited.
    let only_events = |world: &World| {
        !world.envelopes.is_empty() && world.envelopes.iter().all(|envelope| envelope.kind == "events_api")
    };
    slack.until_true("acknowledgements", only_events).await;
    assert_eq!(slack.look(|world| world.called("download")), 1);
}

#[tokio::test]
async fn k2_no_thread_says_that_hob_works_once_it_does_not() {
    let slack = workspace().await;
    let mut hob = on(&slack, "").await;
    start(&slack, &mut hob).await;
    let (streamed, silent) = (Gate::default(), Gate::default());
    let (begun, whole) = ("Once upon a time there was a king who had three daughters ", "and a dragon.");
    let said = Script::default().text(begun).gate(&streamed).text(whole).finish("stop");
    hob.model.reply(said.into());
    let works = async || slack.until_true("status", |world| !world.status.is_empty()).await;
    let ts = slack.say(HALL, ADA, "<@U0HOB> Tell me a story");
    slack.until_sent(HALL, 1).await;
    works().await;
    streamed.open();
    slack.until_true("whole", |world| world.by_bot(HALL) == [format!("{begun}{whole}")]).await;
    slack.until_true("sign", |world| world.reactions(HALL, &ts) == ["white_check_mark"]).await;
    slack.until_true("end of the status", |world| world.status.is_empty()).await;
    hob.model.reply(Script::default().gate(&silent).text("NO_REPLY").finish("stop").into());
    let ts = slack.say(HALL, ADA, "<@U0HOB> Say nothing");
    works().await;
    silent.open();
    let rests = |world: &World| world.status.is_empty() && world.reactions(HALL, &ts).is_empty();
    slack.until_true("end of sign and status", rests).await;
    hob.model.reply(Script::default().stall().into());
    let ts = slack.say(HALL, ADA, "<@U0HOB> Think for ever");
    works().await;
    slack.reply(HALL, &ts, ADA, "<@U0HOB> !stop");
    let rests = |world: &World| world.status.is_empty() && world.reactions(HALL, &ts).is_empty();
    slack.until_true("end of sign and status", rests).await;
    slack.until_sent(HALL, 2).await;
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
    let slack = workspace().await;
    let assigned =
        format!("persona = 'clerk'\nworkspace_personas = {{ T1 = 'night' }}\npersonas = {{ '{ADAS}' = 'cook' }}");
    let mut hob = on(&slack, &format!("{assigned}\n{STAFF}")).await;
    slack.look(|world| world.is_organisation = true);
    start(&slack, &mut hob).await;
    // In one workspace, in the other, and in the other's channel of its own.
    for (workspace, channel, sent) in [("T0", HALL, 1), ("T1", HALL, 2), ("T1", ADAS, 1)] {
        slack.look(|world| world.workspace = workspace);
        hob.model.reply(Reply::text("Yes."));
        slack.say(channel, ADA, "<@U0HOB> who are you?");
        slack.until_sent(channel, sent).await;
    }
    slack.command(ADAS, ADA, "persona");
    let told = slack.until_sent(ADAS, 2).await.pop().unwrap();
    assert!(told.starts_with("I am cook (set for this chat)."), "{told}");
    slack.say(HALL, ADA, "<@U0HOB> !persona");
    let told = slack.until_sent(HALL, 3).await.pop().unwrap();
    assert!(told.starts_with("I am night (set for this workspace)."), "{told}");
    let requests = hob.model.requests();
    let systems: Vec<&str> = requests.iter().filter_map(|asked| asked.system().rsplit("\n\n").next()).collect();
    assert_eq!(systems, ["A clerk.", "A watchman.", "A cook."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn c3_a_slack_thread_has_a_persona_of_its_own() {
    let slack = workspace().await;
    let mut hob = on(&slack, &format!("persona = 'clerk'\n{STAFF}")).await;
    start(&slack, &mut hob).await;
    hob.model.otherwise(|_asked| Reply::text("Yes."));
    let thread = slack.say(HALL, ADA, "<@U0HOB> who are you?");
    slack.until_sent(HALL, 1).await;
    slack.reply(HALL, &thread, ADA, "<@U0HOB> !persona cook");
    slack.until_sent(HALL, 2).await;
    slack.reply(HALL, &thread, ADA, "<@U0HOB> and now?");
    slack.until_sent(HALL, 3).await;
    slack.say(HALL, ADA, "<@U0HOB> and outside of it?");
    slack.until_sent(HALL, 4).await;
    let requests = hob.model.requests();
    let systems: Vec<&str> = requests.iter().filter_map(|asked| asked.system().rsplit("\n\n").next()).collect();
    assert_eq!(systems, ["A clerk.", "A cook.", "A clerk."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn c3_an_app_of_one_workspace_knows_it_also_of_what_was_missed() {
    let slack = workspace().await;
    let mut hob = on(&slack, &format!("workspace_personas = {{ T0 = 'night' }}\n{STAFF}")).await;
    start(&slack, &mut hob).await;
    hob.model.reply(Reply::text("Hello."));
    slack.say(ADAS, ADA, "hi");
    slack.until_sent(ADAS, 1).await;
    slack.acknowledged().await;
    hob.crash().await;
    slack.say(HALL, ADA, "<@U0HOB> who are you?");
    hob.model.reply(Reply::text("The watchman."));
    start(&slack, &mut hob).await;
    assert_eq!(slack.until_sent(HALL, 1).await, ["The watchman."]);
    for asked in hob.model.requests() {
        assert!(asked.system().ends_with("A watchman."), "{}", asked.system());
    }
}
