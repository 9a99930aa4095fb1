//! People on a real file.

use jiff::Timestamp;
use jiff::civil::{Date, date};
use tempfile::TempDir;

use super::birthday::Birthday;
use super::change::{
    ChangeContext, FieldChange, ForgetPersonFact, HobUser, PersonDetails, RemovePerson, SavePerson, SavedPerson,
    TellFact, TellOutcome,
};
use super::merge::MergePeople;
use super::*;
use crate::facts::{self, ToldFact};
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::memory::SpeakingPlace;
use hob_store::{SchedulingMode, Store};

const ADA: Scope = Scope::Person(UserId(1));
const TODAY: Date = date(2027, 5, 4);

struct Harness {
    _dir: TempDir,
    store: Store,
}

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

fn whose(scope: Scope) -> ChangeContext {
    let user = if scope == Scope::Person(UserId(2)) { UserId(2) } else { UserId(1) };
    let caller = Principal { user, name: "Ada".to_owned(), role: Role::User, trust: Trust::Trusted };
    ChangeContext { scope, caller, place: SpeakingPlace { session: SessionId(1), private: true } }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl Harness {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        store.write(users).await.unwrap();
        Self { _dir: dir, store }
    }

    async fn save(&self, scope: Scope, name: &str, details: PersonDetails) -> Result<SavedPerson, String> {
        let save = SavePerson { whose: whose(scope), name: name.to_owned(), details, adds: true, at: at(0) };
        self.store.write(async move |tx| save.run(tx).await).await.unwrap().map_err(|error| error.to_string())
    }

    async fn add(&self, scope: Scope, name: &str) -> Person {
        self.save(scope, name, PersonDetails::default()).await.unwrap().person
    }

    async fn tell(&self, scope: Scope, about: Option<&str>, key: &str, value: &str) -> TellOutcome {
        let (category, key, value) = ("person".to_owned(), key.to_owned(), value.to_owned());
        let (user, person, valid_until, run) = (UserId(1), None, None, Some(RunId(1)));
        let fact = ToldFact {
            scope,
            user,
            category,
            key,
            value,
            person,
            valid_until,
            run,
            taint: Taint::default(),
            at: at(1),
        };
        let about = about.map(str::to_owned);
        self.store
            .write(async move |tx| {
                TellFact { whose: whose(scope), about, adds: true, fact, today: TODAY }.run(tx).await
            })
            .await
            .unwrap()
            .unwrap()
    }

    async fn merge(&self, from: &str, into: &str) -> Result<Person, String> {
        let merge = MergePeople { whose: whose(ADA), from: from.to_owned(), into: into.to_owned(), at: at(2) };
        self.store.write(async move |tx| merge.run(tx).await).await.unwrap().map_err(|error| error.to_string())
    }

    async fn remove(&self, scope: Scope, name: &str) -> Result<Person, String> {
        let remove = RemovePerson { whose: whose(scope), name: name.to_owned() };
        self.store.write(async move |tx| remove.run(tx).await).await.unwrap().map_err(|error| error.to_string())
    }

    async fn people(&self, scopes: &[Scope], who: PersonQuery) -> Vec<PersonCard> {
        self.store
            .read(async |tx| LookUpPeople { scopes: scopes.to_vec(), who, now: at(3) }.run(tx).await)
            .await
            .unwrap()
            .unwrap()
    }

    /// The facts about one person, as `key: value`, and `?` where something else is said as well.
    async fn facts(&self, name: &str) -> Vec<String> {
        let cards = self.people(&[ADA], PersonQuery::Called(name.to_owned())).await;
        let shown = |fact: &FactAbout| format!("{}: {}{}", fact.key, fact.value, if fact.disputed { "?" } else { "" });
        let mut facts: Vec<String> = cards.iter().flat_map(|card| &card.facts).map(shown).collect();
        facts.sort();
        facts
    }

    async fn found(&self, query: &str) -> usize {
        self.store.read(async |tx| facts::search(tx, &[ADA], query, 10).await).await.unwrap().len()
    }
}

