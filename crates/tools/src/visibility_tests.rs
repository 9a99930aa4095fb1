//! Whatever people of any role say, remember, merge and have forgotten, wherever: nobody is shown what is not theirs to see,
//! and nobody takes away what others told.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::forget::ForgetTool;
use crate::manage_people::ManagePeople;
use crate::recall::RecallTool;
use crate::registry::Registry;
use crate::remember_fact::RememberFact;
use crate::{Invocation, Outcome};
use hob_core::domain::ids::{RunId, SessionId, SessionKey, UserId};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::memory::{SpeakingPlace, scope_for, visible_scopes};
use hob_memory::facts;
use hob_memory::keep;
use hob_memory::recall::Memory;
use hob_store::error::StoreError;
use hob_store::memories::NewMemory;
use hob_store::{SchedulingMode, Store, Tx};

/// A private conversation is each person's own; the halls are groups of all.
const HALLS: [i64; 2] = [10, 11];
const NOW: &str = "2027-05-04T10:00:00Z";

/// Who acts, and where; roles come and go.
#[derive(Debug, Clone, Copy)]
struct Actor {
    user: i64,
    role: Role,
    trust: Trust,
    /// None: in private.
    hall: Option<i64>,
}

impl Actor {
    fn principal(self) -> Principal {
        Principal { user: UserId(self.user), name: format!("User{}", self.user), role: self.role, trust: self.trust }
    }

    fn place(self) -> SpeakingPlace {
        SpeakingPlace { session: SessionId(self.hall.unwrap_or(self.user)), private: self.hall.is_none() }
    }
}

/// Whose a word is, as the one who says it would have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ownership {
    One(i64),
    Hall(i64),
    House,
}

impl Ownership {
    fn seen_by(self, reader: Actor) -> bool {
        match self {
            Self::One(user) => reader.hall.is_none() && reader.user == user,
            Self::Hall(hall) => reader.hall == Some(hall),
            Self::House => reader.role >= Role::User && reader.trust == Trust::Trusted,
        }
    }

    fn may_go_by(self, actor: Actor, told_by: i64) -> bool {
        let shared = told_by == actor.user || actor.role >= Role::Admin;
        actor.trust == Trust::Trusted
            && match self {
                Self::One(user) => actor.hall.is_none() && actor.user == user,
                Self::Hall(hall) => actor.hall == Some(hall) && shared,
                Self::House => actor.hall.is_none() && actor.role >= Role::User && shared,
            }
    }
}

#[derive(Debug, Clone)]
enum Act {
    Say,
    Remember { key: usize, everyone: bool },
    Meet { name: usize, everyone: bool },
    Tell { name: usize, everyone: bool },
    Merge { everyone: bool },
    Remove { name: usize, everyone: bool },
    Forget { memory: bool, id: i64 },
}

const NAMES: [&str; 2] = ["Anna", "Berta"];
const KEYS: [&str; 2] = ["gate", "shed"];

