//! The HTTP client that every part of Hob uses, what TLS believes ([`trust`]), and what a fetched page says as text ([`page`]).
//!
//! Never: retries, a total deadline (a stream may last), or following a redirect with a key in the header.
//! Start at [`client`].

mod http_client;
pub mod page;
pub mod trust;

pub use http_client::{HttpError, body_start, body_within, builder, client, direct_client, http1_builder};