fn identities(texts: &[&str]) -> Vec<Identity> {
    texts.iter().map(|text| Identity::parse(text).unwrap()).collect()
}

fn born(text: &str) -> FieldChange<Birthday> {
    FieldChange::Set(Birthday::parse(text, TODAY).unwrap())
}

#[test]
fn k4_what_somebody_is_known_by_is_recognised() {
    let table = [
        ("Anni", "name", "Anni"),
        ("anna@example.org", "email", "anna@example.org"),
        ("@anna", "telegram", "@anna"),
        ("+49 (170) 12-34", "phone", "+49 (170) 12-34"),
        ("Slack: U123", "slack", "U123"),
        (" name :  Anni   Weber ", "name", "Anni Weber"),
        ("R2", "name", "R2"),
    ];
    for (text, kind, value) in table {
        let identity = Identity::parse(text).unwrap();
        assert_eq!((identity.kind.as_str(), identity.value.as_str()), (kind, value), "{text}");
    }
    for text in ["", "email:", &"x".repeat(101)] {
        assert!(Identity::parse(text).is_err(), "{text}");
    }
}

#[tokio::test]
async fn k4_somebody_is_added_once_and_changed_in_part() {
    let home = Harness::new().await;
    let details = PersonDetails {
        relation: FieldChange::Set("sister".to_owned()),
        birthday: born("3 May 1990"),
        identities: identities(&["Anni", "anna@example.org"]),
        ..PersonDetails::default()
    };
    let first = home.save(ADA, "Anna", details.clone()).await.unwrap();
    let again = home.save(ADA, "  anna ", details).await.unwrap();
    assert_eq!((first.added, again.added), (true, false));
    assert_eq!(again.person, first.person);
    let change = PersonDetails {
        name: Some("Anna Weber".to_owned()),
        relation: FieldChange::Clear,
        user: FieldChange::Set(HobUser::Called("bo".to_owned())),
        dropped: identities(&["email: ANNA@example.org"]),
        ..PersonDetails::default()
    };
    home.save(ADA, "anni", change).await.unwrap();
    let [card] = home.people(&[ADA], PersonQuery::Everybody).await.try_into().unwrap();
    assert_eq!(
        card.person,
        Person {
            id: first.person.id,
            scope: ADA,
            name: "Anna Weber".to_owned(),
            relation: None,
            birthday: first.person.birthday,
            user: Some((UserId(2), "Bo".to_owned())),
            identities: identities(&["Anna", "Anni"]),
        }
    );
}