fn act() -> impl Strategy<Value = Act> {
    let (one, everyone) = (|| 0..2_usize, any::<bool>);
    prop_oneof![
        Just(Act::Say),
        (one(), everyone()).prop_map(|(key, everyone)| Act::Remember { key, everyone }),
        (one(), everyone()).prop_map(|(name, everyone)| Act::Meet { name, everyone }),
        (one(), everyone()).prop_map(|(name, everyone)| Act::Tell { name, everyone }),
        everyone().prop_map(|everyone| Act::Merge { everyone }),
        (one(), everyone()).prop_map(|(name, everyone)| Act::Remove { name, everyone }),
        (everyone(), 1..12_i64).prop_map(|(memory, id)| Act::Forget { memory, id }),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    let role = prop::sample::select(vec![Role::Guest, Role::User, Role::Admin, Role::Owner]);
    let trust = prop_oneof![5 => Just(Trust::Trusted), 1 => Just(Trust::Untrusted)];
    let hall = prop::option::of(prop::sample::select(HALLS.to_vec()));
    (1..4_i64, role, trust, hall).prop_map(|(user, role, trust, hall)| Actor { user, role, trust, hall })
}

async fn say(tx: &mut Tx, actor: &Actor, text: &str) -> Result<(), StoreError> {
    let (principal, place) = (actor.principal(), actor.place());
    let Some(scope) = scope_for(&principal, place) else { return Ok(()) };
    let new = NewMemory {
        scope,
        session: Some(place.session),
        speaker: &principal.name,
        user: Some(principal.user),
        message: None,
        text,
        asked: None,
        origin: principal.role.as_str(),
        importance: 0.5,
        at: 0,
    };
    keep::add(tx, &new).await?;
    Ok(())
}

/// All words that are kept anywhere in memory.
async fn kept_texts(tx: &mut Tx) -> Result<String, StoreError> {
    let kept: Vec<String> = sqlx::query_scalar(
        "SELECT text FROM memories UNION ALL SELECT value FROM facts UNION ALL SELECT coalesce(relation, '') FROM people",
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(kept.join("\n"))
}

struct Harness {
    _dir: TempDir,
    memory: Memory,
    tools: Registry,
}

impl Harness {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let rows = "INSERT INTO users (id, name, role, created_at) VALUES (1, 'User1', 'user', 0), (2, 'User2', 'user', 0), (3, 'User3', 'guest', 0);
            INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '1', 'telegram', 0), (2, '2', 'telegram', 0),
              (3, '3', 'telegram', 0), (10, '-10', 'telegram', 0), (11, '-11', 'telegram', 0);
            INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
              disposition, sent_at, received_at) VALUES (1, 1, 1, 'terminal', 'local', '1', '1', 'hi', 0, 'run', 0, 0);
            INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES (1, 1, 1, 1, 'running', 0);";
        store
            .write(async move |tx| {
                sqlx::raw_sql(rows).execute(&mut *tx).await?;
                Ok(())
            })
            .await
            .unwrap();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let tools = Registry::default()
            .with(Arc::new(RememberFact::new(store.clone(), TimeZone::UTC)))
            .with(Arc::new(ManagePeople::new(store, TimeZone::UTC)))
            .with(Arc::new(ForgetTool::new(memory.clone())))
            .with(Arc::new(RecallTool::new(memory.clone())));
        Self { _dir: dir, memory, tools }
    }

    async fn call(&self, actor: Actor, tool: &str, arguments: Value) -> String {
        let invocation = Invocation {
            principal: actor.principal(),
            session: SessionKey("1".to_owned()),
            place: actor.place(),
            now: NOW.parse().unwrap(),
            run: RunId(1),
            ..Invocation::for_trial(arguments)
        };
        let outcome = Outcome::of(self.tools.get(tool).unwrap().call(invocation).await);
        // What a guest has said carries that with it.
        let outcome = if let Outcome::From(_, words) = outcome { *words } else { outcome };
        match outcome {
            Outcome::Text(text) | Outcome::Error(text) => text,
            other => panic!("{other:?}"),
        }
    }

    async fn act(&self, actor: Actor, act: &Act, word: &str) {
        let audience = |everyone: bool| if everyone { "everyone" } else { "me" };
        let people = async |arguments: Value| self.call(actor, "manage_people", arguments).await;
        match *act {
            Act::Say => {
                let text = format!("the gate is {word}");
                self.memory.store.write(async move |tx| say(tx, &actor, &text).await).await.unwrap();
            }
            Act::Remember { key, everyone } => {
                let fact = json!({ "category": "home", "key": KEYS[key], "value": word, "for": audience(everyone) });
                self.call(actor, "remember_fact", fact).await;
            }
            Act::Meet { name, everyone } => {
                let named =
                    json!({ "action": "add", "name": NAMES[name], "relation": word, "for": audience(everyone) });
                people(named).await;
            }
            Act::Tell { name, everyone } => {
                let fact = json!({ "category": "work", "key": "job", "value": word, "about": NAMES[name], "for": audience(everyone) });
                self.call(actor, "remember_fact", fact).await;
            }
            Act::Merge { everyone } => {
                people(json!({ "action": "merge", "name": NAMES[0], "into": NAMES[1], "for": audience(everyone) }))
                    .await;
            }
            Act::Remove { name, everyone } => {
                people(json!({ "action": "remove", "name": NAMES[name], "for": audience(everyone) })).await;
            }
            Act::Forget { memory, id } => {
                let name = format!("{}{id}", if memory { "m" } else { "f" });
                self.call(actor, "forget", json!({ "ids": [name] })).await;
            }
        }
    }

    /// Everything that somebody is shown, by whatever way.
    async fn shown_to(&self, reader: Actor) -> String {
        let mut shown = String::new();
        for query in ["gate", "shed", "Anna job", "Berta job", "what do you know"] {
            shown += &self.call(reader, "recall", json!({ "query": query })).await;
            shown += &self.call(reader, "forget", json!({ "query": query })).await;
        }
        for arguments in [
            json!({ "action": "list" }),
            json!({ "action": "list", "for": "everyone" }),
            json!({ "action": "show", "name": "Anna" }),
            json!({ "action": "show", "name": "Berta" }),
        ] {
            shown += &self.call(reader, "manage_people", arguments).await;
        }
        let (scopes, now): (_, Timestamp) = (visible_scopes(&reader.principal(), reader.place()), NOW.parse().unwrap());
        let relevant = async |tx: &mut Tx| facts::relevant(tx, &scopes, "gate shed job", 100, now).await;
        let relevant = self.memory.store.read(relevant).await.unwrap();
        format!("{shown}{relevant:?}")
    }
}

