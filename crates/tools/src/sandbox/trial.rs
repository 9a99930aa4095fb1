//! What programs can be kept from, found out by the first who has to know.
//!
//! A trial runs Hob's own program several times, which nobody should wait for who does not run any.
//! Never: a program that runs before it is known what holds it.
//! Start at [`SandboxTrial::later`].

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::sandbox::Sandbox;

/// Of what nobody has asked for yet.
const UNTRIED: &str = "not tried yet: that is done shortly after the start, or when the first command comes";
/// Of sandboxes without copies of the workspace.
const NO_DRAFTS: &str =
    "; no drafts of the workspace can be made here, so each that does more than look must be approved";

type SandboxFuture = Pin<Box<dyn Future<Output = Sandbox> + Send>>;
/// How it is made.
type SandboxMaker = dyn Fn() -> SandboxFuture + Send + Sync;

/// A trial, made or still to be made; all that share it share what came of it.
#[derive(Clone)]
pub struct SandboxTrial {
    found: Arc<OnceCell<Sandbox>>,
    make: Arc<SandboxMaker>,
}

impl SandboxTrial {
    /// One that is made when its result is first asked for.
    pub fn later<F>(make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Sandbox> + Send + 'static,
    {
        Self { found: Arc::default(), make: Arc::new(move || Box::pin(make())) }
    }

    /// What came of it. Whoever asks meanwhile waits for the same.
    pub async fn result(&self) -> &Sandbox {
        self.found.get_or_init(|| (self.make)()).await
    }

    /// What came of it, if it was made.
    pub fn known(&self) -> Option<&Sandbox> {
        self.found.get()
    }
}

impl From<Sandbox> for SandboxTrial {
    fn from(found: Sandbox) -> Self {
        let again = found.clone();
        Self {
            found: Arc::new(OnceCell::new_with(Some(found))),
            ..Self::later(move || std::future::ready(again.clone()))
        }
    }
}

/// How commands are held here, for whoever tells people of it.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// What holds them.
    pub trial: SandboxTrial,
    /// Who is outside by the operator's word, by their keys in the config.
    pub outside: Vec<String>,
}

impl Confinement {
    /// As far as it is known by now.
    pub fn words(&self) -> String {
        let known = self.trial.known();
        let strength = known.map_or_else(|| UNTRIED.to_owned(), |sandbox| sandbox.strength().to_string());
        let outside = match self.outside.as_slice() {
            [] => String::new(),
            outside => format!("; outside by the config: {}", outside.join(", ")),
        };
        let no_drafts = known.is_some_and(|sandbox| sandbox.is_fully_enforced() && !sandbox.overlays());
        format!("{strength}{outside}{}", if no_drafts { NO_DRAFTS } else { "" })
    }
}

impl fmt::Debug for SandboxTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxTrial").field(&self.found).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn it_is_made_once_and_by_the_first_who_asks() {
        let made = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&made);
        let trial = SandboxTrial::later(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async {
                tokio::task::yield_now().await;
                Sandbox::none("this is a test")
            }
        });
        let other = trial.clone();
        assert!(trial.known().is_none() && made.load(Ordering::SeqCst) == 0);
        let (first, second) = tokio::join!(trial.result(), other.result());
        assert_eq!((first.strength(), made.load(Ordering::SeqCst)), (second.strength(), 1));
        assert!(other.known().is_some());
    }
}
