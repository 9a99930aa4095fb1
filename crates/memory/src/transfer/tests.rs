//! What goes out of one house comes into another, once.

use jiff::Timestamp;
use proptest::prelude::*;
use tempfile::TempDir;

use super::export;
use super::import::{ImportLines, ImportReport};
use super::line::{FactLine, Identity, LineError, MemoryLine, PersonLine, ScopeRef, TransferLine, UserRef, read};
use hob_core::domain::ids::UserId;
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx};

/// Ada, known by another row in each house.
async fn add_ada(tx: &mut Tx, id: i64) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO users (id, name, role, created_at) VALUES ($1, 'Ada', 'user', 0)")
        .bind(id)
        .execute(&mut *tx)
        .await?;
    sqlx::query(
        "INSERT INTO identities (channel, account, external_id, user_id) VALUES ('telegram', 'default', '7', $1)",
    )
    .bind(id)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

async fn harness(ada: i64) -> (TempDir, Store) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
    store.write(async move |tx| add_ada(tx, ada).await).await.unwrap();
    (home, store)
}

async fn import(store: &Store, lines: &[TransferLine], into: Option<Scope>) -> Result<ImportReport, Vec<LineError>> {
    let lines = (1..).zip(lines.iter().cloned()).collect();
    store.write(async move |tx| ImportLines { lines, into }.run(tx, &|_| {}).await).await.unwrap()
}

fn ada() -> UserRef {
    UserRef { name: "Ada".to_owned(), identities: vec!["telegram:7".to_owned()] }
}

fn moment() -> impl Strategy<Value = Timestamp> {
    (0..2_000_000_000_000_i64).prop_map(|millis| Timestamp::from_millisecond(millis).unwrap())
}

fn whose() -> impl Strategy<Value = ScopeRef> {
    prop_oneof![Just(ScopeRef::House), Just(ScopeRef::Person(ada()))]
}

fn memory() -> impl Strategy<Value = TransferLine> {
    let words = "[a-zäöü\"\\\\ ]{0,12}[a-z]";
    (whose(), 1..4_u64, words, proptest::option::of("[a-z ?]{1,9}"), 0.0..1.0, any::<bool>(), moment()).prop_map(
        |(scope, episode, text, asked, importance, pinned, at)| {
            let said_by = pinned.then(ada);
            let (speaker, origin) = ("Ada".to_owned(), "import".to_owned());
            let used_at = pinned.then_some(at);
            let uses = i64::from(pinned);
            TransferLine::Memory(MemoryLine {
                scope,
                episode,
                speaker,
                said_by,
                text,
                asked,
                origin,
                importance,
                pinned,
                uses,
                used_at,
                at,
            })
        },
    )
}

fn fact() -> impl Strategy<Value = TransferLine> {
    (whose(), "[ab]", "[a-z]{1,4}", 0.0..1.0, any::<bool>(), moment(), proptest::option::of(moment())).prop_map(
        |(scope, key, value, confidence, pinned, known_since, superseded_at)| {
            TransferLine::Fact(FactLine {
                scope,
                category: "home".to_owned(),
                key,
                value,
                about: pinned.then(|| "Anna".to_owned()),
                speaker: "Ada".to_owned(),
                said_by: None,
                source: "import".to_owned(),
                confidence,
                importance: 0.5,
                pinned,
                uses: 0,
                used_at: None,
                valid_from: superseded_at,
                taint: Taint::default(),
                valid_until: None,
                disputed: false,
                known_since,
                superseded_at,
            })
        },
    )
}

fn anna(scope: ScopeRef) -> TransferLine {
    let at = Timestamp::UNIX_EPOCH;
    TransferLine::Person(PersonLine {
        scope,
        name: "Anna".to_owned(),
        user: None,
        relation: Some("sister".to_owned()),
        birthday: Some("--02-29".to_owned()),
        identities: vec![Identity { kind: "email".to_owned(), value: "anna@example.org".to_owned() }],
        known_since: at,
        changed_at: at,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn n8_export_import_export_is_the_same(
        said in proptest::collection::vec(memory(), 0..12),
        known in proptest::collection::vec(fact(), 0..8),
    ) {
        let people = vec![anna(ScopeRef::House), anna(ScopeRef::Person(ada()))];
        let lines = [people, said, known].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_first_home, first) = harness(3).await;
            import(&first, &lines, None).await.unwrap();
            let out = first.read(export::export).await.unwrap();
            let text: Vec<String> = out.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
            let (_second_home, second) = harness(9).await;
            let back: Vec<TransferLine> = read(&text.join("\n")).unwrap().into_iter().map(|(_, line)| line).collect();
            import(&second, &back, None).await.unwrap();
            assert_eq!(second.read(export::export).await.unwrap(), out);
            // Once more changes nothing.
            let again = import(&second, &back, None).await.unwrap();
            assert_eq!(again, ImportReport { known: out.len(), ..ImportReport::default() });
            assert_eq!(second.read(export::export).await.unwrap(), out);
        });
    }
}

