//! Slack: the adapter against a model of the Web API and Socket Mode, and the daemon behind it.

mod daemon;
mod deliver;
mod files;
mod harness;
mod outages;
mod receive;
mod signs;
