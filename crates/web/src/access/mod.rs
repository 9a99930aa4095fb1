//! Who may open the page and call its API: one-time links, cookies, programs' keys; and which requests are a visitor's own.
//!
//! Never: an answer that tells more than whoever asks has proved to know.
//! Start at [`origin_check`], which decides; `visitor` is what handlers ask for.

pub mod login;
pub mod origin_check;
pub(crate) mod visitor;

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::access::origin_check::PageHosts;
use crate::limit::PerMinuteLimit;
use hob_core::domain::rng::Rng;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;
use hob_router::intake::Router;

/// How long a login link holds.
pub(crate) const LINK_HOLDS: Duration = Duration::from_secs(15 * 60);
/// How long a browser stays logged in after it was last here.
const VISIT_HOLDS: Duration = Duration::from_secs(30 * 24 * 3_600);
/// A visit is not written down more often.
const NOTED_EVERY: Duration = Duration::from_secs(3_600);
/// Logins that may be tried in a minute, by all together.
const LOGINS_PER_MINUTE: u32 = 20;

/// What somebody may who has opened the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageRole {
    /// Look.
    Viewer,
    /// Everything.
    Owner,
}

impl PageRole {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Owner => "owner",
        }
    }

    /// By that name. What is not known may the least.
    pub fn named(name: &str) -> Self {
        if name == "owner" { Self::Owner } else { Self::Viewer }
    }
}

/// The door of the page; clones are the same door.
#[derive(Clone)]
pub struct PageAccess {
    /// Where cookies, links and keys are looked up.
    pub(super) router: Arc<Router>,
    /// Under which names the page is reached.
    pub(super) places: Arc<PageHosts>,
    logins: Arc<PerMinuteLimit>,
}

impl PageAccess {
    /// A door of a page that is reached under these names.
    pub fn new(router: Arc<Router>, places: PageHosts) -> Self {
        Self { router, places: Arc::new(places), logins: Arc::new(PerMinuteLimit::new(LOGINS_PER_MINUTE)) }
    }

    pub(super) fn rng(&self) -> Arc<dyn Rng> {
        Arc::clone(&self.router.config.load().services.rng)
    }
}

/// A new secret that opens something: 256 random bits.
pub fn new_key(rng: &dyn Rng) -> Secret {
    Secret::new(format!("{}{}", rng.id(), rng.id()))
}

/// By what a secret is known here.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret))
}
