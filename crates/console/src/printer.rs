//! Carries out what a page is told: lays rows out, and knows which of them are on the terminal and may be drawn over.
//!
//! The editor prints on its own thread, between two keys. What it was given and has not printed may still be there when the
//! prompt leaves its row: then it is printed above the next one, where it must find the rows that it was made for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use crate::page::{LiveRegion, PagePiece, PageStyle, PrinterCommand, Size};
use crate::terminal::PROMPT;
use crate::text::{layout, safe, typed_rows, width_of};
use hob_core::domain::capabilities::Capabilities;
use hob_core::render::render;

/// How often something that moves, or a terminal's size, is looked at.
const TICK: Duration = Duration::from_millis(200);
/// What shows that something is done.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptStage {
    /// Nowhere: what is printed is there at once.
    Free,
    /// About to come, or to leave its row: nothing is printed.
    Between,
    /// Below everything: the editor prints.
    Up,
}

type Print = Box<dyn FnMut(String) -> io::Result<()> + Send>;

pub(super) struct Printer {
    style: PageStyle,
    size: Box<dyn Fn() -> Size + Send>,
    print: Print,
    /// How many columns the prompt and what is typed take together.
    typed: Arc<AtomicUsize>,
    stage: PromptStage,
    settled: Vec<PagePiece>,
    live: LiveRegion,
    frame: usize,
    is_dirty: bool,
    /// The rows of the live region, as they stand on the terminal.
    drawn: Vec<String>,
    /// The size that they were laid out for.
    drawn_for: Size,
    /// What takes their place once the editor has printed.
    outstanding: Option<(Vec<String>, Size)>,
    flushes: Vec<SyncSender<()>>,
}

impl Printer {
    pub(super) fn new(
        style: PageStyle,
        size: Box<dyn Fn() -> Size + Send>,
        print: Print,
        typed: Arc<AtomicUsize>,
    ) -> Self {
        let drawn_for = size();
        Self {
            style,
            size,
            print,
            typed,
            stage: PromptStage::Free,
            settled: Vec::new(),
            live: LiveRegion::default(),
            frame: 0,
            is_dirty: false,
            drawn: Vec::new(),
            drawn_for,
            outstanding: None,
            flushes: Vec::new(),
        }
    }

