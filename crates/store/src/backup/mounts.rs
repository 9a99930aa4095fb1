//! What cannot be renamed: a mount point is a place of its own, and an exchange of it would end half done.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What this process sees mounted.
const MOUNTS: &str = "/proc/self/mountinfo";
/// Which of a line's fields is where it is mounted.
const PLACE: usize = 4;

/// The first of these names in `folder` that is a mount point.
pub(super) fn first<'a>(folder: &Path, names: impl IntoIterator<Item = &'a str>) -> io::Result<Option<PathBuf>> {
    let folder = fs::canonicalize(folder)?;
    let device = fs::metadata(&folder)?.dev();
    // Without it only another disk can be told, and not a part of the same disk that is mounted there.
    let mounted = match fs::read_to_string(MOUNTS) {
        Ok(text) => Some(places(&text)),
        Err(error) => {
            tracing::debug!(%error, "what is mounted cannot be read");
            None
        }
    };
    for name in names {
        let path = folder.join(name);
        let is_one = match (fs::symlink_metadata(&path), &mounted) {
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => false,
            (known, Some(mounted)) => known.map(|_| mounted.contains(&path))?,
            (known, None) => known?.dev() != device,
        };
        if is_one {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Where something is mounted.
fn places(text: &str) -> Vec<PathBuf> {
    text.lines().filter_map(|line| line.split(' ').nth(PLACE)).map(unescape).collect()
}

/// A path of the kernel's table of mounts, in which spaces and their like are written as `\040`.
pub fn unescape(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_where_something_is_mounted_is_read() {
        let text = r"22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
36 28 8:1 /srv/a\040b /home/ada/.hob/data/my\040work rw,relatime shared:1 - ext4 /dev/sda1 rw
37 28 8:1 / /odd\134name rw - ext4 /dev/sda1 rw
38 28 8:1 / /end\04 rw - ext4 /dev/sda1 rw
broken";
        let expected = ["/proc", "/home/ada/.hob/data/my work", r"/odd\name", r"/end\04"];
        assert_eq!(places(text), expected.map(PathBuf::from));
    }

    #[test]
    fn n12_a_mount_point_is_seen() {
        // The one that is there on every Linux.
        assert_eq!(first(Path::new("/"), ["etc", "none", "proc"]).unwrap(), Some(PathBuf::from("/proc")));
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("workspace")).unwrap();
        assert_eq!(first(dir.path(), ["workspace", "skills"]).unwrap(), None);
    }
}
