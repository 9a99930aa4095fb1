use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

/// A folder `tea` with a good skill.
fn tea() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let tea = home.path().join("tea");
    std::fs::create_dir_all(tea.join("scripts")).unwrap();
    std::fs::write(tea.join(SKILL_FILE), "---\nname: tea\ndescription: d\n---\nBoil.\n").unwrap();
    std::fs::write(tea.join("scripts/boil.sh"), "echo\n").unwrap();
    (home, tea)
}

fn look(path: &Path) -> Result<SkillFolder, FolderError> {
    read(&open(path)?, "tea")
}

#[test]
fn k4_a_folder_is_read_with_what_lies_beside() {
    let (_home, tea) = tea();
    std::fs::write(tea.join("plain"), "x").unwrap();
    let found = look(&tea).unwrap();
    let files: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.bytes, file.script)).collect();
    assert_eq!(files, [("SKILL.md", 39, false), ("plain", 1, false), ("scripts/boil.sh", 5, true)]);
    let again = |change: &dyn Fn()| {
        change();
        look(&tea).unwrap().digest
    };
    assert_eq!(again(&|| {}), found.digest);
    let changed = again(&|| std::fs::write(tea.join("plain"), "y").unwrap());
    assert_ne!(changed, found.digest);
    let run = again(&|| std::fs::set_permissions(tea.join("plain"), std::fs::Permissions::from_mode(0o755)).unwrap());
    assert_ne!(run, changed, "that it may be run is a change");
    assert_ne!(again(&|| std::fs::rename(tea.join("plain"), tea.join("other")).unwrap()), run);
}

#[test]
fn k4_what_leads_out_or_is_too_much_is_no_skill() {
    let (home, tea) = tea();
    std::fs::write(home.path().join("secret"), "s").unwrap();
    let refused = |change: &dyn Fn(&Path), undo: &str| {
        change(&tea.join(undo));
        let error = look(&tea).unwrap_err().to_string();
        let path = tea.join(undo);
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        error
    };
    let out = home.path().to_owned();
    assert!(refused(&|at| symlink(out.join("secret"), at).unwrap(), "link").starts_with("link is a link"));
    assert!(refused(&|at| symlink(&out, at).unwrap(), "folder").starts_with("folder is a link"));
    assert!(refused(&|at| symlink("/nowhere", at).unwrap(), "dead").starts_with("dead is a link"));
    let socket = |at: &Path| drop(std::os::unix::net::UnixListener::bind(at).unwrap());
    assert!(refused(&socket, "socket").starts_with("socket is neither"));
    let deep = |at: &Path| std::fs::create_dir_all(at.join("b/c/d/e/f/g")).unwrap();
    assert!(refused(&deep, "a").contains("folders 6 deep"));
    let many = |at: &Path| {
        std::fs::create_dir(at).unwrap();
        (0..FILES_MAX).for_each(|n| std::fs::write(at.join(n.to_string()), "").unwrap());
    };
    assert!(refused(&many, "many").contains("more than 200 files"));
    let hollow = |at: &Path| {
        std::fs::create_dir(at).unwrap();
        (0..FOLDERS_MAX).for_each(|n| std::fs::create_dir(at.join(n.to_string())).unwrap());
    };
    assert!(refused(&hollow, "hollow").contains("100 folders"), "empty folders are work as well");
    let large = |at: &Path| std::fs::File::create(at).unwrap().set_len(TOTAL_BYTES_MAX).unwrap();
    assert!(refused(&large, "large").contains("8 MiB"));
    std::fs::remove_file(tea.join(SKILL_FILE)).unwrap();
    assert_eq!(look(&tea).unwrap_err(), FolderError::NoSkill);
}

#[test]
fn k4_paths_stay_within() {
    for (path, is) in [
        ("a/b.md", Some("a/b.md")),
        ("./a//b", Some("a/b")),
        ("SKILL.md", Some("SKILL.md")),
        ("", None),
        (".", None),
        ("..", None),
        ("../a", None),
        ("a/../b", None),
        ("a/../../b", None),
        ("/etc/passwd", None),
        ("a\\..\\b", None),
        ("a\0", None),
    ] {
        assert_eq!(within(path).as_deref(), is, "{path:?}");
    }
}

proptest! {
    #[test]
    fn k4_no_path_escapes(path in "([a-z.]{0,3}|\\.\\.|/|\\\\){0,8}") {
        if let Some(path) = within(&path) {
            prop_assert!(!path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != ".." && part != "."));
        }
    }
}
