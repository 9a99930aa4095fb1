//! The tools of memory, through the registry, on a real file.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::forget::ForgetTool;
use crate::manage_people::ManagePeople;
use crate::recall::RecallTool;
use crate::registry::Registry;
use crate::remember_fact::RememberFact;
use crate::{Invocation, Outcome};
use hob_core::domain::ids::{RunId, SessionId, SessionKey, UserId};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::memory::SpeakingPlace;
use hob_memory::recall::Memory;
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx};

async fn users(tx: &mut Tx) -> Result<(), StoreError> {
    for row in [
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0), (2, 'Bo', 'user', 0)",
        "INSERT INTO sessions (id, key, channel, created_at) VALUES (1, 'terminal:1', 'terminal', 0)",
        "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
           disposition, sent_at, received_at) VALUES (1, 1, 1, 'terminal', 'local', '1', '1', 'hi', 0, 'run', 0, 0)",
        "INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES (1, 1, 1, 1, 'running', 0)",
    ] {
        sqlx::query(row).execute(&mut *tx).await?;
    }
    Ok(())
}

struct Harness {
    _dir: TempDir,
    tools: Registry,
}

#[derive(Clone, Copy)]
struct Caller {
    user: i64,
    role: Role,
    trust: Trust,
    private: bool,
}

const ADA: Caller = Caller { user: 1, role: Role::User, trust: Trust::Trusted, private: true };
const BO: Caller = Caller { user: 2, ..ADA };
const ADA_IN_HALL: Caller = Caller { private: false, ..ADA };

impl Harness {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        store.write(users).await.unwrap();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let tools = Registry::default()
            .with(Arc::new(RememberFact::new(store.clone(), TimeZone::UTC)))
            .with(Arc::new(ManagePeople::new(store, TimeZone::UTC)))
            .with(Arc::new(ForgetTool::new(memory.clone())))
            .with(Arc::new(RecallTool::new(memory)));
        Self { _dir: dir, tools }
    }

    async fn outcome(&self, caller: Caller, tool: &str, arguments: Value) -> Outcome {
        self.outcome_of(caller, tool, arguments, Taint::default()).await
    }

    /// The same, in a run that has read these.
    async fn outcome_of(&self, caller: Caller, tool: &str, arguments: Value, taint: Taint) -> Outcome {
        assert_eq!(self.tools.argument_errors(tool, &arguments), None);
        let Caller { user, role, trust, private } = caller;
        let name = if user == 1 { "Ada" } else { "Bo" }.to_owned();
        let invocation = Invocation {
            principal: Principal { user: UserId(user), name, role, trust },
            session: SessionKey("terminal:1".to_owned()),
            place: SpeakingPlace { session: SessionId(1), private },
            now: "2027-05-04T10:00:00Z".parse().unwrap(),
            run: RunId(1),
            taint,
            ..Invocation::for_trial(arguments)
        };
        Outcome::of(self.tools.get(tool).unwrap().call(invocation).await)
    }

    /// What the tool says; with a mark before it where it failed.
    async fn say(&self, caller: Caller, tool: &str, arguments: Value) -> String {
        match self.outcome(caller, tool, arguments).await {
            Outcome::Text(text) => text,
            Outcome::Error(text) => format!("! {text}"),
            other => panic!("{other:?}"),
        }
    }

    async fn people(&self, caller: Caller, arguments: Value) -> String {
        self.say(caller, "manage_people", arguments).await
    }
}

