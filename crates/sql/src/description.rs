//! What is known of each text: what `scripts/sqlx-prepare` has written down.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proc_macro2::Span;
use quote::quote;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use syn::{Ident, Type, parse_quote, parse_str};

/// Of each text for PostgreSQL, by the hash of SQLite's: itself, and the types of its parameters and columns as a server said them.
const ON_POSTGRES: &str = "migrations/postgres/queries.json";

/// A column of a result.
pub(crate) struct Column {
    pub(crate) name: Ident,
    /// The type that a field for it has.
    pub(crate) of: Type,
}

/// What PostgreSQL says about a text.
#[derive(Deserialize)]
pub(crate) struct OnPostgres {
    pub(crate) sql: String,
    /// None: it was not asked yet.
    pub(crate) parameters: Option<Vec<String>>,
    pub(crate) columns: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct File {
    describe: Describe,
}

#[derive(Deserialize)]
struct Describe {
    columns: Vec<DescribedColumn>,
    nullable: Vec<Option<bool>>,
}

#[derive(Deserialize)]
struct DescribedColumn {
    name: String,
    type_info: String,
}

/// How a text is called in both.
pub(crate) fn hash(sqlite: &str) -> String {
    Sha256::digest(sqlite.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What cargo, or who called it, says to the compiler.
fn told(name: &str) -> Option<OsString> {
    #[expect(clippy::disallowed_methods, reason = "a macro is part of the compiler, and has no config")]
    std::env::var_os(name)
}

/// Whether the descriptions are being written: sqlx then asks a database.
pub(crate) fn is_being_written() -> bool {
    told("DATABASE_URL").is_some_and(|url| !url.is_empty())
}

/// Leaves the text for PostgreSQL where sqlx leaves its description.
pub(crate) fn write(sqlite: &str, postgres: &str) -> Result<(), String> {
    let Some(folder) = told("SQLX_OFFLINE_DIR") else { return Ok(()) };
    let file = Path::new(&folder).join(format!("{}.postgres.sql", hash(sqlite)));
    std::fs::write(&file, postgres).map_err(|error| format!("{}: {error}", file.display()))
}

/// The columns of a text, as SQLite described them.
pub(crate) fn columns(sqlite: &str) -> Result<Vec<Column>, String> {
    let path = root()?.join(".sqlx").join(format!("query-{}.json", hash(sqlite)));
    let described =
        std::fs::read_to_string(&path).map_err(|_missing| "run scripts/sqlx-prepare: this text is new".to_owned())?;
    let file: File = serde_json::from_str(&described).map_err(|error| format!("{}: {error}", path.display()))?;
    file.describe
        .columns
        .iter()
        .zip(file.describe.nullable)
        .map(|(column, nullable)| column.declared(nullable))
        .collect()
}

/// What PostgreSQL says about a text; nothing if it was never asked.
pub(crate) fn on_postgres(sqlite: &str) -> Result<Option<&'static OnPostgres>, String> {
    static ALL: OnceLock<Result<HashMap<String, OnPostgres>, String>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let path = root()?.join(ON_POSTGRES);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    });
    Ok(all.as_ref().map_err(Clone::clone)?.get(&hash(sqlite)))
}

/// The folder of the workspace.
fn root() -> Result<PathBuf, String> {
    let own = told("CARGO_MANIFEST_DIR").ok_or("cargo did not say where this crate is")?;
    let found = Path::new(&own).ancestors().find(|folder| folder.join(".sqlx").is_dir());
    found.map(Path::to_owned).ok_or_else(|| "there is no .sqlx: run scripts/sqlx-prepare".to_owned())
}

impl DescribedColumn {
    /// As sqlx has it: `name`, `name!`, `name?`, each with or without `: Type`.
    fn declared(&self, nullable: Option<bool>) -> Result<Column, String> {
        let wrong = |error: syn::Error| format!("column {:?}: {error}", self.name);
        let end = self.name.find([':', '!', '?']).unwrap_or(self.name.len());
        let (name, mut rest) = self.name.split_at(end);
        let mut nullable = nullable.unwrap_or(true);
        if let Some(after) = rest.strip_prefix('!') {
            (nullable, rest) = (false, after);
        } else if let Some(after) = rest.strip_prefix('?') {
            (nullable, rest) = (true, after);
        }
        let of: Type = match (rest.strip_prefix(':'), self.type_info.as_str()) {
            (Some(written), _) => parse_str(written).map_err(wrong)?,
            (None, "Text") => parse_quote!(::std::string::String),
            (None, "Integer") => parse_quote!(i64),
            (None, "Float") => parse_quote!(f64),
            (None, "Blob") => parse_quote!(::std::vec::Vec<u8>),
            (None, other) => {
                return Err(format!("column {:?} is of SQLite's type {other}: write which it becomes", self.name));
            }
        };
        let name = if parse_str::<Ident>(name).is_ok() {
            Ident::new(name, Span::call_site())
        } else {
            Ident::new_raw(name, Span::call_site())
        };
        let of = if nullable { syn::parse2(quote!(::std::option::Option<#of>)).map_err(wrong)? } else { of };
        Ok(Column { name, of })
    }
}
