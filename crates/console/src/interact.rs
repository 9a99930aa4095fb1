//! The conversation with a person who types.

use std::io::Write;

use tokio::signal::unix::{SignalKind, signal};

use crate::screen::Console;
use crate::terminal::{PromptInput, Terminal};
use crate::{ConsoleError, Ports};
use hob_core::domain::channel::UpdateOutcome;

/// What Ctrl-C says while a run is active.
const STOP: &str = "/stop";
/// What it says then the second time.
const STOP_NOW: &str = "/stop now";
/// What Ctrl-C tells at an idle prompt.
const HOW_TO_LEAVE: &str = "(Ctrl-D leaves; Ctrl-C stops an answer that is on its way)";

/// Holds the conversation until the person leaves with Ctrl-D.
///
/// Dropping the future ends it as well, and puts the terminal's settings back. From the first call on, SIGINT no longer
/// ends the process.
pub async fn interact<W>(terminal: Terminal, console: &Console<W>, ports: &Ports) -> Result<(), ConsoleError>
where
    W: Write + Send + 'static,
{
    // While a line is edited, Ctrl-C is a key; between two lines it is a signal, which must not end Hob.
    let mut interrupts = signal(SignalKind::interrupt()).map_err(ConsoleError::Signals)?;
    let mut lines = terminal.start()?;
    lines.ask(String::new());
    let mut pressed = false;
    loop {
        let typed = tokio::select! {
            // A line that was entered before Ctrl-C is handed in before it.
            biased;
            typed = lines.answer() => typed,
            _ = interrupts.recv() => {
                pressed = interrupt(console, ports, pressed).await;
                continue;
            }
        };
        let draft = match typed {
            PromptInput::Line(line) if line.trim().is_empty() => String::new(),
            PromptInput::Line(line) => {
                pressed = false;
                hand_in(console, ports, line).await
            }
            PromptInput::Interrupt => {
                pressed = interrupt(console, ports, pressed).await;
                String::new()
            }
            PromptInput::Leave => return Ok(()),
            PromptInput::Failed(error) => return Err(error.into()),
        };
        lines.ask(draft);
    }
}

/// Ctrl-C: stops what Hob is at work on; pressed before, at once. The line that was typed is gone in any case. Says whether
/// something is being stopped now.
async fn interrupt<W>(console: &Console<W>, ports: &Ports, pressed: bool) -> bool
where
    W: Write + Send + 'static,
{
    let is_busy = console.is_busy();
    if is_busy {
        let word = if pressed { STOP_NOW } else { STOP };
        hand_in(console, ports, word.to_owned()).await;
    } else {
        console.note(HOW_TO_LEAVE);
    }
    is_busy
}

/// Hands the line in; gives it back to be sent again if it could not be stored.
async fn hand_in<W>(console: &Console<W>, ports: &Ports, line: String) -> String
where
    W: Write + Send + 'static,
{
    let was_busy = console.is_busy();
    console.await_answer(true);
    match ports.say(line.clone()).await {
        Ok(UpdateOutcome::Committed | UpdateOutcome::Duplicate) => String::new(),
        Ok(UpdateOutcome::Ignored) => {
            console.await_answer(was_busy);
            console.note("Hob did not take that: the terminal is not let in here.");
            String::new()
        }
        Err(error) => {
            console.await_answer(was_busy);
            console.note(&format!(
                "Not sent: {error}.\nYour line is below again: Enter retries, Ctrl-C drops it. The log in the data directory has the details."
            ));
            line
        }
    }
}
