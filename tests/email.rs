//! The mailbox against real servers: Debian's dovecot (IMAP) and aiosmtpd (SMTP), each started for one test.

mod support;

#[path = "email/answers.rs"]
mod answers;
#[path = "email/arrivals.rs"]
mod arrivals;
#[path = "email/harness.rs"]
mod harness;
#[path = "email/household.rs"]
mod household;
#[path = "email/servers.rs"]
mod servers;
