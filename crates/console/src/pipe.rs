//! The conversation with a script: each line of the input is a message, and each reply is printed.

use std::io::{self, BufRead, Read as _, Write};
use std::thread;

use tokio::sync::mpsc;

use crate::screen::Console;
use crate::{ConsoleError, Ports, SessionIdle};
use hob_core::domain::channel::{IdleReason, UpdateOutcome};

/// What is read of one line. The router's own limit on a message is far lower; this one keeps memory bounded.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Where a script's lines come from, and where to say what is wrong with them.
pub struct ScriptInput {
    /// Standard input.
    pub lines: Box<dyn BufRead + Send>,
    /// Standard error.
    pub errors: Box<dyn Write + Send>,
}

/// Hands in each line once the one before is answered; returns when the last is, or when nobody reads the replies.
///
/// # Errors
/// When the input cannot be read, or a line cannot be stored.
pub async fn pipe<W>(
    input: ScriptInput,
    console: &Console<W>,
    quiet: &dyn SessionIdle,
    ports: &Ports,
) -> Result<(), ConsoleError>
where
    W: Write + Send + 'static,
{
    let ScriptInput { lines, mut errors } = input;
    let (read, mut next) = mpsc::channel(1);
    // Not on tokio's pool: a read that never ends must not keep the runtime from ending.
    thread::Builder::new()
        .name("console-input".to_owned())
        .spawn(move || read_lines(lines, &read))
        .map_err(ConsoleError::Thread)?;
    // What an earlier process left open is answered before anything new is said.
    tokio::select! {
        () = quiet.quiet() => {}
        () = console.closed() => return Ok(()),
    }
    loop {
        let line = tokio::select! {
            line = next.recv() => line,
            () = console.closed() => return Ok(()),
        };
        let Some(line) = line else { return Ok(()) };
        let line = line.map_err(ConsoleError::Input)?;
        for what in line.defects() {
            complain(&mut errors, line.number, what);
        }
        if line.text.trim().is_empty() {
            continue;
        }
        let number = line.number;
        match ports.say(line.text).await.map_err(|source| ConsoleError::NotStored { line: number, source })? {
            UpdateOutcome::Committed | UpdateOutcome::Duplicate => {}
            UpdateOutcome::Ignored => complain(&mut errors, number, "was not taken: the terminal is not let in here"),
        }
        tokio::select! {
            () = quiet.quiet() => {}
            () = console.closed() => return Ok(()),
        }
    }
}

/// Hands one message in, and waits until all is said about it; how its run ended, if there was one.
pub async fn once<W>(
    message: String,
    console: &Console<W>,
    quiet: &dyn SessionIdle,
    ports: &Ports,
) -> Result<Option<IdleReason>, ConsoleError>
where
    W: Write + Send + 'static,
{
    console.begin();
    let taken = ports.say(message).await.map_err(|source| ConsoleError::NotStored { line: 1, source })?;
    if taken == UpdateOutcome::Ignored {
        return Ok(Some(IdleReason::Failed));
    }
    quiet.quiet().await;
    Ok(console.ended().await)
}

fn complain(errors: &mut dyn Write, line: u64, what: &str) {
    if let Err(error) = writeln!(errors, "hob: line {line} of the input {what}").and_then(|()| errors.flush()) {
        tracing::debug!(%error, line, what, "standard error is not read");
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct InputLine {
    number: u64,
    text: String,
    /// Bytes that are not UTF-8 were replaced.
    replaced: bool,
    /// It was too long even to be read.
    cut: bool,
}

impl InputLine {
    fn new(number: u64, bytes: &[u8], cut: bool) -> Self {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let (text, replaced) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), false),
            Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
        };
        Self { number, text, replaced, cut }
    }

    fn defects(&self) -> impl Iterator<Item = &'static str> {
        let replaced = self.replaced.then_some("is not UTF-8: what could not be read became \u{fffd}");
        let cut = self.cut.then_some("is longer than 16 MiB: the rest of it was left out");
        replaced.into_iter().chain(cut)
    }
}

fn read_lines(mut input: Box<dyn BufRead + Send>, lines: &mpsc::Sender<io::Result<InputLine>>) {
    for number in 1.. {
        match read_line(&mut input, number, LINE_BYTES_MAX).transpose() {
            Some(line) => {
                let failed = line.is_err();
                if lines.blocking_send(line).is_err() || failed {
                    return;
                }
            }
            None => return,
        }
    }
}

fn read_line(input: &mut dyn BufRead, number: u64, bytes_max: u64) -> io::Result<Option<InputLine>> {
    let mut bytes = Vec::new();
    let read = input.take(bytes_max).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    // A full measure without a line's end: either more follows, or the input ends just here.
    let cut = !bytes.ends_with(b"\n") && bytes.len() as u64 == bytes_max && skip_line(input)?;
    Ok(Some(InputLine::new(number, &bytes, cut)))
}

/// Skips what is left of a line; tells whether that was more than its end.
fn skip_line(input: &mut dyn BufRead) -> io::Result<bool> {
    let mut skipped = false;
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (used, done) = match end {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        skipped |= end.unwrap_or(used) > 0;
        input.consume(used);
        if done {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8], bytes_max: u64) -> Vec<InputLine> {
        (1..).map_while(|number| read_line(&mut input, number, bytes_max).unwrap()).collect()
    }

    fn line(number: u64, text: &str) -> InputLine {
        InputLine { number, text: text.to_owned(), ..InputLine::default() }
    }

    #[test]
    fn lines_end_in_any_way() {
        assert_eq!(lines(b"one\r\n\ntwo", 100), [line(1, "one"), line(2, ""), line(3, "two")]);
        assert_eq!(lines(b"", 100), []);
    }

    #[test]
    fn bad_bytes_are_replaced_and_told() {
        assert_eq!(lines(b"a\xffb\n", 100), [InputLine { replaced: true, ..line(1, "a\u{fffd}b") }]);
    }

    #[test]
    fn a_line_beyond_the_limit_is_cut_and_the_next_is_whole() {
        assert_eq!(lines(b"abcdefgh\nxy\n", 4), [InputLine { cut: true, ..line(1, "abcd") }, line(2, "xy")]);
        assert_eq!(lines(b"abcd\nxy\nabcd", 4), [line(1, "abcd"), line(2, "xy"), line(3, "abcd")]);
    }
}
