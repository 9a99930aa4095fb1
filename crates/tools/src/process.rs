//! A program that Hob starts for a tool or a hook, and what it printed.
//!
//! Its environment is clean, its process group is its own and is killed when the call is dropped, and it carries the mark
//! by which a later Hob finds it.
//!
//! Never: a shell, or a secret of Hob's in its environment.
//! Start at [`run`].

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

use crate::process_reaper::ProcessReaper;
use crate::sandbox::Sandbox;
use crate::sandbox::confinement::{Confinement, ScratchDir};
use hob_config::environment::Environment;
use hob_telemetry::tasks;

/// How long the rest of the output is waited for after the program has ended.
const REST: Duration = Duration::from_secs(1);

/// What is to be run.
pub(super) struct ProcessSpec {
    /// The program and its arguments.
    pub(super) vector: Vec<String>,
    pub(super) dir: PathBuf,
    /// What its environment has besides the usual.
    pub(super) environment: Vec<(String, String)>,
    /// What it finds on its standard input; none: nothing at all.
    pub(super) input: Option<Vec<u8>>,
    /// How much is kept of each of its two outputs, in bytes.
    pub(super) bytes_max: usize,
    /// Whose mark it carries.
    pub(super) leftovers: ProcessReaper,
    /// Its sandbox; none: it is the operator's own, and may go on in another session after its end.
    pub(super) confinement: Option<Confinement>,
}

/// The same, where it is known what its sandbox can be.
pub(super) struct ConfinedProcess<'a> {
    errand: &'a ProcessSpec,
    confinement: Option<(&'a Confinement, &'a Sandbox)>,
}

impl ProcessSpec {
    /// Waits until it is known what its sandbox can be.
    pub(super) async fn ready(&self) -> ConfinedProcess<'_> {
        let confinement = match &self.confinement {
            Some(confinement) => Some((confinement, confinement.sandbox.result().await)),
            None => None,
        };
        ConfinedProcess { errand: self, confinement }
    }
}

/// How it ended.
pub(super) struct ProcessOutput {
    /// Its own word.
    pub(super) status: ExitStatus,
    /// Its standard output, with the middle left out if there was too much of it.
    pub(super) out: String,
    /// Its standard error, likewise.
    pub(super) err: String,
}

