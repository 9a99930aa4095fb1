//! Recorded files, for the people of their conversation alone.

use std::path::PathBuf;
use std::sync::Arc;

use crate::files::access::FileAccessError;
use crate::files::text::{size, sniff};
use crate::{Invocation, OutputFile};
use hob_core::domain::ids::FileId;
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::OriginSource;
use hob_core::policy::memory::SpeakingPlace;
use hob_store::contents::Contents;
use hob_store::error::StoreError;
use hob_store::files::{self, FileReader, FileRecord, NewFile};
use hob_store::{Store, Tx};

/// The most characters of a file's name.
const NAME_CHARS_MAX: usize = 120;

/// The records, and where their contents are.
#[derive(Clone)]
pub struct FileRecords {
    pub store: Store,
    pub contents: Contents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    pub id: FileId,
    /// The SHA-256 of its content.
    pub hash: String,
    pub bytes: u64,
    /// What it is, by its content.
    pub mime: &'static str,
}

/// What the model is told of a file.
pub fn record_line(id: FileId, name: &str, mime: &str, bytes: u64) -> String {
    format!("[File {name:?}, {mime}, {}: id {id}, for read_file and send_file]", size(bytes))
}

/// A name that can be shown in one line: it was chosen by whoever made the file.
pub fn clean(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(NAME_CHARS_MAX);
    kept.collect::<String>().trim().to_owned()
}

/// Whose a file is: in private a person's, in a group the group's.
pub fn scope_at(place: SpeakingPlace, user: hob_core::domain::ids::UserId) -> Scope {
    if place.private { Scope::Person(user) } else { Scope::Conversation(place.session) }
}

impl FileRecords {
    /// The record with this id, if whoever calls may be shown it in this conversation, and where its content lies.
    ///
    /// # Errors
    /// When there is none; whether another conversation, or somebody else, has one is theirs alone to know.
    pub async fn find(&self, call: &Invocation, id: FileId) -> Result<(FileRecord, PathBuf), FileAccessError> {
        let SpeakingPlace { session, private } = call.place;
        let reader = FileReader { session, user: call.principal.user, private };
        let found = self.store.read(async |tx| files::find_shown_to(tx, id, reader).await).await;
        let record = found.map_err(|error| failed(&error))?;
        let record =
            record.ok_or_else(|| FileAccessError::Content(format!("There is no file {id} in this conversation.")))?;
        let path = self.contents.locate(&record.hash).await;
        Ok((record, path))
    }

    /// Keeps bytes as they are now, to be sent by this call.
    pub async fn snapshot(
        &self,
        invocation: &Invocation,
        file: OutputFile,
        origin: OriginSource,
    ) -> Result<FileId, FileAccessError> {
        let key = format!("out:{}:{}", invocation.run, invocation.call);
        Ok(self.keep(key, invocation, file, origin).await?.id)
    }

    /// Keeps a file that this call has brought along, the `at`th.
    pub async fn record_brought_file(
        &self,
        invocation: &Invocation,
        at: usize,
        file: OutputFile,
        origin: OriginSource,
    ) -> Result<RecordedFile, FileAccessError> {
        let key = format!("tool:{}:{}:{at}", invocation.run, invocation.call);
        self.keep(key, invocation, file, origin).await
    }

    async fn keep(
        &self,
        key: String,
        invocation: &Invocation,
        OutputFile { name, bytes }: OutputFile,
        origin: OriginSource,
    ) -> Result<RecordedFile, FileAccessError> {
        let mime = sniff(&bytes);
        let kept = self.contents.keep(bytes).await;
        let kept = kept.map_err(|error| FileAccessError::Failed { path: name.clone(), why: error.to_string() })?;
        let (hash, bytes) = (kept.hash.clone(), kept.bytes);
        let (place, user, now) = (invocation.place, invocation.principal.user, invocation.now);
        // The content is held until the record is there, even if nobody waits for it any more.
        let kept = Arc::new(kept);
        let record = async move |tx: &mut Tx| {
            let new = NewFile {
                key: &key,
                session: place.session,
                user,
                scope: scope_at(place, user),
                inbound: None,
                name: &name,
                mime,
                bytes: kept.bytes,
                hash: &kept.hash,
                origin: &origin,
            };
            files::add(tx, &new, now).await
        };
        let id = self.store.write(record).await.map_err(|error| failed(&error))?;
        Ok(RecordedFile { id, hash, bytes, mime })
    }
}

fn failed(error: &StoreError) -> FileAccessError {
    FileAccessError::Content(format!("The file cannot be looked up: {error}."))
}
