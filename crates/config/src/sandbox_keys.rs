//! What the sections of the owner's own programs say alike of the sandbox.

use std::path::PathBuf;

use crate::problem::Finding;
use crate::{key_path, values};

/// Programs are in the sandbox unless the owner says otherwise.
pub(super) fn within() -> bool {
    true
}

/// What cannot be among lists of folders, each with its key.
pub(super) fn folders(lists: [(&str, &[PathBuf]); 2]) -> Vec<Finding> {
    let named = |(key, dirs): (&str, &[PathBuf])| {
        let bad = |(index, dir): (usize, &PathBuf)| values::absolute_path(&key_path::item(key, index), dir);
        dirs.iter().enumerate().filter_map(bad).collect::<Vec<_>>()
    };
    lists.into_iter().flat_map(named).collect()
}