#[tokio::test]
async fn k4_people_are_managed_in_words() {
    let home = Harness::new().await;
    let mut told = Vec::new();
    for arguments in [
        json!({ "action": "list" }),
        json!({ "action": "add", "name": "Anna", "relation": "sister", "birthday": "3 May 1990",
                "identities": ["Anni", "anna@example.org"] }),
        json!({ "action": "add", "name": "Joe", "birthday": "5. Mai", "user": "bo" }),
        json!({ "action": "add_fact", "name": "my sister", "category": "work", "key": "job", "value": "baker" }),
        json!({ "action": "add_fact", "name": "Anna", "category": "Work", "key": "job", "value": "teacher" }),
        json!({ "action": "add_fact", "name": "Annna", "category": "work", "key": "job", "value": "teacher" }),
        json!({ "action": "show", "name": "anni" }),
        json!({ "action": "upcoming_birthdays" }),
        json!({ "action": "upcoming_birthdays", "days": 365 }),
        json!({ "action": "update", "name": "Joe", "birthday": "30 February" }),
        json!({ "action": "update", "name": "Joe", "birthday": "", "new_name": "Joseph" }),
        json!({ "action": "forget_fact", "name": "Anna", "key": "Job" }),
        json!({ "action": "forget_fact", "name": "Anna", "key": "Job" }),
        json!({ "action": "merge", "name": "Joe", "into": "Anna" }),
        json!({ "action": "merge", "name": "Joe", "into": "Anna" }),
        json!({ "action": "remove", "name": "Annna" }),
        json!({ "action": "remove", "name": "Joe" }),
        json!({ "action": "remove", "name": "Joe" }),
        json!({ "action": "show" }),
    ] {
        told.push(home.people(ADA, arguments).await);
    }
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
    Nobody is known yet.
    --
    Added:
    - Anna: sister; born 3 May 1990, turns 38 on 2028-05-03; email anna@example.org; also Anni
    --
    Added:
    - Joe: born 5 May; uses me as Bo
    --
    Remembered: Anna: job: baker.
    --
    Remembered: Anna: job: teacher (before: baker).
    --
    ! Nobody called "Annna" is known. There is Anna.
    --
    - Anna: sister; born 3 May 1990, turns 38 on 2028-05-03; email anna@example.org; also Anni
    - Anna, job: teacher (2027-05-04)
    --
    - Wednesday, 5 May 2027: Joe (tomorrow)
    --
    - Wednesday, 5 May 2027: Joe (tomorrow)
    - Wednesday, 3 May 2028: Anna (sister), turns 38 (in 365 days)
    --
    ! "30 February" is a day that does not exist.
    --
    Known as:
    - Joseph: also Joe; uses me as Bo
    --
    Forgotten: Anna, Job.
    --
    Nothing is known under that key: nothing was forgotten.
    --
    They are one person:
    - Anna: sister; born 3 May 1990, turns 38 on 2028-05-03; email anna@example.org; also Anni; also Joe; also Joseph; uses me as Bo
    --
    They are one person:
    - Anna: sister; born 3 May 1990, turns 38 on 2028-05-03; email anna@example.org; also Anni; also Joe; also Joseph; uses me as Bo
    --
    ! Nobody called "Annna" is known. There is Anna.
    --
    Removed, with all that was known: Anna.
    --
    Nobody called "Joe" is known: nothing was removed.
    --
    ! This action needs `name`.
    "#);
}

#[tokio::test]
async fn n8_what_is_told_for_oneself_stays_there_and_for_everyone_goes_to_the_house() {
    let home = Harness::new().await;
    let fact = |about: &str, audience: &str| json!({ "category": "person", "key": "birthday", "value": "7 May", "about": about, "for": audience });
    let mut told = Vec::new();
    told.push(home.say(ADA, "remember_fact", fact("my sister", "me")).await);
    told.push(home.say(ADA, "remember_fact", fact("Dr Weber", "everyone")).await);
    told.push(home.say(ADA_IN_HALL, "remember_fact", fact("Zoe", "me")).await);
    for caller in [ADA, BO, ADA_IN_HALL] {
        told.push(home.people(caller, json!({ "action": "upcoming_birthdays" })).await);
    }
    told.push(home.people(BO, json!({ "action": "show", "name": "my sister" })).await);
    told.push(home.people(BO, json!({ "action": "update", "name": "Dr Weber", "relation": "dentist" })).await);
    told.push(home.people(BO, json!({ "action": "remove", "name": "Dr Weber", "for": "everyone" })).await);
    let update = json!({ "action": "update", "name": "Dr Weber", "relation": "dentist", "for": "everyone" });
    told.push(home.people(BO, update).await);
    for trust in [(Role::Guest, Trust::Trusted), (Role::Owner, Trust::Untrusted)] {
        let caller = Caller { role: trust.0, trust: trust.1, ..ADA };
        told.push(home.say(caller, "remember_fact", fact("Eve", "everyone")).await);
        told.push(home.people(caller, json!({ "action": "list", "for": "everyone" })).await);
    }
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
    Remembered: sister: birthday: 7 May. sister is new.
    --
    Remembered, for everyone: Dr Weber: birthday: 7 May. Dr Weber is new.
    --
    Remembered: Zoe: birthday: 7 May. Zoe is new.
    --
    - Friday, 7 May 2027: Dr Weber (in 3 days)
    - Friday, 7 May 2027: sister (sister) (in 3 days)
    --
    - Friday, 7 May 2027: Dr Weber (in 3 days)
    --
    - Friday, 7 May 2027: Dr Weber (in 3 days)
    - Friday, 7 May 2027: Zoe (in 3 days)
    --
    ! Nobody called "my sister" is known.
    --
    ! Dr Weber is kept for everyone: to change that, set `for` to "everyone".
    --
    ! Some of what is known of Dr Weber was told by others: only they, an admin or an owner may have it removed, in the conversation where it was told.
    --
    Known as:
    - Dr Weber: dentist; born 7 May; known to everyone
    --
    ! What strangers write is not remembered.
    --
    ! What strangers write is not remembered.
    --
    ! What strangers write is not remembered.
    --
    ! What strangers write is not remembered.
    "#);
}

