//! Where the embedding model comes from: a folder, a fetch, a server.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::embedding::account::Account;
use crate::embedding::error::EmbedError;
use crate::embedding::fetch::{self, MINILM, MINILM_URL, Progress};
use crate::embedding::local::{FILES, LocalEmbedder};
use crate::embedding::openai::{OpenAiEmbedder, RemoteModel};
use crate::embedding::{Embedder, EmbeddingModel};
use crate::upkeep::{EmbedderOpener, MEGABYTE, PrepareError, PrepareStep};
use hob_store::vectors::VectorModel;

/// The model that is fetched, as its folder is called.
pub(crate) const MINILM_NAME: &str = "all-MiniLM-L6-v2";

/// Which model is wanted.
#[derive(Clone)]
pub struct EmbedderSource {
    /// Where it comes from.
    pub wanted: ModelOrigin,
    /// The folder that has a folder for each fetched model.
    pub models: PathBuf,
    /// Who pays a server; none: no accounts are kept.
    pub account: Option<Account>,
}

/// Where the wanted model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelOrigin {
    /// Its files lie in this folder.
    Folder(PathBuf),
    /// Its files are fetched once, from here, or else from where all-MiniLM-L6-v2 is published.
    Fetched {
        /// The address.
        from: Option<String>,
        /// Whether, and when.
        leave: FetchPermission,
    },
    Server(RemoteModel),
}

/// Whether a model may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchPermission {
    /// After this time: who is there for a moment only fetches nothing.
    After(Duration),
    /// It may not: what to do about it.
    No(String),
}

impl EmbedderSource {
    /// Where the fetched model lies.
    fn fetched(&self) -> PathBuf {
        self.models.join(MINILM_NAME)
    }

    /// The folder of the wanted model, if it lies on this machine.
    fn folder(&self) -> Option<PathBuf> {
        match &self.wanted {
            ModelOrigin::Folder(folder) => Some(folder.clone()),
            ModelOrigin::Fetched { .. } => Some(self.fetched()),
            ModelOrigin::Server(_) => None,
        }
    }

    /// The folders in which a model of this name may lie: beside the wanted one, and where fetched ones are.
    fn folders_of(&self, name: &str) -> Vec<PathBuf> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Vec::new();
        }
        let beside = self.folder().and_then(|folder| folder.parent().map(Path::to_owned));
        let mut folders: Vec<PathBuf> = beside.into_iter().chain([self.models.clone()]).collect();
        folders.dedup();
        folders.into_iter().map(|folder| folder.join(name)).filter(|folder| has_files(folder)).collect()
    }
}

#[async_trait]
impl EmbedderOpener for EmbedderSource {
    async fn prepare(&self, tell: &(dyn Fn(PrepareStep) + Sync)) -> Result<(), PrepareError> {
        let ModelOrigin::Fetched { from, leave } = &self.wanted else { return Ok(()) };
        let folder = self.fetched();
        if fetch::is_there(&folder, &MINILM).await {
            return Ok(());
        }
        match leave {
            FetchPermission::No(why) => return Err(PrepareError::Forbidden(why.clone())),
            FetchPermission::After(wait) => {
                tell(PrepareStep::Waiting);
                tokio::time::sleep(*wait).await;
            }
        }
        let from = from.as_deref().unwrap_or(MINILM_URL);
        tell(PrepareStep::Fetching { done: 0, of: whole() });
        tracing::info!(from, "memory.embedding.fetching");
        let quarters = AtomicU64::new(0);
        fetch::fetch(from, &MINILM, &folder, &|progress| report(progress, &quarters, tell))
            .await
            .map_err(PrepareError::Failed)
    }

    async fn open(&self) -> Result<Arc<dyn Embedder>, EmbedError> {
        match (&self.wanted, self.folder()) {
            (ModelOrigin::Server(remote), _) => {
                Ok(Arc::new(OpenAiEmbedder::open(remote.clone(), self.account.clone()).await?))
            }
            (_, folder) => Ok(Arc::new(LocalEmbedder::open(folder.unwrap_or_default()).await?)),
        }
    }

