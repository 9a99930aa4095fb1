//! The side of the terminal that shows: streams replies, and prints each exactly once.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::attach;
use crate::reply::{Rest, Streamed};
use crate::text::{behind, plain_start, safe};
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::channel::{Channel, Ended, FetchError, Progress};
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{Attachment, ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::outgoing::{DeliveryError, Destination, Enclosed, Outgoing, Receipt};
use hob_core::render::{finished, render};

/// For how many runs it is remembered what was streamed.
const STREAMS_MAX: usize = 16;
/// What stands above a reply that may have been shown before a crash.
const REPEATED: &str = "(this may be a repetition)";
/// What stands between a reply that broke off and its new beginning.
const RESTARTED: &str = "(starting the reply again)";

/// Whether replies are shown as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A person watches: stream, as the model writes it.
    Terminal,
    /// The same, on a terminal that shows styles: block by block, each as it is meant.
    Styled,
    /// A program reads: whole replies only.
    Pipe,
}

/// The terminal as a channel, over any writer.
///
/// For streaming, what is written must show without a `flush`: see [`crate::page::Page`].
pub struct Console<W> {
    mode: Mode,
    screen: Arc<Mutex<Screen<W>>>,
    closed: watch::Sender<bool>,
}

impl<W: Write + Send + 'static> Console<W> {
    /// For a person at a terminal: replies stream.
    #[must_use]
    pub fn terminal(out: W) -> Self {
        Self::new(Mode::Terminal, out)
    }

    /// For a person at a terminal that shows styles, and is so wide: each block of a reply is shown when it is finished.
    #[must_use]
    pub fn styled(out: W, columns: Arc<AtomicUsize>) -> Self {
        let console = Self::new(Mode::Styled, out);
        console.lock().columns = Some(columns);
        console
    }

    /// For a program that reads: each reply is printed whole, and nothing else is.
    #[must_use]
    pub fn pipe(out: W) -> Self {
        Self::new(Mode::Pipe, out)
    }

    fn new(mode: Mode, out: W) -> Self {
        let screen = Screen {
            out,
            streams: VecDeque::new(),
            open_line: None,
            at_line_start: true,
            active: BTreeSet::new(),
            awaiting: false,
            columns: None,
            held: None,
            ahead: String::new(),
            block_of: None,
        };
        Self { mode, screen: Arc::new(Mutex::new(screen)), closed: watch::Sender::new(false) }
    }

    /// Whether an answer is being worked on.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let screen = self.lock();
        screen.awaiting || !screen.active.is_empty()
    }

    /// From when a message is handed in until something comes back, Hob is at work on it.
    pub(super) fn await_answer(&self, awaiting: bool) {
        self.lock().awaiting = awaiting;
    }

    /// Shows a line that is the terminal's own, not a reply.
    pub(super) fn note(&self, text: &str) {
        let shown = self.lock().note(text);
        self.notice(shown.as_ref().err());
    }

    /// Resolves when nobody reads any more.
    pub async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        if closed.wait_for(|closed| *closed).await.is_err() {
            // The sender is `self`, so this cannot be; waiting on is right in any case.
            std::future::pending::<()>().await;
        }
    }

    fn notice(&self, error: Option<&io::Error>) {
        match error {
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.send_replace(true);
            }
            Some(error) => tracing::debug!(%error, "the terminal did not take all of it"),
            None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Screen<W>> {
        lock(&self.screen)
    }
}

fn lock<W>(screen: &Mutex<Screen<W>>) -> MutexGuard<'_, Screen<W>> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl<W: Write + Send + 'static> Channel for Console<W> {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Terminal, DEFAULT_ACCOUNT)
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        let screen = Arc::clone(&self.screen);
        let message = message.clone();
        // A reader that is slow blocks the write: that must not hold up the others.
        let shown = tokio::task::spawn_blocking(move || lock(&screen).deliver(&message)).await;
        match shown {
            Ok(Ok(())) => Ok(Receipt { external_id: None }),
            Ok(Err(error)) => {
                self.notice(Some(&error));
                Err(undelivered(&error))
            }
            Err(error) => Err(DeliveryError::Unknown { why: error.to_string() }),
        }
    }

    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let path = attachment.handle.clone();
        let read = tokio::task::spawn_blocking(move || attach::read(&path, bytes_max)).await;
        read.unwrap_or_else(|error| Err(FetchError(error.to_string())))
    }

    fn progress(&self, _destination: &Destination, run: RunId, progress: &Progress) {
        if self.mode != Mode::Pipe {
            let shown = self.lock().progress(run, progress);
            self.notice(shown.as_ref().err());
        }
    }

    fn health(&self) -> ChannelHealth {
        let closed = Liveness::Closed { why: "nobody reads the output".to_owned() };
        let liveness = if *self.closed.borrow() { closed } else { Liveness::Connected };
        ChannelHealth::plain(liveness, Timestamp::UNIX_EPOCH)
    }
}

