//! Letting people in: codes for strangers, the first owner, and how Hob tells that it hears (rows C1, N11).

use hob_core::policy::pairing::Code;
use serde_json::Value;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, BOB, OWNER, STRANGER, TestHob};

/// A supergroup that all are in.
const HALL: i64 = -100_127;

async fn hob(more: &str) -> TestHob {
    let mut hob = TestHob::with(more).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob
}

/// The code behind `/pair` in a text.
fn code_in(text: &str) -> String {
    let code = text.split("`/pair ").nth(1).unwrap_or_else(|| panic!("no code: {text}"));
    code.split('`').next().unwrap().to_owned()
}

/// Says something that is answered without the model.
async fn say(hob: &TestHob, person: i64, text: &str) -> String {
    let before = hob.heard(person).len();
    hob.say(person, text);
    hob.told(person, before + 1).await.pop().unwrap()
}

async fn write(hob: &TestHob, sql: &'static str) {
    hob.execute(sql).await;
}

/// What `hob pair` says, and whether it worked.
async fn pair(hob: &TestHob, arguments: &[&str]) -> (String, bool) {
    let arguments = [&["pair"], arguments].concat();
    let output = hob_command(hob.home.path(), &arguments).output().await.unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (text, output.status.success())
}

#[tokio::test]
async fn c1_a_stranger_is_let_in_by_a_code_that_an_owner_confirms() {
    let mut hob = hob("").await;
    let told = say(&hob, STRANGER, "Hello, it is me").await;
    let code = code_in(&told);
    hob.say(STRANGER, "Hello?");
    hob.say(STRANGER, &format!("/pair {code}"));
    hob.acknowledged().await;
    assert_eq!(say(&hob, ADA, &format!("/pair {code}")).await, "Only an owner can do that.");
    hob.telegram.post(Post::new(HALL, OWNER, &format!("/pair {code}")));
    assert!(hob.told(HALL, 1).await[0].starts_with("Not here, where others read along"));
    assert_eq!(hob.heard(STRANGER).len(), 1, "a stranger is answered once");
    let confirmed = say(&hob, OWNER, &format!("/pair {}", code.to_lowercase())).await;
    assert!(confirmed.starts_with("Person 99 (telegram) may talk with me now, as user."), "{confirmed}");
    assert!(hob.told(STRANGER, 2).await[1].starts_with("You are let in"));
    assert!(say(&hob, OWNER, &format!("/pair {code}")).await.starts_with("Nobody has that code."), "once");
    hob.stop().await;
    hob.start().await;
    assert_eq!(hob.ask(STRANGER, "Hello", Reply::text("Welcome.")).await, "Welcome.");
    assert_eq!(say(&hob, STRANGER, "/people").await, "Only an owner can do that.");
    let people = say(&hob, OWNER, "/people").await;
    assert!(people.contains("p1 Person 99 – user, telegram"), "{people}");
    assert_eq!(say(&hob, OWNER, "/unpair person 99").await, "Person 99 is not let in any more.");
    let again = say(&hob, STRANGER, "And now?").await;
    assert!(again.starts_with("I do not know you yet.") && code_in(&again) != code, "{again}");
    assert_eq!(hob.model.requests().len(), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn c1_codes_are_guessed_in_vain_and_expire() {
    let mut hob = hob("").await;
    let code = code_in(&say(&hob, STRANGER, "Hello").await);
    write(&hob, "UPDATE pairings SET expires_at = 1").await;
    assert!(say(&hob, OWNER, &format!("/pair {code}")).await.starts_with("Nobody has that code."), "it is too old");
    let code = code_in(&say(&hob, STRANGER, "Hello").await);
    let kept: Vec<String> = hob.values("SELECT code FROM pairings").await;
    assert_eq!(kept, [Code::parse(&code).unwrap().hash()], "a code is kept as its hash");
    for guess in ["22222222", "ABCD-EFGH", "no-code", "33333333"] {
        assert!(say(&hob, OWNER, &format!("/pair {guess}")).await.starts_with("Nobody has that code."));
    }
    assert!(say(&hob, OWNER, &format!("/pair {code}")).await.starts_with("Too many wrong codes."));
    hob.stop().await;
    hob.start().await;
    assert!(say(&hob, OWNER, &format!("/pair {code}")).await.starts_with("Too many wrong codes."), "still");
    let (shown, _) = pair(&hob, &[]).await;
    assert!(shown.contains("waits to be let in: Person 99 (telegram)") && !shown.contains(&code), "{shown}");
    let (told, worked) = pair(&hob, &["22222222"]).await;
    assert!(!worked && told.contains("nobody has that code"), "{told}");
    let (told, worked) = pair(&hob, &[&code, "--role", "guest"]).await;
    assert!(worked, "{told}");
    assert_eq!(
        told,
        "Person 99 (telegram) may talk with Hob now, as guest. They are told when Hob next looks, or they write.\n"
    );
    hob.say(STRANGER, "/status");
    let told = hob.told(STRANGER, 4).await;
    assert!(told[2].starts_with("You are let in") && told[3].contains("model"), "without a restart: {told:?}");
}

#[tokio::test]
async fn c1_so_many_strangers_get_codes_and_the_rest_get_nothing() {
    let hob = hob("").await;
    for stranger in 1_000..1_025 {
        hob.telegram.person(stranger);
        hob.say(stranger, "Hello");
    }
    hob.acknowledged().await;
    for stranger in 1_000..1_020 {
        hob.told(stranger, 1).await;
    }
    let answered = (1_000..1_025).filter(|stranger| !hob.heard(*stranger).is_empty()).count();
    assert_eq!(answered, 20);
}

#[tokio::test]
async fn c1_the_first_owner_is_bound_by_the_code_that_the_daemon_printed() {
    let mut hob = hob("[telegram]\nowner_user_ids = []\nallowed_user_ids = [7]").await;
    hob.process().until_logged("to become its owner", 1).await;
    let code = code_in(&pair(&hob, &[]).await.0);
    assert!(!hob.process().log().contains(&code), "whoever reads the log is not let in by it");
    // Nobody is the owner by being first, nor by a code that others could have read.
    assert!(say(&hob, STRANGER, "Hello").await.contains("Are you setting me up?"));
    hob.telegram.post(Post::new(HALL, STRANGER, &format!("/pair {code}")));
    hob.telegram.post(Post::new(HALL, STRANGER, &format!("@{} /pair {code}", FakeTelegram::BOT_NAME)));
    hob.acknowledged().await;
    assert!(say(&hob, STRANGER, "/pair 22222222").await.starts_with("Nobody has that code."));
    assert!(say(&hob, STRANGER, &format!("/pair {code}")).await.starts_with("You are my owner now."));
    assert_eq!(say(&hob, ADA, &format!("/pair {code}")).await, "Only an owner can do that.");
    assert!(say(&hob, STRANGER, "/people").await.contains("p1 Person 99 – owner, telegram"));
    let theirs = code_in(&say(&hob, BOB, "Hello").await);
    assert!(say(&hob, STRANGER, &format!("/pair {theirs} admin")).await.contains("as admin"));
    hob.stop().await;
    hob.start().await;
    assert!(!hob.process().log().contains("to become its owner"));
    assert!(!pair(&hob, &[]).await.0.contains("become its owner"));
    assert_eq!(hob.ask(BOB, "Hello", Reply::text("Hello Bob.")).await, "Hello Bob.");
}

#[tokio::test]
async fn c1_ten_wrong_tries_void_the_first_owners_code() {
    let mut hob = hob("[telegram]\nowner_user_ids = []").await;
    hob.process().until_logged("to become its owner", 1).await;
    let first = code_in(&pair(&hob, &[]).await.0);
    for _ in 0..10 {
        assert!(say(&hob, STRANGER, "/pair 22222222").await.starts_with("Nobody has that code."));
    }
    assert!(say(&hob, STRANGER, &format!("/pair {first}")).await.starts_with("I do not know you yet."));
    assert!(pair(&hob, &[]).await.0.contains("guessed wrong too often"));
    hob.stop().await;
    hob.start().await;
    hob.process().until_logged("to become its owner", 1).await;
    let second = code_in(&pair(&hob, &[]).await.0);
    assert_ne!(first, second);
    hob.say(STRANGER, &format!("/pair {first}"));
    assert!(say(&hob, BOB, &format!("/pair {second}")).await.starts_with("You are my owner now."));
}

#[tokio::test]
async fn c1_an_owner_who_was_paired_is_asked_what_owners_decide_and_has_a_heartbeat() {
    let settings = "[telegram]\nowner_user_ids = []\nguest_user_ids = [8]\n[[schedule]]\nname = 'x'\nwhen = 'every day at 9'\n\
                    task = 'Say good morning'";
    let mut hob = hob(settings).await;
    hob.process().until_logged("no owner has written yet", 1).await;
    hob.process().until_logged("to become its owner", 1).await;
    let code = code_in(&pair(&hob, &[]).await.0);
    say(&hob, STRANGER, &format!("/pair {code}")).await;
    hob.stop().await;
    hob.start().await;
    let listed = say(&hob, STRANGER, "/schedules").await;
    assert!(listed.contains("Say good morning"), "{listed}");
    assert!(!hob.process().log().contains("no owner has written yet"));
}

#[tokio::test]
async fn n11_health_and_metrics_tell_whether_hob_hears() {
    let mut hob = hob("[server]\nlisten = '127.0.0.1:0'").await;
    hob.ask(ADA, "a private word", Reply::text("Quite.")).await;
    let log = hob.process().log();
    let address = log.lines().find(|line| line.contains("server.listening")).unwrap().split("address=").nth(1).unwrap();
    let base = format!("http://{}", address.split_whitespace().next().unwrap());
    let client = hob_http::direct_client(std::time::Duration::from_secs(10)).unwrap();
    let health = client.get(format!("{base}/health")).send().await.unwrap();
    assert_eq!(health.status(), 200);
    let text = health.text().await.unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&report["live"], &report["ready"]), (&Value::Bool(true), &Value::Bool(true)));
    let channel = &report["channels"][0];
    assert_eq!((channel["channel"].as_str(), channel["state"].as_str()), (Some("telegram"), Some("connected")));
    assert!(channel["heard_age_secs"].as_i64().is_some() && channel["message_age_secs"].as_i64().is_some(), "{text}");
    let metrics = client.get(format!("{base}/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("hob_channel_connected{channel=\"telegram\",account=\"default\"} 1"), "{metrics}");
    assert!(metrics.contains("hob_outbox_open "), "{metrics}");
    for told in [&text, &metrics] {
        assert!(!told.contains("private") && !told.contains("Person") && !told.contains("123456"), "{told}");
    }
    // A page of anybody's can point a name of its own at this machine, and have its visitor's browser ask.
    for path in ["health", "metrics"] {
        let asked = client.get(format!("{base}/{path}")).header("host", "evil.example").send().await.unwrap();
        assert_eq!(asked.status(), 403, "{path}");
        let told = asked.text().await.unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"Hob's page does not answer to this host name; set [server] public_url to the name you use");
        }
    }
}
