//! Connections that can be cut in the middle of an answer.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// One connection, as the handlers see it.
#[derive(Debug, Clone)]
pub struct CutConnection {
    pub(super) port: u16,
    cut: Arc<AtomicBool>,
}

impl CutConnection {
    /// Whatever is answered now never leaves: the first write ends the connection.
    pub(super) fn cut(&self) -> Response {
        self.cut.store(true, Ordering::SeqCst);
        StatusCode::OK.into_response()
    }
}

impl Connected<IncomingStream<'_, CutListener>> for CutConnection {
    fn connect_info(stream: IncomingStream<'_, CutListener>) -> Self {
        Self { port: stream.remote_addr().port(), cut: Arc::clone(&stream.io().cut) }
    }
}

pub(super) struct CutListener(pub(super) TcpListener);

impl Listener for CutListener {
    type Io = CutStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CutStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // As real servers do: an answer goes out when it is written.
        stream.set_nodelay(true).unwrap();
        (CutStream { stream, cut: Arc::new(AtomicBool::new(false)) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection that refuses to be written to once it is cut.
pub(super) struct CutStream {
    stream: TcpStream,
    cut: Arc<AtomicBool>,
}

impl AsyncRead for CutStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
