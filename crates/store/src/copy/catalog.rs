//! Which tables a database has, by its own catalog, in the same words for both engines.

use crate::Tx;
use crate::error::StoreError;
use crate::tx::Engine;

/// Where a copy that is not finished keeps what it has switched off.
pub(super) const MARKER: &str = "state_copy";

/// What belongs to a database, and not to the state in it: its migrations, and the daemons that work with it.
pub(crate) const NOT_STATE: [&str; 4] = ["_sqlx_migrations", "daemons", "daemon_beats", "leases"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// By their names.
    pub(super) columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    /// Its place in the primary key, from 1; 0: it is not in it.
    key: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer,
    Real,
    Text,
    Blob,
}

impl Table {
    /// The columns of its primary key, in the key's order.
    pub(super) fn key(&self) -> Vec<&Column> {
        let mut key: Vec<&Column> = self.columns.iter().filter(|column| column.key > 0).collect();
        key.sort_by_key(|column| column.key);
        key
    }

    /// In SQL.
    pub(super) fn quoted(&self) -> String {
        quoted(&self.name)
    }
}

/// The names of these columns, in SQL.
pub(super) fn listed<'c>(columns: impl IntoIterator<Item = &'c Column>) -> String {
    columns.into_iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

const OF_SQLITE: &str =
    "SELECT t.name, c.name, lower(c.type), c.pk FROM pragma_table_list t, pragma_table_info(t.name) c
    WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY t.name, c.name";

const OF_POSTGRES: &str = r#"SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
        coalesce(array_position(k.conkey, a.attnum), 0)::bigint
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
    ORDER BY c.relname COLLATE "C", a.attname COLLATE "C""#;

/// All tables with rows of their own. What is derived is not among them: an index for full-text search, a generated column.
pub(super) async fn tables(tx: &mut Tx) -> Result<Vec<Table>, StoreError> {
    let lines: Vec<(String, String, String, i64)> = match tx.engine() {
        Engine::Sqlite(connection) => sqlx::query_as(OF_SQLITE).fetch_all(connection).await?,
        Engine::Postgres(connection) => sqlx::query_as(OF_POSTGRES).fetch_all(connection).await?,
    };
    let mut tables: Vec<Table> = Vec::new();
    for (table, name, kind, key) in lines {
        if table == MARKER || NOT_STATE.contains(&table.as_str()) {
            continue;
        }
        let kind = match kind.as_str() {
            "integer" | "bigint" => ColumnKind::Integer,
            "real" | "double precision" => ColumnKind::Real,
            "text" => ColumnKind::Text,
            "blob" | "bytea" => ColumnKind::Blob,
            other => return Err(StoreError::inconsistent("the schema", format!("{table}.{name}"), other)),
        };
        let column = Column { name, kind, key };
        match tables.last_mut().filter(|last| last.name == table) {
            Some(last) => last.columns.push(column),
            None => tables.push(Table { name: table, columns: vec![column] }),
        }
    }
    Ok(tables)
}
