//! Several daemons on one database: one leads, and what another has taken over nobody goes on with.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection, Executor, SqlStr};
use tokio::sync::{Notify, mpsc};
use tokio::task::LocalSet;

use super::cluster::{Cluster, connect};
use crate::contents::Contents;
use crate::copy::server_to_file;
use crate::cursors::{advance, of_account};
use crate::daemons::{self, DaemonIdentity, LeadingDaemon};
use crate::error::StoreError;
use crate::place::StatePlace;
use crate::postgres;
use crate::{SchedulingMode, Store, Tx, chunks};
use hob_core::domain::inbound::{ChannelKind, Cursor};
use hob_core::domain::secret::Secret;

fn identity(data_dir: &Path, boot: &str) -> DaemonIdentity {
    DaemonIdentity::of(data_dir, boot.to_owned(), "as usual".to_owned()).unwrap()
}

/// Leads at once, or not at all.
async fn lead_now(url: &str, who: &DaemonIdentity) -> Result<Store, StoreError> {
    Store::lead_url(url, who, &|_leader| ControlFlow::Break(())).await
}

/// Stands by in a task of its own; what is given first says when it does.
fn stand_by(
    url: &str,
    who: DaemonIdentity,
) -> (mpsc::UnboundedReceiver<LeadingDaemon>, tokio::task::JoinHandle<Result<Store, StoreError>>) {
    let (tell, told) = mpsc::unbounded_channel();
    let url = url.to_owned();
    let standing = async move {
        let stands_by = |leader: &LeadingDaemon| {
            tell.send(leader.clone()).unwrap();
            ControlFlow::Continue(())
        };
        Store::lead_url(&url, &who, &stands_by).await
    };
    (told, tokio::task::spawn_local(standing))
}

async fn count(tx: &mut Tx) -> Result<i64, StoreError> {
    let so_far = of_account(tx, ChannelKind::Email, "home").await?.get("all").copied().unwrap_or(0);
    advance(tx, ChannelKind::Email, "home", &Cursor { list: "all".to_owned(), position: so_far + 1 }).await?;
    Ok(so_far + 1)
}

