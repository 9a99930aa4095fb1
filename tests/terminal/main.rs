//! Commands in the sandbox, on the real kernel: what they cannot reach, and that they end.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test's own machinery fails loudly")]

mod bounds;
mod changes;
mod confinement;
mod draft_workspace;
mod fuzz;
mod hostile;
mod jobs;
mod judged;
mod place;
