//! A way to a server on which another program comes first: just before the first write its own is done. Or on which the answer to the
//! first write is lost.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::server::Server;

/// The other program's write, once; none: the answer to a write is lost, once.
struct Other {
    port: u16,
    request: Option<String>,
    done: AtomicBool,
}

impl Other {
    /// Does its write where none was done; gives whether the answer to another's is lost.
    fn write_once(&self) -> bool {
        if self.done.swap(true, Ordering::SeqCst) {
            return false;
        }
        let Some(request) = &self.request else { return true };
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        server.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        server.read_to_string(&mut answer).unwrap();
        assert!(answer.split(' ').nth(1).is_some_and(|status| status.starts_with('2')), "{answer}");
        false
    }
}

fn port(server: &Server) -> u16 {
    server.url().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

/// The address of a way on which the answer to the first write is lost.
pub(crate) fn lossy(server: &Server) -> String {
    begin(Other { port: port(server), request: None, done: AtomicBool::new(false) })
}

/// The address of the way. The other program puts the event of Ada's there, whatever is there.
pub(crate) fn way(server: &Server, name: &str, event: &str) -> String {
    let port = port(server);
    let body = format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//other//EN\r\n{}\r\nEND:VCALENDAR\r\n",
        event.trim().replace('\n', "\r\n")
    );
    // `ada:secret`.
    let request = format!(
        "PUT {}{name}.ics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Basic YWRhOnNlY3JldA==\r\nContent-Type: text/calendar\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.calendar("ada"),
        body.len()
    );
    begin(Other { port, request: Some(request), done: AtomicBool::new(false) })
}

fn begin(other: Other) -> String {
    let other = Arc::new(other);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let other = Arc::clone(&other);
            thread::spawn(move || pass_on(client, &other));
        }
    });
    format!("http://127.0.0.1:{own}/")
}

/// Passes on what the client says, and what it is answered.
fn pass_on(client: TcpStream, other: &Other) {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, other.port)).unwrap();
    let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let lost = Arc::new(AtomicBool::new(false));
    let is_lost = Arc::clone(&lost);
    thread::spawn(move || {
        let mut chunk = vec![0; 65_536];
        while let Ok(read @ 1..) = answers.read(&mut chunk) {
            if lost.load(Ordering::SeqCst) {
                // It was done, and nobody hears of it.
                break;
            }
            if back.write_all(&chunk[..read]).is_err() {
                break;
            }
        }
        // The client may have left first.
        back.shutdown(Shutdown::Both).unwrap_or_default();
    });
    let (mut client, mut server, mut chunk) = (client, server, vec![0; 65_536]);
    while let Ok(read @ 1..) = client.read(&mut chunk) {
        let said = &chunk[..read];
        if (said.starts_with(b"PUT ") || said.starts_with(b"DELETE ")) && other.write_once() {
            is_lost.store(true, Ordering::SeqCst);
        }
        if server.write_all(said).is_err() {
            break;
        }
    }
    server.shutdown(Shutdown::Both).unwrap_or_default();
}
