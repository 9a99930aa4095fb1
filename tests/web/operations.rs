//! Running the house from its page.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as object};

use crate::browser::{Browser, hob, json};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, PAYS, TestHob};

const ROOM: &str = "/api/operations";

impl Browser {
    async fn operations(&self, part: &str) -> Value {
        self.get(&format!("{ROOM}{part}")).await
    }

    /// Does something; gives how that went and what was answered.
    async fn order(&self, method: Method, part: &str, body: Option<Value>) -> (StatusCode, String) {
        let request = self.ask(method, &format!("{ROOM}{part}"));
        let request = body.into_iter().fold(request, |request, body| request.json(&body));
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    /// Asks until what is told is as it should be.
    async fn until(&self, part: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let asking = async {
            loop {
                let told = self.operations(part).await;
                if wanted(&told) {
                    return told;
                }
            }
        };
        within(part, asking).await
    }
}

fn rows<'a>(told: &'a Value, name: &str) -> &'a Vec<Value> {
    told[name].as_array().unwrap()
}

async fn entered(more: &str) -> (TestHob, Browser) {
    let mut hob = hob(more).await;
    let browser = Browser::entered(&mut hob).await;
    (hob, browser)
}

#[tokio::test]
async fn n11_the_page_tells_how_the_house_fares() {
    let (mut hob, browser) = entered("").await;
    assert_eq!(hob.ask(ADA, "Hi", Reply::text("Hello.")).await, "Hello.");
    hob.recorded(1).await;
    let all = browser.until("", |all| all["status"]["books"]["today"]["calls"] == 1).await;
    let channels = rows(&all["status"], "channels");
    let telegram = channels.iter().find(|one| one["channel"] == "telegram").unwrap();
    assert_eq!(telegram["state"], "connected");
    assert!(telegram["message_age_secs"].is_i64() && telegram["sent_age_secs"].is_i64(), "{telegram}");
    // The disk of the machine that tests it may be low.
    let degraded = rows(&all["status"], "degraded");
    assert!(degraded.iter().all(|one| one["part"] == "disk"), "{all}");
    let models = browser.operations("/providers").await;
    let model = &rows(&models, "models")[0];
    assert_eq!((&model["state"], &model["day"]["calls"]), (&object!("ready"), &object!(1)), "{model}");
    assert!(model["day"]["input_tokens"].as_i64().unwrap() > 0, "{model}");
    let latency = browser.operations("/latency").await;
    let stage = |name: &str| rows(&latency, "took").iter().find(|took| took["name"] == name).unwrap().clone();
    for name in ["queued", "answered", "sent"] {
        assert!(stage(name)["p50_secs"].as_f64().unwrap() > 0.0, "{latency}");
    }
    let costs = browser.operations("/costs?by=user").await;
    assert_eq!(rows(&costs, "days").len(), 1);
    assert_eq!(rows(&costs, "shares")[0]["calls"], 1, "{costs}");
    let skills = browser.operations("/skills").await;
    assert!(rows(&skills, "skills").iter().all(|skill| skill["standing"].is_string()));
    assert_eq!(browser.operations("/servers").await, object!({ "servers": [], "names": [] }));
}

#[tokio::test]
async fn n16_an_owner_says_on_the_page_what_a_servers_tools_do() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hostile_mcp.py");
    let server = format!("[mcp.s]\nsandbox = false\ncommand = ['python3', '{script}', '$HOME']\n");
    let (mut hob, browser) = entered(&server).await;
    hob.process().until_log("mcp.listed").await;
    let echo = |told: &Value| rows(told, "tools").iter().find(|tool| tool["name"] == "echo").unwrap()["class"].clone();
    assert_eq!(echo(&browser.operations("/servers/s/tools").await), Value::Null);
    let say = |class: &str| Some(object!({ "tools": { "echo": class } }));
    let (status, told) = browser.order(Method::PUT, "/servers/s/tools", say("looks")).await;
    assert_eq!((status, echo(&serde_json::from_str(&told).unwrap())), (StatusCode::OK, object!("looks")));
    assert_eq!(echo(&browser.operations("/servers/s/tools").await), "looks");
    for (part, class, refused) in [
        ("/servers/s/tools", "safe", StatusCode::UNPROCESSABLE_ENTITY),
        ("/servers/other/tools", "looks", StatusCode::NOT_FOUND),
    ] {
        let (status, told) = browser.order(Method::PUT, part, say(class)).await;
        assert_eq!(status, refused, "{part} {class}: {told}");
    }
}

