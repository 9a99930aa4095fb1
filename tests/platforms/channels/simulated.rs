//! Hob in the test's own process, on a clock that the test turns: ten minutes are over in a second.
//!
//! Everything that waits here waits by `tokio::time`, which stands still but for what [`Clock`] adds to it; sockets are
//! real. A thread that is always busy keeps the runtime from turning the clock by itself whenever nothing is to be done.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hob::daemon::{Blueprint, Daemon, ServedChannels};
use hob_config::environment::Environment;
use hob_config::load::load;
use hob_core::domain::clock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::SystemRng;
use hob_store::place::StatePlace;
use jiff::{SignedDuration, Timestamp};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use hob_testkit::test_hob::TestHob;

/// How long a turn of the clock takes.
const TURN: Duration = Duration::from_millis(1);
/// What the clock shows at its start.
const BEGIN: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// The clock; it stops when dropped.
pub(crate) struct Clock {
    /// By so many microseconds it goes on with each turn.
    step: Arc<AtomicU64>,
    began: Instant,
    turning: JoinHandle<()>,
}

impl Clock {
    /// Begins at the speed of the real one.
    pub(crate) fn start() -> Self {
        tokio::time::pause();
        let step = Arc::new(AtomicU64::new(0));
        let turning = tokio::spawn(turn(Arc::clone(&step)));
        let clock = Self { step, began: Instant::now(), turning };
        clock.goes_by(TURN);
        clock
    }

    /// With each turn so much time goes by.
    pub(crate) fn goes_by(&self, step: Duration) {
        self.step.store(u64::try_from(step.as_micros()).unwrap(), Ordering::Relaxed);
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.turning.abort();
    }
}

async fn turn(step: Arc<AtomicU64>) {
    let busy = || spawn_blocking(|| std::thread::sleep(TURN));
    let mut held = busy();
    loop {
        // The next one begins before the last one ends.
        let next = busy();
        held.await.unwrap();
        held = next;
        tokio::time::advance(Duration::from_micros(step.load(Ordering::Relaxed))).await;
    }
}

/// The time of day that belongs to it.
struct TimeOfDay(Instant);

impl clock::Clock for TimeOfDay {
    fn now(&self) -> Timestamp {
        BEGIN + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }
}

/// Starts the house's Hob here, as `hob run` does.
pub(crate) async fn start(hob: &TestHob, clock: &Clock) -> Daemon {
    let environment = Environment::of("/", [("HOME", hob.path("").into_os_string())]);
    let loaded = load(Some(&hob.path("config.toml")), &environment).unwrap();
    let redactor = Redactor::new(&loaded.secrets(&environment)).unwrap();
    let data_dir = hob.path("data");
    std::fs::create_dir_all(&data_dir).unwrap();
    let blueprint = Blueprint {
        config: loaded.config,
        config_file: loaded.path,
        source: loaded.source,
        state: StatePlace::of(None, &data_dir),
        data_dir,
        redactor,
        environment,
        serves: ServedChannels::Configured,
        trial: None,
        stays: true,
        conditions: Conditions::default(),
        space: Arc::new(hob::daemon::upkeep::disk::SystemSpace),
        clock: Arc::new(TimeOfDay(clock.began)),
        rng: Arc::new(SystemRng),
    };
    Box::pin(Daemon::start(blueprint)).await.unwrap()
}

/// What channels say of tries to reach their platform that failed: when, and how long they wait until the next one.
#[derive(Clone, Default)]
pub(crate) struct Tries(Arc<Mutex<Vec<(Instant, Duration)>>>);

impl Tries {
    /// Listens to what is logged in this thread from now on.
    pub(crate) fn listen() -> (Self, DefaultGuard) {
        let tries = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(tries.clone()));
        (tries, guard)
    }

    pub(crate) fn since(&self, then: Instant) -> Vec<Duration> {
        let tries = self.0.lock().unwrap();
        tries.iter().filter(|(at, _)| *at >= then).map(|(_, delay)| *delay).collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Tries {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        if let Some(delay) = line.delay.filter(|_| line.of_channel) {
            self.0.lock().unwrap().push((Instant::now(), delay));
        }
    }
}

/// What of a log line tells that a channel waits.
#[derive(Default)]
struct Line {
    of_channel: bool,
    delay: Option<Duration>,
}

impl Visit for Line {
    fn record_u128(&mut self, field: &Field, value: u128) {
        if field.name() == "delay_ms" {
            self.delay = Some(Duration::from_millis(u64::try_from(value).unwrap()));
        }
    }

    fn record_debug(&mut self, field: &Field, _value: &dyn std::fmt::Debug) {
        self.of_channel |= field.name() == "channel";
    }
}
