//! The archives in a folder: whose they are and of when, by their names, and which of them are let go.
//!
//! Never: an archive deleted that may be another Hob's, as several may share a folder. Start at [`own`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::backup::make::CreatedBackup;
use crate::backup::owner;

/// How a moment stands in a name.
const MOMENT: &str = "%Y-%m-%dT%H%M%S";

/// An archive, as its name tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArchive {
    pub path: PathBuf,
    pub made_at: Timestamp,
    /// Whose it is; none: it is from when names did not say so.
    pub owner: Option<String>,
}

/// What an archive of this moment is called.
pub fn name(now: Timestamp, owner: &str, is_sealed: bool) -> String {
    let ending = if is_sealed { ".age" } else { "" };
    format!("hob-{}Z-{owner}.tar.gz{ending}", now.to_zoned(TimeZone::UTC).strftime(MOMENT))
}

/// What a name tells; none: it is no archive's.
pub fn read(path: &Path) -> Option<NamedArchive> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".age").unwrap_or(name);
    let (moment, rest) = name.strip_prefix("hob-")?.strip_suffix(".tar.gz")?.split_once('Z')?;
    let owner = match rest {
        "" => None,
        rest => Some(rest.strip_prefix('-').filter(|id| owner::is_id(id))?.to_owned()),
    };
    let made_at = DateTime::strptime(MOMENT, moment).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(NamedArchive { path: path.to_path_buf(), made_at, owner })
}

/// The archives in a folder that are surely this Hob's, newest first.
///
/// # Errors
/// When the folder, or who this Hob is, cannot be read.
pub fn own(data_dir: &Path, folder: &Path) -> io::Result<Vec<NamedArchive>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        all.extend(read(&entry?.path()));
    }
    Ok(owned(all, owner::lookup(data_dir)?.as_deref()))
}

/// Those of one owner, newest first. One that does not say whose it is counts only where no other Hob is seen: it may be theirs.
fn owned(mut all: Vec<NamedArchive>, me: Option<&str>) -> Vec<NamedArchive> {
    let is_shared = all.iter().any(|one| one.owner.is_some() && one.owner.as_deref() != me);
    all.retain(|one| match &one.owner {
        Some(owner) => Some(owner.as_str()) == me,
        None => !is_shared,
    });
    all.sort_unstable_by(|one, other| (other.made_at, &other.path).cmp(&(one.made_at, &one.path)));
    all
}

/// When the newest was made, as far as the clock has come: one that is dated ahead says nothing of today.
pub fn newest(own: &[NamedArchive], now: Timestamp) -> Option<Timestamp> {
    own.iter().map(|one| one.made_at).filter(|made_at| *made_at <= now).max()
}

/// When the newest of this Hob's archives in a folder was made; none: none can be seen.
pub fn newest_in(folder: &Path, data_dir: &Path, now: Timestamp) -> Option<Timestamp> {
    match own(data_dir, folder) {
        Ok(own) => newest(&own, now),
        Err(error) => {
            tracing::debug!(folder = %folder.display(), %error, "the archives cannot be looked at");
            None
        }
    }
}

/// Deletes this Hob's archives beside one that was just made, but the newest `keep`.
pub fn thin_out(data_dir: &Path, made: &CreatedBackup, keep: usize, now: Timestamp) -> io::Result<usize> {
    let Some(folder) = made.path.parent() else { return Ok(0) };
    let surplus = surplus(own(data_dir, folder)?, &made.path, keep, now);
    surplus.iter().try_for_each(fs::remove_file)?;
    Ok(surplus.len())
}

