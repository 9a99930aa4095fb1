//! Every text of the program on both engines, over the same rows and with the same arguments: both give the same, and change as many rows.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use hob_core::domain::sql_value::SqlValue;
use sqlx::sqlite::{SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Either, Executor, Row, SqliteConnection, TypeInfo, ValueRef};
use sqlx_postgres::{PgConnection, PgRow};

use super::cluster::{Cluster, connect};
use super::texts::{FILE, Known};
use crate::MIGRATIONS;
use crate::postgres::statement::decode;

const SQLX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.sqlx");
/// Rows of each table, if its checks allow so many.
const ROWS: usize = 40;
/// How often each text is run, with other arguments each time.
const RUNS: usize = 4;

const SCOPES: [&str; 6] = ["house", "p1", "p2", "p3", "c1", "c2"];
const CHANNELS: [&str; 5] = ["telegram", "web", "slack", "email", "terminal"];
const KINDS: [&str; 5] = ["run.begun", "run.ended", "input.steered", "model.asked", "input.accepted"];
const WORDS: [&str; 40] = [
    "house",
    "p1",
    "p2",
    "c1",
    "telegram",
    "web",
    "slack",
    "default",
    "anna",
    "ben",
    "Ben",
    "dogs",
    "the dog runs home",
    "Anna likes cats and tea",
    "key",
    "color",
    "blue",
    "red",
    "[forgotten]",
    "me",
    "heartbeat:1",
    "user",
    "owner",
    "guest",
    "queued",
    "running",
    "waiting",
    "completed",
    "failed",
    "1",
    "2",
    "a/b",
    "run:1:2:0",
    "",
    "x",
    "Élan café",
    "/memory",
    "/facts anna",
    "1.0",
    "[1,2]",
];
const NUMBERS: [i64; 16] = [0, 1, 1, 2, 2, 3, 5, 8, 13, 20, 21, 50, 100, 1_000, 100_000, 1_000_000_000_000];
const TEXT_LISTS: [&str; 5] =
    [r#"["p1","house"]"#, r#"["p1","p2","c1"]"#, r#"["telegram","web"]"#, r#"["queued","completed","dogs"]"#, "[]"];
const NUMBER_LISTS: [&str; 3] = ["[1,2,3]", "[2,5,7,11]", "[]"];
const OBJECT_LISTS: [&str; 4] = [
    "[[0,50],[50,2000]]",
    r#"[["h1",1,2]]"#,
    r#"[[7,"run.begun",1,1,2,5]]"#,
    r#"[{"place":9,"memory":1,"fact":2,"answer":3,"leg":"fact","score":5,"parts":"{}"}]"#,
];
const WORD_QUERIES: [&str; 2] = [
    r#"["text : \"dogs\"", "text : \"home\""]"#,
    r#"["scope : (\"p1\" OR \"house\" OR \"c1\") AND text : (\"cats\" OR \"tea\" OR \"cafe\")"]"#,
];
const FACT_QUERIES: [&str; 2] = [
    r#"scope : ("p1" OR "house" OR "p2") AND {key value} : ("dog" OR "blue" OR "running")"#,
    r#"scope : ("p2" OR "c1" OR "p3") AND {category key value} : ("anna" OR "tea" OR "cafe")"#,
];

#[derive(Debug, Clone)]
pub(super) enum Value {
    Integer(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
    Blob(Option<Vec<u8>>),
}

/// Numbers that only look random (xorshift).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

struct Column {
    name: String,
    kind: String,
    is_needed: bool,
}

macro_rules! bound {
    ($query:expr, $values:expr) => {
        $values.iter().fold($query, |query, value| match value {
            Value::Integer(number) => query.bind(*number),
            Value::Real(number) => query.bind(*number),
            Value::Text(text) => query.bind(text.clone()),
            Value::Blob(bytes) => query.bind(bytes.clone()),
        })
    };
}

#[tokio::test]
async fn both_engines_answer_the_same() {
    let cluster = Cluster::shared();
    let mut postgres = connect(&cluster.database().await).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hob.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .foreign_keys(false)
        .synchronous(SqliteSynchronous::Off);
    let mut sqlite = options.connect().await.unwrap();
    MIGRATIONS.run(&mut sqlite).await.unwrap();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    fill(&mut sqlite, &mut postgres, &mut dice).await;
    let all: BTreeMap<String, Known> = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
    let (mut different, mut telling) = (Vec::new(), 0);
    for (hash, known) in &all {
        let text = std::fs::read_to_string(format!("{SQLX}/query-{hash}.json")).unwrap();
        let described: serde_json::Value = serde_json::from_str(&text).unwrap();
        let sql = described["query"].as_str().unwrap();
        if sql.contains("randomblob") {
            continue;
        }
        let (mut runs, mut found) = (0, false);
        for _ in 0..RUNS * 4 {
            let arguments = arguments(sql, known.parameters.as_ref().unwrap(), &mut dice);
            let texts = Texts { ours: sql, theirs: &known.sql };
            let Some((ours, theirs)) = answers(&mut sqlite, &mut postgres, texts, &arguments).await else {
                continue;
            };
            found |= ours.as_ref().is_ok_and(|rows| !rows.is_empty());
            if ours != theirs {
                different.push(format!("{sql}\n{arguments:?}\nSQLite: {ours:?}\nPostgreSQL: {theirs:?}"));
                break;
            }
            runs += 1;
            if runs == RUNS {
                break;
            }
        }
        telling += usize::from(found);
    }
    let first: Vec<&String> = different.iter().take(5).collect();
    assert!(different.is_empty(), "{} texts differ, such as {first:#?}", different.len());
    assert!(telling > 300, "only {telling} of {} gave rows", all.len());
}

/// Rows that keep to each table's checks, but to no foreign key, in both.
async fn fill(sqlite: &mut SqliteConnection, postgres: &mut PgConnection, dice: &mut Dice) {
    postgres.execute("SET session_replication_role = replica").await.unwrap();
    for (table, insert, rows) in fill_sqlite(sqlite, dice).await {
        for row in &rows {
            bound!(sqlx::query(AssertSqlSafe(insert.clone())), row).execute(&mut *postgres).await.unwrap();
        }
        let next = format!(
            "SELECT setval(s, greatest({}, 1)) FROM pg_get_serial_sequence('{table}', 'id') AS s WHERE s IS NOT NULL",
            rows.len()
        );
        let has_numbers =
            format!("SELECT count(*) FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'id'");
        if sqlx::query_scalar::<_, i64>(AssertSqlSafe(has_numbers)).fetch_one(&mut *postgres).await.unwrap() > 0 {
            postgres.execute(AssertSqlSafe(next)).await.unwrap();
        }
    }
    postgres.execute("SET session_replication_role = origin").await.unwrap();
}

/// The same in SQLite alone. Gives each table's rows, with the text that inserts one.
pub(super) async fn fill_sqlite(
    sqlite: &mut SqliteConnection,
    dice: &mut Dice,
) -> Vec<(String, String, Vec<Vec<Value>>)> {
    let mut filled = Vec::new();
    // There no trigger fires meanwhile; here one would change what is there.
    let counts = "SELECT sql FROM sqlite_schema WHERE name = 'messages_count'";
    let counts: String = sqlx::query_scalar(counts).fetch_one(&mut *sqlite).await.unwrap();
    sqlite.execute("DROP TRIGGER messages_count").await.unwrap();
    let tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
        AND name NOT LIKE '%\\_fts%' ESCAPE '\\' AND name <> '_sqlx_migrations'";
    let tables: Vec<(String, String)> = sqlx::query_as(tables).fetch_all(&mut *sqlite).await.unwrap();
    for (table, sql) in tables {
        let columns = sqlx::query("SELECT name, type, \"notnull\" FROM pragma_table_info($1)").bind(&table);
        let columns = columns.fetch_all(&mut *sqlite).await.unwrap();
        let columns: Vec<Column> =
            columns.iter().map(|row| Column { name: row.get(0), kind: row.get(1), is_needed: row.get(2) }).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let places: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        let insert = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), places.join(", "));
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for number in 1..400 {
            let next = rows.len() as i64 + 1;
            let row: Vec<Value> = columns
                .iter()
                .map(|column| cell(&table, &sql, column, RowNumber { row: next, number }, dice))
                .collect();
            if bound!(sqlx::query(AssertSqlSafe(insert.clone())), row).execute(&mut *sqlite).await.is_ok() {
                rows.push(row);
            }
            if rows.len() == ROWS {
                break;
            }
        }
        filled.push((table, insert, rows));
    }
    sqlite.execute(AssertSqlSafe(counts)).await.unwrap();
    filled
}

