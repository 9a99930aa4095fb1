//! What is remembered as JSONL, out of a house and into another (`hob memory export`, `import`; `docs/memory.md`).
//!
//! Never: half an import, or the same line twice.
//! Start at [`line::TransferLine`].

pub mod export;
pub mod import;
pub mod line;

#[cfg(test)]
mod tests;