/// Where the word of an act would be kept.
fn ownership_of(actor: Actor, act: &Act) -> Ownership {
    let everyone = match *act {
        Act::Remember { everyone, .. } | Act::Meet { everyone, .. } | Act::Tell { everyone, .. } => everyone,
        Act::Say | Act::Merge { .. } | Act::Remove { .. } | Act::Forget { .. } => false,
    };
    match (everyone, actor.hall) {
        (true, _) => Ownership::House,
        (false, Some(hall)) => Ownership::Hall(hall),
        (false, None) => Ownership::One(actor.user),
    }
}

fn everybody() -> Vec<Actor> {
    let halls = [None, Some(HALLS[0]), Some(HALLS[1])];
    let as_ = |user, role, hall| Actor { user, role, trust: Trust::Trusted, hall };
    (1..4)
        .flat_map(|user| halls.map(|hall| [Role::Guest, Role::Owner].map(|role| as_(user, role, hall))))
        .flatten()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn n8_nothing_crosses_whatever_people_do(acts in prop::collection::vec((actor(), act()), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let harness = Harness::new().await;
            let mut words: Vec<(String, Actor, Ownership)> = Vec::new();
            for (number, (actor, act)) in acts.iter().enumerate() {
                let word = format!("word{}x", number + 100);
                let before = harness.memory.store.read(kept_texts).await.unwrap();
                harness.act(*actor, act, &word).await;
                let after = harness.memory.store.read(kept_texts).await.unwrap();
                for (gone, by, whose) in words.iter().filter(|(old, ..)| before.contains(old) && !after.contains(old)) {
                    // What one is to those who know of them is put anew by whoever may.
                    let is_new = matches!(act, Act::Meet { .. } | Act::Merge { .. });
                    assert!(is_new || whose.may_go_by(*actor, by.user), "{actor:?} {act:?} took {gone} of {by:?} away");
                }
                if after.contains(&word) {
                    assert!(actor.trust == Trust::Trusted, "{actor:?} is remembered");
                    let owner = ownership_of(*actor, act);
                    assert!(owner != Ownership::House || actor.role >= Role::User, "{actor:?} told the house");
                    words.push((word, *actor, owner));
                }
            }
            for reader in everybody() {
                let shown = harness.shown_to(reader).await;
                let seen: BTreeSet<&str> = words.iter().map(|(word, ..)| word.as_str()).filter(|word| shown.contains(word)).collect();
                for (word, by, whose) in words.iter().filter(|(word, ..)| seen.contains(word.as_str())) {
                    assert!(whose.seen_by(reader), "{reader:?} is shown {word} of {by:?}");
                }
            }
        });
    }
}

#[tokio::test]
async fn n8_who_forgets_what_they_told_takes_nobody_elses_values_along() {
    let harness = Harness::new().await;
    let ada = Actor { user: 1, role: Role::User, trust: Trust::Trusted, hall: Some(HALLS[0]) };
    let bo = Actor { user: 2, ..ada };
    let kept = async || harness.memory.store.read(kept_texts).await.unwrap();
    for (actor, word) in [(ada, "green"), (bo, "red"), (bo, "blue")] {
        harness.act(actor, &Act::Remember { key: 0, everyone: false }, word).await;
    }
    let forget = Act::Forget { memory: false, id: 3 };
    harness.act(ada, &forget, "").await;
    assert_eq!(kept().await, "green\nred\nblue");
    harness.act(bo, &forget, "").await;
    assert_eq!(kept().await, "green", "hers was history, and stays hers");
    let alone = Actor { hall: None, ..ada };
    for word in ["tall", "low"] {
        harness.act(alone, &Act::Remember { key: 1, everyone: false }, word).await;
    }
    harness.act(alone, &Act::Forget { memory: false, id: 5 }, "").await;
    assert_eq!(kept().await, "green", "of one's own all goes");
}