    async fn open_former(&self, former: &VectorModel) -> Option<Arc<dyn Embedder>> {
        let made_it = |model: &EmbeddingModel| model.digest == former.digest;
        for folder in self.folders_of(&former.name) {
            match LocalEmbedder::open(folder).await {
                Ok(embedder) if made_it(embedder.model()) => return Some(Arc::new(embedder)),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the model before this one cannot be opened"),
            }
        }
        let ModelOrigin::Server(remote) = &self.wanted else { return None };
        // With and without a number of dimensions: which of them it was is not known.
        let mut numbers = vec![remote.dimensions, None, usize::try_from(former.dimensions).ok()];
        numbers.dedup();
        for dimensions in numbers {
            let remote = RemoteModel { model: former.name.clone(), dimensions, ..remote.clone() };
            match OpenAiEmbedder::open(remote, self.account.clone()).await {
                Ok(embedder) if made_it(embedder.model()) => return Some(Arc::new(embedder)),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the model before this one cannot be asked"),
            }
        }
        None
    }
}

fn has_files(folder: &Path) -> bool {
    FILES.iter().all(|file| folder.join(file).is_file())
}

/// Tells how far the fetch is.
fn report(progress: Progress, quarters: &AtomicU64, tell: &(dyn Fn(PrepareStep) + Sync)) {
    let all = whole();
    let before: u64 = MINILM.iter().take_while(|file| file.name != progress.name).map(|file| file.bytes).sum();
    let done = before + progress.done;
    tell(PrepareStep::Fetching { done, of: all });
    let quarter = done * 4 / all.max(1);
    if quarters.fetch_max(quarter, Ordering::Relaxed) < quarter {
        let (done_mb, of_mb) = (done.div_ceil(MEGABYTE), all.div_ceil(MEGABYTE));
        tracing::info!(done_mb, of_mb, "memory.embedding.progress");
    }
}

/// How many bytes the files have together.
fn whole() -> u64 {
    MINILM.iter().map(|file| file.bytes).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn e5_a_former_model_is_looked_for_by_its_name_alone() {
        let home = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = home.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            FILES.iter().for_each(|file| std::fs::write(folder.join(file), "x").unwrap());
            folder
        };
        let (beside, fetched) = (make("mine/old"), make("models/old"));
        make("outside");
        let wanted = ModelOrigin::Folder(home.path().join("mine/new"));
        let source = EmbedderSource { wanted, models: home.path().join("models"), account: None };
        assert_eq!(source.folders_of("old"), [beside, fetched]);
        for name in ["new", "", "..", "../outside", "mine/old", "/etc"] {
            assert!(source.folders_of(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn e5_the_fetch_is_told_in_megabytes_of_all_files() {
        let told = Mutex::new(Vec::new());
        let quarters = AtomicU64::new(0);
        for (name, done) in [("config.json", 612), ("tokenizer.json", 466_247), ("model.safetensors", 45_000_000)] {
            let progress = Progress { name, done, bytes: 0 };
            report(progress, &quarters, &|step| told.lock().unwrap().push(step.to_string()));
        }
        insta::assert_snapshot!(told.lock().unwrap().join("\n"), @r"
        fetching the model, 1 of 92 MB
        fetching the model, 1 of 92 MB
        fetching the model, 46 of 92 MB
        ");
        assert_eq!(quarters.into_inner(), 1);
    }

    #[tokio::test]
    async fn e5_nothing_is_fetched_without_leave() {
        let home = tempfile::tempdir().unwrap();
        let leave = FetchPermission::No("not now".to_owned());
        let from = Some("http://127.0.0.1:1".to_owned());
        let wanted = ModelOrigin::Fetched { from, leave };
        let source = EmbedderSource { wanted, models: home.path().join("models"), account: None };
        let told = source.prepare(&|what| panic!("{what}")).await;
        assert_eq!(told, Err(PrepareError::Forbidden("not now".to_owned())));
        assert!(!home.path().join("models").exists());
    }
}
