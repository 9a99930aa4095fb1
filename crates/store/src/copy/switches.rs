//! What looks at each row that comes in is switched off while a copy is made: references, and triggers but those that keep an index for
//! full-text search. How each is switched on again is kept in the database itself until it is, for whoever finishes the copy.

use sqlx::Executor as _;
use sqlx_postgres::PgConnection;

use crate::Tx;
use crate::copy::catalog::{MARKER, quoted};
use crate::copy::rows::run;
use crate::error::StoreError;
use crate::tx::Engine;
use hob_core::domain::sql_value::SqlValue;

/// Has a copy been begun there?
pub(super) async fn is_off_server(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let there = sqlx::query_scalar("SELECT to_regclass('state_copy') IS NOT NULL");
    Ok(there.fetch_one(connection).await?)
}

pub(super) async fn is_off_file(tx: &mut Tx) -> Result<bool, StoreError> {
    let there = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'state_copy')");
    Ok(there.fetch_one(tx.sqlite()?).await?)
}

/// How each is switched off, and on.
const OF_SQLITE: &str = r#"SELECT 'DROP TRIGGER "' || g.name || '"', g.sql FROM sqlite_schema g
    WHERE g.type = 'trigger' AND NOT EXISTS (
        SELECT 1 FROM pragma_table_list t WHERE t.schema = 'main' AND t.type = 'virtual' AND instr(g.sql, t.name))"#;

const OF_POSTGRES: &str = "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
    UNION ALL
    SELECT DISTINCT format('ALTER TABLE %s DISABLE TRIGGER USER', g.tgrelid::regclass),
        format('ALTER TABLE %s ENABLE TRIGGER USER', g.tgrelid::regclass)
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
    WHERE NOT g.tgisinternal AND c.relnamespace = current_schema()::regnamespace";

pub(super) async fn off(tx: &mut Tx) -> Result<(), StoreError> {
    let switches: Vec<(String, String)> = match tx.engine() {
        Engine::Sqlite(connection) => sqlx::query_as(OF_SQLITE).fetch_all(connection).await?,
        Engine::Postgres(connection) => sqlx::query_as(OF_POSTGRES).fetch_all(connection).await?,
    };
    script(tx, "BEGIN").await?;
    script(tx, &format!("CREATE TABLE {MARKER} (switch_on TEXT NOT NULL)")).await?;
    for (switch_off, switch_on) in switches {
        script(tx, &switch_off).await?;
        run(tx, format!("INSERT INTO {MARKER} (switch_on) VALUES ($1)"), &[SqlValue::Text(Some(switch_on.into()))])
            .await?;
    }
    script(tx, "COMMIT").await
}

/// Switches all of it on, and sets the numbers that new rows go on from. A reference that leads nowhere is an error.
pub(super) async fn on(tx: &mut Tx, numbers: &[(String, i64)]) -> Result<(), StoreError> {
    let kept = format!("SELECT switch_on FROM {MARKER}");
    let kept = sqlx::AssertSqlSafe(kept);
    let switches: Vec<String> = match tx.engine() {
        Engine::Sqlite(connection) => sqlx::query_scalar(kept).fetch_all(connection).await?,
        Engine::Postgres(connection) => sqlx::query_scalar(kept).fetch_all(connection).await?,
    };
    script(tx, "BEGIN").await?;
    for switch_on in switches {
        script(tx, &switch_on).await?;
    }
    set_numbers(tx, numbers).await?;
    script(tx, &format!("DROP TABLE {MARKER}")).await?;
    script(tx, "COMMIT").await
}

/// A statement of several, or one that cannot be prepared.
async fn script(tx: &mut Tx, sql: &str) -> Result<(), StoreError> {
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
    match tx.engine() {
        Engine::Sqlite(connection) => {
            connection.execute(sql).await?;
        }
        Engine::Postgres(connection) => {
            connection.execute(sql).await?;
        }
    }
    Ok(())
}

/// Tables that number their rows by themselves, and the columns with the numbers.
const NUMBERED: &str =
    "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND a.attidentity <> '' AND NOT a.attisdropped";

const NUMBERS: &str = "SELECT c.relname::text,
        coalesce(pg_sequence_last_value(pg_get_serial_sequence(quote_ident(c.relname), a.attname)::regclass), 0)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND a.attidentity <> '' AND NOT a.attisdropped";

/// The last number that each table has given, where no number is given twice.
pub(super) async fn numbers(tx: &mut Tx) -> Result<Vec<(String, i64)>, StoreError> {
    Ok(match tx.engine() {
        Engine::Sqlite(connection) => {
            sqlx::query_as("SELECT name, seq FROM sqlite_sequence").fetch_all(connection).await?
        }
        Engine::Postgres(connection) => sqlx::query_as(NUMBERS).fetch_all(connection).await?,
    })
}

async fn set_numbers(tx: &mut Tx, numbers: &[(String, i64)]) -> Result<(), StoreError> {
    let numbered: Vec<(String, String)> = match tx.engine() {
        Engine::Sqlite(_) => {
            for (table, last) in numbers {
                let values = [SqlValue::Text(Some(table.into())), SqlValue::Integer(Some(*last))];
                let raise = "UPDATE sqlite_sequence SET seq = max(seq, $2) WHERE name = $1";
                let begin = "INSERT INTO sqlite_sequence (name, seq) SELECT $1, $2
                    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)";
                run(tx, raise.to_owned(), &values).await?;
                run(tx, begin.to_owned(), &values).await?;
            }
            return Ok(());
        }
        Engine::Postgres(connection) => sqlx::query_as(NUMBERED).fetch_all(connection).await?,
    };
    for (table, column) in numbered {
        let last = numbers.iter().find(|(name, _)| *name == table).map_or(0, |(_, last)| *last);
        let set = format!(
            "SELECT setval(pg_get_serial_sequence(quote_ident($1), $2), greatest(n.last, 1), n.last > 0)
             FROM (SELECT greatest($3, coalesce(max({column}), 0)) AS last FROM {table}) AS n",
            column = quoted(&column),
            table = quoted(&table)
        );
        let values = [
            SqlValue::Text(Some(table.as_str().into())),
            SqlValue::Text(Some(column.as_str().into())),
            SqlValue::Integer(Some(last)),
        ];
        run(tx, set, &values).await?;
    }
    Ok(())
}
