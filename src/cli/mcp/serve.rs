//! `hob mcp serve`: what comes in goes to the Hob that runs here, and what that says comes out.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use anyhow::Context as _;

use hob_web::local_client::upgraded;
use hob_web::mcp::local::{PATH, PROTOCOL};

/// So much is passed on at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Passes messages on, both ways, until one side has no more.
pub(super) fn serve(data_dir: &Path) -> anyhow::Result<()> {
    let mut hob = upgraded(data_dir, PATH, PROTOCOL)?;
    let client = hob.try_clone()?;
    thread::Builder::new()
        .name("client".to_owned())
        .spawn(move || {
            if let Err(error) = pass_on(client) {
                tracing::debug!(%error, "the client says no more");
            }
        })
        .context("no thread for what the client says")?;
    Ok(relay(&mut hob, &mut io::stdout().lock())?)
}

/// Passes on what comes, as it comes: `io::copy` may keep the end of a message until the next one.
fn relay(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..read).unwrap_or_default())?;
        to.flush()?;
    }
}

/// What the client says, until it says no more.
fn pass_on(mut hob: UnixStream) -> io::Result<()> {
    relay(&mut io::stdin().lock(), &mut hob)?;
    hob.shutdown(Shutdown::Write)
}