#[tokio::test]
async fn n8_nothing_is_half_imported() {
    let (_home, store) = harness(1).await;
    let stranger = ScopeRef::Person(UserRef { name: "Eve".to_owned(), identities: vec!["telegram:99".to_owned()] });
    let lines = [anna(ScopeRef::House), anna(stranger), anna(ScopeRef::Conversation("-5".to_owned()))];
    let problems = import(&store, &lines, None).await.unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    line 2: nobody here is telegram:99 (Eve): let them write to Hob once, or say --person NAME or --house
    line 3: there is no conversation -5 here: say --person NAME or --house
    ");
    assert_eq!(store.read(export::export).await.unwrap(), []);
    let imported = import(&store, &lines, Some(Scope::Person(UserId(1)))).await.unwrap();
    assert_eq!((imported.people, imported.known), (1, 2), "the same person three times is one");
}

#[tokio::test]
async fn n8_what_was_learnt_later_counts() {
    let (_home, store) = harness(1).await;
    let lives = |place: &str, since: i64| {
        let known_since = Timestamp::from_second(since).unwrap();
        let line = format!(
            r#"{{"kind":"fact","scope":"house","category":"home","key":"lives in","value":"{place}","speaker":"Ada","source":"told","confidence":1.0,"importance":0.5,"known_since":"{known_since}"}}"#
        );
        read(&line).unwrap().remove(0).1
    };
    for line in [lives("Oslo", 200), lives("Rome", 100), lives("Graz", 300)] {
        import(&store, &[line], None).await.unwrap();
    }
    let out = store.read(export::export).await.unwrap();
    let held: Vec<(String, Option<i64>)> = out
        .into_iter()
        .filter_map(|line| match line {
            TransferLine::Fact(fact) => Some((fact.value, fact.superseded_at.map(Timestamp::as_second))),
            TransferLine::Memory(_) | TransferLine::Person(_) => None,
        })
        .collect();
    let expected = [("Oslo", Some(300)), ("Rome", Some(200)), ("Graz", None)];
    assert_eq!(held, expected.map(|(value, until)| (value.to_owned(), until)));
}

#[test]
fn n8_every_line_that_is_wrong_is_named() {
    let text = [
        r#"{"kind":"memory","scope":"house","episode":1,"speaker":"Ada","text":" ","origin":"user","importance":0.5,"at":"2026-05-03T10:00:00Z"}"#,
        "",
        r#"{"kind":"memory","scope":"house","episode":1,"speaker":"Ada","text":"Hi","origin":"user","importance":1.5,"at":"2026-05-03T10:00:00Z"}"#,
        r#"{"kind":"person","scope":"house","name":"Anna","birthday":"3 May","known_since":"2026-05-03T10:00:00Z","changed_at":"2026-05-03T10:00:00Z"}"#,
        r#"{"kind":"thought"}"#,
    ];
    let told: Vec<String> = read(&text.join("\n")).unwrap_err().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    line 1: `text` is empty
    line 3: `importance` is 1.5; it is a number from 0 to 1
    line 4: `birthday` is "3 May"; it is written 1990-05-03, or --05-03 where the year is not known
    line 5: unknown variant `thought`, expected one of `person`, `memory`, `fact` at line 1 column 17
    "#);
}

/// A talk of Ada's, of which nobody has gone through the turns yet; gives how many of them are.
async fn unread(tx: &mut Tx) -> Result<Vec<i64>, StoreError> {
    sqlx::raw_sql(
        "INSERT OR IGNORE INTO episodes (id, scope, began_at, ended_at, turns) VALUES (1, 'p1', 0, 0, 1);
         INSERT OR IGNORE INTO memories (id, episode_id, place, scope, speaker, user_id, text, origin, importance, at)
           VALUES (1, 1, 1, 'p1', 'Ada', 1, 'the gate is green', 'user', 0.5, 0);",
    )
    .execute(&mut *tx)
    .await?;
    Ok(sqlx::query_scalar("SELECT extracted FROM episodes ORDER BY id").fetch_all(&mut *tx).await?)
}

#[tokio::test]
async fn n8_what_comes_beside_a_talk_does_not_pass_for_gone_through() {
    let (_home, store) = harness(1).await;
    assert_eq!(store.write(unread).await.unwrap(), [0]);
    let mut lines = store.read(export::export).await.unwrap();
    let TransferLine::Memory(said) = lines[0].clone() else { panic!("{lines:?}") };
    lines.push(TransferLine::Memory(MemoryLine { text: "and the shed is red".to_owned(), ..said }));
    assert_eq!(import(&store, &lines, None).await.unwrap().memories, 1);
    assert_eq!(store.write(unread).await.unwrap()[0], 0, "facts are still drawn from what was said there");
}