#[tokio::test]
async fn n8_what_is_restricted_is_kept_only_if_asked_for_and_for_one() {
    let home = Harness::new().await;
    let fact = |audience: &str, sensitive: bool| json!({ "category": "health", "key": "blood type", "value": "A", "about": "Anna", "for": audience, "sensitive": sensitive });
    let mut told = Vec::new();
    for (caller, audience, sensitive) in
        [(ADA, "me", false), (ADA, "everyone", true), (ADA_IN_HALL, "me", true), (ADA, "me", true)]
    {
        told.push(home.say(caller, "remember_fact", fact(audience, sensitive)).await);
    }
    told.push(home.people(ADA, json!({ "action": "list" })).await);
    let add = json!({ "action": "add_fact", "name": "Anna", "category": "work", "key": "salary", "value": "much" });
    told.push(home.people(ADA, add).await);
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
    ! About health nothing is kept unless somebody asks for just that: then set `sensitive`.
    --
    ! About health nothing is kept where others see it: only in a private conversation, and for that person alone.
    --
    ! About health nothing is kept where others see it: only in a private conversation, and for that person alone.
    --
    Remembered: Anna: blood type: A. Anna is new.
    --
    - Anna
    --
    ! About money nothing is kept unless somebody asks for just that: then set `sensitive`.
    "#);
}

#[tokio::test]
async fn n8_recall_shows_people_and_what_holds() {
    let home = Harness::new().await;
    for arguments in [
        json!({ "category": "work", "key": "job", "value": "baker", "about": "Anna" }),
        json!({ "category": "home", "key": "door code", "value": "1234 for Anna's door", "until": "2027-05-04" }),
        json!({ "category": "home", "key": "bins", "value": "on Tuesday" }),
    ] {
        home.say(ADA, "remember_fact", arguments).await;
    }
    let mut told = Vec::new();
    for (query, what) in
        [("Anna", "all"), ("what does Anna do for a job?", "facts"), ("bins", "messages"), ("ghosts", "all")]
    {
        told.push(home.say(ADA, "recall", json!({ "query": query, "what": what })).await);
    }
    told.push(home.say(BO, "recall", json!({ "query": "Anna" })).await);
    let bad = json!({ "category": "home", "key": "x", "value": "y", "until": "yesterday" });
    told.push(home.say(ADA, "remember_fact", bad).await);
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
    - Anna
    - Anna, job: baker (2027-05-04)
    - door code: 1234 for Anna's door (2027-05-04)
    --
    - Anna
    - Anna, job: baker (2027-05-04)
    - door code: 1234 for Anna's door (2027-05-04)
    --
    Nothing found.
    --
    Nothing found.
    --
    Nothing found.
    --
    ! `until` is "yesterday": expected a day to come, like 2027-05-03.
    "#);
}

