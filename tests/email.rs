//! The mailbox against real servers: Debian's dovecot (IMAP) and aiosmtpd (SMTP), each started for one test; and against one
//! that refuses, which they do not.

mod support;

#[path = "email/answers.rs"]
mod answers;
#[path = "email/arrivals.rs"]
mod arrivals;
#[path = "email/harness.rs"]
mod harness;
#[path = "email/household.rs"]
mod household;
#[path = "email/refusals.rs"]
mod refusals;
#[path = "email/scripted.rs"]
mod scripted;
#[path = "email/servers.rs"]
mod servers;
