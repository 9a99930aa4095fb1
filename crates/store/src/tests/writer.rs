//! Who pays for whose failure.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use sqlx::Executor;

use super::{FILE, on_both_engines, sql, store};
use crate::error::StoreError;
use crate::{Store, Tx};

/// Adds a user of this name.
async fn add(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    sql(tx, &format!("INSERT INTO users (name, role, created_at) VALUES ('{name}', 'user', 0)")).await?;
    match name {
        "fails" => Err(StoreError::LeaseLost),
        "panics" => panic!("{}", "no ".repeat(200)),
        _ => Ok(()),
    }
}

async fn names(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    sql(tx, "SELECT name FROM users ORDER BY id").await
}

/// Writes all in one group: on one thread the writer does not begin before all of them wait.
async fn together(store: &Store, names: &[&'static str]) -> Vec<Result<(), String>> {
    let write = |name: &&'static str| {
        let name = *name;
        store.write(async move |tx| add(tx, name).await)
    };
    let written = join_all(names.iter().map(write)).await;
    written.into_iter().map(|result| result.map_err(|error| error.to_string())).collect()
}

/// Panics in the middle of reading.
async fn broken(tx: &mut Tx) -> Result<(), StoreError> {
    names(tx).await?;
    panic!("broken")
}

#[tokio::test]
async fn a_lock_is_waited_for_once_by_the_whole_group() {
    let (dir, store) = store().await;
    let mut other = Store::raw(&dir.path().join(FILE)).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let before = store.work().statements.get();
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    let anna = || {
        store.write(async |tx| {
            TRIED.fetch_add(1, Ordering::Relaxed);
            add(tx, "anna").await
        })
    };
    let written = join_all(std::iter::repeat_with(anna).take(5)).await;
    assert_eq!(store.work().statements.get() - before, 5, "none was tried again by itself, and waited anew");
    assert!(written.iter().all(|result| matches!(result, Err(StoreError::Busy(_)))), "{written:?}");
    assert_eq!(TRIED.load(Ordering::Relaxed), 0);
    other.execute("ROLLBACK").await.unwrap();
    store.write(async |tx| add(tx, "ben").await).await.unwrap();
    assert_eq!(store.read(names).await.unwrap(), ["ben"]);
}

on_both_engines! {
    #[tokio::test]
    async fn nobody_pays_for_anothers_error(store: Store) {
        let written = together(&store, &["anna", "fails", "ben"]).await;
        assert_eq!(written, [Ok(()), Err(StoreError::LeaseLost.to_string()), Ok(())]);
        assert_eq!(store.read(names).await.unwrap(), ["anna", "ben"]);
    }

    #[tokio::test]
    async fn a_panic_ends_one_write_and_not_the_writer(store: Store) {
        let written = together(&store, &["anna", "panics", "ben", "fails", "cleo"]).await;
        let panicked = StoreError::Panicked("no ".repeat(67).chars().take(200).collect());
        assert!(!panicked.is_passing());
        let lost = StoreError::LeaseLost.to_string();
        assert_eq!(written, [Ok(()), Err(panicked.to_string()), Ok(()), Err(lost), Ok(())]);
        assert_eq!(store.read(names).await.unwrap(), ["anna", "ben", "cleo"]);
        assert_eq!(together(&store, &["panics"]).await, [Err(panicked.to_string())]);
        store.write(async |tx| add(tx, "dora").await).await.unwrap();
        assert_eq!(store.read(names).await.unwrap(), ["anna", "ben", "cleo", "dora"]);
    }

    #[tokio::test]
    async fn panics_leave_readers_behind_that_read(store: Store) {
        for _ in 0..20 {
            let read = store.read(broken).await;
            assert!(matches!(&read, Err(StoreError::Panicked(why)) if why == "broken"), "{read:?}");
        }
        assert!(store.read(names).await.unwrap().is_empty());
    }
}