    pub(super) fn run(mut self, orders: &Receiver<PrinterCommand>) {
        loop {
            let order = if self.is_changing() {
                orders.recv_timeout(TICK)
            } else {
                orders.recv().map_err(|_gone| RecvTimeoutError::Disconnected)
            };
            let done = match order {
                Ok(order) => {
                    let mut all = std::iter::once(order).chain(orders.try_iter());
                    all.try_for_each(|order| self.handle_command(order)).and_then(|()| self.paint())
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tick();
                    self.paint()
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(error) = done {
                tracing::debug!(%error, "the terminal is gone");
                return;
            }
            self.answer();
        }
    }

    /// Whether what is live changes by itself: with time, or with the terminal's size.
    fn is_changing(&self) -> bool {
        self.live != LiveRegion::default()
    }

    fn tick(&mut self) {
        if self.live.doing.is_some() {
            self.frame += 1;
            self.is_dirty = true;
        }
        self.is_dirty |= (self.size)() != self.drawn_for;
    }

    fn handle_command(&mut self, order: PrinterCommand) -> io::Result<()> {
        match order {
            PrinterCommand::Draw { settled, live } => {
                self.settled.extend(settled);
                self.live = live;
                self.is_dirty = true;
            }
            // Its editor does not say that the prompt stands: it prints it, and reads.
            PrinterCommand::Coming if self.style == PageStyle::Plain => self.stage = PromptStage::Up,
            PrinterCommand::Coming | PrinterCommand::Left => self.stage = PromptStage::Between,
            PrinterCommand::Up => self.stage = PromptStage::Up,
            PrinterCommand::Printed => {
                if let Some((drawn, size)) = self.outstanding.take() {
                    (self.drawn, self.drawn_for) = (drawn, size);
                }
            }
            PrinterCommand::Free { typed } => {
                self.stage = PromptStage::Free;
                self.below(&typed)?;
            }
            PrinterCommand::Flush(done) => self.flushes.push(done),
        }
        Ok(())
    }

    /// Answers whoever waits, unless the editor has still to print.
    fn answer(&mut self) {
        if self.stage == PromptStage::Up && self.outstanding.is_some() {
            return;
        }
        for done in self.flushes.drain(..) {
            if done.try_send(()).is_err() {
                tracing::debug!("nobody waits for the terminal any more");
            }
        }
    }

    /// What was typed stands below the live region: it comes above it.
    fn below(&mut self, typed: &str) -> io::Result<()> {
        if self.drawn.is_empty() || self.style == PageStyle::Plain {
            return Ok(());
        }
        let size = (self.size)();
        let typed = typed_rows(PROMPT, typed, size.columns);
        let up = self.heights(size, 0) + typed.len();
        let rows = typed.iter().map(String::as_str).chain(self.drawn.iter().map(String::as_str));
        let drawing = rows.fold(upwards(up), |drawing, row| drawing + row + "\n");
        self.drawn_for = size;
        (self.print)(drawing)
    }

    /// How many rows of the terminal are taken by what was drawn, without so many of the first.
    fn heights(&self, size: Size, without: usize) -> usize {
        let reflows = matches!(self.style, PageStyle::AbovePrompt { reflows: true, .. });
        let is_narrower = size.columns < self.drawn_for.columns;
        let height = |row: &String| match reflows && is_narrower {
            true => width_of(row).div_ceil(size.columns).max(1),
            false => 1,
        };
        self.drawn.iter().skip(without).map(height).sum()
    }

    /// Brings the terminal to what it should show, if that can be done now.
    fn paint(&mut self) -> io::Result<()> {
        if !self.is_dirty || self.stage == PromptStage::Between || self.outstanding.is_some() {
            return Ok(());
        }
        self.is_dirty = false;
        let size = (self.size)();
        let mut rows: Vec<String> =
            std::mem::take(&mut self.settled).iter().flat_map(|piece| self.rows(piece, size)).collect();
        if self.style == PageStyle::Plain {
            if rows.is_empty() {
                return Ok(());
            }
            let text: String = rows.into_iter().map(|row| row + "\n").collect();
            let text = if self.stage == PromptStage::Up { format!("\n{text}{PROMPT}") } else { text };
            return (self.print)(text);
        }
        let live = self.live_rows(size);
        rows.extend(live.iter().cloned());
        let same = match size == self.drawn_for {
            true => self.drawn.iter().zip(&rows).take_while(|(old, new)| old == new).count(),
            false => 0,
        };
        let up = self.heights(size, same);
        if up == 0 && rows.len() == same {
            (self.drawn, self.drawn_for) = (live, size);
            return Ok(());
        }
        let mut drawing = rows.iter().skip(same).fold(upwards(up), |drawing, row| drawing + row + "\n");
        if rows.len() == same {
            // The editor ends whatever it prints with a line's end.
            drawing.push_str("\u{1b}[1A\n");
        }
        if self.stage == PromptStage::Up {
            self.outstanding = Some((live, size));
        } else {
            (self.drawn, self.drawn_for) = (live, size);
        }
        (self.print)(drawing)
    }

    fn rows(&self, piece: &PagePiece, size: Size) -> Vec<String> {
        match piece {
            PagePiece::Plain(text) => layout(&safe(text.trim_end_matches('\n')), size.columns),
            PagePiece::Markdown { text, apart } => {
                let styles = matches!(self.style, PageStyle::AbovePrompt { styles: true, .. });
                let shown = render(text, &Capabilities::terminal(styles, Some(size.columns)));
                let text = shown.iter().map(|chunk| chunk.markup.trim_end_matches('\n')).collect::<Vec<_>>().join("\n");
                if text.is_empty() {
                    return Vec::new();
                }
                let blank = apart.then(String::new);
                blank.into_iter().chain(layout(&text, size.columns)).collect()
            }
        }
    }

    /// The rows of the live region, as far as they can be drawn over: its end, if the terminal is too low for all of it.
    fn live_rows(&self, size: Size) -> Vec<String> {
        let pieces = self.live.pieces.iter().map(PagePiece::completed);
        let mut rows: Vec<String> = pieces.flat_map(|piece| self.rows(&piece, size)).collect();
        if let Some((what, since)) = &self.live.doing {
            let seconds = since.elapsed().as_secs();
            let time = if seconds == 0 { String::new() } else { format!(", {seconds} s") };
            let frame = FRAMES.get(self.frame % FRAMES.len()).copied().unwrap_or_default();
            rows.extend(layout(&safe(&format!("{frame} {what}{time}")), size.columns));
        }
        let prompt = self.typed.load(Ordering::Relaxed) / size.columns + 1;
        let most = size.rows.saturating_sub(prompt + 1).min(size.rows * 2 / 3).max(1);
        rows.split_off(rows.len().saturating_sub(most))
    }
}

/// Up so many rows, and all that is there is gone.
fn upwards(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\u{1b}[{rows}A\r\u{1b}[J") }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::sync_channel;

    use super::*;

    const STYLE: PageStyle = PageStyle::AbovePrompt { styles: false, reflows: true };

    /// A printer, what it printed, and how many columns its terminal has.
    fn printer(style: PageStyle) -> (Printer, Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>) {
        let (printed, columns) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(40)));
        let (sink, wide) = (Arc::clone(&printed), Arc::clone(&columns));
        let print = move |drawing| {
            sink.lock().unwrap().push(drawing);
            Ok(())
        };
        let size = move || Size::of(wide.load(Ordering::Relaxed), 12);
        (Printer::new(style, Box::new(size), Box::new(print), Arc::default()), printed, columns)
    }

    fn live(text: &str) -> PrinterCommand {
        draw(Vec::new(), text)
    }

    fn draw(settled: Vec<PagePiece>, text: &str) -> PrinterCommand {
        let piece = PagePiece::Markdown { text: text.to_owned(), apart: false };
        PrinterCommand::Draw { settled, live: LiveRegion { pieces: vec![piece], doing: None } }
    }

    fn told(printer: &mut Printer, orders: Vec<PrinterCommand>) {
        for order in orders {
            printer.handle_command(order).unwrap();
            printer.paint().unwrap();
        }
    }

    #[test]
    fn k2_only_rows_that_changed_are_drawn_again() {
        /// Nothing takes the place of the row, not even an empty one.
        const GONE: &str = "\u{1b}[1A\r\u{1b}[J\u{1b}[1A\n";
        let (mut printer, printed, _) = printer(STYLE);
        told(&mut printer, vec![live("- one\n- tw"), live("- one\n- two"), live("- one\n- two")]);
        told(&mut printer, vec![draw(vec![PagePiece::Plain("• one\n• two".to_owned())], "")]);
        told(&mut printer, vec![live("more"), draw(Vec::new(), "")]);
        assert_eq!(*printed.lock().unwrap(), ["• one\n• tw\n", "\u{1b}[1A\r\u{1b}[J• two\n", "more\n", GONE]);
        assert!(printer.drawn.is_empty());
    }

    #[test]
    fn k2_what_is_open_is_drawn_as_it_will_be() {
        let (mut printer, printed, _) = printer(PageStyle::AbovePrompt { styles: true, reflows: true });
        told(&mut printer, vec![live("It is **rea"), live("It is **ready**")]);
        let printed = printed.lock().unwrap();
        assert!(printed[0].contains("rea") && printed.iter().all(|drawn| !drawn.contains('*')), "{printed:?}");
    }

    #[test]
    fn k2_what_is_higher_than_the_terminal_shows_its_end() {
        let (mut printer, printed, _) = printer(STYLE);
        let items: Vec<String> = (1..=20).map(|number| format!("{number}. x")).collect();
        told(&mut printer, vec![live(&items.join("\n"))]);
        let first = printed.lock().unwrap()[0].clone();
        assert_eq!((first.lines().count(), first.lines().last()), (8, Some("20. x")));
    }

    #[test]
    fn k2_rows_that_a_narrower_terminal_broke_are_all_drawn_over() {
        let row = "a".repeat(35);
        for (reflows, up) in [(true, 4), (false, 2)] {
            let (mut printer, printed, columns) = printer(PageStyle::AbovePrompt { styles: false, reflows });
            told(&mut printer, vec![live(&format!("{row}\\\n{row}"))]);
            columns.store(20, Ordering::Relaxed);
            printer.tick();
            printer.paint().unwrap();
            let drawn = printed.lock().unwrap().pop().unwrap();
            assert!(drawn.starts_with(&format!("\u{1b}[{up}A\r\u{1b}[J")), "{drawn:?}");
            assert_eq!(drawn.lines().count(), 4, "{drawn:?}");
        }
    }

    #[test]
    fn k2_what_is_typed_into_a_reply_stands_above_what_is_live() {
        let (mut printer, printed, _) = printer(STYLE);
        told(&mut printer, vec![PrinterCommand::Coming, live("one"), PrinterCommand::Up, PrinterCommand::Printed]);
        assert_eq!(printed.lock().unwrap().len(), 1);
        told(
            &mut printer,
            vec![PrinterCommand::Left, live("one two"), PrinterCommand::Free { typed: "hello".to_owned() }],
        );
        let shown = printed.lock().unwrap()[1..].to_vec();
        assert_eq!(shown, ["\u{1b}[2A\r\u{1b}[J> hello\none\n", "\u{1b}[1A\r\u{1b}[Jone two\n"]);
    }

    #[test]
    fn k2_what_the_editor_did_not_print_finds_its_rows_above_the_next_prompt() {
        let (mut printer, printed, _) = printer(STYLE);
        told(
            &mut printer,
            vec![PrinterCommand::Coming, PrinterCommand::Up, live("one"), PrinterCommand::Printed, live("one two")],
        );
        // The second is with the editor when Enter is pressed: it will find the first right above the prompt.
        let (done, wait) = sync_channel(1);
        told(
            &mut printer,
            vec![PrinterCommand::Left, PrinterCommand::Flush(done), PrinterCommand::Free { typed: "x".to_owned() }],
        );
        printer.answer();
        assert!(wait.try_recv().is_ok());
        assert_eq!(printed.lock().unwrap().last().unwrap(), "\u{1b}[2A\r\u{1b}[J> x\none\n");
        told(&mut printer, vec![live("one two three")]);
        assert_eq!(printed.lock().unwrap().len(), 3, "nothing more until the editor has printed");
        told(&mut printer, vec![PrinterCommand::Coming, PrinterCommand::Up, PrinterCommand::Printed]);
        assert_eq!(printed.lock().unwrap().last().unwrap(), "\u{1b}[1A\r\u{1b}[Jone two three\n");
    }

    #[test]
    fn k2_a_terminal_without_cursor_movements_is_shown_what_is_settled() {
        let (mut printer, printed, _) = printer(PageStyle::Plain);
        told(&mut printer, vec![live("**one**"), draw(vec![PagePiece::Plain("\u{1b}[2J".to_owned())], "two")]);
        told(&mut printer, vec![PrinterCommand::Coming, draw(vec![PagePiece::Plain("one".to_owned())], "two")]);
        assert_eq!(*printed.lock().unwrap(), ["␛[2J\n", "\none\n> "], "where the prompt stands, it stands again below");
    }
}