#[tokio::test]
async fn what_it_cost_is_drawn_in_both_themes() {
    let (hob, browser) = entered("").await;
    hob.ask(ADA, "Hi", Reply::text("Hello.")).await;
    browser.until("/costs", |costs| !rows(costs, "days").is_empty()).await;
    for (theme, other, what) in [("light", "#FDBA74", "tokens"), ("dark", "#C2410C", "cost")] {
        let path = format!("{ROOM}/costs.svg?days=7&what={what}&theme={theme}");
        let answer = browser.ask(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "image/svg+xml");
        let svg = answer.text().await.unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("fake") && !svg.contains(other), "{svg}");
    }
}

#[tokio::test]
async fn whoever_reads_the_log_finds_no_way_in() {
    let (mut hob, browser) = entered("[telegram]\nowner_user_ids = []\nallowed_user_ids = [7]").await;
    hob.process().until_log("to become its owner").await;
    let shown = hob_command(hob.home.path(), &["pair"]).output().await.unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let code = shown.split("/pair ").nth(1).unwrap().split('`').next().unwrap();
    let told = browser.operations("/log").await.to_string();
    assert!(told.contains("to become its owner"), "{told}");
    for log in [told, hob.process().log()] {
        assert!(!log.contains(code) && !log.contains(&code.replace('-', "")) && !log.contains("/login#"), "{log}");
    }
}

#[tokio::test]
async fn n11_the_log_is_told_from_a_line_on_and_without_secrets() {
    let (hob, browser) = entered("").await;
    let all = browser.operations("/log").await;
    let lines = rows(&all, "lines");
    assert!(lines.iter().any(|line| line["text"].as_str().unwrap().contains("server.listening")), "{all}");
    assert!(lines.iter().all(|line| line["level"] != "debug" && line["target"].is_string()));
    assert!(!all.to_string().contains(FakeTelegram::TOKEN), "{all}");
    assert!(!all.to_string().contains("/login#"), "nobody who looks is let in by it: {all}");
    let last = all["last"].as_u64().unwrap();
    hob.telegram.fault("sendMessage", Fault::Server(500));
    hob.ask(ADA, "Hi", Reply::text("Hello.")).await;
    let wanted = format!("/log?level=warn&after={last}");
    let more = browser.until(&wanted, |more| !rows(more, "lines").is_empty()).await;
    let found = rows(&more, "lines");
    assert!(found.iter().all(|line| line["level"] == "warn" && line["id"].as_u64().unwrap() > last), "{more}");
    assert!(found.iter().any(|line| line["text"].as_str().unwrap().contains("outbox.retry")), "{more}");
    // The fields of its spans stand there once.
    let text = found[0]["text"].as_str().unwrap();
    assert_eq!(text.matches("lane=").count(), 1, "{text}");
}

