//! The terminal, seen from both sides: what a person or a script sees, and what is handed in.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use hob_console::screen::Console;
use hob_console::{Ports, SessionIdle, local};
use hob_core::domain::channel::{Channel, Intake, IntakeError, UpdateOutcome};
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Cursor};
use hob_core::domain::inbound::{Inbound, InboundEvent};
use hob_core::domain::outgoing::{DeliveryError, Destination, Outgoing};
use hob_core::domain::rng::Rng;
use hob_testkit::outgoing::plain;
use jiff::Timestamp;
use std::collections::BTreeMap;

mod piped;
mod streaming;
mod typed;

/// A writer that can be read.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Counter(AtomicU64);

impl Rng for Counter {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn destination() -> Destination {
    Destination { conversation: local(), reply_to: None }
}

fn reply(run: Option<RunId>, text: &str) -> Outgoing {
    plain(destination(), run, text)
}

/// A household that echoes: it takes messages, and answers them when it is asked to be quiet.
struct Echo<W> {
    console: Arc<Console<W>>,
    taken: Mutex<Vec<Inbound>>,
    unanswered: Mutex<VecDeque<String>>,
    refusals: Mutex<u32>,
}

impl<W: Write + Send + 'static> Echo<W> {
    fn new(console: &Arc<Console<W>>) -> Arc<Self> {
        Arc::new(Self {
            console: Arc::clone(console),
            taken: Mutex::default(),
            unanswered: Mutex::default(),
            refusals: Mutex::default(),
        })
    }

    fn ports(self: &Arc<Self>) -> Ports {
        Ports {
            intake: Arc::clone(self) as Arc<dyn Intake>,
            rng: Arc::new(Counter(AtomicU64::new(1))),
            clock: Arc::new(Still),
            name: "Ada".to_owned(),
            place: local(),
        }
    }

    fn texts(&self) -> Vec<String> {
        let text = |inbound: &Inbound| match &inbound.happening {
            InboundEvent::Posted { text } => text.clone(),
            other => panic!("{other:?} cannot be typed"),
        };
        self.taken.lock().unwrap().iter().map(text).collect()
    }

    async fn answer(&self) {
        let next = || self.unanswered.lock().unwrap().pop_front();
        while let Some(text) = next() {
            // A refused delivery is the console's own affair here: it knows that nobody reads.
            if let Err(error) = self.console.deliver(&reply(None, &format!("You said: {text}"))).await {
                assert!(matches!(error, DeliveryError::Refused { .. }), "{error}");
            }
        }
    }
}

#[async_trait]
impl<W: Write + Send + 'static> Intake for Echo<W> {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        let mut refusals = self.refusals.lock().unwrap();
        if let Some(left) = refusals.checked_sub(1) {
            *refusals = left;
            return Err(IntakeError("the disk is full".to_owned()));
        }
        assert!(self.unanswered.lock().unwrap().is_empty(), "the message before is not answered yet");
        if let InboundEvent::Posted { text } = &inbound.happening {
            self.unanswered.lock().unwrap().push_back(text.clone());
        }
        self.taken.lock().unwrap().push(inbound);
        Ok(UpdateOutcome::Committed)
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(BTreeMap::new())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, _cursor: Cursor) -> Result<(), IntakeError> {
        Ok(())
    }
}

#[async_trait]
impl<W: Write + Send + 'static> SessionIdle for Echo<W> {
    async fn quiet(&self) {
        self.answer().await;
    }
}
