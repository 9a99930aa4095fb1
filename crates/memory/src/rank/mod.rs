//! Which memories answer a question: many small signals over a pool of candidates, one documented sum.
//!
//! Never: I/O, a model's call, or a clock. Who may see what was decided before: all that is here may be seen.
//! Start at `features::describe`, then `mix::ranked`; what is told of it: [`relevance::relevance`] and `select`. What was measured: `docs/decisions/0005-ranking.md`.

pub(crate) mod dates;
pub(crate) mod features;
pub(crate) mod gist;
pub mod late;
pub(crate) mod lexical;
pub(crate) mod mix;
pub mod relevance;
pub(crate) mod select;
pub mod stem;
pub mod words;