#[tokio::test]
async fn k4_what_cannot_be_is_refused_and_changes_nothing() {
    let home = Harness::new().await;
    home.add(ADA, "Anna").await;
    home.add(ADA, "Joe").await;
    home.add(Scope::House, "Dr Weber").await;
    let rename = PersonDetails {
        name: Some("anna".to_owned()),
        relation: FieldChange::Set("x".to_owned()),
        ..PersonDetails::default()
    };
    let user = PersonDetails { user: FieldChange::Set(HobUser::Called("Eve".to_owned())), ..PersonDetails::default() };
    let many: Vec<String> = (0..=IDENTITIES_MAX).map(|number| format!("name {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = PersonDetails { identities: identities(&many), ..PersonDetails::default() };
    let told = [
        home.save(ADA, "Joe", rename).await.unwrap_err(),
        home.save(ADA, "Joe", user).await.unwrap_err(),
        home.save(ADA, "Joe", many).await.unwrap_err(),
        home.remove(ADA, "Ana").await.unwrap_err(),
        home.remove(ADA, "Dr Weber").await.unwrap_err(),
        home.remove(Scope::House, "Zoe").await.unwrap_err(),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    There is another Anna already: if they are one person, merge them; if not, choose a name that tells them apart.
    No user of Hob is called "Eve". There are: Ada, Bo.
    Nobody may have more than 20 other names and addresses: drop some first.
    Nobody called "Ana" is known. There is Anna.
    Dr Weber is kept for everyone: to change that, set `for` to "everyone".
    Nobody called "Zoe" is known.
    "#);
    let all = home.people(&[ADA, Scope::House], PersonQuery::Everybody).await;
    let names: Vec<(&str, bool)> =
        all.iter().map(|card| (card.person.name.as_str(), card.person.relation.is_some())).collect();
    assert_eq!(names, [("Anna", false), ("Joe", false), ("Dr Weber", false)]);
}

#[tokio::test]
async fn k4_facts_about_somebody_say_whose_they_are_and_follow_the_name() {
    let home = Harness::new().await;
    let told = home.tell(ADA, Some("my sister"), "my sister's birthday", "3 May 1990").await;
    let sister = told.person.unwrap();
    assert_eq!((sister.name.as_str(), told.added), ("sister", Some(Vec::new())));
    assert_eq!(sister.birthday.map(|birthday| birthday.to_string()).as_deref(), Some("1990-05-03"));
    let rename = PersonDetails { name: Some("Anna".to_owned()), ..PersonDetails::default() };
    home.save(ADA, "my sister", rename).await.unwrap();
    home.tell(ADA, Some("Anna"), "job", "baker").await;
    // The key alone names her as well.
    home.tell(ADA, None, "Anna's job", "teacher").await;
    home.tell(ADA, None, "job", "gardener").await;
    assert_eq!(home.facts("my sister").await, ["Anna's birthday: 3 May 1990", "Anna's job: teacher"]);
    assert_eq!((home.found("anna").await, home.found("sister").await, home.found("job").await), (2, 0, 2));
}

#[tokio::test]
async fn k4_two_who_are_one_become_one_and_nothing_is_lost() {
    let home = Harness::new().await;
    let anna = PersonDetails { birthday: born("3 May"), identities: identities(&["Anni"]), ..PersonDetails::default() };
    home.save(ADA, "Anna", anna).await.unwrap();
    let weber = PersonDetails {
        birthday: born("1990-05-03"),
        relation: FieldChange::Set("doctor".to_owned()),
        identities: identities(&["anni", "+49 170 1234"]),
        ..PersonDetails::default()
    };
    home.save(ADA, "Frau Weber", weber).await.unwrap();
    for (who, key, value) in [
        ("Anna", "job", "doctor"),
        ("Anna", "town", "Bonn"),
        ("Frau Weber", "job", "doctor"),
        ("Frau Weber", "town", "Köln"),
        ("Frau Weber", "town", "Ulm"),
        ("Frau Weber", "cake", "apple"),
    ] {
        home.tell(ADA, Some(who), key, value).await;
    }
    for _ in 0..2 {
        // Doing it twice is doing it once.
        let one = home.merge("frau weber", "Anna").await.unwrap();
        assert_eq!((one.name.as_str(), one.relation.as_deref()), ("Anna", Some("doctor")));
        assert_eq!(one.birthday.map(|birthday| birthday.to_string()).as_deref(), Some("1990-05-03"));
    }
    let everybody = home.people(&[ADA], PersonQuery::Everybody).await;
    assert_eq!(everybody.len(), 1);
    assert_eq!(everybody[0].person.identities, identities(&["Anni", "Frau Weber", "+49 170 1234"]));
    let facts = ["Anna's cake: apple", "Anna's job: doctor", "Anna's town: Bonn?", "Anna's town: Ulm?"];
    assert_eq!(home.facts("Frau Weber").await, facts);
    let mut database = Store::raw(&home._dir.path().join("hob.db")).await.unwrap();
    let kept: Vec<(String, bool)> =
        sqlx::query_as("SELECT value, superseded_at IS NULL FROM facts WHERE person_id IS NOT NULL ORDER BY value, 2")
            .fetch_all(&mut database)
            .await
            .unwrap();
    let kept: Vec<(&str, bool)> = kept.iter().map(|(value, current)| (value.as_str(), *current)).collect();
    assert_eq!(
        kept,
        [("Bonn", true), ("Köln", false), ("Ulm", true), ("apple", true), ("doctor", false), ("doctor", true)]
    );
    assert_eq!((home.found("weber").await, home.found("anna").await), (0, 3));
}

#[tokio::test]
async fn k4_two_who_differ_are_not_made_one() {
    let home = Harness::new().await;
    home.save(ADA, "Anna", PersonDetails { birthday: born("3 May 1990"), ..PersonDetails::default() }).await.unwrap();
    home.save(ADA, "Anne", PersonDetails { birthday: born("3 May 1991"), ..PersonDetails::default() }).await.unwrap();
    insta::assert_snapshot!(home.merge("Anne", "Anna").await.unwrap_err(), @"Anna and Anne cannot be one person as they stand: one was born on 3 May 1990, the other on 3 May 1991. Correct one of them first.");
    assert_eq!(home.people(&[ADA], PersonQuery::Everybody).await.len(), 2);
}

#[tokio::test]
async fn k4_what_is_forgotten_of_somebody_is_gone_with_its_history() {
    let home = Harness::new().await;
    home.tell(ADA, Some("Anna"), "town", "Bonn").await;
    home.tell(ADA, Some("Anna"), "town", "Ulm").await;
    home.tell(ADA, Some("Anna"), "job", "baker").await;
    let forget = async || {
        let forget = ForgetPersonFact { whose: whose(ADA), name: "anna".to_owned(), key: "Town".to_owned() };
        home.store.write(async move |tx| forget.run(tx).await).await.unwrap().unwrap()
    };
    assert!(forget().await.is_some());
    assert!(forget().await.is_none());
    assert_eq!(home.facts("Anna").await, ["Anna's job: baker"]);
    home.remove(ADA, "Anna").await.unwrap();
    let mut database = Store::raw(&home._dir.path().join("hob.db")).await.unwrap();
    let left: Vec<(i64,)> = sqlx::query_as(
        "SELECT count(*) FROM facts UNION ALL SELECT count(*) FROM people UNION ALL SELECT count(*) FROM person_identities",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    assert_eq!(left, [(0,), (0,), (0,)]);
}

#[tokio::test]
async fn n8_a_person_of_one_scope_is_never_one_of_another() {
    let home = Harness::new().await;
    let bo = Scope::Person(UserId(2));
    home.tell(ADA, Some("Anna"), "birthday", "3 May").await;
    home.tell(Scope::House, Some("Anna"), "job", "baker").await;
    for (scopes, expected) in [
        (vec![ADA, Scope::House], vec![("Anna's birthday", true), ("Anna's job", false)]),
        (vec![bo, Scope::House], vec![("Anna's job", false)]),
        (vec![bo], vec![]),
    ] {
        for who in [PersonQuery::Called("Anna".to_owned()), PersonQuery::SpokenOf("what of Anna?".to_owned())] {
            let look_up = LookUpPeople { scopes: scopes.clone(), who, now: at(3) };
            let cards = home.store.read(async |tx| look_up.run(tx).await).await.unwrap().unwrap_or_default();
            let seen: Vec<(&str, bool)> =
                cards.iter().map(|card| (card.facts[0].key.as_str(), card.person.birthday.is_some())).collect();
            assert_eq!(seen, expected, "{scopes:?}");
        }
    }
    // What one tells of somebody whom all know is theirs alone.
    home.tell(bo, Some("Anna"), "secret", "she is moving").await;
    assert_eq!(home.people(&[Scope::House], PersonQuery::Called("Anna".to_owned())).await[0].facts.len(), 1);
    // Whom the house knows goes by an admin or an owner, whoever told of them.
    assert!(home.remove(Scope::House, "Anna").await.is_err());
    let mut owner = whose(Scope::House);
    owner.caller.role = Role::Owner;
    home.store
        .write(async move |tx| RemovePerson { whose: owner, name: "Anna".to_owned() }.run(tx).await)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(home.people(&[bo], PersonQuery::Called("Anna".to_owned())).await[0].facts.len(), 1);
    assert_eq!(home.facts("Anna").await, ["Anna's birthday: 3 May"]);
}
