//! For whom a tool is, where role and module do not say it: whoever else asks is not told that it is there.

use async_trait::async_trait;

use hob_core::domain::principal::Principal;
use hob_core::policy::memory::SpeakingPlace;

/// Certain people, in certain places.
#[async_trait]
pub trait Audience: Send + Sync {
    /// Is somebody one of them, there? Asked when a run begins, and once more by the tool when it is called.
    async fn includes(&self, who: &Principal, place: SpeakingPlace) -> bool;
}
