//! The side of the terminal that shows: streams replies, and prints each exactly once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::attach;
use crate::page::{LiveRegion, PagePiece, TerminalPage};
use crate::reply::{RepeatMatch, StreamedReply, UnseenRest};
use crate::terminal::PROMPT;
use crate::text::{blocks, safe};
use hob_core::domain::channel::{Channel, FetchError, IdleReason, Progress};
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{Attachment, ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};

/// For how many runs it is remembered what was streamed.
const STREAMS_MAX: usize = 16;
/// What stands above a reply that may have been shown before a crash.
const REPEATED: &str = "(this may be a repetition)";
/// What stands between a reply that broke off and its new beginning.
const RESTARTED: &str = "(starting the reply again)";

/// Where replies go.
enum ReplyOutput<W> {
    /// A person watches: what is written is drawn as it comes, block by block, until it is final.
    Drawn(TerminalPage),
    /// A program reads: whole replies only.
    Pipe(W),
}

/// The terminal as a channel, over a page or any writer.
pub struct Console<W> {
    screen: Arc<Mutex<Screen<W>>>,
    closed: watch::Sender<bool>,
    runs: watch::Sender<Runs>,
}

/// What was heard of runs since the last message was handed in.
#[derive(Default)]
struct Runs {
    at_work: BTreeSet<RunId>,
    /// Those that stand still and go on by themselves: when their agents, which may be queued, are done.
    suspended: BTreeSet<RunId>,
    /// Something was heard of one.
    heard: bool,
    /// How the last one ended, or came to wait for a person. One that stands still and goes on by itself has not ended.
    ended: Option<IdleReason>,
}

impl Runs {
    fn hear(&mut self, run: RunId, progress: &Progress) {
        self.heard = true;
        self.suspended.remove(&run);
        match progress {
            Progress::Working | Progress::Doing(_) | Progress::Step(_) | Progress::Delta(_) | Progress::Restart => {
                self.at_work.insert(run);
            }
            Progress::Waiting => self.ended = Some(IdleReason::Suspended),
            Progress::Idle(IdleReason::Suspended) => {
                self.suspended.insert(run);
            }
            Progress::Idle(ended) => {
                self.ended = Some(*ended);
                // With it, its agents are over.
                self.suspended.clear();
            }
        }
        if let Progress::Waiting | Progress::Idle(_) = progress {
            self.at_work.remove(&run);
        }
    }
}

impl Console<io::Stdout> {
    /// For a person at a terminal.
    pub fn terminal(page: TerminalPage) -> Self {
        Self::new(ReplyOutput::Drawn(page))
    }
}