/// What is more than is kept. The one just made is kept in any case; those that a wrong clock dated ahead go first, so that they
/// never push out what is of the days that there were.
fn surplus(mut own: Vec<NamedArchive>, made: &Path, keep: usize, now: Timestamp) -> Vec<PathBuf> {
    own.sort_by_key(|one| (one.path != made, one.made_at > now, std::cmp::Reverse(one.made_at)));
    own.into_iter().skip(keep.max(1)).map(|one| one.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3_600).unwrap()
    }

    fn named(at: i64, owner: Option<&str>) -> NamedArchive {
        NamedArchive {
            path: PathBuf::from(format!("/b/{at}-{owner:?}")),
            made_at: hour(at),
            owner: owner.map(str::to_owned),
        }
    }

    #[test]
    fn n12_a_name_says_when_and_whose() {
        let at = Timestamp::from_second(1_000_000_000).unwrap();
        assert_eq!(name(at, "0a1b2c3d", false), "hob-2001-09-09T014640Z-0a1b2c3d.tar.gz");
        assert_eq!(name(at, "0a1b2c3d", true), "hob-2001-09-09T014640Z-0a1b2c3d.tar.gz.age");
        let told = |name: &str| read(&Path::new("/b").join(name)).map(|one| (one.made_at, one.owner));
        for (name, expected) in [
            ("hob-2001-09-09T014640Z-0a1b2c3d.tar.gz", Some((at, Some("0a1b2c3d".to_owned())))),
            ("hob-2001-09-09T014640Z-0a1b2c3d.tar.gz.age", Some((at, Some("0a1b2c3d".to_owned())))),
            ("hob-2001-09-09T014640Z.tar.gz", Some((at, None))),
            ("hob-2001-09-09T014640Z.tar.gz.age", Some((at, None))),
            ("hob-2001-09-09T014640Z-mine.tar.gz", None),
            ("hob-2001-09-09T014640Z-.tar.gz", None),
            ("hob-2001-09-09T014640Z-0a1b2c3d.tar.gz.part", None),
            ("hob-2001-13-09T014640Z.tar.gz", None),
            ("hob-notes.tar.gz", None),
        ] {
            assert_eq!(told(name), expected, "{name}");
        }
    }

    #[test]
    fn n12_what_may_be_another_hobs_is_not_this_ones() {
        let (mine, theirs, old) = (named(1, Some("aaaaaaaa")), named(2, Some("bbbbbbbb")), named(3, None));
        for (all, me, expected) in [
            (vec![&mine, &theirs], Some("aaaaaaaa"), vec![&mine]),
            (vec![&mine, &old], Some("aaaaaaaa"), vec![&old, &mine]),
            (vec![&mine, &theirs, &old], Some("aaaaaaaa"), vec![&mine]),
            (vec![&old], Some("aaaaaaaa"), vec![&old]),
            (vec![&old], None, vec![&old]),
            (vec![&mine, &old], None, vec![]),
        ] {
            let found = owned(all.iter().copied().cloned().collect(), me);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{me:?} of {all:?}");
        }
    }

    #[test]
    fn n12_the_newest_is_not_of_days_to_come() {
        for (made, now, expected) in [
            (vec![], 5, None),
            (vec![3, 4], 5, Some(4)),
            (vec![5], 5, Some(5)),
            (vec![3, 9], 5, Some(3)),
            (vec![8, 9], 5, None),
        ] {
            let own: Vec<NamedArchive> = made.iter().map(|at| named(*at, None)).collect();
            assert_eq!(newest(&own, hour(now)), expected.map(hour), "{made:?} at {now}");
        }
    }

    #[test]
    fn n12_archives_that_are_dated_ahead_go_first_and_the_one_just_made_never() {
        for (there, made, keep, gone) in [
            (vec![1, 2, 3], 3, 2, vec![1]),
            (vec![1, 2, 3], 3, 0, vec![2, 1]),
            (vec![1, 2, 3], 3, 7, vec![]),
            // At five o'clock, with two from a clock that was ahead.
            (vec![3, 4, 5, 90, 91], 5, 3, vec![91, 90]),
            (vec![3, 4, 5, 90, 91], 5, 4, vec![90]),
            (vec![5, 90, 91], 5, 1, vec![91, 90]),
            // The clock was set back while it was made.
            (vec![4, 90, 91], 90, 1, vec![4, 91]),
        ] {
            let own: Vec<NamedArchive> = there.iter().map(|at| named(*at, None)).collect();
            let mut surplus = surplus(own, &named(made, None).path, keep, hour(5));
            let mut expected: Vec<PathBuf> = gone.iter().map(|at| named(*at, None).path).collect();
            surplus.sort();
            expected.sort();
            assert_eq!(surplus, expected, "{there:?}, {made} just made, keep {keep}");
        }
    }
}
