//! The log: where it goes, how it is written, and what is blacked out of it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::journal::PriorityFormat;
use crate::otlp::{Exporter, OtlpSettings};
use crate::{log_tail, otlp};
use hob_core::domain::redactor::Redactor;

/// What must not be seen of this process's words.
static HIDDEN: OnceLock<Redactor> = OnceLock::new();

/// Where the log goes.
#[derive(Debug, Clone, Copy)]
pub enum Sink<'a> {
    /// Standard error: for a daemon under systemd or Docker.
    StandardError,
    /// Standard error, which systemd's journal reads: each line begins with its priority.
    Journal,
    /// A file: where the terminal is somebody's conversation.
    File(&'a Path),
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The file cannot be opened.
    #[error("the log {path} cannot be written: {source}")]
    File {
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The filter is not one.
    #[error("daemon.log: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// There is a log already.
    #[error("the log was set up twice")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// From now on neither the log nor the last word of this process holds what `redactor` finds; the first who says so counts.
pub fn hide(redactor: Redactor) {
    HIDDEN.get_or_init(|| redactor);
}

/// Words for whoever started this process, without secrets.
pub fn hidden(text: &str) -> String {
    HIDDEN.get().map_or_else(|| text.to_owned(), |redactor| redactor.redact(text).into_owned())
}

/// Writes lines of the log without secrets. Each comes whole, in one piece.
struct RedactingWriter<W>(W);

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match HIDDEN.get() {
            Some(redactor) => {
                let text = String::from_utf8_lossy(line);
                self.0.write_all(redactor.redact(&text).as_bytes())?;
            }
            None => self.0.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Makes writers that hide.
struct RedactingMakeWriter<M>(M);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for RedactingMakeWriter<M> {
    type Writer = RedactingWriter<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactingWriter(self.0.make_writer())
    }
}

/// Starts the log of this process.
///
/// # Errors
/// When the filter cannot be read, the file cannot be opened, or there is a log already.
pub fn start(sink: Sink<'_>, format: Format, filter: &str) -> Result<(), TelemetryError> {
    tracing_subscriber::registry().with(lines(sink, format, filter)?).try_init()?;
    Ok(())
}

/// The same, with traces: what is done with them is in the exporter's hands.
///
/// # Errors
/// As [`start`].
pub fn start_traced(
    sink: Sink<'_>,
    format: Format,
    filter: &str,
    otlp: OtlpSettings,
) -> Result<Exporter, TelemetryError> {
    let (traces, exporter) = otlp::layer(otlp);
    tracing_subscriber::registry().with(lines(sink, format, filter)?).with(traces).try_init()?;
    Ok(exporter)
}

/// Whoever hears of changed files tells of each in the log: where the log lies in a folder that is listened to, each line would
/// make the next. So what the listener says of itself is in no log, at whatever level.
///
/// What the SDK of MCP says of a login in detail has codes in it, and whatever else came with tokens.
fn is_told(of: &Metadata<'_>) -> bool {
    let has_tokens = of.target().starts_with("rmcp::transport::auth") && *of.level() > Level::INFO;
    !of.target().starts_with("notify") && !has_tokens
}

/// What writes the lines of the log, and what keeps the last of them.
fn lines(
    sink: Sink<'_>,
    format: Format,
    filter: &str,
) -> Result<Vec<Box<dyn Layer<Registry> + Send + Sync>>, TelemetryError> {
    let is_on = matches!(sink, Sink::Journal);
    let tail = log_tail::layer(filter)?;
    // Without the hint nothing is too detailed to be looked at: each statement of the database was written down to be thrown away.
    let is_told = filter_fn(is_told).with_max_level_hint(LevelFilter::TRACE);
    let (filter, writer) = (EnvFilter::builder().parse(filter)?.and(is_told), writer(sink)?);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let lines = match format {
        Format::Text => lines.map_event_format(|inner| PriorityFormat { inner, is_on }).with_filter(filter).boxed(),
        Format::Json => {
            lines.json().map_event_format(|inner| PriorityFormat { inner, is_on }).with_filter(filter).boxed()
        }
    };
    Ok(vec![lines, tail])
}

fn writer(sink: Sink<'_>) -> Result<RedactingMakeWriter<BoxMakeWriter>, TelemetryError> {
    Ok(RedactingMakeWriter(match sink {
        Sink::StandardError | Sink::Journal => BoxMakeWriter::new(io::stderr),
        Sink::File(path) => {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            let file = file.map_err(|source| TelemetryError::File { path: path.display().to_string(), source })?;
            BoxMakeWriter::new(Mutex::new(file))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_filter_leaves_out_is_not_even_looked_at() {
        let most = |filter: &str| {
            let lines = lines(Sink::StandardError, Format::Text, filter).unwrap();
            Layer::<Registry>::max_level_hint(&lines)
        };
        assert_eq!(most("info"), Some(LevelFilter::INFO));
        assert_eq!(most("info,sqlx::query=debug"), Some(LevelFilter::DEBUG));
    }
}
