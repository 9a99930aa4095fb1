//! Which of the daemons on one database leads; the others stand by.
//!
//! Everything that a daemon holds hangs on its row in `daemons`, which each of its transactions locks before anything else. Whoever
//! takes over deletes that row, and waits for those that have it locked. So a daemon that was stopped past its lease and wakes
//! commits nothing; before it does anything outside it looks whether its lease has run out ([`Lease::until_certain`]).
//!
//! Never: a comparison of two machines' clocks. Who is alive is told by the server's, and one's own doubt by the one that never jumps.
//! Start at [`join`].

use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Error, Executor, Row};
use sqlx_postgres::{PgConnectOptions, PgConnection};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::address::{SERVES_AT, reached, this_network};
use super::use_together;
use crate::daemons::{DaemonIdentity, LeadingDaemon, StandsBy};
use crate::error::StoreError;
use hob_telemetry::tasks;

/// So long a daemon counts as alive after it was last heard of.
const LEASE: Duration = Duration::from_secs(10);
/// Between two signs of life of the one that leads.
const BEAT_EVERY: Duration = Duration::from_secs(3);
/// The same of one that stands by, which looks each time; and between two attempts to reach the server.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the server may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// What whoever leads has; with it all that is done once.
const HOUSE: &str = "house";

const SIGN_UP: &str =
    "INSERT INTO daemons (boot, name, version, config, started_at) VALUES ($1, $2, $3, $4, clock_ms())";
const BE_HEARD: &str = "INSERT INTO daemon_beats (boot, alive_until) VALUES ($1, clock_ms() + $2)";
/// A sign of life and a look in one.
const BEAT_AND_LOOK: &str =
    "WITH beat AS (UPDATE daemon_beats SET alive_until = clock_ms() + $2 WHERE boot = $1 RETURNING boot)
     SELECT (SELECT count(*) FROM beat) AS heard, l.boot, d.name, d.version, d.config, b.alive_until < clock_ms() AS is_silent,
       (SELECT min(s.what) FROM leases s WHERE s.boot = l.boot AND starts_with(s.what, $4)) AS served
     FROM (SELECT) AS one LEFT JOIN leases l ON l.what = $3 LEFT JOIN daemons d ON d.boot = l.boot
       LEFT JOIN daemon_beats b ON b.boot = l.boot";
/// As long as these rows are locked, their daemons are not heard again.
const SILENT: &str = "SELECT boot FROM daemon_beats WHERE alive_until < clock_ms() ORDER BY boot FOR UPDATE";
/// What it had begun is taken back at once: a machine that is gone does not end its connections by itself.
const CUT_OFF: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()";
/// With it goes all that it held.
const DROP: &str = "DELETE FROM daemons WHERE boot = $1";
const HOLD: &str = "INSERT INTO leases (what, boot) VALUES ($1, $2) ON CONFLICT (what) DO NOTHING";
const IS_HELD: &str =
    "SELECT EXISTS (SELECT 1 FROM leases l JOIN daemon_beats b ON b.boot = l.boot WHERE b.alive_until >= clock_ms())";

/// What others see of a daemon's connections.
pub(super) fn application_name(boot: &str) -> String {
    format!("hob {boot}")
}

/// Whether a daemon leads.
pub(super) async fn is_held(connection: &mut PgConnection) -> Result<bool, Error> {
    sqlx::query_scalar(IS_HELD).fetch_one(connection).await
}

/// Who leads, as far as this daemon knows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Leader {
    Unknown,
    Myself,
    Another(LeadingDaemon),
}

/// A daemon's place among the others: it is there, and perhaps leads.
pub(crate) struct Lease {
    who: DaemonIdentity,
    begin: String,
    options: PgConnectOptions,
    /// Before this moment nobody can have taken over from it.
    certain_until: watch::Sender<Instant>,
    leader: watch::Sender<Leader>,
    /// Somebody has taken over from it.
    lost: CancellationToken,
    /// It is given back.
    released: CancellationToken,
}

impl Lease {
    fn new(who: &DaemonIdentity, options: &PgConnectOptions, certain_until: Instant) -> Self {
        // One round trip, as without a lease.
        let begin = format!(
            "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_current_xact_id()::text AS number,
             (SELECT true FROM daemons WHERE boot = '{}' FOR KEY SHARE) AS is_there",
            who.boot.replace('\'', "''")
        );
        Self {
            who: who.clone(),
            begin,
            options: options.clone(),
            certain_until: watch::Sender::new(certain_until),
            leader: watch::Sender::new(Leader::Unknown),
            lost: CancellationToken::new(),
            released: CancellationToken::new(),
        }
    }

