//! What the root looks like that a program sees: what it needs of the system, what it may reach, and nothing else.
//!
//! Whatever is not laid out here is not there: it can be neither read nor asked about.
//!
//! Never: a path that a program could have changed is followed.
//! Start at [`Layout::of`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::sandbox::restrictions::{DEVICES, MACHINE, SETTINGS, SYSTEM};
use crate::sandbox::spec::{SandboxAccess, Spec};

/// Hob's own program, as a program within finds it.
pub(super) const PROGRAM: &str = "/run/hob";
/// The folder of its own, as a program within finds it.
pub(super) const TEMPORARY: &str = "/tmp";
/// Names that programs expect.
const NAMES: [(&str, &str); 6] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/shm", TEMPORARY),
    ("/var/tmp", TEMPORARY),
];
/// So many symbolic links are followed, as the kernel does.
const LINKS_MAX: usize = 40;

/// What stands at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MountEntry {
    /// What lies there outside, to be read.
    Read(PathBuf),
    /// What lies there outside, to be read and written.
    Write(PathBuf),
    Device(PathBuf),
    /// The copy of a folder: which of the overlays.
    Copy(usize),
}

/// A root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Symbolic links, and what they say.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// What stands where; what lies within another comes after it.
    pub(super) pieces: BTreeMap<PathBuf, MountEntry>,
}

impl Layout {
    /// The root for this.
    pub(super) fn of(spec: &Spec) -> Self {
        let mut layout = Self::default();
        for path in SYSTEM {
            layout.place(Path::new(path), MountEntry::Read);
        }
        for name in SETTINGS {
            layout.place(&Path::new("/etc").join(name), MountEntry::Read);
        }
        let (read, write) = outermost(&spec.reach);
        for path in &read {
            layout.place(path, MountEntry::Read);
        }
        for path in &write {
            layout.place(path, MountEntry::Write);
        }
        for (index, overlay) in spec.overlays.iter().enumerate() {
            layout.place(&overlay.root, |_| MountEntry::Copy(index));
        }
        layout.drop_repeated();
        for device in DEVICES.map(PathBuf::from) {
            layout.pieces.insert(device.clone(), MountEntry::Device(device));
        }
        layout.pieces.insert(TEMPORARY.into(), MountEntry::Write(resolved(&spec.temporary).0));
        if let Ok(program) = spec.program.canonicalize() {
            layout.pieces.insert(PROGRAM.into(), MountEntry::Read(program));
        }
        for (at, to) in NAMES.map(|(at, to)| (PathBuf::from(at), PathBuf::from(to))) {
            if !layout.pieces.keys().any(|place| place.starts_with(&at)) {
                layout.links.entry(at).or_insert(to);
            }
        }
        layout
    }

    /// What tells about the machine where there can be no `/proc` of its own.
    pub(super) fn with_machine(mut self) -> Self {
        for path in MACHINE.map(PathBuf::from).into_iter().filter(|path| path.exists()) {
            self.pieces.insert(path.clone(), MountEntry::Read(path));
        }
        self
    }

    /// What lies there, in its place, with the symbolic links that lead to it. What is not there is left out.
    fn place(&mut self, path: &Path, piece: impl Fn(PathBuf) -> MountEntry) {
        let (real, links) = resolved(path);
        // What is a link still goes round in circles.
        if !fs::symlink_metadata(&real).is_ok_and(|meta| !meta.is_symlink()) {
            return;
        }
        self.links.extend(links);
        // Nobody is shown all of the disk.
        if real.parent().is_some() {
            self.pieces.insert(real.clone(), piece(real));
        }
    }

    /// Without what is there already, since a folder above it is.
    fn drop_repeated(&mut self) {
        let kept = self.pieces.clone();
        self.pieces.retain(|place, piece| {
            let above = place.ancestors().skip(1).find_map(|above| kept.get(above));
            !matches!(
                (above, piece),
                (Some(MountEntry::Read(_)), MountEntry::Read(_)) | (Some(MountEntry::Write(_)), MountEntry::Write(_))
            )
        });
        // What is copied shows what lies in it as well.
        let copied: BTreeSet<&PathBuf> =
            kept.iter().filter(|(_, piece)| matches!(piece, MountEntry::Copy(_))).map(|(place, _)| place).collect();
        self.pieces.retain(|place, _| !place.ancestors().skip(1).any(|above| copied.contains(&above.to_path_buf())));
    }

