//! What can be seen of Hob at work: the log, what is counted, traces.
//!
//! Never: a secret, or a message's body above debug level.
//! Start at [`start`]; [`log_tail`] keeps the log's last lines, [`meters`] counts, [`metrics_page`] shows it, [`otlp`] sends traces;
//! [`tasks`] begins what goes on beside.

pub mod genai;
pub mod journal;
mod log;
pub mod log_tail;
pub mod meters;
pub mod metrics;
pub mod metrics_page;
pub mod otlp;
pub mod process;
pub mod tasks;

pub use log::{Format, Sink, TelemetryError, hidden, hide, start, start_traced};
