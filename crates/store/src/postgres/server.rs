//! What a server must be so that Hob can keep its state there, and what to do where it is not.

use std::str::FromStr;

use sqlx::{ConnectOptions, Connection, Error, Executor, Row};
use sqlx_postgres::{PgConnectOptions, PgConnection, PgDatabaseError};
use tokio::time::Instant;

use hob_core::domain::clock::Clock;

use crate::error::StoreError;
use crate::inspect::ServerReport;

/// The oldest version that has all that is used.
const VERSION_MIN: i32 = 15;

/// What the server says of itself and of this role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerTraits {
    /// 15.3 is 150003.
    version: i32,
    encoding: String,
    has_icu: bool,
    writes: WriteAccess,
    /// Where tables are made; none: nowhere.
    schema: Option<String>,
    may_create: bool,
    role: String,
}

/// Whether a server takes what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteAccess {
    Given,
    /// It is a copy of another server.
    Replica,
    /// By `default_transaction_read_only`.
    ReadOnly,
}

const TRAITS: &str = "SELECT current_setting('server_version_num')::int, pg_encoding_to_char(d.encoding)::text,
        EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'), pg_is_in_recovery(),
        current_setting('default_transaction_read_only') = 'on', current_schema()::text,
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), current_user::text
    FROM pg_database d WHERE d.datname = current_database()";

impl ServerTraits {
    pub(crate) async fn of(connection: &mut PgConnection) -> Result<Self, Error> {
        let row = sqlx::query(TRAITS).fetch_one(connection).await?;
        Ok(Self {
            version: row.try_get(0)?,
            encoding: row.try_get(1)?,
            has_icu: row.try_get(2)?,
            writes: match (row.try_get(3)?, row.try_get(4)?) {
                (true, _) => WriteAccess::Replica,
                (false, true) => WriteAccess::ReadOnly,
                (false, false) => WriteAccess::Given,
            },
            schema: row.try_get(5)?,
            may_create: row.try_get(6)?,
            role: row.try_get(7)?,
        })
    }

    /// What keeps a Hob from working with it.
    pub(crate) fn objection(&self) -> Result<(), StoreError> {
        if self.version / 10_000 < VERSION_MIN {
            let what = format!("it is PostgreSQL {}, and {VERSION_MIN} or later is needed", self.version_text());
            return refuse(what, "upgrade it (`pg_upgrade`), or name another server");
        }
        if self.encoding != "UTF8" {
            let what = format!("the database's encoding is {}, and UTF8 is needed", self.encoding);
            return refuse(what, "make another: `createdb --encoding=UTF8 --template=template0 hob`");
        }
        if !self.has_icu {
            return refuse(
                "it was built without ICU",
                "name a server that has it, as the packages of distributions do",
            );
        }
        match self.writes {
            WriteAccess::Given => Ok(()),
            WriteAccess::Replica => {
                refuse("it is a replica, which only reads", "name the primary server in `url` under [state]")
            }
            WriteAccess::ReadOnly => {
                let fix = format!("`ALTER ROLE {} SET default_transaction_read_only = off`", self.role);
                refuse("transactions only read there (default_transaction_read_only)", fix)
            }
        }
    }

    /// What keeps it from making tables.
    pub(crate) fn objection_to_tables(&self) -> Result<(), StoreError> {
        match &self.schema {
            Some(_) if self.may_create => Ok(()),
            Some(schema) => refuse(
                format!("the role {} may make no tables in the schema {schema}", self.role),
                format!("as the database's owner: `GRANT CREATE ON SCHEMA {schema} TO {}`", self.role),
            ),
            None => refuse(
                format!("the role {} has no schema to make tables in", self.role),
                format!("as the database's owner: `CREATE SCHEMA AUTHORIZATION {}`", self.role),
            ),
        }
    }

    pub(crate) fn version_text(&self) -> String {
        format!("{}.{}", self.version / 10_000, self.version % 10_000)
    }
}

pub(crate) fn refuse<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Server { what: what.into(), fix: fix.into() })
}

/// What the URL says.
pub(crate) fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(url);
    let options =
        options.or_else(|error| refuse(format!("its URL cannot be read: {error}"), "mend `url` under [state]"))?;
    // Whoever only asks whether a statement would be logged makes `tracing` drop the next line of whatever else is said on this thread.
    Ok(options.application_name("hob").disable_statement_logging())
}

/// The URL without a password.
pub(crate) fn shown(url: &str) -> String {
    let Ok(options) = options(url) else { return "a PostgreSQL server".to_owned() };
    let (user, database) = (options.get_username(), options.get_database().unwrap_or(options.get_username()));
    match options.get_socket() {
        Some(socket) => format!("postgres://{user}@/{database}?host={}", socket.display()),
        None => format!("postgres://{user}@{}:{}/{database}", options.get_host(), options.get_port()),
    }
}

/// Connects. The errors say what to do, as whoever begins with it will read them.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    options.connect().await.map_err(|error| why_not_connected(&error, options))
}

