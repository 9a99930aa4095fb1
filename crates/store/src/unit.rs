//! What is done on the database in one piece.

use async_trait::async_trait;

use crate::Tx;
use crate::error::StoreError;

/// A unit of work: `async |tx| …`, which captures what it needs, or an `async fn` that takes nothing but the connection.
///
/// It can run again. Each attempt is a clone with its own copies of what was captured, on a database that has seen nothing of
/// the attempts before. So what is large is captured as an `Arc`, and what must happen once is not done in here.
///
/// It is a trait for its bounds' sake; whatever has them is one.
pub trait UnitOfWork<T>:
    AsyncFnOnce(&mut Tx) -> Result<T, StoreError> + for<'t> UnitAttempt<'t, T> + Clone + Send
{
}

impl<T, F> UnitOfWork<T> for F where
    F: AsyncFnOnce(&mut Tx) -> Result<T, StoreError> + for<'t> UnitAttempt<'t, T> + Clone + Send
{
}

/// What `AsyncFnOnce` cannot be asked for: that its future may go to another thread.
pub trait UnitAttempt<'t, T> {
    type Running: Future<Output = Result<T, StoreError>> + Send;

    /// Begins the one attempt that this clone is for.
    fn begin(self, tx: &'t mut Tx) -> Self::Running;
}

impl<'t, T, F, R> UnitAttempt<'t, T> for F
where
    F: FnOnce(&'t mut Tx) -> R,
    R: Future<Output = Result<T, StoreError>> + Send,
{
    type Running = R;

    fn begin(self, tx: &'t mut Tx) -> R {
        self(tx)
    }
}

/// A unit of work of any type, which can be tried again and again.
#[async_trait]
pub(crate) trait Attempt: Send {
    async fn attempt(&mut self, tx: &mut Tx) -> Result<(), StoreError>;
}

/// A unit of work, and what came of the last attempt.
pub(crate) struct Tried<U, T> {
    unit: U,
    pub(crate) output: Option<T>,
}

impl<U, T> Tried<U, T> {
    pub(crate) fn new(unit: U) -> Self {
        Self { unit, output: None }
    }
}

#[async_trait]
impl<T: Send, U: UnitOfWork<T>> Attempt for Tried<U, T> {
    async fn attempt(&mut self, tx: &mut Tx) -> Result<(), StoreError> {
        self.output = Some(self.unit.clone().begin(tx).await?);
        Ok(())
    }
}