/// Which row of a table it is, and the how manieth that was tried for it.
struct RowNumber {
    row: i64,
    number: i64,
}

/// A value for a column.
fn cell(table: &str, sql: &str, column: &Column, at: RowNumber, dice: &mut Dice) -> Value {
    let RowNumber { row, number } = at;
    let is_null = !column.is_needed && dice.below(3) == 0;
    let some = |value: Value| match value {
        Value::Integer(_) if is_null => Value::Integer(None),
        Value::Real(_) if is_null => Value::Real(None),
        Value::Text(_) if is_null => Value::Text(None),
        Value::Blob(_) if is_null => Value::Blob(None),
        value => value,
    };
    let name = column.name.as_str();
    some(match column.kind.as_str() {
        "INTEGER" if name == "id" => Value::Integer(Some(row)),
        // No run works for itself.
        "INTEGER" if name == "parent_run" => Value::Integer((row > 1).then(|| 1 + dice.below(row as usize - 1) as i64)),
        "INTEGER" if name.ends_with("_id") || name.ends_with("_run") => Value::Integer(Some(1 + dice.below(30) as i64)),
        "INTEGER" if sql.contains(&format!("{name} IN (0, 1)")) => Value::Integer(Some(dice.below(2) as i64)),
        "INTEGER" if ["attempts", "turns", "extracted", "tries", "place", "ordinal", "seq"].contains(&name) => {
            Value::Integer(Some(1 + dice.below(9) as i64))
        }
        "INTEGER" => Value::Integer(Some(dice.one(&[0, 1, 2, 5, 7, 10, 20, 50, 100, 1_000, 2_000, 100_000]))),
        "REAL" => Value::Real(Some(dice.one(&[0.0, 0.1, 0.5, 0.8, 0.9, 1.0]))),
        "BLOB" => Value::Blob(Some((0..4 + 4 * dice.below(3)).map(|_| dice.below(256) as u8).collect())),
        _ => Value::Text(Some(match (name, choices(sql, name)) {
            (_, Some(choices)) => choices[dice.below(choices.len())].clone(),
            ("scope", _) => dice.one(&SCOPES).to_owned(),
            ("channel", _) => dice.one(&CHANNELS).to_owned(),
            ("account", _) => "default".to_owned(),
            ("hash", _) => format!("{number:064x}"),
            ("facts", _) => format!("[{row},{}]", row + 1),
            ("body" | "parts" | "prefix" | "run_journal" | "choices", _) => json(dice),
            ("key", _) if ["sessions", "outbox", "files"].contains(&table) => format!("{}{number}", dice.one(&WORDS)),
            ("kind", _) => dice.one(&KINDS).to_owned(),
            _ => dice.one(&WORDS).to_owned(),
        })),
    })
}

