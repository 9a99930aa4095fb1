//! What the owner can set: a typed section per file, and the way from a `config.toml` to a [`Config`] or its problems.
//!
//! Never: a look at `std::env` outside [`environment`], a secret in a text, a write to the user's file, or an import of
//! another room but `domain::secret`.
//! Start at [`load::load`]; the order is `document` → `expand` → `check` → each section's `validate`. The types are
//! the single source: `shape` reads names, docs, defaults and limits off their JSON schema, and the check as well as
//! `config.example.toml` follow from it.

mod document;
pub mod environment;
mod expand;
mod place;
pub mod problem;
