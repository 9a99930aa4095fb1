//! Plays the body of an answer step by step: what the fakes of all models share.
//!
//! Start at [`Plan`].

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures::Stream;
use tokio::sync::Semaphore;

/// Holds a stream until the test opens it.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<Semaphore>,
    reached: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until a stream stands before the gate.
    pub async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// What is done to the connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes.
    Send(Bytes),
    /// Waits until the test opens the gate.
    Wait(Gate),
    /// Takes its time.
    Pause(Duration),
    /// Breaks the connection off.
    Cut,
    /// Sends these bytes again and again, until the client goes.
    Forever(Bytes),
}

/// A body, step by step.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    steps: Vec<Step>,
    piece_len: Option<usize>,
}

impl Plan {
    pub fn raw(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Send(Bytes::copy_from_slice(bytes.as_ref())))
    }

    /// Waits until the test opens the gate.
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// Takes its time: to be killed in, never to wait for something.
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Pause(time))
    }

    /// Never goes on.
    pub fn stall(self) -> Self {
        self.gate(&Gate::default())
    }

    /// Breaks the connection off.
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Sends these bytes again and again, until the client goes.
    pub fn forever(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Forever(Bytes::copy_from_slice(bytes.as_ref())))
    }

    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Cuts everything that is sent into pieces of so many bytes, also within a character.
    pub fn in_pieces(mut self, len: usize) -> Self {
        self.piece_len = Some(len);
        self
    }

    /// The body; `on_drop` is called when the client goes before its end.
    pub fn play(self, on_drop: impl FnMut() + Send + 'static) -> impl Stream<Item = io::Result<Bytes>> {
        let piece_len = self.piece_len.unwrap_or(usize::MAX);
        let pieces = self.steps.into_iter().flat_map(|step| match step {
            Step::Send(bytes) => {
                bytes.chunks(piece_len).map(|piece| Step::Send(Bytes::copy_from_slice(piece))).collect()
            }
            Step::Wait(_) | Step::Pause(_) | Step::Cut | Step::Forever(_) => vec![step],
        });
        played(Playing { steps: pieces.collect(), on_drop })
    }
}

/// Calls back if it is dropped while there are steps left.
struct Playing<F: FnMut()> {
    steps: VecDeque<Step>,
    on_drop: F,
}

impl<F: FnMut()> Drop for Playing<F> {
    fn drop(&mut self) {
        if !self.steps.is_empty() {
            (self.on_drop)();
        }
    }
}

fn played(playing: Playing<impl FnMut() + Send + 'static>) -> impl Stream<Item = io::Result<Bytes>> {
    futures::stream::unfold(playing, |mut playing| async {
        loop {
            // Gives the connection time to send each piece by itself.
            tokio::task::yield_now().await;
            match playing.steps.front() {
                Some(Step::Wait(gate)) => gate.clone().pass().await,
                Some(Step::Forever(bytes)) => return Some((Ok(bytes.clone()), playing)),
                _ => {}
            }
            match playing.steps.pop_front()? {
                Step::Wait(_) | Step::Forever(_) => {}
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Send(bytes) => return Some((Ok(bytes), playing)),
                Step::Cut => {
                    playing.steps.clear();
                    return Some((Err(io::Error::other("cut by the script")), playing));
                }
            }
        }
    })
}
