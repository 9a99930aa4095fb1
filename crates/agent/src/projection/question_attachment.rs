//! What a question leaves out, as a file that goes before it: whoever says yes can read all of it.

use sha2::{Digest as _, Sha256};

use crate::projection::ProjectionRow;
use crate::projection::write::RunRowTarget;
use hob_core::domain::ids::{FileId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::text::hex;
use hob_core::render::RenderedPiece;
use hob_store::contents::{Contents, KeptContent};
use hob_store::error::StoreError;
use hob_store::files::NewFile;
use hob_store::outbox::{ChunkRole, NewChunk};
use hob_store::{Tx, files, outbox};

/// The file's name.
const NAME: &str = "arguments.txt";

/// Keeps what these rows attach; held until their records are committed. What cannot be kept is told of where it is sent.
pub(crate) async fn keep(
    tx: &mut Tx,
    contents: &Contents,
    rows: &[ProjectionRow],
) -> Result<Vec<KeptContent>, StoreError> {
    let mut all = Vec::new();
    for row in rows {
        let ProjectionRow::Attached { text, .. } = row else { continue };
        match contents.keep_within(tx, text.as_bytes()).await? {
            Ok(kept) => all.push(kept),
            Err(error) => tracing::error!(%error, "a question's file is not kept"),
        }
    }
    Ok(all)
}

/// Its record: one for each question.
pub(super) async fn record(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    seq: i64,
    user: UserId,
    text: &str,
) -> Result<FileId, StoreError> {
    let session = target.home;
    let is_private = target.destination.conversation.is_private();
    let hash = hex(&Sha256::digest(text));
    let new = NewFile {
        key: &format!("question:{}:{seq}", target.key.run),
        session,
        user,
        scope: if is_private { Scope::Person(user) } else { Scope::Conversation(session) },
        inbound: None,
        name: NAME,
        mime: "text/plain",
        bytes: text.len() as u64,
        hash: &hash,
        origin: &OriginSource::new(Origin::Tool, "a call that was asked about"),
    };
    files::add(tx, &new, target.at).await
}

/// Queues it.
pub(super) async fn send(tx: &mut Tx, target: &RunRowTarget<'_>, key: &str, file: FileId) -> Result<(), StoreError> {
    let new = NewChunk {
        key,
        session: target.home,
        run: Some(target.key.run),
        destination: target.destination,
        piece: &RenderedPiece { text: String::new(), markup: None },
        choices: &[],
        file: Some(file),
        part: ChunkRole::Words,
    };
    outbox::add(tx, &new, target.at).await
}
