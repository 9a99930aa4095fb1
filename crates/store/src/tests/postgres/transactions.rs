//! Units of work where others come between, where connections are cut, and where the server falls over: each is done once, or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use sqlx::{Connection, Executor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Barrier;

use super::cluster::{Cluster, connect, cut_off};
use crate::cursors::{advance, of_account};
use crate::error::StoreError;
use crate::tests::sql;
use crate::{Store, Tx};
use hob_core::domain::inbound::{ChannelKind, Cursor};

/// How often this one was counted.
async fn counted(tx: &mut Tx, list: &str) -> Result<i64, StoreError> {
    Ok(of_account(tx, ChannelKind::Email, "home").await?.get(list).copied().unwrap_or(0))
}

/// Looks and records in one go, as budgets and claims do.
async fn count(tx: &mut Tx, list: &str) -> Result<i64, StoreError> {
    let next = counted(tx, list).await? + 1;
    let cursor = Cursor { list: list.to_owned(), position: next };
    advance(tx, ChannelKind::Email, "home", &cursor).await?;
    Ok(next)
}

/// What two daemons count at the same time.
struct Race {
    tried: AtomicUsize,
    both: Barrier,
}

impl Race {
    /// Counts on; at first once both have looked.
    async fn count(self: Arc<Self>, daemon: &Store) -> Result<i64, StoreError> {
        let is_first = Arc::new(AtomicBool::new(true));
        let unit = async move |tx: &mut Tx| {
            self.tried.fetch_add(1, Ordering::Relaxed);
            counted(tx, "both").await?;
            if is_first.swap(false, Ordering::Relaxed) {
                self.both.wait().await;
            }
            count(tx, "both").await
        };
        daemon.write(unit).await
    }
}

/// Each unit saw what the one before it had recorded, whichever daemon did.
#[tokio::test(flavor = "multi_thread")]
async fn what_two_daemons_count_together_is_counted_once_each() {
    let cluster = Cluster::shared();
    let url = cluster.database().await;
    let daemons = [Store::open_url(&url).await.unwrap(), Store::open_url(&url).await.unwrap()];
    let race = Arc::new(Race { tried: AtomicUsize::new(0), both: Barrier::new(2) });
    let mut seen = Vec::new();
    for _ in 0..20 {
        let [one, other] = &daemons;
        let (one, other) = futures::join!(Arc::clone(&race).count(one), Arc::clone(&race).count(other));
        seen.extend([one.unwrap(), other.unwrap()]);
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=40).collect::<Vec<_>>());
    assert!(race.tried.load(Ordering::Relaxed) >= 60, "one of each two was tried again");
}

/// A unit that goes on after a statement that failed: PostgreSQL has taken nothing of it.
#[tokio::test]
async fn a_unit_that_swallows_an_error_is_not_taken_for_done() {
    let (_cluster, store) = super::store().await;
    let swallows = async |tx: &mut Tx| {
        count(tx, "x").await?;
        assert!(sql(tx, "SELECT nonsense").await.is_err());
        Ok(())
    };
    assert!(store.write(swallows).await.is_err());
    assert_eq!(store.read(async |tx| counted(tx, "x").await).await.unwrap(), 0);
}

#[tokio::test]
async fn a_read_cannot_write_and_a_look_sees_one_moment() {
    let (_cluster, store) = super::store().await;
    let wrote = store.read(async |tx| count(tx, "x").await).await;
    assert!(matches!(wrote, Err(StoreError::ReadOnly(_))), "{wrote:?}");
    let other = store.clone();
    let look = async move |tx: &mut Tx| {
        let before = counted(tx, "x").await?;
        other.write(async |tx| count(tx, "x").await).await?;
        Ok((before, counted(tx, "x").await?))
    };
    assert_eq!(store.look(look).await.unwrap(), (0, 0));
    assert_eq!(store.read(async |tx| counted(tx, "x").await).await.unwrap(), 1);
}

/// What was begun on a connection and given up does not stay begun.
#[tokio::test]
async fn a_look_that_is_given_up_leaves_nothing_behind() {
    let (_cluster, store) = super::store().await;
    for _ in 0..10 {
        let forever = async |tx: &mut Tx| {
            counted(tx, "x").await?;
            std::future::pending::<Result<(), StoreError>>().await
        };
        let given_up = tokio::time::timeout(std::time::Duration::from_millis(20), store.look(forever)).await;
        assert!(given_up.is_err());
        store.write(async |tx| count(tx, "x").await).await.unwrap();
    }
    assert_eq!(store.look(async |tx| counted(tx, "x").await).await.unwrap(), 10);
}

#[tokio::test]
async fn text_with_nul_is_kept_with_a_sign_in_its_place() {
    let (_cluster, store) = super::store().await;
    let written = store.write(async |tx| count(tx, "a\0b").await).await.unwrap();
    assert_eq!(written, 1);
    assert_eq!(store.read(async |tx| counted(tx, "a\u{1a}b").await).await.unwrap(), 1);
}

