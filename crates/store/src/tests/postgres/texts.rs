//! Every text of the program, as the server takes it: what it wants as parameters is what the macros bind, and what it gives is what they
//! read (`hob_sql` checks both when it compiles, by what stands in `migrations/postgres/queries.json`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Column, Either, Executor, SqlSafeStr, Statement, TypeInfo};
use sqlx_postgres::{PgConnection, PgTypeInfo};

use super::cluster::{Cluster, connect};

pub(super) const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres/queries.json");
/// What the macros bind.
const KINDS: [&str; 4] = ["int8", "text", "float8", "bytea"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) sql: String,
    #[serde(default)]
    pub(super) parameters: Option<Vec<String>>,
    #[serde(default)]
    columns: Option<Vec<String>>,
}

/// With UPDATE_POSTGRES it writes what it finds (`scripts/sqlx-prepare` has it do so).
#[tokio::test]
async fn every_text_is_taken_and_of_these_types() {
    let cluster = Cluster::shared();
    let mut server = connect(&cluster.database().await).await;
    let file = std::fs::read_to_string(FILE).unwrap();
    let all: BTreeMap<String, Known> = serde_json::from_str(&file).unwrap();
    #[expect(clippy::disallowed_methods, reason = "it is how whoever runs a test says so")]
    let writes = std::env::var_os("UPDATE_POSTGRES").is_some();
    let (mut found, mut wrong) = (BTreeMap::new(), Vec::new());
    for (hash, known) in &all {
        let parameters = match &known.parameters {
            Some(parameters) if !writes => Ok(parameters.clone()),
            _ => infer(&mut server, &known.sql).await,
        };
        match described(&mut server, &known.sql, parameters).await {
            Ok((parameters, columns)) => {
                let sql = known.sql.clone();
                found.insert(hash.clone(), Known { sql, parameters: Some(parameters), columns: Some(columns) });
            }
            Err(why) => wrong.push(format!("{why}\n{}", known.sql)),
        }
    }
    assert!(wrong.is_empty(), "{} texts are not taken:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(all.len() > 540, "only {}", all.len());
    if writes {
        std::fs::write(FILE, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    } else {
        assert_eq!(found, all, "run scripts/sqlx-prepare");
    }
}

/// The types of its parameters and columns, given those of its parameters.
async fn described(
    server: &mut PgConnection,
    sql: &str,
    parameters: Result<Vec<String>, String>,
) -> Result<(Vec<String>, Vec<String>), String> {
    let parameters = parameters?;
    let types: Vec<PgTypeInfo> = parameters.iter().map(|name| PgTypeInfo::with_name(kind(name))).collect();
    let text = AssertSqlSafe(sql.to_owned()).into_sql_str();
    let statement = server.prepare_with(text, &types).await.map_err(|error| error.to_string())?;
    let Some(Either::Left(wanted)) = statement.parameters() else { return Err("no parameters are told".to_owned()) };
    let wanted: Vec<String> = wanted.iter().map(|of| of.name().to_lowercase()).collect();
    let columns = statement.columns().iter().map(|column| column.type_info().name().to_lowercase()).collect();
    Ok((wanted, columns))
}

fn kind(name: &str) -> &'static str {
    KINDS.into_iter().find(|kind| *kind == name).unwrap_or("text")
}

/// Which types its parameters are of, by what the server makes of them; what it cannot tell, it is told.
async fn infer(server: &mut PgConnection, sql: &str) -> Result<Vec<String>, String> {
    let count = (1..100).take_while(|number| sql.contains(&format!("${number}"))).count();
    let mut types = vec!["unknown"; count];
    let mut last = prepare(server, sql, &types).await;
    while let Err(error) = &last {
        let named = (0..count).find(|at| error.ends_with(&format!("parameter ${}", at + 1)));
        let mut better = None;
        for at in named.map_or(0..count, |at| at..at + 1).filter(|at| types[*at] == "unknown").collect::<Vec<_>>() {
            for kind in KINDS {
                let mut tried = types.clone();
                tried[at] = kind;
                let result = prepare(server, sql, &tried).await;
                let is_further = result.is_ok() || result.as_ref().is_err_and(|other| is_about_another(other, error));
                if better.is_none() && is_further {
                    better = Some((tried, result));
                }
            }
        }
        let Some((tried, result)) = better else { return Err(error.clone()) };
        (types, last) = (tried, result);
    }
    last
}

/// Whether an error is that another parameter is unknown.
fn is_about_another(error: &str, before: &str) -> bool {
    error.contains("could not determine data type of parameter") && error != before
}

async fn prepare(server: &mut PgConnection, sql: &str, types: &[&str]) -> Result<Vec<String>, String> {
    let given = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
    let prepared = server.execute(sqlx::raw_sql(AssertSqlSafe(format!("PREPARE tried {given} AS {sql}")))).await;
    prepared.map_err(|error| {
        error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
    })?;
    let types = "SELECT array_to_string(parameter_types, ',') FROM pg_prepared_statements WHERE name = 'tried'";
    let types: String = sqlx::query_scalar(types).fetch_one(&mut *server).await.unwrap();
    server.execute(sqlx::raw_sql("DEALLOCATE tried")).await.unwrap();
    let short = |name: &str| match name {
        "bigint" | "integer" => "int8".to_owned(),
        "double precision" => "float8".to_owned(),
        other => other.to_owned(),
    };
    Ok(types.split(',').filter(|name| !name.is_empty()).map(short).collect())
}