/// What a check says a column is one of.
fn choices(sql: &str, column: &str) -> Option<Vec<String>> {
    let (_, list) = sql.split_once(&format!("CHECK ({column} IN ('"))?;
    let (list, _) = list.split_once("')")?;
    Some(list.split("', '").map(str::to_owned).collect())
}

fn json(dice: &mut Dice) -> String {
    let (run, other) = (dice.below(20), dice.below(20));
    let (why, tail) = (dice.one(&WORDS), dice.one(&WORDS));
    let context = serde_json::json!({ "tail": tail, "system": "s", "tools": "t" });
    let room = serde_json::json!({ "carried": [1, { "a": "b" }], "seen": null });
    serde_json::json!({ "run": run, "body": { "run": other, "why": why, "is": "x", "context": context, "room": room } })
        .to_string()
}

/// Arguments of the right kinds, and where a list is wanted, a list.
fn arguments(sql: &str, kinds: &[String], dice: &mut Dice) -> Vec<Value> {
    let argument = |(at, kind): (usize, &String)| {
        let is_null = dice.below(15) == 0;
        match kind.as_str() {
            "int8" if sql.contains(" MATCH ") => Value::Integer(Some(1_000)),
            "int8" => Value::Integer((!is_null).then(|| dice.one(&NUMBERS))),
            "float8" => Value::Real((!is_null).then(|| dice.one(&[0.2, 0.8, 1.0]))),
            "bytea" => Value::Blob((!is_null).then(|| b"abcdefghij".to_vec())),
            _ => Value::Text(match lists(sql, at + 1) {
                Some(lists) => Some(dice.one(lists).to_owned()),
                None => (!is_null).then(|| dice.one(&WORDS).to_owned()),
            }),
        }
    };
    kinds.iter().enumerate().map(argument).collect()
}

