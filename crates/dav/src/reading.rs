//! What servers have answered is read on a thread of its own, one answer at a time: others' words are in it, and whatever they cost,
//! Hob goes on meanwhile.
//!
//! Never: an end that nobody waits for and that does not come. What is done here is bounded ([`crate::rule`], [`crate::lines`]).

use tokio::sync::Semaphore;

use crate::error::DavError;

/// So many answers are taken apart at once: each may fill much memory.
static TURN: Semaphore = Semaphore::const_new(1);

/// Reads an answer.
///
/// # Errors
/// When it cannot be read, or breaks its reader.
pub(crate) async fn read<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DavError> + Send + 'static,
) -> Result<T, DavError> {
    let broken = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "dav.reader_broke: a calendar server's answer broke its reader");
        DavError::Unreadable("its reader broke on it".to_owned())
    };
    let turn = TURN.acquire().await.map_err(|error| broken(&error))?;
    let done = tokio::task::spawn_blocking(move || {
        // Whoever waited may be gone: the turn is over when the work is.
        let _turn = turn;
        work()
    });
    done.await.unwrap_or_else(|error| Err(broken(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn f3_what_breaks_its_reader_breaks_nothing_else() {
        let broken: Result<(), _> = read(|| panic!("an index of somebody's")).await;
        assert_eq!(broken, Err(DavError::Unreadable("its reader broke on it".to_owned())));
        assert_eq!(read(|| Ok(7)).await, Ok(7));
    }
}
