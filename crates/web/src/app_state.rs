//! What the page is served from.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use crate::access::PageAccess;
use crate::chat::channel::PageChannel;
use crate::operations::context::OperationsContext;
use crate::push::trigger::PushTrigger;
use hob_router::intake::Router;
use hob_tools::net::EgressGuard;

/// What handlers work with.
pub struct AppState {
    /// Takes messages in, and has the database.
    pub router: Arc<Router>,
    pub page: Arc<PageChannel>,
    /// Who may open it.
    pub page_access: PageAccess,
    /// What the operations work with besides.
    pub operations_context: OperationsContext,
    /// Rings where the page is open nowhere.
    pub bell: PushTrigger,
    /// The way out to push services.
    pub guard: EgressGuard,
    /// Streams end.
    pub stop: CancellationToken,
}

impl FromRef<Arc<AppState>> for PageAccess {
    fn from_ref(app: &Arc<AppState>) -> Self {
        app.page_access.clone()
    }
}