/// The lists that this parameter may be, if it is one.
fn lists(sql: &str, number: usize) -> Option<&'static [&'static str]> {
    if sql.contains(&format!("facts_fts MATCH ${number}")) {
        return Some(&FACT_QUERIES);
    }
    if sql.contains(&format!("answers_fts MATCH ${number}")) {
        return Some(&[r#"scope : "p1""#]);
    }
    let (before, after) = sql.split_once(&format!("json_each(${number})"))?;
    let alias = after.trim_start().split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let value = if after.starts_with(' ') && sql.contains(&format!("{alias}.value")) {
        format!("{alias}.value")
    } else {
        "value".to_owned()
    };
    Some(if sql.contains("MATCH wanted.value") {
        &WORD_QUERIES
    } else if sql.contains(&format!("{value} ->>")) {
        &OBJECT_LISTS
    } else if sql.contains(&format!("CAST({alias}.value AS INTEGER)"))
        || before.ends_with("CAST(value AS INTEGER) FROM ")
    {
        &NUMBER_LISTS
    } else {
        &TEXT_LISTS
    })
}

/// Rows of texts, in order.
type Answer = Result<Vec<Vec<String>>, Refusal>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// A constraint does not allow it.
    Constraint,
    /// The program never gives such arguments.
    Argument,
}

/// One text, for SQLite and for PostgreSQL.
struct Texts<'a> {
    ours: &'a str,
    theirs: &'a str,
}

/// What both give; nothing where the arguments were none that the program would ever give.
async fn answers(
    sqlite: &mut SqliteConnection,
    postgres: &mut PgConnection,
    texts: Texts<'_>,
    arguments: &[Value],
) -> Option<(Answer, Answer)> {
    let Texts { ours, theirs } = texts;
    sqlite.execute("BEGIN").await.unwrap();
    let query = bound!(sqlx::query(AssertSqlSafe(ours.to_owned())), arguments);
    let of_ours: Result<Vec<_>, _> = (&mut *sqlite).fetch_many(query).try_collect().await;
    sqlite.execute("ROLLBACK").await.unwrap();
    postgres.execute("BEGIN").await.unwrap();
    let query = bound!(sqlx::query(AssertSqlSafe(theirs.to_owned())), arguments);
    let of_theirs: Result<Vec<_>, _> = (&mut *postgres).fetch_many(query).try_collect().await;
    postgres.execute("ROLLBACK").await.unwrap();
    let of_ours = of_ours.map_err(|error| refusal_of_sqlite(&error)).map(|steps| {
        answer(
            ours,
            steps.iter().map(|step| step.as_ref().map_left(|done| done.rows_affected()).map_right(row_of_sqlite)),
        )
    });
    let of_theirs = of_theirs.map_err(|error| refusal_of_postgres(&error)).map(|steps| {
        answer(
            ours,
            steps.iter().map(|step| step.as_ref().map_left(|done| done.rows_affected()).map_right(row_of_postgres)),
        )
    });
    let is_misfit = |answer: &Answer| *answer == Err(Refusal::Argument);
    (!is_misfit(&of_ours) && !is_misfit(&of_theirs)).then_some((of_ours, of_theirs))
}

