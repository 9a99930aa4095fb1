//! A disk that fails to make anything durable: nothing is acknowledged, nothing is lost, nothing is said twice.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::process::within;
use hob_testkit::test_hob::{ADA, TestHob};

/// Every fsync of the process fails with EIO while this lives.
struct FailingDisk(Child);

impl FailingDisk {
    async fn under(hob: &mut TestHob) -> Self {
        let pid = hob.process().pid().to_string();
        let mut command = Command::new("strace");
        command.args(["-f", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", "-p", &pid]);
        command.stderr(std::process::Stdio::piped()).kill_on_drop(true);
        let mut tracer = command.spawn().unwrap();
        let mut said = BufReader::new(tracer.stderr.take().unwrap()).lines();
        let line = within("word from strace", said.next_line()).await.unwrap().unwrap();
        assert!(line.contains("attached"), "strace: {line}");
        // Whatever it says later has to go somewhere.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Self(tracer)
    }

    /// The disk works again.
    async fn mended(mut self) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.0.id().unwrap()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        within("end of strace", self.0.wait()).await.unwrap();
    }
}

#[tokio::test]
async fn a1_a_message_is_not_acknowledged_until_it_is_durable() {
    let mut hob = TestHob::running("").await;
    hob.ask(ADA, "Hello", Reply::text("Hello Ada.")).await;
    let disk = FailingDisk::under(&mut hob).await;
    hob.model.reply(Reply::text("One."));
    hob.say(ADA, "one");
    hob.process().until_log("could not be stored").await;
    assert!(hob.telegram.look(|world| !world.updates.is_empty()), "acknowledged, and not durable");
    disk.mended().await;
    assert_eq!(hob.told(ADA, 2).await[1], "One.");
    assert_eq!(hob.model.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_recorded_is_kept_and_said_once() {
    let mut hob = TestHob::running("").await;
    let gate = Gate::default();
    hob.model.reply(Reply::from(Script::default().gate(&gate).text("Two.").finish("stop")));
    hob.say(ADA, "two");
    hob.asked(1).await;
    let disk = FailingDisk::under(&mut hob).await;
    gate.open();
    hob.process().until_log("could not be stored").await;
    assert_eq!(hob.heard(ADA), [""; 0], "said before it was recorded");
    disk.mended().await;
    assert_eq!(hob.told(ADA, 1).await, ["Two."]);
    assert_eq!(hob.model.requests().len(), 1, "it was paid for twice");
}