fn why_not_connected(error: &Error, options: &PgConnectOptions) -> StoreError {
    let (role, database) = (options.get_username(), options.get_database().unwrap_or(options.get_username()));
    let reported = error.as_database_error().and_then(|reported| reported.try_downcast_ref::<PgDatabaseError>());
    let fix = match reported.map(PgDatabaseError::code) {
        // invalid_password, invalid_authorization_specification
        Some("28P01" | "28000") => format!(
            "look at the user and the password in `url` under [state], and at the server's pg_hba.conf; a new user: \
             `createuser --pwprompt {role}`"
        ),
        // invalid_catalog_name
        Some("3D000") => {
            format!("make it: `createdb --owner={role} --encoding=UTF8 --template=template0 {database}`")
        }
        // insufficient_privilege
        Some("42501") => format!("as the database's owner: `GRANT CONNECT ON DATABASE {database} TO {role}`"),
        // too_many_connections
        Some("53300") => "raise max_connections of the server, or end other programs' connections".to_owned(),
        _ => "look whether it runs and can be reached from here, and at `url` under [state]".to_owned(),
    };
    StoreError::Server { what: error.to_string(), fix }
}

/// So many of the smallest questions are asked.
const QUESTIONS: usize = 9;

/// Looks at it.
pub(crate) async fn inspect(url: &str, clock: &dyn Clock) -> Result<ServerReport, StoreError> {
    let options = options(url)?;
    let mut connection = connect(&options).await?;
    let traits = ServerTraits::of(&mut connection).await?;
    traits.objection()?;
    let (schema, known) = (super::schema(&mut connection).await?, super::known());
    if schema.is_none_or(|found| found < known) {
        traits.objection_to_tables()?;
    }
    let mut round_trips = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let asked = Instant::now();
        connection.execute("SELECT 1").await?;
        round_trips.push(asked.elapsed());
    }
    round_trips.sort_unstable();
    let asked = clock.now().as_millisecond();
    let row = sqlx::query(NUMBERS).fetch_one(&mut connection).await?;
    let here = asked.midpoint(clock.now().as_millisecond());
    let report = ServerReport {
        place: shown(url),
        version: traits.version_text(),
        schema,
        known,
        bytes: database_bytes(&mut connection).await?,
        round_trip: round_trips[QUESTIONS / 2],
        ahead_ms: row.try_get::<i64, _>(0)?.saturating_sub(here),
        connections: row.try_get(1)?,
        connections_max: row.try_get(2)?,
    };
    connection.close().await?;
    Ok(report)
}

/// How much room the database takes there.
pub(crate) async fn bytes(url: &str) -> Result<u64, StoreError> {
    let mut connection = connect(&options(url)?).await?;
    let bytes = database_bytes(&mut connection).await?;
    connection.close().await?;
    Ok(bytes)
}

pub(crate) async fn database_bytes(connection: &mut PgConnection) -> Result<u64, Error> {
    let size = sqlx::query_scalar::<_, i64>("SELECT pg_database_size(current_database())");
    Ok(u64::try_from(size.fetch_one(connection).await?).unwrap_or(0))
}

const NUMBERS: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT sum(numbackends)::bigint FROM pg_stat_database), current_setting('max_connections')::bigint";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_a_postgresql_that_will_not_do_says_what_to_do() {
        let fine = ServerTraits {
            version: 150_003,
            encoding: "UTF8".to_owned(),
            has_icu: true,
            writes: WriteAccess::Given,
            schema: Some("public".to_owned()),
            may_create: true,
            role: "hob".to_owned(),
        };
        assert!(fine.objection().is_ok() && fine.objection_to_tables().is_ok());
        let said = |traits: ServerTraits| {
            let objection = traits.objection().and_then(|()| traits.objection_to_tables());
            objection.unwrap_err().to_string()
        };
        let all = [
            said(ServerTraits { version: 140_011, ..fine.clone() }),
            said(ServerTraits { encoding: "SQL_ASCII".to_owned(), ..fine.clone() }),
            said(ServerTraits { has_icu: false, ..fine.clone() }),
            said(ServerTraits { writes: WriteAccess::Replica, ..fine.clone() }),
            said(ServerTraits { writes: WriteAccess::ReadOnly, ..fine.clone() }),
            said(ServerTraits { may_create: false, ..fine.clone() }),
            said(ServerTraits { schema: None, may_create: false, ..fine }),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        the database server cannot be used: it is PostgreSQL 14.11, and 15 or later is needed; upgrade it (`pg_upgrade`), or name another server
        the database server cannot be used: the database's encoding is SQL_ASCII, and UTF8 is needed; make another: `createdb --encoding=UTF8 --template=template0 hob`
        the database server cannot be used: it was built without ICU; name a server that has it, as the packages of distributions do
        the database server cannot be used: it is a replica, which only reads; name the primary server in `url` under [state]
        the database server cannot be used: transactions only read there (default_transaction_read_only); `ALTER ROLE hob SET default_transaction_read_only = off`
        the database server cannot be used: the role hob may make no tables in the schema public; as the database's owner: `GRANT CREATE ON SCHEMA public TO hob`
        the database server cannot be used: the role hob has no schema to make tables in; as the database's owner: `CREATE SCHEMA AUTHORIZATION hob`
        ");
    }

    #[test]
    fn n15_a_postgresql_is_shown_without_its_password() {
        for (url, expected) in [
            ("postgres://hob:hunter2@db.example/house", "postgres://hob@db.example:5432/house"),
            ("postgres://hob@db.example:5433?password=hunter2", "postgres://hob@db.example:5433/hob"),
            (
                "postgres://hob:hunter2@localhost/house?host=/run/postgresql",
                "postgres://hob@/house?host=/run/postgresql",
            ),
            ("hunter2", "a PostgreSQL server"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