#[tokio::test]
async fn n15_one_of_several_daemons_leads_and_hands_over_when_it_stops() {
    let test = async {
        let (cluster, here, there) = (Cluster::shared(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let url = cluster.database().await;
        let first = lead_now(&url, &identity(here.path(), "first")).await.unwrap();
        let refused = lead_now(&url, &identity(there.path(), "second")).await;
        assert!(
            matches!(&refused, Err(StoreError::Led(name)) if name.ends_with(&here.path().display().to_string())),
            "{refused:?}"
        );
        let (mut told, standing) = stand_by(&url, identity(there.path(), "third"));
        let leader = told.recv().await.unwrap();
        assert!(leader.is_alike && leader.name.ends_with(&here.path().display().to_string()), "{leader:?}");
        assert_eq!(first.write(count).await.unwrap(), 1);
        let all = first.read(daemons::list).await.unwrap();
        assert_eq!(all.iter().map(|daemon| daemon.leads).collect::<Vec<_>>(), [true, false]);
        first.close().await;
        let second = standing.await.unwrap().unwrap();
        assert_eq!(second.write(count).await.unwrap(), 2);
        assert_eq!(second.read(daemons::list).await.unwrap().len(), 1);
        second.close().await;
    };
    LocalSet::new().run_until(Box::pin(test)).await;
}

#[tokio::test]
async fn n15_a_daemon_starts_at_once_over_the_lease_of_the_one_killed_before_it() {
    let (cluster, here) = (Cluster::shared(), tempfile::tempdir().unwrap());
    let url = cluster.database().await;
    let killed = lead_now(&url, &identity(here.path(), "killed")).await.unwrap();
    let held = Arc::new(Notify::new());
    let (begun, holds) = (Arc::clone(&held), killed.clone());
    // It dies with a transaction half done.
    let half = tokio::spawn(async move {
        let half = async move |tx: &mut Tx| {
            count(tx).await?;
            begun.notify_one();
            std::future::pending::<Result<(), StoreError>>().await
        };
        holds.write(half).await
    });
    held.notified().await;
    let again = lead_now(&url, &identity(here.path(), "again")).await.unwrap();
    half.abort();
    assert_eq!(again.write(count).await.unwrap(), 1);
    assert_eq!(again.read(daemons::list).await.unwrap().len(), 1);
    drop(killed);
}

/// It is as if its process had been stopped and woken: it is not heard of, and goes on with what it had begun.
#[tokio::test]
async fn n15_what_a_daemon_had_begun_before_it_lost_its_lease_is_not_committed() {
    let test = async {
        let (cluster, here, there) = (Cluster::shared(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let url = cluster.database().await;
        let stopped = lead_now(&url, &identity(here.path(), "stopped")).await.unwrap();
        let (begun, woken) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let half = {
            let (stopped, begun, woken) = (stopped.clone(), Arc::clone(&begun), Arc::clone(&woken));
            let unit = async move |tx: &mut Tx| {
                count(tx).await?;
                begun.notify_one();
                woken.notified().await;
                count(tx).await
            };
            tokio::spawn(async move { stopped.write(unit).await })
        };
        begun.notified().await;
        let (mut told, standing) = stand_by(&url, identity(there.path(), "next"));
        told.recv().await.unwrap();
        let mut clock = connect(&url).await;
        while !standing.is_finished() {
            clock.execute("UPDATE daemon_beats SET alive_until = 0 WHERE boot = 'stopped'").await.unwrap();
        }
        let next = standing.await.unwrap().unwrap();
        woken.notify_one();
        let committed = half.await.unwrap();
        assert!(matches!(committed, Err(StoreError::Fenced)), "{committed:?}");
        stopped.until_fenced().await;
        assert!(stopped.until_certain().now_or_never().is_none(), "it may do nothing outside");
        next.until_certain().await;
        assert!(matches!(stopped.write(count).await, Err(StoreError::Fenced)));
        assert_eq!(next.write(count).await.unwrap(), 1);
        clock.close().await.unwrap();
    };
    LocalSet::new().run_until(Box::pin(test)).await;
}

/// A server that is away for everybody says of nobody that it is dead.
#[tokio::test]
async fn n15_an_outage_of_the_server_moves_no_lease() {
    let test = async {
        let (cluster, here, there) =
            (Cluster::own("lease"), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let url = cluster.database().await;
        let first = lead_now(&url, &identity(here.path(), "first")).await.unwrap();
        let (mut told, standing) = stand_by(&url, identity(there.path(), "second"));
        told.recv().await.unwrap();
        for round in 1..=2 {
            let data = cluster.data();
            tokio::task::spawn_blocking(move || super::cluster::cut_off(&data)).await.unwrap();
            // For longer than any lease lasts, as the one that stands by sees it when it is back.
            let mut clock = connect(&url).await;
            clock.execute("UPDATE daemon_beats SET alive_until = 0").await.unwrap();
            clock.close().await.unwrap();
            assert_eq!(first.write(count).await.unwrap(), round);
        }
        first.until_certain().await;
        assert!(!standing.is_finished());
        first.close().await;
        standing.await.unwrap().unwrap().close().await;
    };
    LocalSet::new().run_until(Box::pin(test)).await;
}

/// The one that stands by is older than what the next leader made of the database.
#[tokio::test]
async fn n15_an_upgrade_of_the_database_is_left_to_those_daemons_that_know_it() {
    let test = async {
        let (cluster, here, there) = (Cluster::shared(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let url = cluster.database().await;
        let newer = lead_now(&url, &identity(here.path(), "newer")).await.unwrap();
        let (mut told, standing) = stand_by(&url, identity(there.path(), "older"));
        told.recv().await.unwrap();
        let mut other = connect(&url).await;
        // Whoever is newer than the one that leads changes nothing under it.
        other
            .execute(
                "UPDATE _sqlx_migrations SET version = 0 WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
            )
            .await
            .unwrap();
        assert!(matches!(Store::open_url(&url).await, Err(StoreError::Older { found: 1, known: 2 })));
        other.execute("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 0").await.unwrap();
        newer.close().await;
        let refused = standing.await.unwrap();
        assert!(matches!(refused, Err(StoreError::Newer { found: 9999, known: 2 })), "{refused:?}");
        let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM daemons").fetch_one(&mut other).await.unwrap();
        assert_eq!(left, 0, "it stands in nobody's way");
        other.close().await.unwrap();
    };
    LocalSet::new().run_until(Box::pin(test)).await;
}

/// What a build knows that is one migration further: it adds what this one need not know.
fn next_build() -> Migrator {
    let expand = SqlStr::from_static("ALTER TABLE cursors ADD COLUMN moved_at BIGINT NOT NULL DEFAULT 0");
    let expand = Migration::new(postgres::known() + 1, "expand".into(), MigrationType::Simple, expand, false);
    Migrator::with_migrations(postgres::MIGRATIONS.iter().cloned().chain([expand]).collect())
}

#[tokio::test]
async fn n15_two_builds_on_one_database_are_upgraded_one_after_the_other() {
    let test = async {
        let (cluster, next) = (Cluster::shared(), next_build());
        let url = cluster.database().await;
        let homes = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let old = lead_now(&url, &identity(homes[0].path(), "old")).await.unwrap();
        let (tell, mut told) = mpsc::unbounded_channel();
        let stands_by = |leader: &LeadingDaemon| {
            tell.send(leader.clone()).unwrap();
            ControlFlow::Continue(())
        };
        let upgraded = identity(homes[1].path(), "upgraded");
        let standing = Store::lead_url_knowing(&url, &upgraded, &stands_by, &next);
        let handing_over = async {
            told.recv().await.unwrap();
            let mut other = connect(&url).await;
            assert_eq!(
                postgres::schema(&mut other).await.unwrap(),
                Some(postgres::known()),
                "it is the old one's still"
            );
            assert_eq!(old.write(count).await.unwrap(), 1);
            other.close().await.unwrap();
            old.close().await;
        };
        let (new, ()) = tokio::join!(standing, handing_over);
        let new = new.unwrap();
        let mut other = connect(&url).await;
        assert_eq!(postgres::schema(&mut other).await.unwrap(), Some(postgres::known() + 1));
        other.close().await.unwrap();
        // What the old one's statements say is as true as before.
        assert_eq!(new.write(count).await.unwrap(), 2);
        let again = lead_now(&url, &identity(homes[0].path(), "old again")).await;
        assert!(matches!(again, Err(StoreError::Newer { .. })), "{again:?}");
        assert_eq!(new.read(daemons::list).await.unwrap().len(), 1, "who refuses stands in nobody's way");
        // The last one is upgraded as well, and stands by as any other.
        let last = identity(homes[2].path(), "last");
        let refused = Store::lead_url_knowing(&url, &last, &|_leader| ControlFlow::Break(()), &next).await;
        assert!(matches!(refused, Err(StoreError::Led(_))), "{refused:?}");
        new.close().await;
    };
    LocalSet::new().run_until(Box::pin(test)).await;
}

#[tokio::test]
async fn n15_what_one_daemon_keeps_another_reads() {
    let (cluster, here, there) = (Cluster::shared(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let url = cluster.database().await;
    let store = Store::open_url(&url).await.unwrap();
    let (ours, theirs) = (Contents::of(here.path()).shared_in(&store), Contents::of(there.path()).shared_in(&store));
    // Several rows, and the last is not full.
    let picture: Vec<u8> = (0..700_000_u32).map(|byte| (byte % 251) as u8).collect();
    let kept = ours.keep(picture.clone()).await.unwrap();
    assert_eq!(theirs.read(&kept.hash, kept.bytes).await.unwrap(), picture);
    std::fs::remove_file(theirs.path(&kept.hash)).unwrap();
    assert!(theirs.locate(&kept.hash).await.is_file());
    // What is written again has no end of what was longer before it.
    for bytes in [vec![1; 700_000], vec![2; 300_000], vec![3; 10]] {
        chunks::put(&store, "result:1/1.0", bytes.clone()).await.unwrap();
        assert_eq!(store.read(async |tx| chunks::get(tx, "result:1/1.0").await).await.unwrap(), Some(bytes));
    }
    store.write(async |tx| chunks::drop_all(tx, &["result:1/1.0".to_owned()]).await).await.unwrap();
    // They go with a copy of the state, to where one daemon is.
    let (path, third) = (there.path().join("hob.db"), tempfile::tempdir().unwrap());
    server_to_file(&StatePlace::Server(Secret::new(url.clone())), &path).await.unwrap();
    let file = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
    let alone = Contents::of(third.path()).shared_in(&file);
    assert_eq!(alone.read(&kept.hash, kept.bytes).await.unwrap(), picture);
    assert_eq!(alone.sweep(&file).await.unwrap(), 1);
    assert_eq!(file.read(async |tx| chunks::names(tx, "").await).await.unwrap(), Vec::<String>::new());
    file.close().await;
    // What no record refers to goes when it is not held any more, there as here.
    assert_eq!(ours.sweep(&store).await.unwrap(), 0);
    drop(kept);
    assert_eq!(ours.sweep(&store).await.unwrap(), 1);
    assert_eq!(store.read(async |tx| chunks::names(tx, "").await).await.unwrap(), Vec::<String>::new());
}
