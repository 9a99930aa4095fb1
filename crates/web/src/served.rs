//! What the page is served from.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use crate::chat::channel::Page;
use crate::door::Door;
use crate::operations::desk::Desk;
use hob_router::intake::Router;

/// What handlers work with.
pub struct Served {
    /// Takes messages in, and has the database.
    pub router: Arc<Router>,
    /// The page as a channel.
    pub page: Arc<Page>,
    /// Who may open it.
    pub door: Door,
    /// What the operations work with besides.
    pub desk: Desk,
    /// Streams end.
    pub stop: CancellationToken,
}

impl FromRef<Arc<Served>> for Door {
    fn from_ref(served: &Arc<Served>) -> Self {
        served.door.clone()
    }
}