fn undelivered(error: &io::Error) -> DeliveryError {
    let why = error.to_string();
    match error.kind() {
        io::ErrorKind::BrokenPipe => DeliveryError::Refused { why },
        io::ErrorKind::WouldBlock => DeliveryError::Retry { after: None, why },
        _ => DeliveryError::Unknown { why },
    }
}

/// What is on the screen, and the way onto it.
struct Screen<W> {
    out: W,
    streams: VecDeque<(RunId, Streamed)>,
    /// Whose text the current line is.
    open_line: Option<RunId>,
    /// Whether the current line is empty.
    at_line_start: bool,
    active: BTreeSet<RunId>,
    awaiting: bool,
    /// How wide a terminal is that shows styles; none: what is written is shown as it is.
    columns: Option<Arc<AtomicUsize>>,
    /// What a run has written of a block that is not finished.
    held: Option<(RunId, String)>,
    /// What of it is shown already: the plain words that it begins with.
    ahead: String,
    /// Whose block stands right above.
    block_of: Option<RunId>,
}

impl<W: Write> Screen<W> {
    fn deliver(&mut self, message: &Outgoing) -> io::Result<()> {
        self.awaiting = false;
        if let Some(file) = &message.file {
            return self.file(message, file);
        }
        let rest = match message.run {
            Some(run) if !message.may_repeat => self.stream(run).take(&message.text),
            _ => Rest::Whole,
        };
        match rest {
            Rest::Nothing { at_end } => {
                if at_end && self.open_line == message.run {
                    self.end_line()?;
                }
            }
            Rest::Tail(tail) => {
                if self.open_line.is_some_and(|of| Some(of) != message.run) {
                    self.end_line()?;
                }
                self.say(message, tail)?;
            }
            Rest::Whole => {
                self.end_line()?;
                if message.may_repeat {
                    self.put(REPEATED)?;
                    self.put("\n")?;
                }
                self.say(message, &message.text)?;
            }
        }
        self.out.flush()
    }

    /// Shows words of a message: as they are meant, where they have a form and the terminal can show it.
    fn say(&mut self, message: &Outgoing, text: &str) -> io::Result<()> {
        if self.held.as_ref().is_some_and(|(run, _)| Some(*run) == message.run) {
            self.held = None;
        }
        if message.markup.is_some() && self.columns.is_some() {
            return self.blocks(message.run, text);
        }
        self.put(text)?;
        self.end_line()
    }

    /// Shows whole blocks; those of one reply stand apart.
    fn blocks(&mut self, run: Option<RunId>, text: &str) -> io::Result<()> {
        let columns = self.columns.as_ref().map(|columns| columns.load(Ordering::Relaxed));
        let shown = render(text, &Capabilities::terminal(true, columns));
        let mut shown = shown.iter().map(|chunk| chunk.markup.trim_end_matches('\n')).peekable();
        let mut follows = run.is_some() && self.block_of == run;
        let ahead = std::mem::take(&mut self.ahead);
        let rest = shown.peek().filter(|_| !ahead.is_empty()).and_then(|first| behind(first, &ahead));
        if let Some(rest) = rest {
            shown.next();
            // It is clean but for the styles.
            self.write(&format!("{rest}\n"))?;
            (self.open_line, self.block_of, follows) = (None, run, true);
        } else {
            self.end_line()?;
        }
        for markup in shown {
            let apart = if follows { "\n" } else { "" };
            self.write(&format!("{apart}{markup}\n"))?;
            (self.block_of, follows) = (run, true);
        }
        Ok(())
    }

