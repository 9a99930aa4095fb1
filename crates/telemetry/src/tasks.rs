//! Tasks that go on beside whoever began them: one that panics is told, and whoever waits for its end hears of it.
//!
//! Never: a bare `tokio::spawn` elsewhere; clippy.toml sees to that. A `TaskTracker`'s task is given to [`caught`] first.
//! Start at [`caught`].

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::task::JoinHandle;

/// How much of a panic's words is logged: they may quote what a person said.
const PANIC_CHARS_MAX: usize = 200;

/// What a task comes to; none: it panicked, which is told under its name.
pub async fn caught<T>(name: &'static str, task: impl Future<Output = T>) -> Option<T> {
    match AssertUnwindSafe(task).catch_unwind().await {
        Ok(done) => Some(done),
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let message: String = message.lines().next().unwrap_or_default().chars().take(PANIC_CHARS_MAX).collect();
            tracing::error!(task = name, message, "task.panicked");
            None
        }
    }
}

/// Begins a task under a name.
#[expect(clippy::disallowed_methods, reason = "this is the place for it: a panic is caught and told")]
pub fn spawn(name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(caught(name, task).map(Option::unwrap_or_default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_its_task_and_is_heard_of() {
        assert_eq!(caught("one that goes well", async { 3 }).await, Some(3));
        let broken: Option<()> = caught("one that breaks", async { panic!("simulated") }).await;
        assert_eq!(broken, None);
        let ended = spawn("another that breaks", async { panic!("simulated: {}", 1) }).await;
        assert!(ended.is_ok(), "whoever waits for it goes on");
    }
}
