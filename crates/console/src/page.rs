//! Writes above a prompt that is being edited, so that neither garbles the other.
//!
//! The line editor prints only whole lines above its prompt. To stream, the page keeps the last row open: it goes back
//! up to it and draws it again, longer. It lays out the rows itself, so that it knows which row that is.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::text::rows;

/// How many writes may wait for the terminal.
const ORDERS_MAX: usize = 4_096;
/// How long a `flush` waits for the terminal.
const FLUSH_WAIT_MAX: Duration = Duration::from_secs(1);
/// The width of a terminal that does not tell.
const COLUMNS_DEFAULT: usize = 80;
/// Narrower than this is not laid out for.
const COLUMNS_MIN: usize = 20;
/// Up one row, to its start, and clear it.
const REOPEN: &str = "\u{1b}[1A\r\u{1b}[K";

/// How a page reaches its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Through a line editor that prints whole lines above its prompt.
    AbovePrompt,
    /// As it comes: a terminal that knows no cursor movements.
    Plain,
}

/// A writer onto the terminal; its clones write onto the same page, in the order of the calls.
#[derive(Debug, Clone)]
pub struct Page {
    orders: SyncSender<Order>,
    columns: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum Order {
    Text(String),
    /// The prompt is about to leave its row: print nothing, and do not touch the rows above it again.
    Hold,
    /// The prompt is gone or has not come yet.
    Release {
        columns: usize,
    },
    Flush(SyncSender<()>),
}

impl Page {
    /// Starts the thread that prints; it ends with the last clone of the page.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start<P>(style: Style, print: P) -> io::Result<Self>
    where
        P: FnMut(String) -> io::Result<()> + Send + 'static,
    {
        let (orders, queue) = sync_channel(ORDERS_MAX);
        let printer = Printer {
            style,
            print,
            columns: COLUMNS_DEFAULT,
            row: String::new(),
            ended: false,
            held: false,
            waiting: VecDeque::new(),
        };
        thread::Builder::new().name("console-page".to_owned()).spawn(move || printer.run(&queue))?;
        Ok(Self { orders, columns: Arc::new(AtomicUsize::new(COLUMNS_DEFAULT)) })
    }

    /// How wide it is, as the terminal last told.
    #[must_use]
    pub fn width(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.columns)
    }

    /// The line at the prompt was taken: what comes next is printed when the editor has let go of the terminal.
    pub(super) fn hold(&self) {
        self.order_or_log(Order::Hold);
    }

    /// The editor has let go of the terminal, or is about to show its prompt.
    pub(super) fn release(&self, columns: Option<usize>) {
        let columns = columns.unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN);
        self.columns.store(columns, Ordering::Relaxed);
        self.order_or_log(Order::Release { columns });
    }

    fn order_or_log(&self, order: Order) {
        if let Err(error) = self.orders.send(order) {
            tracing::debug!(%error, "the page is gone");
        }
    }

    fn order(&self, order: Order) -> io::Result<()> {
        self.orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => io::Error::new(io::ErrorKind::WouldBlock, "the terminal is not taking anything"),
            TrySendError::Disconnected(_) => io::ErrorKind::BrokenPipe.into(),
        })
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.order(Order::Text(String::from_utf8_lossy(bytes).into_owned()))?;
        Ok(bytes.len())
    }

    /// Waits until the terminal has it, but not for long: one that is suspended takes it later.
    fn flush(&mut self) -> io::Result<()> {
        let (done, wait) = sync_channel(1);
        self.order(Order::Flush(done))?;
        if let Err(error) = wait.recv_timeout(FLUSH_WAIT_MAX) {
            tracing::debug!(%error, "the terminal takes its time");
        }
        Ok(())
    }
}

struct Printer<P> {
    style: Style,
    print: P,
    columns: usize,
    /// The open row, right above the prompt.
    row: String,
    /// The open row was ended by the prompt: a line's end that comes for it has come already.
    ended: bool,
    held: bool,
    waiting: VecDeque<String>,
}

impl<P: FnMut(String) -> io::Result<()>> Printer<P> {
    fn run(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            if let Err(error) = self.obey(order) {
                tracing::debug!(%error, "the terminal is gone");
                return;
            }
        }
    }

    fn obey(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Text(text) if self.held => self.waiting.push_back(text),
            Order::Text(text) => self.text(text)?,
            Order::Hold => {
                self.held = true;
                self.ended |= !self.row.is_empty();
                self.row.clear();
            }
            Order::Release { columns } => {
                self.columns = columns;
                self.held = false;
                while let Some(text) = self.waiting.pop_front() {
                    self.text(text)?;
                }
            }
            Order::Flush(done) => {
                if done.try_send(()).is_err() {
                    tracing::debug!("nobody waits for the terminal any more");
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, text: String) -> io::Result<()> {
        if self.style == Style::Plain {
            return (self.print)(text);
        }
        let ended = std::mem::take(&mut self.ended);
        let text = text.strip_prefix('\n').filter(|_| ended).unwrap_or(&text);
        let (finished, open) = rows(&self.row, text, self.columns);
        let grown = finished.first() != Some(&self.row);
        let mut drawing = String::new();
        if !self.row.is_empty() && grown {
            drawing.push_str(REOPEN);
        }
        // A row that only ended stands there as it should.
        let drawn = usize::from(!self.row.is_empty() && !grown);
        for row in finished.iter().skip(drawn).chain((!open.is_empty()).then_some(&open)) {
            drawing.push_str(row);
            drawing.push('\n');
        }
        self.row = open;
        if drawing.is_empty() { Ok(()) } else { (self.print)(drawing) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn page() -> (Page, Arc<Mutex<Vec<String>>>) {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&printed);
        let print = move |drawing| {
            sink.lock().unwrap().push(drawing);
            Ok(())
        };
        (Page::start(Style::AbovePrompt, print).unwrap(), printed)
    }

    #[test]
    fn a_streamed_row_is_drawn_again_until_it_is_finished() {
        let (mut page, printed) = page();
        for delta in ["Hel", "lo ", "you\nBye", "\n", "So long"] {
            page.write_all(delta.as_bytes()).unwrap();
        }
        page.flush().unwrap();
        insta::assert_debug_snapshot!(printed.lock().unwrap(), @r#"
        [
            "Hel\n",
            "\u{1b}[1A\r\u{1b}[KHello \n",
            "\u{1b}[1A\r\u{1b}[KHello you\nBye\n",
            "So long\n",
        ]
        "#);
    }

    #[test]
    fn a_line_typed_into_a_stream_is_not_drawn_over() {
        let (mut page, printed) = page();
        page.write_all(b"one ").unwrap();
        page.hold();
        page.write_all(b"two ").unwrap();
        page.flush().unwrap();
        assert_eq!(*printed.lock().unwrap(), ["one \n"]);
        page.release(Some(80));
        page.write_all(b"three").unwrap();
        page.flush().unwrap();
        assert_eq!(*printed.lock().unwrap(), ["one \n", "two \n", "\u{1b}[1A\r\u{1b}[Ktwo three\n"]);
    }

    #[test]
    fn a_line_that_the_prompt_ended_is_not_ended_twice() {
        let (mut page, printed) = page();
        page.write_all(b"one").unwrap();
        page.hold();
        page.release(Some(80));
        page.write_all(b"\n").unwrap();
        page.write_all(b"two\n").unwrap();
        page.write_all(b"\n").unwrap();
        page.flush().unwrap();
        assert_eq!(*printed.lock().unwrap(), ["one\n", "two\n", "\n"]);
    }
}