    /// Shows the words that the unfinished block begins with, as far as they look the same whatever comes.
    fn go_ahead(&mut self, run: RunId) -> io::Result<()> {
        let plain = self.held.as_ref().map_or("", |(_, text)| plain_start(text)).to_owned();
        let Some(more) = plain.strip_prefix(self.ahead.as_str()).filter(|more| !more.is_empty()) else { return Ok(()) };
        if self.ahead.is_empty() {
            let follows = self.block_of == Some(run);
            self.end_line()?;
            if follows {
                self.put("\n")?;
            }
        }
        self.put(more)?;
        self.open_line = Some(run);
        self.ahead = plain;
        Ok(())
    }

    /// A file is named, and where it lies; its words follow.
    fn file(&mut self, message: &Outgoing, file: &Enclosed) -> io::Result<()> {
        self.end_line()?;
        let mark = if message.may_repeat { format!("{REPEATED}\n") } else { String::new() };
        self.put(&format!("{mark}{}\n{}", attach::shown(file), message.text))?;
        self.end_line()?;
        self.out.flush()
    }

    fn progress(&mut self, run: RunId, progress: &Progress) -> io::Result<()> {
        match progress {
            Progress::Working => {
                self.active.insert(run);
                self.let_go(run)
            }
            Progress::Delta(delta) => {
                self.active.insert(run);
                self.delta(run, delta)
            }
            Progress::Restart => {
                self.active.insert(run);
                let begun = !self.ahead.is_empty() && self.held.as_ref().is_some_and(|(of, _)| *of == run);
                self.held = self.held.take().filter(|(of, _)| *of != run);
                if !self.stream(run).void() && !begun {
                    return Ok(());
                }
                self.note(RESTARTED)
            }
            Progress::Waiting | Progress::Idle(_) => {
                if *progress != Progress::Idle(Ended::Done) {
                    self.let_go(run)?;
                }
                self.active.remove(&run);
                self.awaiting = false;
                if self.open_line == Some(run) { self.end_line() } else { Ok(()) }
            }
        }
    }

    /// Shows more of a reply. What could not be shown is not counted as streamed, so its delivery shows it.
    fn delta(&mut self, run: RunId, delta: &str) -> io::Result<()> {
        // Blank lines ahead of a reply only push it down.
        let begun = self.open_line == Some(run) || self.held.as_ref().is_some_and(|(of, _)| *of == run);
        let delta = if begun { delta } else { delta.trim_start_matches(['\n', '\r']) };
        if delta.is_empty() {
            return Ok(());
        }
        if self.columns.is_some() {
            return self.hold(run, delta);
        }
        if self.open_line != Some(run) {
            self.end_line()?;
        }
        self.put(delta)?;
        self.open_line = Some(run);
        self.stream(run).push(delta);
        Ok(())
    }

    /// Keeps what is written until its block is finished.
    fn hold(&mut self, run: RunId, delta: &str) -> io::Result<()> {
        let mut text = match self.held.take() {
            Some((of, text)) if of == run => text,
            // One reply is written at a time; the other's delivery shows what is missing.
            Some(_) | None => {
                self.ahead.clear();
                String::new()
            }
        };
        text.push_str(delta);
        let rest = text.split_off(finished(&text));
        self.held = Some((run, rest));
        if !text.trim().is_empty() {
            self.blocks(Some(run), &text)?;
        }
        self.stream(run).push(&text);
        self.go_ahead(run)
    }

    /// Nothing is added to the block that a run has begun: it is shown as it is.
    fn let_go(&mut self, run: RunId) -> io::Result<()> {
        let Some((_, text)) = self.held.take_if(|(of, _)| *of == run) else { return Ok(()) };
        if text.trim().is_empty() {
            return Ok(());
        }
        self.blocks(Some(run), &text)?;
        self.stream(run).push(&text);
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.put(text)?;
        self.put("\n")
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.open_line = None;
        self.block_of = None;
        self.ahead.clear();
        if self.at_line_start { Ok(()) } else { self.put("\n") }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let text = safe(text);
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        if !text.is_empty() {
            self.at_line_start = text.ends_with('\n');
        }
        Ok(())
    }

    fn stream(&mut self, run: RunId) -> &mut Streamed {
        let known = self.streams.iter().position(|(of, _)| *of == run);
        let entry = known.and_then(|at| self.streams.remove(at)).unwrap_or((run, Streamed::default()));
        if self.streams.len() >= STREAMS_MAX {
            self.streams.pop_front();
        }
        &mut self.streams.push_back_mut(entry).1
    }
}