    /// The same in bubblewrap's words. Copies are not to be had there.
    pub(super) fn for_bubblewrap(&self) -> Vec<OsString> {
        let mut all = Vec::new();
        let mut say = |what: &str, from: &Path, at: &Path| all.extend([what.into(), from.into(), at.into()]);
        for (at, piece) in &self.pieces {
            match piece {
                MountEntry::Read(from) => say("--ro-bind-try", from, at),
                MountEntry::Write(from) => say("--bind-try", from, at),
                // It brings devices of its own.
                MountEntry::Device(_) | MountEntry::Copy(_) => {}
            }
        }
        for (at, to) in self.links.iter().filter(|(at, _)| !at.starts_with("/dev")) {
            say("--symlink", to, at);
        }
        all
    }
}

/// Which paths count: not those within a folder that may be written to, since a program there could lay a link in their
/// place. They are within reach already.
pub(super) fn outermost(reach: &SandboxAccess) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let tops: Vec<PathBuf> = reach.write.iter().flat_map(|path| [path.clone(), resolved(path).0]).collect();
    let counts = |path: &&PathBuf| !tops.iter().any(|top| *path != top && path.starts_with(top));
    // A folder is its own top under both of its names.
    let outer = |paths: &[PathBuf]| paths.iter().filter(counts).cloned().collect::<Vec<_>>();
    (outer(&reach.read), outer(&reach.write))
}

/// Where a path leads, and the symbolic links on the way.
fn resolved(path: &Path) -> (PathBuf, BTreeMap<PathBuf, PathBuf>) {
    let (mut real, mut links) = (PathBuf::from("/"), BTreeMap::new());
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<VecDeque<_>>();
    let (mut rest, mut followed) = (parts(path), 0);
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir | Component::Prefix(_)) => continue,
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => {
                real.push(name);
                let Ok(target) = fs::read_link(&real) else { continue };
                if followed == LINKS_MAX {
                    break;
                }
                followed += 1;
                let mut ahead = parts(&target);
                ahead.append(&mut rest);
                rest = ahead;
                links.insert(real.clone(), target);
                real.pop();
            }
        }
    }
    (real, links)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::sandbox::spec::{Limits, Stage};

    fn spec(read: &[PathBuf], write: &[PathBuf]) -> Spec {
        let reach =
            SandboxAccess { read: read.to_vec(), write: write.to_vec(), network: false, limits: Limits::default() };
        Spec {
            stage: Stage::First,
            parent: 1,
            program: "/proc/self/exe".into(),
            bubblewrap: None,
            lifeline: None,
            reach,
            temporary: "/tmp".into(),
            overlays: Vec::new(),
            trial: None,
        }
    }

    #[test]
    fn d6_links_are_kept_and_what_they_lead_to_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("real/inner")).unwrap();
        symlink("real", at("one")).unwrap();
        symlink(at("one/inner"), at("two")).unwrap();
        let layout = Layout::of(&spec(&[at("two"), at("missing")], &[]));
        assert_eq!(layout.pieces.get(&at("real/inner")), Some(&MountEntry::Read(at("real/inner"))));
        assert_eq!(layout.links.get(&at("two")), Some(&at("one/inner")));
        assert_eq!(layout.links.get(&at("one")), Some(&PathBuf::from("real")));
        assert!(!layout.pieces.contains_key(&at("missing")) && !layout.pieces.contains_key(&at("real")));
        assert!(layout.pieces.contains_key(Path::new("/usr")) && !layout.pieces.contains_key(Path::new("/usr/bin")));
    }

    #[test]
    fn d6_a_link_that_a_command_could_lay_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("work")).unwrap();
        fs::create_dir_all(at("secret")).unwrap();
        symlink(at("secret"), at("work/notes")).unwrap();
        symlink(at("work"), at("name")).unwrap();
        for work in ["work", "name"] {
            let reach = [at("work/notes")];
            let layout = Layout::of(&spec(&reach, &[at(work), at("work/notes")]));
            assert!(!layout.pieces.contains_key(&at("secret")), "{layout:?}");
            assert_eq!(layout.pieces.get(&at("work")), Some(&MountEntry::Write(at("work"))));
        }
    }

    #[test]
    fn d6_circles_of_links_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        symlink(at("two"), at("one")).unwrap();
        symlink(at("one"), at("two")).unwrap();
        let layout = Layout::of(&spec(&[at("one")], &[]));
        assert!(!layout.pieces.keys().any(|place| place.starts_with(dir.path())), "{layout:?}");
    }
}
