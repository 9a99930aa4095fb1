//! Where replies are drawn: above the prompt, so that neither garbles the other.
//!
//! What is settled stays as it is. Below it is the live region, which is drawn anew until it is settled. A [`TerminalPage`] takes
//! orders from any thread; the `Printer` carries them out, one after the other.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use hob_core::render::completed;

use crate::printer::Printer;

/// How many orders may wait for the terminal.
const ORDERS_MAX: usize = 4_096;
/// How long a `flush` waits for the terminal.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(1);
/// Narrower than this is not laid out for.
const COLUMNS_MIN: usize = 20;
/// Lower than this is not laid out for.
const ROWS_MIN: usize = 4;

/// How a page reaches its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStyle {
    /// Through a line editor that prints whole lines above its prompt.
    AbovePrompt {
        /// Words may be bold, or in colour.
        styles: bool,
        /// A terminal that was made narrower breaks the rows that are there.
        reflows: bool,
    },
    /// A terminal that knows no cursor movements: what is settled, and nothing else.
    Plain,
}

/// How large the terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// As large as that, or as the least that is laid out for; a terminal that does not tell (zero) has 80 by 24.
    pub fn of(columns: usize, rows: usize) -> Self {
        let or = |told: usize, usual: usize, least: usize| if told == 0 { usual } else { told.max(least) };
        Self { columns: or(columns, 80, COLUMNS_MIN), rows: or(rows, 24, ROWS_MIN) }
    }
}

/// Something to be shown, on lines of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PagePiece {
    /// As it stands.
    Plain(String),
    /// Whole blocks of Markdown; `apart` from what stands above.
    Markdown { text: String, apart: bool },
}

impl PagePiece {
    /// The piece as it will be, where it still grows.
    pub(super) fn completed(&self) -> Self {
        match self {
            Self::Plain(text) => Self::Plain(text.clone()),
            Self::Markdown { text, apart } => Self::Markdown { text: completed(text), apart: *apart },
        }
    }
}

/// What is not settled yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LiveRegion {
    /// What is written so far of blocks that are not finished.
    pub(super) pieces: Vec<PagePiece>,
    /// What is done right now, and since when.
    pub(super) doing: Option<(String, Instant)>,
}

/// What the printer is told.
#[derive(Debug)]
pub(super) enum PrinterCommand {
    Draw {
        settled: Vec<PagePiece>,
        live: LiveRegion,
    },
    /// The editor is about to show its prompt.
    Coming,
    /// It stands.
    Up,
    /// The editor has printed what it was given.
    Printed,
    /// The prompt is about to leave its row.
    Left,
    /// The editor has let go of the terminal; what was typed stands there.
    Free {
        typed: String,
    },
    Flush(SyncSender<()>),
}

/// The way onto the terminal; its clones draw on the same page, in the order of the calls.
#[derive(Debug, Clone)]
pub struct TerminalPage {
    orders: SyncSender<PrinterCommand>,
    /// How many columns the prompt and what is typed take together.
    typed: Arc<AtomicUsize>,
}

impl TerminalPage {
    /// Starts the thread that prints; it ends with the last clone of the page.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start<S, P>(style: PageStyle, size: S, print: P) -> io::Result<Self>
    where
        S: Fn() -> Size + Send + 'static,
        P: FnMut(String) -> io::Result<()> + Send + 'static,
    {
        let (orders, queue) = sync_channel(ORDERS_MAX);
        let typed = Arc::new(AtomicUsize::new(0));
        let printer = Printer::new(style, Box::new(size), Box::new(print), Arc::clone(&typed));
        thread::Builder::new().name("console-page".to_owned()).spawn(move || printer.run(&queue))?;
        Ok(Self { orders, typed })
    }

    /// What is settled comes below what was; `live` takes the place of what was live.
    pub(super) fn draw(&self, settled: Vec<PagePiece>, live: LiveRegion) -> io::Result<()> {
        self.order(PrinterCommand::Draw { settled, live })
    }

    /// Tells where the prompt stands.
    pub(super) fn tell(&self, order: PrinterCommand) {
        if let Err(error) = self.orders.send(order) {
            tracing::debug!(%error, "the page is gone");
        }
    }

    /// Tells how many columns the prompt and what is typed take together.
    pub(super) fn set_prompt_columns(&self, columns: usize) {
        self.typed.store(columns, Ordering::Relaxed);
    }

    /// Waits until the terminal has it, but not for long: one that is suspended takes it later.
    pub fn flush(&self) -> io::Result<()> {
        let (done, wait) = sync_channel(1);
        self.order(PrinterCommand::Flush(done))?;
        if let Err(error) = wait.recv_timeout(FLUSH_WAIT_MAX) {
            tracing::debug!(%error, "the terminal takes its time");
        }
        Ok(())
    }

    /// The prompt may not leave its row before the printer knows.
    pub(super) fn prompt_leaves_row(&self) {
        self.tell(PrinterCommand::Left);
        let (done, wait) = sync_channel(1);
        self.tell(PrinterCommand::Flush(done));
        if let Err(error) = wait.recv_timeout(FLUSH_WAIT_MAX) {
            tracing::debug!(%error, "the terminal takes its time");
        }
    }

    fn order(&self, order: PrinterCommand) -> io::Result<()> {
        self.orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => io::Error::new(io::ErrorKind::WouldBlock, "the terminal is not taking anything"),
            TrySendError::Disconnected(_) => io::ErrorKind::BrokenPipe.into(),
        })
    }
}
