//! `hob mcp login` and `logout`: at servers that ask for a login. The browser may be on any machine.

use std::io::stdin;

use anyhow::Context as _;

use crate::cli::next_step::refuse;
use crate::cli::{CliContext, runtime, show};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_tools::mcp::login;
use hob_tools::mcp::settings::Settings;

/// Shows the link, and takes what the browser brings back. A running Hob uses the server from then on.
///
/// # Errors
/// When no login is to be had, or it is refused.
pub(super) fn log_in(server: &Settings, base: &CliContext) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let at_server = || format!("the MCP server {}", server.name);
    std::fs::create_dir_all(&base.data_dir)?;
    let begun = runtime.block_on(Box::pin(login::begin(server, &base.data_dir, SystemClock.now())));
    let begun = begun.with_context(at_server)?;
    show(&format!(
        "Open this address in a browser, on any machine, and allow Hob what it asks for:\n\n{}\n\n\
         Then paste here the address that the browser ends up at, even if it says that nobody answers there:\n",
        begun.link()
    ))?;
    let mut pasted = String::new();
    if stdin().read_line(&mut pasted).context("standard input cannot be read")? == 0 {
        refuse!("nothing was pasted, so nobody is logged in"; "begin again, and paste the address there");
    }
    let scopes = runtime.block_on(Box::pin(begun.finish(&pasted, SystemClock.now()))).with_context(at_server)?;
    let may = if scopes.is_empty() { String::new() } else { format!(" Hob may do there: {}.", scopes.join(", ")) };
    Ok(show(&format!("Logged in at {}.{may}\n", server.name))?)
}

/// Forgets the tokens.
///
/// # Errors
/// When the server has no login.
pub(super) fn log_out(server: &Settings, base: &CliContext) -> anyhow::Result<()> {
    let told = match login::forget(server, &base.data_dir)? {
        true => {
            format!("Forgot the login at {}. Whoever issued its tokens may still count them as good.\n", server.name)
        }
        false => format!("There was no login at {}.\n", server.name),
    };
    Ok(show(&told)?)
}
