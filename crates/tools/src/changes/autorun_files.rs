//! What runs later by itself: said aloud in the question. A courtesy, not a protection: nothing is kept unasked for not being here.

use std::path::Path;

use crate::changes::set::{Change, EntryAfter, EntryBefore};

/// Names of files that programs run, or that tell programs what to run, wherever they lie.
const FILES: [(&str, &[&str]); 6] = [
    (
        "a shell reads it when it starts",
        &[
            ".bash_aliases",
            ".bash_login",
            ".bash_logout",
            ".bash_profile",
            ".bashrc",
            ".envrc",
            ".kshrc",
            ".login",
            ".profile",
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".zlogin",
            ".zlogout",
            ".zprofile",
            ".zshenv",
            ".zshrc",
            "config.fish",
        ],
    ),
    (
        "a build runs what it says",
        &[
            "BUILD",
            "BUILD.bazel",
            "CMakeLists.txt",
            "Cargo.toml",
            "Dockerfile",
            "GNUmakefile",
            "Gemfile",
            "Justfile",
            "Makefile",
            "Rakefile",
            "Taskfile.yml",
            "Vagrantfile",
            "WORKSPACE",
            "build.gradle",
            "build.gradle.kts",
            "build.rs",
            "compose.yaml",
            "compose.yml",
            "configure",
            "default.nix",
            "docker-compose.yml",
            "flake.nix",
            "justfile",
            "makefile",
            "meson.build",
            "noxfile.py",
            "pom.xml",
            "rust-toolchain",
            "rust-toolchain.toml",
            "settings.gradle",
            "shell.nix",
            "tox.ini",
        ],
    ),
    (
        "an installer runs what it says",
        &[
            ".npmrc",
            ".pnpmfile.cjs",
            ".yarnrc",
            ".yarnrc.yml",
            "package.json",
            "pyproject.toml",
            "setup.cfg",
            "setup.py",
        ],
    ),
    ("Python runs it by itself", &["conftest.py", "sitecustomize.py", "usercustomize.py"]),
    ("an editor runs what it says", &[".emacs", ".exrc", ".nvimrc", ".vimrc", "init.el", "init.lua", "init.vim"]),
    (
        "a machine runs what it says",
        &[
            ".gitattributes",
            ".gitconfig",
            ".gitlab-ci.yml",
            ".gitmodules",
            ".mcp.json",
            ".pre-commit-config.yaml",
            ".tmux.conf",
            ".travis.yml",
            "Jenkinsfile",
            "authorized_keys",
            "crontab",
            "mise.toml",
        ],
    ),
];
/// Folders whose files are such.
const FOLDERS: [(&str, &str); 18] = [
    (".cargo", "a build runs what it says"),
    (".circleci", "a machine runs what it says"),
    (".devcontainer", "an editor runs what it says"),
    (".git", "git runs what it says"),
    (".github", "a machine runs what it says"),
    (".husky", "git runs it"),
    (".idea", "an editor runs what it says"),
    (".ssh", "it says who may come in, and what is run then"),
    (".vscode", "an editor runs what it says"),
    ("autostart", "it is run when somebody logs in"),
    ("cron.d", "it is run at its time"),
    ("cron.daily", "it is run at its time"),
    ("cron.hourly", "it is run at its time"),
    ("cron.monthly", "it is run at its time"),
    ("cron.weekly", "it is run at its time"),
    ("fish", "a shell reads it when it starts"),
    ("init.d", "it is run when the machine starts"),
    ("systemd", "it is run by the system"),
];
/// Endings of names of such files.
const ENDINGS: [(&str, &str); 9] = [
    ("desktop", "it is run when somebody opens it"),
    ("mk", "a build runs what it says"),
    ("mount", "it is run by the system"),
    ("path", "it is run by the system"),
    ("plist", "it is run by the system"),
    ("pth", "Python runs it by itself"),
    ("service", "it is run by the system"),
    ("socket", "it is run by the system"),
    ("timer", "it is run by the system"),
];

/// Why this runs later by itself, at this place; none: nothing says so.
pub(super) fn autorun_reason(change: &Change, place: &Path) -> Option<&'static str> {
    if !matches!(change.now, EntryAfter::File { .. } | EntryAfter::Link { .. }) {
        return None;
    }
    // A link in the place of a folder stands for all that is in it.
    let within =
        matches!(change.now, EntryAfter::Link { .. }).then(|| autorun_by_name(&place.join("a file"))).flatten();
    within.or_else(|| autorun_by_name(place)).or_else(|| {
        let was = matches!(change.before, EntryBefore::File { .. }) && change.mode_before & 0o111 != 0;
        match (matches!(change.now, EntryAfter::File { .. }) && change.mode & 0o111 != 0, was) {
            (true, true) => Some("it can be run, and is another than it was"),
            (true, false) => Some("it can be run"),
            (false, _) => None,
        }
    })
}

fn autorun_by_name(path: &Path) -> Option<&'static str> {
    let mut above: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let name = above.pop()?;
    let folder = FOLDERS.iter().find(|(folder, _)| above.iter().any(|part| part.eq_ignore_ascii_case(folder)));
    let file = || FILES.iter().find(|(_, names)| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
    let ending = || {
        let ending = Path::new(name).extension()?.to_str()?;
        ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known))
    };
    folder.map(|(_, why)| *why).or_else(|| file().map(|(why, _)| *why)).or_else(|| ending().map(|(_, why)| *why))
}
