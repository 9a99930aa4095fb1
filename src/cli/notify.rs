//! What systemd is told of a running Hob: that it is ready, how it fares, that it lives. Without systemd nobody is told.

use std::pin::pin;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::daemon::Daemon;
use crate::daemon::watchdog::{PulseMonitor, all_heard, line};

/// How long the parts may take to show that they are alive before the watchdog is not fed.
const ALIVE_WITHIN: Duration = Duration::from_secs(20);
/// How long the start waits for the platforms: one that is down must not hold it up for ever.
const HEARD_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked whether they were heard.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often it is looked how Hob fares.
const STATUS_EVERY: Duration = Duration::from_secs(5);

/// How often systemd is asked for more time.
const PATIENCE_EVERY: Duration = Duration::from_secs(60);
/// For how much, in microseconds: what else there is to do at a start has its time in it as well.
const PATIENCE_USEC: u32 = 300_000_000;

/// Has systemd wait as long as the database is being opened: a large one that is migrated is no Hob that hangs. Whoever stands by for a
/// leader has begun.
pub(super) async fn extend_start_timeout<T>(
    opening: impl Future<Output = T>,
    leader: &watch::Receiver<Option<String>>,
) -> T {
    repeat_until_done(opening, || {
        if leader.borrow().is_some() {
            return;
        }
        let status = "Starting: the database is brought up to date";
        notify(&[NotifyState::ExtendTimeoutUsec(PATIENCE_USEC), NotifyState::Status(status)]);
    })
    .await
}

/// Tells systemd, from when another daemon leads on, that this one is there for when it is needed; until `stop`, which counts from then on.
pub(super) async fn stand_by(mut leader: watch::Receiver<Option<String>>, stop: impl Future<Output = ()>) {
    let Ok(named) = leader.wait_for(Option::is_some).await.map(|leader| leader.clone().unwrap_or_default()) else {
        return std::future::pending().await;
    };
    let told = async {
        let status = format!("Standing by: {named} leads");
        loop {
            notify(&[NotifyState::Ready, NotifyState::Status(&status), NotifyState::Watchdog]);
            tokio::time::sleep(STATUS_EVERY).await;
        }
    };
    tokio::select! {
        () = stop => {}
        () = told => {}
    }
}

/// Asks again and again, beginning after a while, until the work is done.
async fn repeat_until_done<T>(work: impl Future<Output = T>, ask: impl Fn()) -> T {
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(PATIENCE_EVERY, &mut work).await {
            Ok(done) => return done,
            Err(_elapsed) => ask(),
        }
    }
}

/// Tells systemd when Hob is ready, and from then on how it fares and that it lives; for ever.
pub(super) async fn notify_forever(daemon: &Daemon) {
    status(&format!("Starting: {}", line(&daemon.channels(), 0)));
    let heard = tokio::time::timeout(HEARD_WITHIN, wait_until_heard(daemon)).await;
    let channels = line(&daemon.channels(), daemon.at_work());
    match heard {
        Ok(()) => tracing::info!(channels, "hob.serving: {channels}"),
        Err(_elapsed) => {
            tracing::warn!(channels, "hob.serving: not every platform was heard; it goes on trying: {channels}");
        }
    }
    notify(&[NotifyState::Ready, NotifyState::Status(&channels)]);
    tokio::join!(keep_status(daemon), feed_watchdog(daemon));
}

/// Tells systemd that Hob stops.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("Stopping: runs at work come to an end")]);
}

async fn wait_until_heard(daemon: &Daemon) {
    while !all_heard(&daemon.channels()) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn keep_status(daemon: &Daemon) {
    let mut told = String::new();
    loop {
        let now = line(&daemon.channels(), daemon.at_work());
        if now != told {
            status(&now);
            told = now;
        }
        tokio::time::sleep(STATUS_EVERY).await;
    }
}

/// Tells systemd that Hob lives, as long as the runtime, the database's writer and every receive loop do.
async fn feed_watchdog(daemon: &Daemon) {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let mut pulses = PulseMonitor::default();
    loop {
        let dead = pulses.look(&daemon.channels(), Instant::now());
        if !dead.is_empty() {
            let dead = dead.join(", ");
            tracing::error!(dead, "nothing receives any more for {dead}: the watchdog is not fed");
        } else if daemon.is_alive(ALIVE_WITHIN).await {
            notify(&[NotifyState::Watchdog]);
        } else {
            tracing::error!("the database's writer does not answer: the watchdog is not fed");
        }
        tokio::time::sleep(limit / 3).await;
    }
}

fn status(text: &str) {
    notify(&[NotifyState::Status(text)]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd could not be told");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn more_time_is_asked_for_as_long_as_the_work_lasts() {
        for (seconds, expected) in [(0, 0), (59, 0), (61, 1), (3_630, 60)] {
            let asked = Cell::new(0);
            let work = tokio::time::sleep(Duration::from_secs(seconds));
            repeat_until_done(work, || asked.set(asked.get() + 1)).await;
            assert_eq!(asked.get(), expected, "{seconds} s");
        }
    }
}