/// The rows, sorted; of what gives none, how many it changed. What is new is numbered by each engine itself.
fn answer(sql: &str, steps: impl Iterator<Item = Either<u64, Vec<String>>>) -> Vec<Vec<String>> {
    let (mut rows, mut changed) = (Vec::new(), 0);
    for step in steps {
        match step {
            Either::Left(count) => changed = count,
            Either::Right(row) if sql.starts_with("INSERT") => rows.push(vec![format!("{} columns", row.len())]),
            Either::Right(row) => rows.push(row),
        }
    }
    let gives_none =
        ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| sql.starts_with(verb)) && rows.is_empty() && changed > 0;
    if gives_none {
        rows.push(vec![format!("{changed} rows")]);
    }
    rows.sort_unstable();
    rows
}

fn refusal_of_sqlite(error: &sqlx::Error) -> Refusal {
    let is_constraint = error.as_database_error().is_some_and(|error| error.message().contains("constraint failed"));
    if is_constraint { Refusal::Constraint } else { Refusal::Argument }
}

fn refusal_of_postgres(error: &sqlx::Error) -> Refusal {
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    match code.as_ref() {
        // not_null_violation: SQLite numbers a row by itself. foreign_key_violation: it does not look here.
        "23502" | "23503" => Refusal::Argument,
        code if code.starts_with("23") => Refusal::Constraint,
        code if code.starts_with("22") => Refusal::Argument,
        code => panic!("{code}: {error}"),
    }
}

fn row_of_sqlite(row: &SqliteRow) -> Vec<String> {
    let cell = |place: usize| {
        let value = row.try_get_raw(place).unwrap();
        let kind = value.type_info().name().to_owned();
        match kind.as_str() {
            _ if value.is_null() => "null".to_owned(),
            "INTEGER" => row.get_unchecked::<i64, _>(place).to_string(),
            "REAL" => format!("{:.9}", row.get_unchecked::<f64, _>(place)),
            "BLOB" => format!("{:?}", row.get_unchecked::<Vec<u8>, _>(place)),
            _ => text(row.get_unchecked(place)),
        }
    };
    (0..row.len()).map(cell).collect()
}

fn row_of_postgres(row: &PgRow) -> Vec<String> {
    let cell = |place: usize| match decode(row.try_get_raw(place).unwrap()).unwrap() {
        SqlValue::Integer(Some(number)) => number.to_string(),
        SqlValue::Real(Some(number)) => format!("{number:.9}"),
        SqlValue::Blob(Some(bytes)) => format!("{:?}", bytes.to_vec()),
        SqlValue::Text(Some(found)) => text(found.into_owned()),
        _ => "null".to_owned(),
    };
    (0..row.len()).map(cell).collect()
}

/// Blanks within JSON say nothing, nor whether a number is written as 1 or as 1.0.
fn text(found: String) -> String {
    serde_json::from_str(&found).map_or(found, |json| with_reals(json).to_string())
}

fn with_reals(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Number(number) => serde_json::json!(number.as_f64()),
        serde_json::Value::Array(values) => values.into_iter().map(with_reals).collect(),
        serde_json::Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, with_reals(value))).collect()
        }
        other => other,
    }
}