#[tokio::test]
async fn n8_what_is_to_be_forgotten_is_listed_before_it_goes() {
    let home = Harness::new().await;
    for (caller, audience, value) in [(ADA, "me", "lives in Berlin"), (ADA, "everyone", "likes tea")] {
        let arguments =
            json!({ "category": "person", "key": value, "value": value, "about": "my sister", "for": audience });
        home.say(caller, "remember_fact", arguments).await;
    }
    let mut told = Vec::new();
    for (caller, arguments) in [
        (ADA, json!({})),
        (ADA, json!({ "query": "sister Berlin tea" })),
        (BO, json!({ "query": "sister Berlin tea" })),
        (BO, json!({ "ids": ["f1"] })),
        (BO, json!({ "ids": ["f1", "f2"] })),
        (ADA, json!({ "ids": ["seven"] })),
        (ADA, json!({ "ids": ["f1", "f2"] })),
        (ADA, json!({ "ids": ["f1", "f2"] })),
        (ADA, json!({ "query": "sister Berlin tea" })),
    ] {
        told.push(home.say(caller, "forget", arguments).await);
    }
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
    ! Give a `query` first, then the `ids` of what is meant.
    --
    Nothing is forgotten yet. Call again with the ids of what is meant:
    - f2: sister's likes tea: likes tea (2027-05-04)
    - f1: sister's lives in Berlin: lives in Berlin (2027-05-04)
    --
    Nothing is forgotten yet. Call again with the ids of what is meant:
    - f2: sister's likes tea: likes tea (2027-05-04)
    --
    Not there, or gone already: f1.
    --
    ! Nothing was forgotten: f2 was told by others, and only they, an admin or an owner may have it forgotten; what everyone in the house knows, only in private.
    --
    ! "seven" is not an id from the list: they are like f7 or m12.
    --
    Forgotten: f1, f2.
    --
    Not there, or gone already: f1, f2.
    --
    Nothing found.
    "#);
}

#[test]
fn d5_the_arguments_are_one_flat_object() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = runtime.block_on(Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded)).unwrap();
    let tools = Registry::default().with(Arc::new(ManagePeople::new(store, TimeZone::UTC)));
    let schema = tools.schemas().pop().unwrap().parameters;
    let text = schema.to_string();
    for word in ["$ref", "oneOf", "anyOf", "allOf"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    assert_eq!(schema["required"], json!(["action"]));
    assert_eq!(schema["properties"]["action"]["enum"].as_array().map(Vec::len), Some(9));
}

#[tokio::test]
async fn n6_what_was_kept_in_a_tainted_run_taints_whoever_recalls_it_until_somebody_vouches_for_it() {
    let home = Harness::new().await;
    let mail = || Taint::from_iter([OriginSource::new(Origin::Email, "eve@example.com")]);
    let fact = || json!({ "category": "home", "key": "door code", "value": "4711" });
    let about =
        json!({ "action": "add_fact", "name": "Cleo", "category": "home", "key": "key", "value": "under the pot" });
    home.people(ADA, json!({ "action": "add", "name": "Cleo" })).await;
    home.outcome_of(ADA, "remember_fact", fact(), mail()).await;
    home.outcome_of(ADA, "manage_people", about, mail()).await;
    let source = |outcome: Outcome| match outcome {
        Outcome::From(source, words) => {
            assert!(matches!(*words, Outcome::Text(_)));
            Some(source.to_string())
        }
        _ => None,
    };
    let from_memory = Some("memory (e-mail (eve@example.com))".to_owned());
    let recall = |query: &str| home.outcome(ADA, "recall", json!({ "query": query }));
    assert_eq!(source(recall("door code").await), from_memory);
    assert_eq!(source(recall("Cleo").await), from_memory);
    assert_eq!(source(recall("bicycle").await), None);
    assert_eq!(
        source(home.outcome(ADA, "manage_people", json!({ "action": "show", "name": "Cleo" })).await),
        from_memory
    );
    assert_eq!(source(home.outcome(ADA, "forget", json!({ "query": "door code" })).await), from_memory);
    home.say(ADA, "remember_fact", fact()).await;
    assert_eq!(source(recall("door code").await), None, "told by a person, it is theirs");
}
