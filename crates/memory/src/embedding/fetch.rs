//! Fetches a model's files once, in the background: with progress, resumed where it broke off, checked before it counts.
//!
//! Never: a file under its own name that is not whole; until then it is called `NAME.part`.
//! Start at [`fetch`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{CONTENT_RANGE, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode, Url};
use sha2::{Digest, Sha256};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::embedding::error::EmbedError;
use hob_core::domain::text::hex;
use hob_model::exchange::endpoint::{is_local, parse};

#[cfg(test)]
mod tests;

/// Where all-MiniLM-L6-v2 is published.
pub(crate) const MINILM_URL: &str = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main";

/// The files of all-MiniLM-L6-v2; the large one last, so that a wrong address is noticed early.
pub(crate) const MINILM: [ModelFile; 3] = [
    ModelFile {
        name: "config.json",
        bytes: 612,
        sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
    ModelFile {
        name: "tokenizer.json",
        bytes: 466_247,
        sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    ModelFile {
        name: "model.safetensors",
        bytes: 90_868_376,
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
];

/// How long a server may take to connect, and to say the next thing.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How often a server may send on to another.
const REDIRECTS_MAX: usize = 5;
/// How often in a row an attempt may bring nothing new.
const ATTEMPTS_MAX: usize = 6;
/// How much is read at a time of what an earlier attempt left.
const BLOCK_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelFile {
    pub name: &'static str,
    /// Its exact length.
    pub bytes: u64,
    /// Its checksum, in hex.
    pub sha256: &'static str,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The file.
    pub name: &'static str,
    pub done: u64,
    pub bytes: u64,
}

/// Whether all files lie in `folder`. Only whole files have their names.
pub(crate) async fn is_there(folder: &Path, files: &[ModelFile]) -> bool {
    for file in files {
        let found = fs::metadata(folder.join(file.name)).await;
        if !found.is_ok_and(|found| found.is_file() && found.len() == file.bytes) {
            return false;
        }
    }
    true
}

/// Fetches what is missing of `files` from `base_url` into `folder`.
///
/// # Errors
/// When the server cannot be reached after some attempts (what came so far is kept for the next), has other files, or the
/// disk takes nothing.
pub(crate) async fn fetch(
    base_url: &str,
    files: &[ModelFile],
    folder: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(), EmbedError> {
    let base = parse(base_url).map_err(|_unusable| {
        EmbedError::Setup(format!("{base_url:?} is not an address that an embedding model can be fetched from."))
    })?;
    let client = if is_local(&base) { hob_http::direct_client(SILENCE_MAX) } else { hob_http::client(SILENCE_MAX) };
    let client = client.map_err(|error| EmbedError::Setup(error.to_string()))?;
    fs::create_dir_all(folder).await.map_err(|error| disk(folder, error))?;
    for &file in files {
        let target = folder.join(file.name);
        if fs::metadata(&target).await.is_ok_and(|found| found.len() == file.bytes) {
            continue;
        }
        let url = format!("{}/{}", base.as_str().trim_end_matches('/'), file.name);
        let url = Url::parse(&url).map_err(|error| EmbedError::Setup(format!("{url}: {error}")))?;
        let part = folder.join(format!("{}.part", file.name));
        Download { client: &client, url, file, part, progress }.run(&target).await?;
    }
    Ok(())
}

/// One file on its way.
struct Download<'a> {
    client: &'a Client,
    url: Url,
    file: ModelFile,
    part: PathBuf,
    progress: &'a (dyn Fn(Progress) + Sync),
}

struct PartialFile {
    file: File,
    done: u64,
    hash: Sha256,
}

impl Download<'_> {
    async fn run(&self, target: &Path) -> Result<(), EmbedError> {
        let delays = || {
            let delays = ExponentialBuilder::new().with_min_delay(Duration::from_millis(500)).with_factor(3.0);
            delays.with_max_delay(Duration::from_secs(60)).with_max_times(ATTEMPTS_MAX - 1).build()
        };
        let (mut left, mut before) = (delays(), 0);
        loop {
            let mut begun = self.resume_download().await?;
            if begun.done > before {
                (left, before) = (delays(), begun.done);
            }
            let error = match self.fetch_rest(&mut begun).await {
                Ok(()) => return self.finish(begun, target).await,
                Err(error) => error,
            };
            let Some(delay) = left.next().filter(|_| error.is_transient()) else { return Err(error) };
            tracing::info!(file = self.file.name, %error, "the embedding model's file is asked for again in {delay:?}");
            sleep(delay).await;
        }
    }

    /// Takes up what an earlier attempt left.
    async fn resume_download(&self) -> Result<PartialFile, EmbedError> {
        let open = OpenOptions::new().read(true).append(true).create(true).open(&self.part).await;
        let mut file = open.map_err(|error| disk(&self.part, error))?;
        let mut begun = (Sha256::new(), 0);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let read = file.read(&mut block).await.map_err(|error| disk(&self.part, error))?;
            if read == 0 {
                break;
            }
            begun.0.update(&block[..read]);
            begun.1 += read as u64;
        }
        Ok(PartialFile { file, done: begun.1, hash: begun.0 })
    }

    /// Fetches what is missing.
    async fn fetch_rest(&self, begun: &mut PartialFile) -> Result<(), EmbedError> {
        if begun.done >= self.file.bytes {
            return Ok(());
        }
        let mut response = self.ask(begun.done).await?;
        if begun.done > 0 && !continues(&response, begun.done) {
            // The server knows nothing of parts.
            begun.file.set_len(0).await.map_err(|error| disk(&self.part, error))?;
            (begun.done, begun.hash) = (0, Sha256::new());
        }
        while begun.done < self.file.bytes {
            let chunk = match timeout(SILENCE_MAX, response.chunk()).await {
                Err(_) => return Err(transient("fell silent")),
                Ok(Err(error)) => return Err(transient(&format!("broke off: {error}"))),
                Ok(Ok(None)) => return Err(transient("ended early")),
                Ok(Ok(Some(chunk))) => chunk,
            };
            if begun.done + chunk.len() as u64 > self.file.bytes {
                return self.discard_corrupt("it is longer than it should be").await;
            }
            begun.file.write_all(&chunk).await.map_err(|error| disk(&self.part, error))?;
            begun.hash.update(&chunk);
            begun.done += chunk.len() as u64;
            (self.progress)(Progress { name: self.file.name, done: begun.done, bytes: self.file.bytes });
        }
        Ok(())
    }

    /// Asks for the file from `done` on, wherever it is. No request carries a key, so it may be sent on.
    async fn ask(&self, done: u64) -> Result<Response, EmbedError> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let mut request = self.client.get(url.clone());
            if done > 0 {
                request = request.header(RANGE, format!("bytes={done}-"));
            }
            let response =
                timeout(SILENCE_MAX, request.send()).await.map_err(|_elapsed| transient("did not answer"))?;
            let response = response.map_err(|error| transient(&format!("cannot be reached: {error}")))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(refused(status, &url));
            }
            let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(|to| url.join(to));
            let Some(Ok(next)) = next else { return Err(refused(status, &url)) };
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(EmbedError::Setup(format!("{url} sends on to an address without encryption.")));
            }
            url = next;
        }
        Err(EmbedError::Setup(format!("{} sends on and on.", self.url)))
    }

    /// Gives the whole file its name.
    async fn finish(&self, mut begun: PartialFile, target: &Path) -> Result<(), EmbedError> {
        begun.file.flush().await.map_err(|error| disk(&self.part, error))?;
        begun.file.sync_all().await.map_err(|error| disk(&self.part, error))?;
        let sum = hex(&begun.hash.finalize());
        if begun.done != self.file.bytes || sum != self.file.sha256 {
            return self.discard_corrupt("its checksum is another").await;
        }
        fs::rename(&self.part, target).await.map_err(|error| disk(target, error))
    }

    /// Throws away what is not the file.
    async fn discard_corrupt(&self, why: &str) -> Result<(), EmbedError> {
        fs::remove_file(&self.part).await.map_err(|error| disk(&self.part, error))?;
        Err(EmbedError::Setup(format!("What {} gives is not the embedding model's file: {why}.", self.url)))
    }
}

/// Whether the response begins where the file ends so far.
fn continues(response: &Response, done: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|range| range.starts_with(&format!("bytes {done}-")))
}

fn refused(status: StatusCode, url: &Url) -> EmbedError {
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT {
        return transient(&format!("answered {status}"));
    }
    EmbedError::Setup(format!("There is no embedding model at {url} ({status})."))
}

fn transient(what: &str) -> EmbedError {
    EmbedError::Transient { what: format!("The server of the embedding model {what}."), retry_after: None }
}

fn disk(path: &Path, error: impl std::fmt::Display) -> EmbedError {
    EmbedError::Setup(format!("{} cannot be written: {error}", path.display()))
}
