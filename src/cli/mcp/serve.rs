//! `hob mcp serve`: what comes in goes to the Hob that runs here, and what that says comes out.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use anyhow::Context as _;

use hob_web::local_client::upgraded;
use hob_web::mcp::local::{PATH, PROTOCOL};

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
    let mut out = io::stdout().lock();
    io::copy(&mut hob, &mut out)?;
    Ok(out.flush()?)
}

/// What the client says, until it says no more.
fn pass_on(mut hob: UnixStream) -> io::Result<()> {
    io::copy(&mut io::stdin().lock(), &mut hob)?;
    hob.shutdown(Shutdown::Write)
}
