//! Facts are drawn over the wire: from a strict model server into a true database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::clock::Clock;
use hob_core::domain::secret::Secret;
use hob_core::policy::budget::Budget;
use hob_memory::extraction::{Extractor, PassReport, Ports, Settings};
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::{Catalog, ModelEntry};
use hob_model::model_table::ModelTable;
use hob_model::offline::Offline;
use hob_model::openai::OpenAi;
use hob_model::openai::quirks::PLAIN;
use hob_model::provider::Provider;
use hob_model::refused_parameters::NoParameterStore;
use hob_model::settings::{self, Deadlines, Tuning};
use hob_store::{SchedulingMode, Store};
use hob_testkit::fake_model::{FakeModel, Reply};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// What was said, long ago.
const SAID: &str = "
    INSERT INTO users (id, name, role, created_at) VALUES (1, 'Anna', 'owner', 0), (2, 'Gus', 'guest', 0);
    INSERT INTO sessions (id, key, channel, created_at) VALUES (1, 'x', 'telegram', 0);
    INSERT INTO episodes (id, scope, session_id, began_at, ended_at, turns) VALUES (1, 'p1', 1, 0, 2, 2), (2, 'c1', 1, 0, 2, 1);
    INSERT INTO memories (episode_id, place, scope, speaker, user_id, text, asked, origin, importance, at) VALUES
        (1, 1, 'p1', 'Anna', 1, 'my sister is called Berta', NULL, 'owner', 0.5, 1),
        (1, 2, 'p1', 'Anna', 1, 'yes, green tea', 'Do you like green tea or black?', 'owner', 0.5, 2),
        (2, 1, 'c1', 'Gus', 2, 'the house belongs to my uncle', NULL, 'guest', 0.5, 2);";

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        "2026-05-01T12:00:00Z".parse().unwrap()
    }
}

fn server(base_url: &str) -> Arc<dyn Provider> {
    let long = Duration::from_secs(60);
    let settings = settings::Settings {
        base_url: base_url.to_owned(),
        api_key: Some(Secret::new("sk-test".to_owned())),
        model: "fake".to_owned(),
        label: "test/fake".to_owned(),
        deadlines: Deadlines { connect: long, first_event: long, between_events: long },
        tuning: Tuning::default(),
        sees_images: false,
        context_tokens: None,
    };
    Arc::new(OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).unwrap())
}

async fn extractor(home: &std::path::Path, primary: Arc<dyn Provider>, fast: Option<Arc<dyn Provider>>) -> Extractor {
    let store = Store::open(&home.join("hob.db"), SchedulingMode::Threaded).await.unwrap();
    let others = fast.into_iter().map(|fast| ModelEntry::new("fast", fast)).collect();
    let ports = Ports {
        store,
        models: Arc::new(Catalog::new(ModelEntry::new("primary", primary), others, Arc::new(Now))),
        table: Arc::new(ModelTable::new(&BTreeMap::new()).unwrap()),
        budget_guard: Arc::new(BudgetGuard { budget: Budget::default(), zone: TimeZone::UTC }),
        clock: Arc::new(Now),
    };
    let settings = Settings {
        idle: SignedDuration::from_mins(30),
        consolidate_every: SignedDuration::from_hours(6),
        model: None,
        zone: TimeZone::UTC,
    };
    Extractor { ports, settings }
}

#[tokio::test]
async fn n6_the_model_for_simple_work_draws_facts_over_the_wire() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeModel::start().await);
    let extractor = extractor(home.path(), Arc::new(Offline), Some(server(&fake.base_url()))).await;
    let mut raw = Store::raw(&home.path().join("hob.db")).await.unwrap();
    sqlx::raw_sql(SAID).execute(&mut raw).await.unwrap();
    let facts = r#"{"facts":[
        {"turn":1,"category":"family","key":"sister's name","value":"Berta","confidence":0.9,"changed":false},
        {"turn":2,"category":"preference","key":"tea","value":"green tea","confidence":0.9,"changed":false},
        {"turn":2,"category":"preference","key":"coffee","value":"espresso","confidence":0.9,"changed":false}]}"#;
    fake.reply(Reply::call("record_facts", facts));
    let pass = extractor.run_pass().await.unwrap();
    assert_eq!(pass, PassReport { calls: 1, kept: 2, dropped: 1, ..PassReport::default() });
    assert_eq!(fake.refused(), Vec::<String>::new());
    let asked = &fake.requests()[0];
    assert_eq!(asked.body["tool_choice"]["function"]["name"], "record_facts");
    assert_eq!(asked.tools(), ["record_facts"]);
    assert!(!asked.last_text().contains("uncle"), "a guest's words in a group are nobody's facts");
    let known: Vec<(String, String, String)> =
        sqlx::query_as("SELECT scope, key, value FROM facts ORDER BY id").fetch_all(&mut raw).await.unwrap();
    let known: Vec<String> = known.into_iter().map(|(scope, key, value)| format!("{scope} {key}: {value}")).collect();
    assert_eq!(known, ["p1 sister's name: Berta", "p1 tea: green tea"]);
    assert_eq!(extractor.run_pass().await.unwrap(), PassReport::default(), "all of it is gone through");
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn n6_the_offline_model_draws_no_facts() {
    let home = tempfile::tempdir().unwrap();
    let extractor = extractor(home.path(), Arc::new(Offline), None).await;
    let mut raw = Store::raw(&home.path().join("hob.db")).await.unwrap();
    sqlx::raw_sql(SAID).execute(&mut raw).await.unwrap();
    assert_eq!(extractor.run_pass().await.unwrap(), PassReport::default());
    let unread: i64 =
        sqlx::query_scalar("SELECT count(*) FROM episodes WHERE extracted < turns").fetch_one(&mut raw).await.unwrap();
    assert_eq!(unread, 2, "once there is a model, they are gone through");
}

#[tokio::test]
async fn n6_an_outage_on_the_wire_is_waited_for() {
    let (home, fake) = (tempfile::tempdir().unwrap(), FakeModel::start().await);
    let extractor = extractor(home.path(), server(&fake.base_url()), None).await;
    let mut raw = Store::raw(&home.path().join("hob.db")).await.unwrap();
    sqlx::raw_sql(SAID).execute(&mut raw).await.unwrap();
    fake.reply(Reply::status(503));
    let pass = extractor.run_pass().await.unwrap();
    assert_eq!((pass.calls, pass.kept, pass.waits), (1, 0, true));
    let (unread, tries): (i64, i64) =
        sqlx::query_as("SELECT count(*), max(tries) FROM episodes WHERE extracted < turns AND id = 1")
            .fetch_one(&mut raw)
            .await
            .unwrap();
    assert_eq!((unread, tries), (1, 0));
}