#[tokio::test]
async fn n5_what_waits_anywhere_is_seen_and_ended() {
    let (hob, browser) = entered("").await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("Fir").gate(&gate).text("st.").finish("stop").into());
    hob.say(ADA, "One");
    hob.asked(1).await;
    hob.say(ADA, "Two <b>");
    let told = browser.until("/queue", |told| rows(told, "runs").len() == 2).await;
    let runs = rows(&told, "runs");
    assert_eq!((&runs[0]["state"], &runs[1]["state"]), (&object!("running"), &object!("queued")));
    assert_eq!(runs[1]["text"], "Two <b>");
    let (first, second) = (runs[0]["run"].as_i64().unwrap(), runs[1]["run"].as_i64().unwrap());
    let end = async |run: i64| browser.order(Method::DELETE, &format!("/queue/{run}"), None).await.0;
    assert_eq!(end(second).await, StatusCode::NO_CONTENT);
    browser.until("/queue", |told| rows(told, "runs").len() == 1).await;
    assert_eq!(end(second).await, StatusCode::NOT_FOUND);
    assert_eq!(end(first).await, StatusCode::NO_CONTENT);
    browser.until("/queue", |told| rows(told, "runs").is_empty()).await;
    gate.open();
    assert_eq!(hob.model.requests().len(), 1, "what was taken back was never asked");
    assert_eq!(browser.order(Method::GET, "/queue?after=x", None).await.0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn what_was_given_up_is_said_after_all() {
    let (hob, browser) = entered("[delivery]\nstream = false").await;
    hob.telegram.fault("sendMessage", Fault::Blocked);
    hob.model.reply(Reply::text("Hello."));
    hob.say(ADA, "Hi");
    let gone = browser.until("/outbox/given-up", |gone| !rows(gone, "chunks").is_empty()).await;
    let chunk = &rows(&gone, "chunks")[0];
    assert_eq!((&chunk["state"], &chunk["text"]), (&object!("failed"), &object!("Hello.")), "{chunk}");
    assert!(chunk["error"].is_string() && chunk["next_at"].is_null(), "{chunk}");
    let retry = format!("/outbox/{}/retry", chunk["id"]);
    assert_eq!(browser.order(Method::POST, &retry, None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(hob.told(ADA, 1).await, ["Hello."]);
    browser.until("/outbox/given-up", |gone| rows(gone, "chunks").is_empty()).await;
    let (status, why) = browser.order(Method::POST, &retry, None).await;
    assert!(status == StatusCode::CONFLICT || status == StatusCode::NO_CONTENT, "{why}");
    assert_eq!(browser.order(Method::POST, "/outbox/999/retry", None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(hob.heard(ADA), ["Hello."], "it is said once");
}

#[tokio::test]
async fn what_waits_to_be_said_is_hurried_or_given_up() {
    let (hob, browser) = entered("[delivery]\nstream = false").await;
    hob.telegram.faults("sendMessage", Fault::Flood(600), 2);
    let tried = async |times: u64| {
        let is_back = |one: &Value| one["attempts"] == times && one["state"] == "pending";
        let open = browser.until("/outbox", |open| rows(open, "chunks").iter().any(is_back)).await;
        rows(&open, "chunks")[0].clone()
    };
    hob.model.reply(Reply::text("Hello."));
    hob.say(ADA, "Hi");
    let chunk = tried(1).await;
    assert!(chunk["next_at"].is_i64(), "{chunk}");
    let order = async |what: &str, id: &Value| browser.order(Method::POST, &format!("/outbox/{id}/{what}"), None).await;
    assert_eq!(order("retry", &chunk["id"]).await.0, StatusCode::NO_CONTENT);
    tried(2).await;
    assert_eq!(order("abandon", &chunk["id"]).await.0, StatusCode::NO_CONTENT);
    let gone = browser.operations("/outbox/given-up").await;
    assert_eq!(rows(&gone, "chunks")[0]["state"], "abandoned", "{gone}");
    // What comes after it is not held up.
    assert_eq!(hob.ask(ADA, "Are you there?", Reply::text("Yes.")).await, "Yes.");
}

#[tokio::test]
async fn n13_what_is_to_be_done_later_is_made_changed_and_taken_away() {
    let (hob, browser) = entered("").await;
    let mut listening = browser.listen("kitchen", None).await;
    let new = |when: &str| object!({ "when": when, "task": "Water the plants.", "chat": "kitchen" });
    let (status, why) = browser.order(Method::POST, "/schedules", Some(new("whenever"))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(why.contains("Not stored"), "{why}");
    let (status, made) = browser.order(Method::POST, "/schedules", Some(new("every year on 1 January at 09:00"))).await;
    assert_eq!(status, StatusCode::OK, "{made}");
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!((&made["state"], &made["session"]), (&object!("active"), &object!("web:kitchen")), "{made}");
    assert_eq!(rows(&made, "next").len(), 3, "{made}");
    // The page sends again what it has no answer to.
    let (_, again) = browser.order(Method::POST, "/schedules", Some(new("every year on 1 January at 09:00"))).await;
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["id"], made["id"]);
    assert_eq!(rows(&browser.operations("/schedules").await, "schedules").len(), 1);
    let id = made["id"].as_i64().unwrap();
    let change = async |what: &str| {
        let (status, told) = browser.order(Method::POST, &format!("/schedules/{id}/{what}"), None).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        serde_json::from_str::<Value>(&told).unwrap()
    };
    assert_eq!(change("pause").await["state"], "paused");
    assert_eq!(change("resume").await["state"], "active");
    hob.model.reply(Reply::text("They are watered."));
    change("run").await;
    assert_eq!(listening.answer().await.data["text"], "They are watered.");
    let done = |told: &Value| told["schedules"][0]["came"][0]["state"] == "done";
    let listed = browser.until("/schedules", done).await;
    assert!(listed["schedules"][0]["came"][0]["run"].is_i64(), "{listed}");
    let schedule = format!("/schedules/{id}");
    let remove = || browser.order(Method::DELETE, &schedule, None);
    assert_eq!(remove().await.0, StatusCode::NO_CONTENT);
    assert_eq!(remove().await.0, StatusCode::NOT_FOUND);
    assert!(rows(&browser.operations("/schedules").await, "schedules").is_empty());
    hob.nothing_refused();
}

#[tokio::test]
async fn d6_what_is_allowed_for_good_is_listed_and_taken_back() {
    let (hob, browser) = entered(PAYS).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#)).reply(Reply::text("Paid."));
    hob.say(ADA, "Pay Ben");
    hob.told(ADA, 1).await;
    hob.say(ADA, "always");
    assert_eq!(hob.told(ADA, 2).await[1], "Paid.");
    let grants = browser.operations("/grants").await;
    let grant = &rows(&grants, "grants")[0];
    assert_eq!((&grant["tool"], &grant["user"]), (&object!("pay to=\"Ben\""), &object!("Person 7")), "{grant}");
    let revoke = format!("/grants/{}", grant["id"]);
    assert_eq!(browser.order(Method::DELETE, &revoke, None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(browser.order(Method::DELETE, &revoke, None).await.0, StatusCode::NOT_FOUND);
    assert!(rows(&browser.operations("/grants").await, "grants").is_empty());
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#));
    hob.say(ADA, "Pay Ben again");
    assert!(hob.told(ADA, 3).await[2].starts_with("May I do this?"));
    assert_eq!(hob.lines("paid"), ["Ben"]);
}

#[tokio::test]
async fn n7_a_broken_config_is_seen_and_a_good_one_put_back() {
    let (mut hob, browser) = entered("").await;
    hob.ask(ADA, "Hi", Reply::text("Hello.")).await;
    hob.process().until_log("config.kept").await;
    let good = browser.operations("/config").await;
    assert_eq!((&good["refused"], &good["not_running"]), (&Value::Null, &object!([])), "{good}");
    let print = good["good"][0]["print"].clone();
    assert_eq!((&good["good"][0]["runs"], &good["good"][0]["on_disk"]), (&object!(true), &object!(true)));
    let file = hob.path("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let broken = format!("{text}\n[agent.nonsense]\nx = 1\n[provider.extra]\nkey = 'sk-hidden-1234567890'\n");
    std::fs::write(&file, broken).unwrap();
    let (status, told) = browser.order(Method::POST, "/config/reload", None).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert!(told["refused"]["why"].as_str().unwrap().contains("nonsense"), "{told}");
    assert!(told["not_running"].to_string().contains("agent.nonsense"), "{told}");
    let shown = browser.operations("/config/text").await;
    assert_eq!(shown["good"], false, "{shown}");
    let put_back = |print: &Value| browser.order(Method::POST, "/config/rollback", Some(object!({ "print": print })));
    assert_eq!(put_back(&object!("none")).await.0, StatusCode::NOT_FOUND);
    let (status, mended) = put_back(&print).await;
    assert_eq!(status, StatusCode::OK, "{mended}");
    let mended: Value = serde_json::from_str(&mended).unwrap();
    assert_eq!((&mended["refused"], &mended["not_running"]), (&Value::Null, &object!([])), "{mended}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(put_back(&print).await.0, StatusCode::CONFLICT);
    let shown = browser.operations("/config/text").await;
    assert!(shown["text"].as_str().unwrap().contains("bot_token = \"[redacted]\""), "{shown}");
    for told in [good, told, mended, shown, browser.operations("/log").await] {
        for secret in [FakeTelegram::TOKEN, "sk-test", "sk-hidden"] {
            assert!(!told.to_string().contains(secret), "{told}");
        }
    }
}

#[tokio::test]
async fn c5_viewers_see_the_house_and_change_nothing_of_it() {
    let (hob, browser) = entered("").await;
    let output = hob_command(hob.home.path(), &["web", "--viewer"]).output().await.unwrap();
    let link = String::from_utf8(output.stdout).unwrap();
    let mut viewer = Browser::new(&browser.root);
    viewer.enter(link.split('#').nth(1).unwrap().split_whitespace().next().unwrap()).await;
    let looks =
        ["", "/queue", "/outbox", "/outbox/given-up", "/schedules", "/skills", "/servers", "/grants", "/providers"];
    for part in looks.into_iter().chain(["/config", "/config/text", "/log", "/costs", "/latency"]) {
        viewer.operations(part).await;
        let nobody = viewer.bare(Method::GET, &format!("{ROOM}{part}")).send().await.unwrap();
        assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED, "{part}");
    }
    let new = object!({ "when": "in 2h", "task": "x", "chat": "k" });
    for (method, part, body) in [
        (Method::DELETE, "/queue/1", None),
        (Method::POST, "/outbox/1/retry", None),
        (Method::POST, "/outbox/1/abandon", None),
        (Method::POST, "/schedules", Some(new)),
        (Method::POST, "/schedules/1/pause", None),
        (Method::DELETE, "/schedules/1", None),
        (Method::DELETE, "/grants/1", None),
        (Method::PUT, "/servers/s/tools", Some(object!({ "tools": {} }))),
        (Method::POST, "/config/reload", None),
        (Method::POST, "/config/rollback", Some(object!({ "print": "x" }))),
    ] {
        let (status, told) = viewer.order(method, part, body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{part}: {told}");
    }
    let page = viewer.ask(Method::GET, "/operations/log").send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    let described = json(viewer.ask(Method::GET, "/api/openapi.json").send().await.unwrap()).await;
    assert!(described["paths"]["/api/operations/queue/{run}"]["delete"].is_object());
}
