//! From facts to findings: pure tables.
//!
//! Never: a look at the world.

pub mod data;
pub mod finding;
pub mod host;
pub mod network;
pub mod server;
pub mod service;

use std::time::Duration;

/// A span of time as people say it.
fn span(span: Duration) -> String {
    match span.as_secs() {
        secs @ 0..120 => format!("{secs} s"),
        secs @ 120..7_200 => format!("{} min", secs / 60),
        secs @ 7_200..172_800 => format!("{} h", secs / 3_600),
        secs => format!("{} d", secs / 86_400),
    }
}
