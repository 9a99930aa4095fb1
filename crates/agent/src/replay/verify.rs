//! Does a journal replay to the same effects, and to the state whose hash was written down? (Row N2.)

use serde::Serialize;

use crate::machine::Replay;
use crate::machine::digest::Digest;
use crate::machine::event::{Event, JournalMismatch};
use crate::machine::fingerprint::{STATE_SCHEME, fingerprint};
use crate::replay::RecordedRun;

/// What a check of a journal found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayVerdict {
    /// Events that were folded.
    pub events: usize,
    /// The journal's first row that cannot be read, and why.
    pub unreadable: Option<(i64, String)>,
    /// Where the recorded effects part from those that this Hob derives.
    pub mismatch: Option<JournalMismatch>,
    /// Such places that a person was told of while the run lived; it went on from what is recorded.
    pub told: Vec<JournalMismatch>,
    /// The hash of the state, and the one that was written down.
    pub hash: HashVerdict,
}

/// What the two hashes of a state say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum HashVerdict {
    Same {
        hash: Digest,
    },
    /// The journal folds to another state than the one it was written with.
    Different {
        /// What was written down.
        stored: Digest,
        folded: Digest,
    },
    /// It was written down by another recipe: they cannot be compared.
    OtherScheme {
        /// What was written down.
        stored: Digest,
    },
    /// None was written down: the run is older than such hashes, or was written off.
    NotStored,
}

impl ReplayVerdict {
    /// Checks a recorded run.
    pub fn of(recorded: &RecordedRun) -> Self {
        let mut replay = Replay::default();
        let mut told = Vec::new();
        for timed in &recorded.events {
            replay.feed(&timed.event);
            if let Event::Mismatched(mismatch) = &timed.event {
                told.push(mismatch.clone());
            }
        }
        let folded = fingerprint(&replay.state);
        let hash = match recorded.state_hash.clone().map(Digest) {
            None => HashVerdict::NotStored,
            Some(stored) if stored.scheme() != STATE_SCHEME => HashVerdict::OtherScheme { stored },
            Some(stored) if stored == folded => HashVerdict::Same { hash: stored },
            Some(stored) => HashVerdict::Different { stored, folded },
        };
        let unreadable = recorded.broken.as_ref().map(|broken| (broken.seq, broken.what.clone()));
        // What follows an unreadable row is not known to be missing.
        let mismatch = replay.mismatch().filter(|found| unreadable.is_none() || found.actual != "missing");
        Self { events: recorded.events.len(), unreadable, mismatch, told, hash }
    }

    /// Nothing speaks against the journal.
    pub fn holds(&self) -> bool {
        let hash = match self.hash {
            HashVerdict::Same { .. } | HashVerdict::OtherScheme { .. } | HashVerdict::NotStored => true,
            HashVerdict::Different { .. } => false,
        };
        hash && self.unreadable.is_none() && self.mismatch.is_none()
    }
}
