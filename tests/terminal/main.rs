//! Commands in the sandbox, on the real kernel: what they cannot reach, and that they end.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test's own machinery fails loudly")]

mod bounds;
mod drafts;
mod hostile;
mod jobs;
mod judged;
mod place;
mod walls;