impl ProcessOutput {
    /// Everything it printed.
    pub(super) fn printed(&self) -> String {
        let parts = [self.out.trim_end(), self.err.trim_end()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// The same for what is no text: the output is whole, or there is none.
pub(super) struct ByteOutput {
    /// Its own word.
    pub(super) status: ExitStatus,
    /// Its standard output; none: there was too much of it.
    pub(super) out: Option<Vec<u8>>,
    /// Its standard error, with the middle left out if there was too much of it.
    pub(super) err: String,
}

/// Runs it to its end. Dropping the future kills it with everything it started.
pub(super) async fn run(errand: ProcessSpec) -> io::Result<ProcessOutput> {
    let CapturedEnd { status, output } = Box::pin(run_captured(errand)).await?;
    let (out, err) = match output {
        Some(Captured { out, err }) => (out.into_text(), err.into_text()),
        None => ("(its output was held open by a child and is lost)".to_owned(), String::new()),
    };
    Ok(ProcessOutput { status, out, err })
}

/// The same, for a program that writes bytes.
///
/// # Errors
/// When it could not be started.
pub(super) async fn run_for_bytes(errand: ProcessSpec) -> io::Result<ByteOutput> {
    let CapturedEnd { status, output } = Box::pin(run_captured(errand)).await?;
    let (out, err) = match output {
        Some(Captured { out, err }) => (out.into_whole(), err.into_text()),
        None => (None, String::new()),
    };
    Ok(ByteOutput { status, out, err })
}

/// How a program ended, and what it wrote; none: a child of it holds that open.
struct CapturedEnd {
    status: ExitStatus,
    output: Option<Captured>,
}

struct Captured {
    out: StreamCapture,
    err: StreamCapture,
}

async fn run_captured(errand: ProcessSpec) -> io::Result<CapturedEnd> {
    let mut started = start(&errand.ready().await, OutputRouting::Apart)?;
    let child = &mut started.child;
    let (stdin, stdout, stderr) = (started.stdin.take(), child.stdout.take(), child.stderr.take());
    // Whoever holds the pipe open after the command has ended is not waited for: the group is killed on return.
    let talking = async {
        let (out, err) = (read(stdout, errand.bytes_max), read(stderr, errand.bytes_max));
        let ((), out, err) = tokio::join!(write(stdin, errand.input.clone().unwrap_or_default()), out, err);
        Captured { out, err }
    };
    let mut talking = std::pin::pin!(talking);
    let mut output = None;
    let status = tokio::select! {
        biased;
        both = &mut talking => { output = Some(both); child.wait().await? }
        status = child.wait() => status?,
    };
    if output.is_none() {
        output = tokio::time::timeout(REST, talking).await.ok();
    }
    Ok(CapturedEnd { status, output })
}

/// Where its two outputs go.
pub(super) enum OutputRouting {
    /// Each into a pipe of its own.
    Apart,
    /// Both into this one, in their order.
    Together(PipeWriter),
}

/// A program at work. Dropping it kills it with everything it started.
pub(super) struct RunningProcess {
    /// The program, or the first of the processes that hold it.
    pub(super) child: Child,
    /// Where its input goes.
    pub(super) stdin: Option<ChildStdin>,
    _end: ProcessCleanup,
}

pub(super) fn start(ready: &ConfinedProcess<'_>, outputs: OutputRouting) -> io::Result<RunningProcess> {
    let PreparedCommand { mut command, sweep, scratch } = prepare(ready)?;
    command.stdin(if ready.errand.input.is_some() { Stdio::piped() } else { Stdio::null() });
    match outputs {
        OutputRouting::Apart => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        OutputRouting::Together(pipe) => command.stdout(pipe.try_clone()?).stderr(pipe),
    };
    let mut end = ProcessCleanup { group: None, sweep, scratch };
    let mut child = command.spawn()?;
    end.group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let stdin = child.stdin.take();
    Ok(RunningProcess { child, stdin, _end: end })
}

/// A program that is about to be started, in its sandbox if it has one.
pub(super) struct PreparedCommand {
    /// It, but for its input and outputs.
    pub(super) command: Command,
    /// By which those of its processes are found that nothing else ends.
    pub(super) sweep: Option<ProcessReaper>,
    /// What it has to itself.
    pub(super) scratch: Option<ScratchDir>,
}

/// Prepares it.
///
/// # Errors
/// When there is no program, or no folder for it.
pub(super) fn prepare(&ConfinedProcess { errand, confinement }: &ConfinedProcess<'_>) -> io::Result<PreparedCommand> {
    let scratch = confinement.map(|(confinement, _)| confinement.scratch()).transpose()?;
    let within = confinement.zip(scratch.as_ref());
    let wrapped =
        within.and_then(|((confinement, sandbox), scratch)| confinement.vector(sandbox, scratch, &errand.vector));
    let walled = wrapped.is_some();
    let vector = wrapped.unwrap_or_else(|| errand.vector.iter().map(OsString::from).collect());
    let Some((program, rest)) = vector.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(rest).env_clear().envs(clean_environment());
    let sweep = within.map(|((confinement, sandbox), scratch)| {
        let this = ProcessReaper::of_call();
        command.envs([this.mark()]);
        command.env("PATH", confinement.path(sandbox)).env("TMPDIR", scratch.temporary());
        command.envs(confinement.home().map(|home| ("HOME", home)));
        // Where there are namespaces, they end whatever is in them.
        (!walled || !sandbox.kills_descendants()).then_some(this)
    });
    command.envs(errand.environment.iter().cloned()).kill_on_drop(true);
    if !walled {
        // In a sandbox it makes a session of its own, which who leads a group already cannot.
        command.process_group(0);
    }
    let (mark, whose) = errand.leftovers.mark();
    command.env(mark, whose).current_dir(&errand.dir);
    Ok(PreparedCommand { command, sweep: sweep.flatten(), scratch })
}

/// What a child sees of the environment: no secret is in it.
pub(super) fn clean_environment() -> impl Iterator<Item = (&'static str, String)> {
    let own = Environment::of_process();
    let passed = move |name| Some((name, own.text(name)?.to_owned()));
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ"].into_iter().filter_map(passed)
}

/// Kills the whole process group when the call is dropped: stopped, timed out, or the daemon leaves.
struct ProcessCleanup {
    group: Option<Pid>,
    /// By which those are found that have left the group.
    sweep: Option<ProcessReaper>,
    scratch: Option<ScratchDir>,
}

impl Drop for ProcessCleanup {
    fn drop(&mut self) {
        if let Some(group) = self.group
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(%error, "the process group was gone already");
        }
        let (sweep, scratch) = (self.sweep.take(), self.scratch.take());
        // What follows takes a while. Without a runtime Hob is on its way out: the next start does it.
        tasks::spawn_if_running("a program's end", async move {
            if let Some(sweep) = sweep {
                sweep.kill().await;
            }
            ScratchDir::delete(scratch).await;
        });
    }
}

/// Hands the input over; a program need not read it.
async fn write(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin
        && let Err(error) = stdin.write_all(&input).await
    {
        tracing::debug!(%error, "a program did not read its input");
    }
}

/// Reads to the end.
async fn read<R: AsyncRead + Unpin>(source: Option<R>, bytes_max: usize) -> StreamCapture {
    let mut kept = StreamCapture::new(bytes_max);
    let Some(mut source) = source else {
        return kept;
    };
    let mut buffer = [0_u8; 8192];
    loop {
        match source.read(&mut buffer).await {
            Ok(0) => break,
            Ok(read) => kept.take(&buffer[..read]),
            Err(error) => {
                tracing::debug!(%error, "a program's output broke off");
                break;
            }
        }
    }
    kept
}

/// The head and the tail of a stream of any length.
struct StreamCapture {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    lost: usize,
}

impl StreamCapture {
    fn new(bytes_max: usize) -> Self {
        Self { half: bytes_max / 2, head: Vec::new(), tail: VecDeque::new(), lost: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.lost += excess;
    }

    /// The bytes, if none are missing.
    fn into_whole(self) -> Option<Vec<u8>> {
        let (mut whole, tail) = (self.head, self.tail);
        whole.extend(tail);
        (self.lost == 0).then_some(whole)
    }

    /// The text; no character is cut in two where the middle is missing.
    fn into_text(self) -> String {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.lost == 0 {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        let (head, tail) = (without_cut_end(&head), without_cut_start(&tail));
        let lost = self.lost;
        format!("{}\n… {lost} bytes left out …\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
    }
}

/// Without a last character of which only the beginning is there.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().rposition(|byte| !(0x80..=0xBF).contains(byte));
    let Some(start) = start.filter(|start| bytes.len() - start < 4) else {
        return bytes;
    };
    let needed = match bytes[start] {
        0xF0.. => 4,
        0xE0..=0xEF => 3,
        0xC0..=0xDF => 2,
        _ => 1,
    };
    if bytes.len() - start < needed { &bytes[..start] } else { bytes }
}

/// Without a first character of which only the end is there.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, bytes_max: usize, step: usize) -> String {
        let mut kept = StreamCapture::new(bytes_max);
        text.as_bytes().chunks(step).for_each(|piece| kept.take(piece));
        kept.into_text()
    }

    #[test]
    fn c9_a_stream_is_kept_whole_up_to_the_bound_and_then_by_its_ends() {
        for step in [1, 3, 100] {
            assert_eq!(kept("", 8, step), "");
            assert_eq!(kept("12345678", 8, step), "12345678");
            assert_eq!(kept("123456789", 8, step), "1234\n… 1 bytes left out …\n6789");
        }
    }

    #[test]
    fn c9_no_character_is_cut_in_two() {
        // The seam between head and tail lies within a character, and nothing is missing.
        assert_eq!(kept("äöü", 6, 100), "äöü");
        assert_eq!(kept("aäöüb", 8, 1), "aäöüb");
        for (text, expected) in [
            ("ääääää", "ä\n… 6 bytes left out …\nä"),
            ("1€€€€9", "1\n… 8 bytes left out …\n9"),
            ("😀😀😀😀", "\n… 10 bytes left out …\n"),
            ("123😀😀😀789", "123\n… 12 bytes left out …\n789"),
        ] {
            assert_eq!(kept(text, 6, 1), expected, "{text}");
        }
    }

    #[test]
    fn cut_ends_are_found() {
        for (bytes, expected) in [
            (&b"abc"[..], &b"abc"[..]),
            (b"a\xC3", b"a"),
            (b"a\xC3\xA4", b"a\xC3\xA4"),
            (b"a\xE2\x82", b"a"),
            (b"a\xE2\x82\xAC", b"a\xE2\x82\xAC"),
            (b"a\xF0\x9F\x98", b"a"),
            (b"\xF0\x9F\x98\x80", b"\xF0\x9F\x98\x80"),
            (b"\x80\x80\x80\x80\x80", b"\x80\x80\x80\x80\x80"),
            (b"", b""),
        ] {
            assert_eq!(without_cut_end(bytes), expected, "{bytes:?}");
        }
        for (bytes, expected) in [
            (&b"abc"[..], &b"abc"[..]),
            (b"\x82\xACa", b"a"),
            (b"\x9F\x98\x80a", b"a"),
            (b"\x80\x80\x80\x80", b"\x80"),
            (b"\xC3\xA4", b"\xC3\xA4"),
        ] {
            assert_eq!(without_cut_start(bytes), expected, "{bytes:?}");
        }
    }
}
