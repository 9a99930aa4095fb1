//! The token and what people write stay out of the log.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hob_core::domain::channel::Channel as _;
use tracing_subscriber::fmt::MakeWriter;

use crate::telegram::harness::{RunningAdapter, message};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn the_log_holds_neither_token_nor_messages() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let fake = FakeTelegram::start().await;
    let hob = RunningAdapter::start(&fake);
    for fault in [Fault::CutBefore, Fault::Proxy(502), Fault::Unauthorized, Fault::Hang, Fault::Conflict] {
        fake.fault("getUpdates", fault.clone());
        fake.fault("sendMessage", fault);
    }
    fake.say(7, "my diary");
    hob.intake.until(1).await;
    for _ in 0..3 {
        hob.adapter.deliver(&message(7, "dear diary")).await.unwrap_err();
    }
    let fake = fake.outage().await.end().await;
    fake.say(7, "my diary again");
    hob.intake.until(2).await;
    hob.end().await;
    drop(guard);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("polling Telegram as @hob_test_bot"), "{log}");
    for secret in [FakeTelegram::TOKEN, "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "diary"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
    }
}
