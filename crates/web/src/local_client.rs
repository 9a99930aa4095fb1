//! Asks a running Hob over the socket in its data directory (`hob health`, `hob status`): plain and blocking, so that a
//! health check costs next to nothing.
//!
//! Never: a wait without an end, or a connection to anything but that socket.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::local::{LocalError, place};

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How long it may take until a stream begins.
const STREAM_BEGINS: Duration = Duration::from_secs(8);
/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What Hob answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalResponse {
    /// The HTTP status.
    pub status: u16,
    pub body: String,
}

/// Hob did not answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody is there.
    #[error("Hob is not running: `hob run` starts it")]
    NotRunning,
    /// There can be no socket.
    #[error(transparent)]
    Place(#[from] LocalError),
    /// Somebody is there, and does not answer.
    #[error("Hob is running but does not answer: {0}; `hob doctor` says more")]
    Silent(io::Error),
    /// The socket cannot be used by whoever asks.
    #[error("{path}: {source}; ask as the user that Hob runs as")]
    Denied {
        /// The socket.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The answer is not HTTP.
    #[error("the program answering on Hob's socket is not Hob")]
    Foreign,
    /// It is Hob, and has nothing there.
    #[error("the Hob that runs here is another version: restart it")]
    NotServed,
}

/// Gets `path` from the Hob that uses this data directory; each read and write may take as long as `within`.
///
/// # Errors
/// When there is none, or it does not answer.
pub fn ask(data_dir: &Path, path: &str, within: Duration) -> Result<LocalResponse, AskError> {
    exchanged(data_dir, "GET", path, "", within)
}

/// The same, for what changes something.
///
/// # Errors
/// When there is none, or it does not answer.
pub fn request_change(data_dir: &Path, path: &str, within: Duration) -> Result<LocalResponse, AskError> {
    exchanged(data_dir, "POST", path, "", within)
}

/// The same, with JSON.
///
/// # Errors
/// When there is none, or it does not answer.
pub fn post(data_dir: &Path, path: &str, body: &str, within: Duration) -> Result<LocalResponse, AskError> {
    exchanged(data_dir, "POST", path, body, within)
}

/// Asks for what has no end: its lines come as they are told. How long that may take is the reader's business.
///
/// # Errors
/// When there is none, or it does not answer with that.
pub fn stream(data_dir: &Path, path: &str) -> Result<UnixStream, AskError> {
    let (stream, head) = opened(data_dir, &request("POST", path, ""))?;
    match read(&head) {
        Some(LocalResponse { status: 200, .. }) => Ok(stream),
        Some(LocalResponse { status: 404, .. }) => Err(AskError::NotServed),
        _ => Err(AskError::Foreign),
    }
}

/// Asks for a connection that is from then on what `protocol` says.
///
/// # Errors
/// When there is no Hob, or it does not have that.
pub fn upgraded(data_dir: &Path, path: &str, protocol: &str) -> Result<UnixStream, AskError> {
    let asked = format!(
        "POST {path} HTTP/1.1\r\nHost: hob\r\nConnection: upgrade\r\nUpgrade: {protocol}\r\nContent-Length: 0\r\n\r\n"
    );
    let (stream, head) = opened(data_dir, &asked)?;
    match read(&head) {
        Some(LocalResponse { status: 101, .. }) => Ok(stream),
        Some(LocalResponse { status: 404, .. }) => Err(AskError::NotServed),
        _ => Err(AskError::Foreign),
    }
}

/// A connection on which this was asked, with the head of the answer.
fn opened(data_dir: &Path, asked: &str) -> Result<(UnixStream, String), AskError> {
    let mut stream = connected(data_dir)?;
    let mut begin = || {
        stream.set_read_timeout(Some(STREAM_BEGINS))?;
        stream.write_all(asked.as_bytes())?;
        let mut head = Vec::new();
        let mut byte = [0];
        // Byte by byte: what comes behind the head is the reader's.
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX && stream.read(&mut byte)? > 0 {
            head.extend_from_slice(&byte);
        }
        stream.set_read_timeout(None)?;
        Ok(String::from_utf8_lossy(&head).into_owned())
    };
    let head = begin().map_err(AskError::Silent)?;
    Ok((stream, head))
}

/// HTTP/1.0: the answer is whole, and ends with the connection.
fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.0\r\nHost: hob\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn connected(data_dir: &Path) -> Result<UnixStream, AskError> {
    let socket = place(data_dir)?;
    UnixStream::connect(&socket).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory => {
            AskError::NotRunning
        }
        io::ErrorKind::PermissionDenied => AskError::Denied { path: socket.display().to_string(), source },
        _ => AskError::Silent(source),
    })
}

fn exchanged(
    data_dir: &Path,
    method: &str,
    path: &str,
    body: &str,
    within: Duration,
) -> Result<LocalResponse, AskError> {
    let mut stream = connected(data_dir)?;
    let mut answer = Vec::new();
    let mut exchange = || {
        stream.set_read_timeout(Some(within))?;
        stream.set_write_timeout(Some(within))?;
        stream.write_all(request(method, path, body).as_bytes())?;
        (&mut stream).take(ANSWER_BYTES_MAX).read_to_end(&mut answer)
    };
    exchange().map_err(AskError::Silent)?;
    read(&String::from_utf8_lossy(&answer)).ok_or(AskError::Foreign)
}

fn read(answer: &str) -> Option<LocalResponse> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()?;
    Some(LocalResponse { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_or_is_none() {
        let good = "HTTP/1.0 503 Service Unavailable\r\ncontent-type: text/plain\r\n\r\none\r\n\r\ntwo";
        assert_eq!(read(good), Some(LocalResponse { status: 503, body: "one\r\n\r\ntwo".to_owned() }));
        for bad in ["", "HTTP/1.0 200 OK\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 ok\r\n\r\n"] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn f7_a_hob_that_serves_no_windows_is_told_from_a_stranger() {
        for (answer, is_hob) in [("HTTP/1.0 404 Not Found\r\n\r\n", true), ("SSH-2.0-x\r\n\r\n", false)] {
            let dir = tempfile::tempdir().unwrap();
            let other = std::os::unix::net::UnixListener::bind(dir.path().join("hob.sock")).unwrap();
            let answering = std::thread::spawn(move || {
                let (mut asked, _) = other.accept().unwrap();
                asked.write_all(answer.as_bytes()).unwrap();
                asked
            });
            let asked = stream(dir.path(), "/terminal/local");
            assert_eq!(matches!(asked, Err(AskError::NotServed)), is_hob, "{asked:?}");
            drop(answering.join().unwrap());
        }
    }

    #[test]
    fn who_says_nothing_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let silent = std::os::unix::net::UnixListener::bind(dir.path().join("hob.sock")).unwrap();
        let asked = ask(dir.path(), "/health", Duration::from_millis(20));
        assert!(matches!(asked, Err(AskError::Silent(_))), "{asked:?}");
        drop(silent);
    }
}
