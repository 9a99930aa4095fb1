//! Deleting a tree that somebody hostile has made.

use std::io;
use std::path::Path;

use crate::sandbox::removal::Removal;

/// Deletes a folder and all that is in it; it is not an error if there is none.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let mut removal = Removal::of(path);
    while !removal.delete_some()? {}
    Ok(())
}
