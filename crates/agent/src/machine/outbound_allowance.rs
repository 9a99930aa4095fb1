//! How often a run that has listened to anybody goes out unasked (row N6).
//!
//! An address that it was told tells its host nothing but that it was chosen; among a thousand, that is ten bits. So a run has
//! a few such looks for each site, and some more for all. What goes beyond is asked about like words that are sent. The count
//! is of the fold: no restart forgets it. Agents have no count of their own: what is left is shared among them, and what they
//! used is used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::batch::Batch;
use crate::machine::state::{ActiveState, Phase, ResumePoint};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::Risk;

/// The looks at one site that nobody is asked about.
pub(crate) const UNASKED_PER_SITE: u32 = 4;
/// The looks at all sites together.
pub(crate) const UNASKED_PER_RUN: u32 = 16;

/// How often a run may look outside unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboundAllowance {
    /// At all sites together.
    all: u32,
    site: u32,
    /// but at these so often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sites: BTreeMap<String, u32>,
}

impl Default for OutboundAllowance {
    fn default() -> Self {
        Self { all: UNASKED_PER_RUN, site: UNASKED_PER_SITE, sites: BTreeMap::new() }
    }
}

impl OutboundAllowance {
    /// What is left to a run.
    fn remaining(run: &ActiveState) -> Self {
        let mut left = run.input.agent.as_ref().map_or_else(Self::default, |agent| agent.looks.clone());
        run.reached.iter().for_each(|(site, times)| left.take(site, *times));
        left
    }

    fn left_at_site(&self, site: &str) -> u32 {
        self.sites.get(site).copied().unwrap_or(self.site).min(self.all)
    }

    fn take(&mut self, site: &str, times: u32) {
        let here = self.sites.get(site).copied().unwrap_or(self.site);
        self.sites.insert(site.to_owned(), here.saturating_sub(times));
        self.all = self.all.saturating_sub(times);
    }

    /// What one of `several` gets of them; all shares together are no more than the whole.
    fn share(&self, index: u32, several: u32) -> Self {
        let share = |looks: u32| (looks + several - 1 - index) / several;
        let sites = self.sites.iter().map(|(site, looks)| (site.clone(), share(*looks))).collect();
        Self { all: share(self.all), site: share(self.site), sites }
    }
}

/// What the agent behind this call may do of it. One that works beside others has its share; a clean run has no count to share.
pub(crate) fn share_for_agent(run: &ActiveState, id: &CallId) -> OutboundAllowance {
    let left = OutboundAllowance::remaining(run);
    let (Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. }) = &run.phase else {
        return left;
    };
    let Some(own) = batch.get(id).filter(|_| !run.taint.is_clean()) else { return left };
    let alike = || batch.calls.iter().filter(|open| open.call.name == own.call.name);
    let before = alike().take_while(|open| open.call.id != *id).count();
    match (u32::try_from(before), u32::try_from(alike().count())) {
        (Ok(index), Ok(several)) => left.share(index, several),
        // No reply has so many.
        (Err(_), _) | (_, Err(_)) => OutboundAllowance { all: 0, ..left },
    }
}

/// An agent is done: its looks were the run's.
pub(super) fn add(run: &mut ActiveState, reached: &BTreeMap<String, u32>) {
    for (site, times) in reached {
        let here = run.reached.entry(site.clone()).or_default();
        *here = here.saturating_add(*times);
    }
}

/// Counts the looks of a fresh batch; those beyond are told to be more than looks.
pub(super) fn charge_batch(run: &mut ActiveState, mut batch: Batch) -> Batch {
    if run.taint.is_clean() {
        return batch;
    }
    let mut left = OutboundAllowance::remaining(run);
    for open in &mut batch.calls {
        let Some(known) = open.assessed.as_mut().filter(|known| known.risk.is_read()) else { continue };
        let Some(site) = known.site.clone() else { continue };
        let here = run.reached.entry(site.clone()).or_default();
        if left.left_at_site(&site) > 0 {
            left.take(&site, 1);
            *here += 1;
            continue;
        }
        known.risk = Risk::Send;
        let here = *here;
        let looks = match run.reached.values().sum::<u32>() {
            0 => "as many pages as it may".to_owned(),
            all if left.all == 0 && here < UNASKED_PER_SITE => format!("{all} pages"),
            _ => format!("{here} pages of {site}"),
        };
        known
            .reasons
            .push(format!("it has looked at {looks} unasked, and which one it chooses tells its host something"));
    }
    batch
}
