//! Strangers who take the seats of what is served over HTTP, and somebody who has shown who they are.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// More than there are seats for callers on this machine.
const CROWD: usize = 300;

/// Says `request`, which shows who one is, and is answered with `status`; then a crowd comes, and the same connection is still
/// listened to.
pub async fn stays_seated(address: &str, request: &str, status: &str) {
    let mut line = TcpStream::connect(address).await.unwrap();
    let answer = said(&mut line, request).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(TcpStream::connect(address).await.unwrap());
    }
    // Whoever comes after them is let in after them.
    let mut last = TcpStream::connect(address).await.unwrap();
    assert!(!said(&mut last, &format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n")).await.is_empty());
    let again = said(&mut line, request).await;
    assert!(again.starts_with("HTTP/1.1 "), "its seat was taken: {again:?}");
}

/// The head of the answer; nothing: nobody listens any more.
async fn said(line: &mut TcpStream, request: &str) -> String {
    let mut answer = Vec::new();
    if line.write_all(request.as_bytes()).await.is_err() {
        return String::new();
    }
    let mut piece = [0; 1_024];
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        match line.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}
