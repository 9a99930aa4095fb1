//! Cuts a stream of bytes into events, however the bytes are cut.
//!
//! Never: I/O, or more in memory than one event.
//! Start at `Frames`.

use std::mem;

use tokio_util::bytes::BytesMut;
use tokio_util::codec::{AnyDelimiterCodec, Decoder as _};

use crate::error::ModelError;
use crate::exchange::malformed;

#[cfg(test)]
mod tests;

/// How much may come from one event to the next.
const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How much may come in all. An event is many times as long as the word in it.
const STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How events stand in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events; lines end in LF or CRLF, as all servers of models write them.
    ServerSentEvents,
    /// One JSON value a line.
    JsonLines,
}

/// What a stream is made of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An event's data.
    Event(String),
    /// A sign of life.
    Comment,
}

/// The events of a stream; a pure function of its bytes.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    lines: AnyDelimiterCodec,
    unread: BytesMut,
    /// The lines of the event that is not yet over.
    data: Option<String>,
    begun: bool,
    since_event: usize,
    total: usize,
}

impl Frames {
    /// None yet.
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            lines: AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), EVENT_BYTES_MAX),
            unread: BytesMut::new(),
            data: None,
            begun: false,
            since_event: 0,
            total: 0,
        }
    }

    /// Takes more of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        self.total = self.total.saturating_add(bytes.len());
        self.since_event = self.since_event.saturating_add(bytes.len());
        if self.total > STREAM_BYTES_MAX || self.since_event > EVENT_BYTES_MAX {
            return Err(malformed("The model's reply is too long."));
        }
        self.unread.extend_from_slice(bytes);
        Ok(())
    }

    /// The next event, if all of it has come.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, ModelError> {
        loop {
            let line = self.lines.decode(&mut self.unread).map_err(|error| {
                tracing::debug!(%error, "a line of a model's reply is too long");
                malformed("The model's reply cannot be understood.")
            })?;
            let Some(line) = line else { return Ok(None) };
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            // A character that a server has cut must not cost the whole reply.
            if let Some(frame) = self.take(String::from_utf8_lossy(line).into_owned()) {
                self.since_event = self.unread.len();
                return Ok(Some(frame));
            }
        }
    }

    /// What is left when the stream is over: a last line needs no end. An unfinished server-sent event is none.
    pub(crate) fn finish_stream(&mut self) -> Option<Frame> {
        let rest = mem::take(&mut self.unread);
        match self.framing {
            Framing::ServerSentEvents => None,
            Framing::JsonLines => json_line(std::str::from_utf8(&rest).ok()?),
        }
    }

    fn take(&mut self, mut line: String) -> Option<Frame> {
        if !mem::replace(&mut self.begun, true) && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        match self.framing {
            Framing::JsonLines => json_line(&line),
            Framing::ServerSentEvents if line.is_empty() => self.data.take().map(Frame::Event),
            Framing::ServerSentEvents if line.starts_with(':') => Some(Frame::Comment),
            Framing::ServerSentEvents => {
                self.field(&line);
                None
            }
        }
    }

    /// Keeps an event's data; its name and id tell nothing that is not in the data.
    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name != "data" {
            return;
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
    }
}

fn json_line(line: &str) -> Option<Frame> {
    let line = line.trim();
    (!line.is_empty()).then(|| Frame::Event(line.to_owned()))
}
