//! Tasks that go on beside whoever began them: one that panics is told, and whoever waits for its end hears of it.
//!
//! Never: a task that is begun elsewhere, on a tracker or a runtime too; clippy.toml sees to that.
//! Start at [`catch_panic`].

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// How much of a panic's words is logged: they may quote what a person said.
const PANIC_CHARS_MAX: usize = 200;

/// What a task comes to; none: it panicked, which is told under its name.
pub async fn catch_panic<T>(name: &'static str, task: impl Future<Output = T>) -> Option<T> {
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
    tokio::spawn(catch_panic(name, task).map(Option::unwrap_or_default))
}

/// The same, where its end is awaited with others'; none comes of one that panicked.
#[expect(clippy::disallowed_methods, reason = "this is the place for it: a panic is caught and told")]
pub fn spawn_among<T: Send + 'static>(
    tracker: &TaskTracker,
    name: &'static str,
    task: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    tracker.spawn(catch_panic(name, task))
}

/// The same, where there may be no runtime any more: then nothing is begun.
#[expect(clippy::disallowed_methods, reason = "this is the place for it: a panic is caught and told")]
pub fn spawn_if_running(name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = Handle::try_current() {
        drop(runtime.spawn(catch_panic(name, task)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_its_task_and_is_heard_of() {
        assert_eq!(catch_panic("one that goes well", async { 3 }).await, Some(3));
        let broken: Option<()> = catch_panic("one that breaks", async { panic!("simulated") }).await;
        assert_eq!(broken, None);
        let ended = spawn("another that breaks", async { panic!("simulated: {}", 1) }).await;
        assert!(ended.is_ok(), "whoever waits for it goes on");
        let tracker = TaskTracker::new();
        let broken = spawn_among(&tracker, "one among others that breaks", async { panic!("simulated") });
        tracker.close();
        tracker.wait().await;
        assert!(matches!(broken.await, Ok(None::<()>)));
    }
}
