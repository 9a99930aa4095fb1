//! The contents of files that come in and go out: fetched, kept, read again.

use std::io;

use crate::delivery::Delivery;
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::{Attachment, Conversation};
use hob_model::message::MediaType;
use hob_model::picture::{self, PictureRejection};
use hob_store::contents::{self, KeptContent};
use hob_store::error::StoreError;
use hob_tools::files::text::sniff;

/// A file that was fetched and kept.
#[derive(Debug)]
pub struct FetchedFile {
    pub kept: KeptContent,
    pub mime: &'static str,
    /// Of a picture: whether a model can be shown it.
    pub picture: Option<Result<MediaType, PictureRejection>>,
}

impl Delivery {
    /// Fetches a file that came with a message, and keeps it.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn fetch(&self, from: &Conversation, attachment: &Attachment) -> Result<FetchedFile, FetchError> {
        let channel = self.inner.channel(from).ok_or_else(|| FetchError("its platform is not connected".to_owned()))?;
        let most = self.inner.ports.contents.bytes_max();
        let bytes = channel.fetch(attachment, most).await.map_err(|error| match most < contents::BYTES_MAX {
            true => FetchError(format!("{error} (the disk is nearly full: only small files are taken)")),
            false => error,
        })?;
        let mime = sniff(&bytes);
        let picture = picture::inspect(mime, &bytes);
        let kept = self.inner.ports.contents.keep(bytes).await;
        let kept = kept.map_err(|error| FetchError(format!("it could not be kept: {error}")))?;
        Ok(FetchedFile { kept, mime, picture })
    }

    /// Keeps what is to go out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) async fn keep(&self, bytes: Vec<u8>) -> io::Result<KeptContent> {
        self.inner.ports.contents.keep(bytes).await
    }

    /// The bytes of what was kept.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn content_of(&self, kept: &KeptContent) -> io::Result<Vec<u8>> {
        self.inner.ports.contents.read(&kept.hash, kept.bytes).await
    }

    /// The bytes of a recorded file.
    ///
    /// # Errors
    /// When they are gone, or cannot be read.
    pub async fn content(&self, hash: &str, bytes: u64) -> io::Result<Vec<u8>> {
        self.inner.ports.contents.read(hash, bytes).await
    }

    /// Deletes the contents that no record refers to any more.
    ///
    /// # Errors
    /// When the directory or the database cannot be read.
    pub(crate) async fn sweep_contents(&self) -> Result<usize, StoreError> {
        self.inner.ports.contents.sweep(&self.inner.ports.store).await
    }
}
