//! Who pays for whose failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::future::join_all;
use sqlx::Executor;

use super::{FILE, store};
use crate::error::StoreError;
use crate::{Statement, Store, Tx};

/// Adds a user of this name, and counts how often it was tried.
struct Add {
    name: &'static str,
    tried: Arc<AtomicUsize>,
}

impl Add {
    fn new(name: &'static str) -> Self {
        Self { name, tried: Arc::default() }
    }
}

#[async_trait]
impl Statement for Add {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        self.tried.fetch_add(1, Ordering::Relaxed);
        sqlx::query("INSERT INTO users (name, role, created_at) VALUES ($1, 'user', 0)")
            .bind(self.name)
            .execute(&mut *tx)
            .await?;
        match self.name {
            "fails" => Err(StoreError::LeaseLost),
            "panics" => panic!("{}", "no ".repeat(200)),
            _ => Ok(()),
        }
    }
}

struct Names;

#[async_trait]
impl Statement for Names {
    type Output = Vec<String>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT name FROM users ORDER BY id").fetch_all(&mut *tx).await?)
    }
}

/// Writes all in one group: on one thread the writer does not begin before all of them wait.
async fn together(store: &Store, names: &[&'static str]) -> Vec<Result<(), String>> {
    let written = join_all(names.iter().map(|name| store.write(Add::new(name)))).await;
    written.into_iter().map(|result| result.map_err(|error| error.to_string())).collect()
}

#[tokio::test]
async fn nobody_pays_for_anothers_error() {
    let (_dir, store) = store().await;
    let written = together(&store, &["anna", "fails", "ben"]).await;
    assert_eq!(written, [Ok(()), Err(StoreError::LeaseLost.to_string()), Ok(())]);
    assert_eq!(store.read(Names).await.unwrap(), ["anna", "ben"]);
}

#[tokio::test]
async fn a_panic_ends_one_write_and_not_the_writer() {
    let (_dir, store) = store().await;
    let written = together(&store, &["anna", "panics", "ben", "fails", "cleo"]).await;
    let panicked = StoreError::Panicked("no ".repeat(67).chars().take(200).collect());
    assert!(!panicked.is_passing());
    let lost = StoreError::LeaseLost.to_string();
    assert_eq!(written, [Ok(()), Err(panicked.to_string()), Ok(()), Err(lost), Ok(())]);
    assert_eq!(store.read(Names).await.unwrap(), ["anna", "ben", "cleo"]);
    assert_eq!(together(&store, &["panics"]).await, [Err(panicked.to_string())]);
    store.write(Add::new("dora")).await.unwrap();
    assert_eq!(store.read(Names).await.unwrap(), ["anna", "ben", "cleo", "dora"]);
}

/// Panics in the middle of reading.
struct Broken;

#[async_trait]
impl Statement for Broken {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        Names.run(tx).await?;
        panic!("broken")
    }
}

#[tokio::test]
async fn panics_leave_readers_behind_that_read() {
    let (_dir, store) = store().await;
    for _ in 0..20 {
        let read = store.read(Broken).await;
        assert!(matches!(&read, Err(StoreError::Panicked(why)) if why == "broken"), "{read:?}");
    }
    assert!(store.read(Names).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_lock_is_waited_for_once_by_the_whole_group() {
    let (dir, store) = store().await;
    let mut other = Store::raw(&dir.path().join(FILE)).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let before = store.work().statements.get();
    let adds: Vec<Add> = std::iter::repeat_with(|| Add::new("anna")).take(5).collect();
    let tried: Vec<_> = adds.iter().map(|add| Arc::clone(&add.tried)).collect();
    let written = join_all(adds.into_iter().map(|add| store.write(add))).await;
    assert_eq!(store.work().statements.get() - before, 5, "none was tried again by itself, and waited anew");
    assert!(written.iter().all(|result| matches!(result, Err(StoreError::Busy(_)))), "{written:?}");
    assert!(tried.iter().all(|tried| tried.load(Ordering::Relaxed) == 0));
    other.execute("ROLLBACK").await.unwrap();
    store.write(Add::new("ben")).await.unwrap();
    assert_eq!(store.read(Names).await.unwrap(), ["ben"]);
}
