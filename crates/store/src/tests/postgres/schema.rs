//! The two schemas, side by side: what one has, the other has.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row, SqliteConnection};
use sqlx_postgres::PgConnection;

use super::cluster::{Cluster, connect};
use crate::MIGRATIONS;
use crate::copy::NOT_STATE;

/// What each engine says of itself, in the same words: a line for each column, key, check, index and trigger.
#[tokio::test]
async fn both_schemas_are_the_same() {
    let cluster = Cluster::shared();
    let mut server = connect(&cluster.database().await).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hob.db");
    let mut sqlite =
        sqlx::sqlite::SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await.unwrap();
    MIGRATIONS.run(&mut sqlite).await.unwrap();
    let (ours, theirs) = (of_sqlite(&mut sqlite).await, of_postgres(&mut server).await);
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!((only(&ours, &theirs), only(&theirs, &ours)), (Vec::new(), Vec::new()), "SQLite has, PostgreSQL has");
    assert!(ours.len() > 700, "only {}", ours.len());
}

const OF_SQLITE: &[&str] = &[
    "SELECT t.name || '.' || c.name || ' ' || lower(c.type) || CASE WHEN c.\"notnull\" OR c.pk THEN ' not null' ELSE '' END
       || coalesce(' default ' || c.dflt_value, '')
     FROM tables t, pragma_table_info(t.name) c",
    "SELECT t.name || ' is by ' || (SELECT group_concat(c.name, ', ' ORDER BY c.pk) FROM pragma_table_info(t.name) c WHERE c.pk)
     FROM tables t",
    "SELECT t.name || '.' || k.\"from\" || ' refers to ' || k.\"table\" || ', on delete ' || lower(k.on_delete)
     FROM tables t, pragma_foreign_key_list(t.name) k",
    "SELECT t.name || ' has checks: ' || ((length(t.sql) - length(replace(t.sql, 'CHECK (', ''))) / 7) FROM tables t",
    "SELECT t.name || ' is unique by ' || (SELECT group_concat(c.name, ', ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c)
     FROM tables t, pragma_index_list(t.name) i WHERE i.origin = 'u'",
    "SELECT i.name || ' of ' || t.name || CASE WHEN i.\"unique\" THEN ', unique' ELSE '' END
       || CASE WHEN i.partial THEN ', partial' ELSE '' END || ': '
       || (SELECT group_concat(coalesce(c.name, 'expression'), ', ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c)
     FROM tables t, pragma_index_list(t.name) i WHERE i.origin = 'c'",
    // Of full-text search there are none on PostgreSQL, where columns are generated.
    "SELECT g.name || ' of ' || g.tbl_name FROM sqlite_schema g WHERE g.type = 'trigger' AND g.sql NOT LIKE '%\\_fts%' ESCAPE '\\'",
];

async fn of_sqlite(connection: &mut SqliteConnection) -> BTreeSet<String> {
    let tables = "CREATE TEMP VIEW tables AS SELECT name, sql FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> '_sqlx_migrations' AND name NOT LIKE '%\\_fts%' ESCAPE '\\'";
    connection.execute(tables).await.unwrap();
    let mut lines = BTreeSet::new();
    for query in OF_SQLITE {
        let rows = sqlx::query(*query).fetch_all(&mut *connection).await.unwrap();
        lines.extend(rows.iter().map(|row| translated(row.get::<String, _>(0))));
    }
    lines
}

/// A column's type as PostgreSQL calls it.
fn translated(line: String) -> String {
    let types = [(" integer", " bigint"), (" real", " double precision"), (" blob", " bytea")];
    types.iter().fold(line, |line, (ours, theirs)| {
        let end = line.strip_suffix(ours).map(|before| format!("{before}{theirs}"));
        end.unwrap_or_else(|| line.replacen(&format!("{ours} "), &format!("{theirs} "), 1))
    })
}

const OF_POSTGRES: &[&str] = &[
    "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
       || coalesce(' default ' || replace(pg_get_expr(d.adbin, d.adrelid), '::text', ''), '')
     FROM tables c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE a.atttypid <> 'tsvector'::regtype",
    "SELECT c.relname || ' is by ' || columns_of(k.conrelid, k.conkey) FROM tables c JOIN pg_constraint k ON k.conrelid = c.oid
     WHERE k.contype = 'p'",
    "SELECT c.relname || '.' || columns_of(k.conrelid, k.conkey) || ' refers to ' || k.confrelid::regclass || ', on delete '
       || CASE k.confdeltype WHEN 'a' THEN 'no action' WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' ELSE k.confdeltype::text END
     FROM tables c JOIN pg_constraint k ON k.conrelid = c.oid WHERE k.contype = 'f'",
    "SELECT c.relname || ' has checks: ' || (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c')
     FROM tables c",
    "SELECT c.relname || ' is unique by ' || columns_of(k.conrelid, k.conkey) FROM tables c JOIN pg_constraint k ON k.conrelid = c.oid
     WHERE k.contype = 'u'",
    "SELECT n.relname || ' of ' || c.relname || CASE WHEN i.indisunique THEN ', unique' ELSE '' END
       || CASE WHEN i.indpred IS NOT NULL THEN ', partial' ELSE '' END || ': '
       || (SELECT string_agg(coalesce(a.attname, 'expression'), ', ' ORDER BY k.place)
           FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place)
           LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0)
     FROM tables c JOIN pg_index i ON i.indrelid = c.oid JOIN pg_class n ON n.oid = i.indexrelid
     JOIN pg_am m ON m.oid = n.relam
     WHERE m.amname = 'btree' AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = n.oid AND k.contype IN ('p', 'u'))",
    "SELECT lower(g.tgname) || ' of ' || c.relname FROM tables c JOIN pg_trigger g ON g.tgrelid = c.oid WHERE NOT g.tgisinternal",
];

async fn of_postgres(connection: &mut PgConnection) -> BTreeSet<String> {
    let tables = format!(
        "CREATE TEMP VIEW tables AS SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
            AND relkind = 'r' AND relname NOT IN ('{}')",
        NOT_STATE.join("', '")
    );
    connection.execute(AssertSqlSafe(tables)).await.unwrap();
    // In a database of this test alone.
    let columns_of = "CREATE FUNCTION columns_of(of_table OID, numbers SMALLINT[]) RETURNS TEXT LANGUAGE sql RETURN (
        SELECT string_agg(a.attname, ', ' ORDER BY n.place) FROM unnest(numbers) WITH ORDINALITY AS n (number, place)
        JOIN pg_attribute a ON a.attrelid = of_table AND a.attnum = n.number)";
    connection.execute(columns_of).await.unwrap();
    let other_order = "SELECT count(*) FROM tables c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        JOIN pg_collation o ON o.oid = a.attcollation WHERE o.collname NOT IN ('C', 'nocase')";
    assert_eq!(
        sqlx::query_scalar::<_, i64>(other_order).fetch_one(&mut *connection).await.unwrap(),
        0,
        "not compared bytewise"
    );
    let mut lines = BTreeSet::new();
    for query in OF_POSTGRES {
        // So that each is text, whatever PostgreSQL calls it.
        let text = format!("SELECT line::text FROM ({query}) AS q (line)");
        let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut *connection).await.unwrap();
        lines.extend(rows.iter().map(|row| row.get::<String, _>(0)));
    }
    lines
}
