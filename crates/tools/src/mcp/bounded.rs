//! What a server may say between two calls: so much, and no more. Whoever floods is cut off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::mcp::diagnostics::ServerDiagnostics;

/// The longest message, in bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// The most that is read for one call, in bytes.
const BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// The most messages that are read for one call: each may ask for an answer.
const MESSAGES_MAX: usize = 50_000;

/// What a server may still say.
#[derive(Debug)]
pub(super) struct OutputAllowance {
    bytes: AtomicUsize,
    messages: AtomicUsize,
}

impl Default for OutputAllowance {
    fn default() -> Self {
        Self { bytes: AtomicUsize::new(BYTES_MAX), messages: AtomicUsize::new(MESSAGES_MAX) }
    }
}

impl OutputAllowance {
    /// Something was asked of it: it may answer at length.
    pub(super) fn reset(&self) {
        self.bytes.store(BYTES_MAX, Ordering::Relaxed);
        self.messages.store(MESSAGES_MAX, Ordering::Relaxed);
    }

    /// Takes what was read off; false: it was too much.
    fn take(&self, bytes: &[u8]) -> bool {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let less = |left: &AtomicUsize, by: usize| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(by)).is_ok()
        };
        less(&self.bytes, bytes.len()) && less(&self.messages, lines)
    }
}

/// A server's output up to its allowance.
pub(super) struct BoundedReader<R> {
    source: R,
    allowance: Arc<OutputAllowance>,
    fate: Arc<ServerDiagnostics>,
    /// How long the message is that has begun.
    message: usize,
    /// The first bytes of the line that has begun, until it is known whether it is a message.
    line: Vec<u8>,
}

/// So much of a line that is no message is kept, to show it.
const BABBLE_BYTES_MAX: usize = 200;

impl<R> BoundedReader<R> {
    pub(super) fn new(source: R, allowance: Arc<OutputAllowance>, fate: Arc<ServerDiagnostics>) -> Self {
        Self { source, allowance, fate, message: 0, line: Vec::new() }
    }

    /// Notes what was read.
    fn note_output(&mut self, bytes: &[u8]) -> io::Result<()> {
        let flooded = |fate: &ServerDiagnostics, how: &str| {
            fate.note_flood(how);
            Err(io::Error::new(io::ErrorKind::QuotaExceeded, "the server says too much"))
        };
        if !self.allowance.take(bytes) {
            return flooded(&self.fate, "it said more than anybody asked of it, without end");
        }
        for (index, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                self.end_line();
            }
            self.message += part.len();
            let room = BABBLE_BYTES_MAX.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(&part[..room]);
        }
        if self.message > MESSAGE_BYTES_MAX {
            return flooded(&self.fate, "it sent one message of more than 16 MB");
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let line = self.line.trim_ascii();
        if !line.is_empty() && !line.starts_with(b"{") && !line.starts_with(b"[") {
            self.fate.note_non_message(&String::from_utf8_lossy(line));
        }
        self.line.clear();
        self.message = 0;
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.source).poll_read(cx, buffer))?;
        let heard = self.note_output(&buffer.filled()[before..]);
        if heard.is_err() {
            // Who is told of an error reads nothing.
            buffer.set_filled(before);
        }
        Poll::Ready(heard)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(source: &[u8], allowance: &Arc<OutputAllowance>) -> (io::Result<usize>, String) {
        let fate = Arc::new(ServerDiagnostics::default());
        let mut bounded = BoundedReader::new(source, Arc::clone(allowance), Arc::clone(&fate));
        let mut sink = Vec::new();
        (bounded.read_to_end(&mut sink).await, fate.summary())
    }

    #[tokio::test]
    async fn a_flood_is_cut_off_and_told() {
        let allowance = Arc::new(OutputAllowance::default());
        let short = vec![b'{'; 1_000];
        assert_eq!(read(&short, &allowance).await.0.unwrap(), 1_000);
        let one = vec![b'{'; MESSAGE_BYTES_MAX + 1];
        let (ended, told) = read(&one, &allowance).await;
        assert!(ended.is_err() && told == "it sent one message of more than 16 MB", "{told}");
        allowance.reset();
        let lines = b"{}\n".repeat(MESSAGES_MAX);
        assert!(read(&lines, &allowance).await.0.is_ok());
        let (ended, told) = read(b"{}\n", &allowance).await;
        assert!(ended.is_err() && told == "it said more than anybody asked of it, without end", "{told}");
        allowance.reset();
        assert!(read(&lines, &allowance).await.0.is_ok(), "it was asked again");
    }

    #[tokio::test]
    async fn what_is_no_message_is_told() {
        let allowance = Arc::new(OutputAllowance::default());
        let (_, told) = read(b"\n{}\nListening on 3000\nmore\n", &allowance).await;
        assert_eq!(told, "it said what is not MCP: \"Listening on 3000\"");
    }
}
