//! How often a run that has listened to anybody goes out unasked (row N6).
//!
//! An address that it was told tells its host nothing but that it was chosen; among a thousand, that is ten bits. So a run has
//! a few such looks for each site, and some more for all. What goes beyond is asked about like words that are sent. The count
//! is of the fold: no restart forgets it.

use crate::machine::batch::Batch;
use crate::machine::state::Active;
use hob_core::domain::tools::Risk;

/// The looks at one site that nobody is asked about.
pub const UNASKED_PER_SITE: u32 = 4;
/// The looks at all sites together.
pub const UNASKED_PER_RUN: u32 = 16;

/// Counts the looks of a fresh batch; those beyond are told to be more than looks.
pub(super) fn count(run: &mut Active, mut batch: Batch) -> Batch {
    if run.taint.is_clean() {
        return batch;
    }
    for open in &mut batch.calls {
        let Some(known) = open.assessed.as_mut().filter(|known| known.risk.is_read()) else { continue };
        let Some(site) = known.site.clone() else { continue };
        let all: u32 = run.reached.values().sum();
        let here = run.reached.entry(site.clone()).or_default();
        if *here < UNASKED_PER_SITE && all < UNASKED_PER_RUN {
            *here += 1;
            continue;
        }
        known.risk = Risk::Send;
        let looks = if *here < UNASKED_PER_SITE { format!("{all} pages") } else { format!("{here} pages of {site}") };
        known
            .reasons
            .push(format!("it has looked at {looks} unasked, and which one it chooses tells its host something"));
    }
    batch
}