    /// What each transaction begins with: `is_there` is nothing in it once somebody has taken over.
    pub(super) fn begin(&self) -> &str {
        &self.begin
    }

    /// Somebody has taken over.
    pub(super) fn lose(&self) {
        self.lost.cancel();
    }

    /// Completes when somebody has taken over.
    pub(crate) async fn until_lost(&self) {
        self.lost.cancelled().await;
    }

    /// Waits as long as somebody may have taken over without this daemon knowing; for ever, if somebody has.
    pub(crate) async fn until_certain(&self) {
        let mut certain = self.certain_until.subscribe();
        while self.lost.is_cancelled() || *certain.borrow_and_update() <= Instant::now() {
            if certain.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this daemon leads. While another does, `stands_by` is told which, and may break off.
    pub(super) async fn until_leads(&self, stands_by: &StandsBy<'_>) -> Result<(), StoreError> {
        let mut leader = self.leader.subscribe();
        loop {
            let known = leader.borrow_and_update().clone();
            match known {
                Leader::Myself => return Ok(()),
                Leader::Another(other) if stands_by(&other).is_break() => return Err(StoreError::Led(other.name)),
                Leader::Another(_) | Leader::Unknown => {}
            }
            tokio::select! {
                biased;
                () = self.until_lost() => return Err(StoreError::Fenced),
                changed = leader.changed() => changed.map_err(|_gone| StoreError::Closed)?,
            }
        }
    }

    /// Whoever stands by may lead from now on.
    pub(super) async fn release(&self) {
        self.released.cancel();
        if let Err(error) = Link::new(&self.options).sign_off(&self.who.boot).await {
            tracing::warn!(%error, "the lease could not be given back: it runs out in {LEASE:?}");
        }
    }
}

/// From now on this daemon is there. The start before it in the same place is over, with all that it held.
pub(super) async fn join(options: &PgConnectOptions, who: &DaemonIdentity) -> Result<Arc<Lease>, StoreError> {
    let mut link = Link::new(options);
    if let Some(former) = &who.former {
        link.drop_daemon(former).await?;
    }
    let asked = Instant::now();
    link.sign_up(who).await?;
    let lease = Arc::new(Lease::new(who, options, asked + LEASE));
    tasks::spawn("the lease", keep(Arc::downgrade(&lease), lease.released.clone(), link));
    Ok(lease)
}

/// Gives signs of life, and takes the lead when nobody has it.
async fn keep(lease: Weak<Lease>, released: CancellationToken, mut link: Link) {
    // Whoever could not be heard itself does not know who else could not.
    let mut judges_from = Instant::now();
    let mut wait = Duration::ZERO;
    while timeout(wait, released.cancelled()).await.is_err() {
        let Some(lease) = lease.upgrade() else { return };
        let asked = Instant::now();
        let leader = match link.look(&lease.who.boot).await {
            Ok(Look { is_heard: false, .. }) => return lease.lose(),
            Ok(Look { holder, .. }) => {
                lease.certain_until.send_replace(asked + LEASE);
                match holder {
                    Some(holder) if holder.boot == lease.who.boot => Ok(Leader::Myself),
                    Some(holder) if !holder.is_silent || asked < judges_from => {
                        Ok(Leader::Another(holder.seen_by(&lease.who)))
                    }
                    // It is seen at the next look whether that was so.
                    _ => link.take(&lease.who.boot, judges_from <= asked).await.map(|()| Leader::Unknown),
                }
            }
            Err(error) => Err(error),
        };
        wait = match leader {
            Ok(Leader::Unknown) => Duration::ZERO,
            Ok(leader) => {
                let wait = if leader == Leader::Myself { BEAT_EVERY } else { LOOK_EVERY };
                lease.leader.send_if_modified(|known| {
                    let is_new = *known != leader;
                    *known = leader;
                    is_new
                });
                wait
            }
            Err(error) => {
                tracing::warn!(%error, "the other daemons cannot be seen; trying again");
                judges_from = Instant::now() + LEASE;
                LOOK_EVERY
            }
        };
    }
}

/// Whoever has the lead.
struct Holder {
    boot: String,
    name: String,
    version: String,
    config: String,
    is_silent: bool,
    served: Option<String>,
}

impl Holder {
    fn seen_by(self, who: &DaemonIdentity) -> LeadingDaemon {
        // Another version writes it in other words.
        let is_alike = self.config == who.config || self.version != env!("CARGO_PKG_VERSION");
        let serves_at = self.served.and_then(|served| reached(&served, this_network().as_deref()));
        LeadingDaemon { name: self.name, is_alike, serves_at }
    }
}

struct Look {
    /// This daemon still counts as there.
    is_heard: bool,
    holder: Option<Holder>,
}

/// A connection beside those of the store, made anew after an error.
struct Link {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
}

impl Link {
    fn new(options: &PgConnectOptions) -> Self {
        Self { options: options.clone(), connection: None }
    }

    /// It is put back after what succeeded.
    async fn connection(&mut self) -> Result<PgConnection, Error> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let mut connection = self.options.connect().await?;
        use_together(&mut connection).await.map_err(|error| Error::Configuration(error.into()))?;
        Ok(connection)
    }

    async fn sign_up(&mut self, who: &DaemonIdentity) -> Result<(), StoreError> {
        within(async {
            let mut connection = self.connection().await?;
            let mut tx = connection.begin().await?;
            let row = sqlx::query(SIGN_UP).bind(&who.boot).bind(&who.name).bind(env!("CARGO_PKG_VERSION"));
            row.bind(&who.config).execute(&mut *tx).await?;
            sqlx::query(BE_HEARD).bind(&who.boot).bind(millis(LEASE)).execute(&mut *tx).await?;
            tx.commit().await?;
            self.connection = Some(connection);
            Ok(())
        })
        .await
    }

    async fn look(&mut self, boot: &str) -> Result<Look, StoreError> {
        within(async {
            let mut connection = self.connection().await?;
            let look = sqlx::query(BEAT_AND_LOOK).bind(boot).bind(millis(LEASE)).bind(HOUSE).bind(SERVES_AT);
            let row = look.fetch_one(&mut connection).await?;
            self.connection = Some(connection);
            let holder = match row.try_get::<Option<String>, _>("boot")? {
                Some(boot) => {
                    let (version, config) = (row.try_get("version")?, row.try_get("config")?);
                    let (name, is_silent) = (row.try_get("name")?, row.try_get("is_silent")?);
                    Some(Holder { boot, name, version, config, is_silent, served: row.try_get("served")? })
                }
                None => None,
            };
            Ok(Look { is_heard: row.try_get::<i64, _>("heard")? > 0, holder })
        })
        .await
    }

    /// Takes the lead, if nobody has it; where this one `judges`, whoever is not heard of is there no more.
    async fn take(&mut self, boot: &str, judges: bool) -> Result<(), StoreError> {
        within(async {
            let mut connection = self.connection().await?;
            let mut tx = connection.begin().await?;
            // One at a time; those who only look go on.
            tx.execute("LOCK TABLE leases IN SHARE ROW EXCLUSIVE MODE").await?;
            if judges {
                for silent in sqlx::query_scalar::<_, String>(SILENT).fetch_all(&mut *tx).await? {
                    drop_within(&mut tx, &silent).await?;
                }
            }
            sqlx::query(HOLD).bind(HOUSE).bind(boot).execute(&mut *tx).await?;
            tx.commit().await?;
            self.connection = Some(connection);
            Ok(())
        })
        .await
    }

    /// Of this daemon itself, which does nothing any more.
    async fn sign_off(&mut self, boot: &str) -> Result<(), StoreError> {
        within(async {
            let mut connection = self.connection().await?;
            sqlx::query(DROP).bind(boot).execute(&mut connection).await?;
            self.connection = Some(connection);
            Ok(())
        })
        .await
    }

    async fn drop_daemon(&mut self, boot: &str) -> Result<(), StoreError> {
        within(async {
            let mut connection = self.connection().await?;
            let mut tx = connection.begin().await?;
            drop_within(&mut tx, boot).await?;
            tx.commit().await?;
            self.connection = Some(connection);
            Ok(())
        })
        .await
    }
}

/// Of what it has begun nothing will be committed.
async fn drop_within(tx: &mut PgConnection, boot: &str) -> Result<(), Error> {
    sqlx::query(CUT_OFF).bind(application_name(boot)).execute(&mut *tx).await?;
    sqlx::query(DROP).bind(boot).execute(tx).await?;
    Ok(())
}

/// A server that does not answer is one that cannot be reached.
async fn within<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    let done = timeout(ANSWER_MAX, work).await;
    Ok(done.unwrap_or_else(|_elapsed| Err(Error::Io(std::io::ErrorKind::TimedOut.into())))?)
}

fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
