//! The mailbox against real servers: Debian's dovecot (IMAP) and aiosmtpd (SMTP), each started for one test; and against one
//! that refuses, which they do not.

mod answers;
mod arrivals;
mod harness;
mod household;
mod refusals;
mod scripted;
