//! What the page is served from.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use crate::chat::channel::Page;
use crate::door::Door;
use crate::operations::desk::Desk;
use crate::push::bell::Bell;
use hob_router::intake::Router;
use hob_tools::net::Guard;

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
    /// Rings where the page is open nowhere.
    pub bell: Bell,
    /// The way out to push services.
    pub guard: Guard,
    /// Streams end.
    pub stop: CancellationToken,
}

impl FromRef<Arc<Served>> for Door {
    fn from_ref(served: &Arc<Served>) -> Self {
        served.door.clone()
    }
}
