//! A way to a server on which another program comes first: just before the first write its own is done.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::server::Server;

/// The other program's write, once.
struct Other {
    port: u16,
    request: String,
    done: AtomicBool,
}

impl Other {
    fn write_once(&self) {
        if self.done.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        server.write_all(self.request.as_bytes()).unwrap();
        let mut answer = String::new();
        server.read_to_string(&mut answer).unwrap();
        assert!(answer.split(' ').nth(1).is_some_and(|status| status.starts_with('2')), "{answer}");
    }
}

/// The address of the way. The other program puts the event of Ada's there, whatever is there.
pub(crate) fn way(server: &Server, name: &str, event: &str) -> String {
    let port = server.url().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
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
    let other = Arc::new(Other { port, request, done: AtomicBool::new(false) });
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
    thread::spawn(move || {
        let copied = std::io::copy(&mut answers, &mut back);
        // The client may have left first.
        copied.and_then(|_bytes| back.shutdown(Shutdown::Both)).unwrap_or_default();
    });
    let (mut client, mut server, mut chunk) = (client, server, vec![0; 65_536]);
    while let Ok(read @ 1..) = client.read(&mut chunk) {
        let said = &chunk[..read];
        if said.starts_with(b"PUT ") || said.starts_with(b"DELETE ") {
            other.write_once();
        }
        if server.write_all(said).is_err() {
            break;
        }
    }
    server.shutdown(Shutdown::Both).unwrap_or_default();
}
