//! The other engine, on a server of the tests' own.

mod answers;
mod cluster;
mod copies;
mod leases;
mod schema;
mod texts;
mod transactions;

pub(super) use cluster::Cluster;

use crate::Store;

/// A store in a database of its own.
pub(super) async fn store() -> (Cluster, Store) {
    let cluster = Cluster::shared();
    let url = cluster.database().await;
    let store = Store::open_url(&url).await.unwrap();
    (cluster, store)
}