impl<W: Write + Send + 'static> Console<W> {
    /// For a program that reads: each reply is printed whole, and nothing else is.
    pub fn pipe(out: W) -> Self {
        Self::new(ReplyOutput::Pipe(out))
    }

    fn new(sheet: ReplyOutput<W>) -> Self {
        let screen = Screen {
            sheet,
            streams: VecDeque::new(),
            awaiting: false,
            held: Vec::new(),
            again: BTreeMap::new(),
            doing: None,
            block_of: None,
        };
        Self { screen: Arc::new(Mutex::new(screen)), closed: watch::Sender::new(false), runs: watch::Sender::default() }
    }

    /// Whether an answer is being worked on, or will be.
    pub fn is_busy(&self) -> bool {
        let is_awaited = lock(&self.screen).awaiting;
        let runs = self.runs.borrow();
        is_awaited || !runs.at_work.is_empty() || !runs.suspended.is_empty()
    }

    /// From when a message is handed in until something comes back, Hob is at work on it.
    pub(super) fn await_answer(&self, awaiting: bool) {
        lock(&self.screen).awaiting = awaiting;
    }

    /// Shows what was said in another window on the conversation, as it stands there.
    pub fn said_elsewhere(&self, text: &str) {
        self.note(&format!("{PROMPT}{text}"));
    }

    /// Shows a line that is the terminal's own, not a reply.
    pub(super) fn note(&self, text: &str) {
        let shown = lock(&self.screen).note(text);
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

    /// What is heard of runs from now on is about another message.
    pub(super) fn begin(&self) {
        self.runs.send_modify(|runs| (runs.heard, runs.ended) = (false, None));
    }

    /// How the last run ended, once none is at work: suspended, if one waits for a person or stands still. None: there was none.
    pub(super) async fn ended(&self) -> Option<IdleReason> {
        let mut runs = self.runs.subscribe();
        let runs = runs.wait_for(|runs| runs.at_work.is_empty()).await.ok()?;
        runs.heard.then(|| runs.ended.unwrap_or(IdleReason::Suspended))
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
        self.runs.send_modify(|runs| runs.hear(run, progress));
        let shown = lock(&self.screen).progress(run, progress);
        self.notice(shown.as_ref().err());
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
    sheet: ReplyOutput<W>,
    /// What was settled of replies that may go on.
    streams: VecDeque<(RunId, StreamedReply)>,
    awaiting: bool,
    /// What runs have written of blocks that are not finished: it is live.
    held: Vec<(RunId, String)>,
    /// What runs have written of a reply that they make again, for as long as it says what stands there already.
    again: BTreeMap<RunId, String>,
    /// What is done right now.
    doing: Option<(RunId, String, Instant)>,
    /// Whose block stands right above.
    block_of: Option<RunId>,
}

impl<W: Write> Screen<W> {
    fn deliver(&mut self, message: &Outgoing) -> io::Result<()> {
        self.awaiting = false;
        let text = match &message.file {
            // A file is named, and where it lies; its words follow.
            Some(file) => format!("{}\n{}", attach::shown(file), message.text),
            None => message.text.clone(),
        };
        if let ReplyOutput::Pipe(out) = &mut self.sheet {
            let mark = if message.may_repeat { format!("{REPEATED}\n") } else { String::new() };
            let text = safe(&text);
            writeln!(out, "{mark}{}", text.strip_suffix('\n').unwrap_or(&text))?;
            return out.flush();
        }
        let mut settled = Vec::new();
        let run = message.run.filter(|_| message.file.is_none());
        // The words that count are these, whatever was live.
        self.held.retain(|(of, _)| Some(*of) != run);
        let is_again = run.is_some_and(|run| self.again.remove(&run).is_some());
        let begun_again = is_again && run.is_some_and(|run| self.stream(run).has_shown());
        let rest = match run {
            Some(run) if !message.may_repeat => self.stream(run).take(&text),
            _ => UnseenRest::Whole,
        };
        let rest = match rest {
            UnseenRest::Nothing { .. } => None,
            UnseenRest::Tail(tail) => Some(tail),
            UnseenRest::Whole => {
                settled.extend(begun_again.then(|| self.plain(RESTARTED)));
                settled.extend(message.may_repeat.then(|| self.plain(REPEATED)));
                Some(text.as_str())
            }
        };
        match rest {
            Some(rest) if message.markup.is_some() && message.file.is_none() => {
                let mut open = String::new();
                let mut whole = blocks(&mut open, rest);
                whole.push(open);
                settled.extend(whole.into_iter().filter_map(|block| self.block(run, block)));
            }
            Some(rest) => settled.push(self.plain(rest)),
            None => {}
        }
        self.draw(settled)?;
        if let ReplyOutput::Drawn(page) = &self.sheet { page.flush() } else { Ok(()) }
    }

    /// Words that stand by themselves.
    fn plain(&mut self, text: &str) -> PagePiece {
        self.block_of = None;
        PagePiece::Plain(text.to_owned())
    }

    /// A block of a reply that is final; those of one reply stand apart.
    fn block(&mut self, run: Option<RunId>, text: String) -> Option<PagePiece> {
        if text.trim().is_empty() {
            return None;
        }
        let apart = run.is_some() && self.block_of == run;
        self.block_of = run;
        Some(PagePiece::Markdown { text, apart })
    }

    /// Shows what is settled now, and below it what is live.
    fn draw(&mut self, settled: Vec<PagePiece>) -> io::Result<()> {
        let ReplyOutput::Drawn(page) = &self.sheet else { return Ok(()) };
        let mut above = self.block_of;
        let held = self.held.iter().filter(|(_, text)| !text.trim().is_empty());
        let pieces = held.map(|(run, text)| {
            let apart = above.replace(*run) == Some(*run);
            PagePiece::Markdown { text: text.clone(), apart }
        });
        let doing = self.doing.as_ref().map(|(_, what, since)| (what.clone(), *since));
        page.draw(settled, LiveRegion { pieces: pieces.collect(), doing })
    }

    fn progress(&mut self, run: RunId, progress: &Progress) -> io::Result<()> {
        // That it works may be told behind what it does.
        if !matches!(progress, Progress::Doing(_) | Progress::Step(_) | Progress::Working) {
            self.doing = self.doing.take().filter(|(of, ..)| *of != run);
        }
        match progress {
            Progress::Working => self.end_block(run),
            Progress::Doing(what) | Progress::Step(what) => {
                self.doing = Some((run, what.clone(), Instant::now()));
                self.draw(Vec::new())
            }
            Progress::Delta(delta) => self.delta(run, delta),
            Progress::Restart => {
                self.held.retain(|(of, _)| *of != run);
                self.again.insert(run, String::new());
                self.draw(Vec::new())
            }
            Progress::Waiting | Progress::Idle(_) => {
                self.awaiting = false;
                if *progress == Progress::Idle(IdleReason::Done) {
                    return self.draw(Vec::new());
                }
                self.again.remove(&run);
                self.end_block(run)
            }
        }
    }

    /// Shows more of a reply. What could not be shown is not counted as streamed, so its delivery shows it.
    fn delta(&mut self, run: RunId, delta: &str) -> io::Result<()> {
        let mut settled = Vec::new();
        let repeated = self.again.remove(&run).map(|again| again + delta);
        let delta = match &repeated {
            None => delta,
            Some(again) => match self.stream(run).repeats(again) {
                RepeatMatch::SoFar => {
                    self.again.insert(run, again.clone());
                    return self.draw(settled);
                }
                RepeatMatch::All { more } => more,
                RepeatMatch::No => {
                    settled.extend(self.stream(run).discard_unconfirmed().then(|| self.plain(RESTARTED)));
                    again
                }
            },
        };
        let at = self.held.iter().position(|(of, _)| *of == run);
        let mut open = at.map(|at| self.held.remove(at).1).unwrap_or_default();
        // Blank lines ahead of a block say nothing.
        let delta = if open.is_empty() { delta.trim_start_matches(['\n', '\r']) } else { delta };
        let whole = blocks(&mut open, delta);
        if !open.is_empty() {
            self.held.push((run, open));
        }
        let words = whole.concat();
        settled.extend(whole.into_iter().filter_map(|block| self.block(Some(run), block)));
        self.draw(settled)?;
        self.stream(run).push(&words);
        Ok(())
    }

    /// Nothing is added to the block that a run has begun: it is shown as it is.
    fn end_block(&mut self, run: RunId) -> io::Result<()> {
        let at = self.held.iter().position(|(of, _)| *of == run);
        let words = at.map(|at| self.held.remove(at).1).unwrap_or_default();
        let settled = self.block(Some(run), words.clone());
        self.draw(settled.into_iter().collect())?;
        self.stream(run).push(&words);
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        let note = self.plain(text);
        self.draw(vec![note])
    }

    fn stream(&mut self, run: RunId) -> &mut StreamedReply {
        let known = self.streams.iter().position(|(of, _)| *of == run);
        let entry = known.and_then(|at| self.streams.remove(at)).unwrap_or((run, StreamedReply::default()));
        if self.streams.len() >= STREAMS_MAX {
            self.streams.pop_front();
        }
        &mut self.streams.push_back_mut(entry).1
    }
}