/// Counts as long as `trouble` lasts; gives how often it was told that it was done, and how often that nobody knows.
async fn counts_during(store: &Store, trouble: impl Future<Output = ()>) -> (i64, i64) {
    let is_over = AtomicBool::new(false);
    let work = async {
        let (mut done, mut unknown) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            match store.write(async |tx| count(tx, "all").await).await {
                Ok(_) => done += 1,
                Err(StoreError::Unknown) => unknown += 1,
                Err(error) => assert!(error.is_passing(), "{error}"),
            }
        }
        (done, unknown)
    };
    let trouble = async {
        trouble.await;
        is_over.store(true, Ordering::Relaxed);
    };
    futures::join!(work, trouble).0
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_ended_cost_nothing_and_double_nothing() {
    let cluster = Cluster::shared();
    let url = cluster.database().await;
    let store = Store::open_url(&url).await.unwrap();
    let mut other = connect(&url).await;
    let ends = async {
        for round in 0..100 {
            let before = store.write_groups();
            while store.write_groups() == before {
                tokio::task::yield_now().await;
            }
            // Now here, now there in the next one.
            for _ in 0..round % 10 {
                tokio::task::yield_now().await;
            }
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE datname = current_database() AND application_name = 'hob'";
            other.execute(end).await.unwrap();
        }
    };
    let (done, unknown) = counts_during(&store, ends).await;
    assert!(done >= 50, "{done}");
    assert_eq!(unknown, 0);
    assert_eq!(store.read(async |tx| counted(tx, "all").await).await.unwrap(), done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_over_costs_nothing_and_doubles_nothing() {
    let cluster = Cluster::own("falls");
    let url = cluster.database().await;
    let store = Store::open_url(&url).await.unwrap();
    let data = cluster.data();
    let falls = async {
        for _ in 0..4 {
            let before = store.write_groups();
            while store.write_groups() < before + 50 {
                tokio::task::yield_now().await;
            }
            let data = data.clone();
            tokio::task::spawn_blocking(move || cut_off(&data)).await.unwrap();
        }
    };
    let (done, unknown) = counts_during(&store, falls).await;
    assert!(done >= 200, "{done}");
    assert_eq!(unknown, 0);
    assert_eq!(store.read(async |tx| counted(tx, "all").await).await.unwrap(), done);
}

/// When a connection is cut, counted from the next COMMIT on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Cut {
    Never,
    BeforeTheServerHasIt,
    BeforeTheAnswer,
}

/// Stands between a store and its server.
struct Proxy {
    folder: tempfile::TempDir,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    fn before(server: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let cut = Arc::new(AtomicU8::new(Cut::Never as u8));
        let cuts = Arc::clone(&cut);
        let serve = async move {
            while let Ok((client, _)) = listener.accept().await {
                hob_telemetry::tasks::spawn("a connection", pass(client, server.clone(), Arc::clone(&cuts)));
            }
        };
        hob_telemetry::tasks::spawn("the proxy", serve);
        Self { folder, cut }
    }

    /// Once.
    fn cut(&self, when: Cut) {
        self.cut.store(when as u8, Ordering::SeqCst);
    }
}

const SOCKET: &str = ".s.PGSQL.5432";

async fn pass(mut client: UnixStream, server: PathBuf, cuts: Arc<AtomicU8>) {
    let Ok(mut server) = UnixStream::connect(server.join(SOCKET)).await else { return };
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                let is_commit = asked[..count].windows(6).any(|word| word == b"COMMIT");
                let cut = if is_commit { cuts.swap(Cut::Never as u8, Ordering::SeqCst) } else { Cut::Never as u8 };
                if cut == Cut::BeforeTheServerHasIt as u8 || server.write_all(&asked[..count]).await.is_err() {
                    return;
                }
                if cut == Cut::BeforeTheAnswer as u8 {
                    // The answer was sent: so it took place.
                    assert!(server.read(&mut answered).await.unwrap() > 0);
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The URL by way of the proxy.
fn by_way_of(url: &str, folder: &Path) -> String {
    let (before, _) = url.split_once("?host=").unwrap();
    format!("{before}?host={}", folder.display())
}

#[tokio::test]
async fn a_commit_whose_outcome_was_not_heard_is_found_out() {
    let cluster = Cluster::shared();
    let url = cluster.database().await;
    let (_, server) = url.split_once("?host=").unwrap();
    let proxy = Proxy::before(PathBuf::from(server));
    let store = Store::open_url(&by_way_of(&url, proxy.folder.path())).await.unwrap();
    let tried = Arc::new(AtomicUsize::new(0));
    for (cut, attempts) in [(Cut::BeforeTheAnswer, 1), (Cut::BeforeTheServerHasIt, 2), (Cut::BeforeTheAnswer, 1)] {
        tried.store(0, Ordering::Relaxed);
        proxy.cut(cut);
        let tries = Arc::clone(&tried);
        let unit = async move |tx: &mut Tx| {
            tries.fetch_add(1, Ordering::Relaxed);
            count(tx, "all").await
        };
        store.write(unit).await.unwrap();
        assert_eq!(
            (tried.load(Ordering::Relaxed), proxy.cut.load(Ordering::SeqCst)),
            (attempts, Cut::Never as u8),
            "{cut:?}"
        );
    }
    assert_eq!(store.read(async |tx| counted(tx, "all").await).await.unwrap(), 3);
    let mut direct = connect(&url).await;
    let rows = sqlx::query_scalar::<_, i64>("SELECT position FROM cursors").fetch_all(&mut direct).await.unwrap();
    assert_eq!(rows, [3]);
    direct.close().await.unwrap();
}
