//! What commands leave in a real overlay, looked at, kept and taken back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use hob_core::domain::ids::{RunId, SessionKey, UserId};
use hob_tools::changes::draft_dir::DraftDir;
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::sandbox::SandboxProfile;
use hob_tools::workspace::Workspace;
use jiff::Timestamp;

use crate::place::{Harness, IsolationMode};

/// A house in whose workspace there is something to change; none, and said so, where the kernel gives no overlay.
async fn house() -> Option<(Harness, Drafts)> {
    let place = Harness::new(IsolationMode::Namespaces).await;
    if !place.sandbox.overlays() {
        eprintln!("skipped: this kernel gives no overlay ({})", place.sandbox.strength());
        return None;
    }
    let root = place.workspace();
    fs::create_dir_all(root.join("d/e")).unwrap();
    for (path, text) in [("a", "one\ntwo\n"), ("b", "b\n"), ("d/f", "f\n"), ("d/e/g", "g\n")] {
        fs::write(root.join(path), text).unwrap();
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let drafts = Drafts::new(&place.path("data"), &Workspace::of(&place.path("data")));
    Some((place, drafts))
}

fn open(drafts: &Drafts, run: i64) -> DraftDir {
    let of =
        DraftOwner { run: RunId(run), session: SessionKey("7".into()), user: UserId(1), now: Timestamp::UNIX_EPOCH };
    drafts.open(&of, &DraftId::Shared(0)).unwrap()
}

/// Runs a command in the draft.
fn run(place: &Harness, draft: &DraftDir, script: &str) {
    let temporary = place.path("data/scratch-of-test");
    fs::create_dir_all(&temporary).unwrap();
    let room = SandboxProfile { reach: place.confinement.reach.clone(), overlays: draft.overlays(), temporary };
    // With the modes that the workspace was made with.
    let script = format!("umask 022; {script}");
    let vector = place.sandbox.vector(&room, &["/bin/bash", "-c", &script].map(str::to_owned)).unwrap();
    let mut command = Command::new(&vector[0]);
    command.args(&vector[1..]).current_dir(place.workspace()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _held = child.stdin.take();
    assert!(child.wait().unwrap().success(), "{script}");
}

fn listing(root: &Path) -> String {
    let script = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort; find . -type f -exec sha256sum {} + | sort";
    let output = Command::new("/bin/bash").args(["-c", script]).current_dir(root).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn what_a_command_did_is_what_is_found_kept_and_taken_back() {
    let Some((place, drafts)) = house().await else { return };
    let before = listing(&place.workspace());
    let table: [(&str, &[&str]); 22] = [
        ("cat a d/e/g; ls -laR; grep -r f .; find . -newer a", &[]),
        ("touch a; chmod 600 a; chmod 644 a; cp a x; rm x", &[]),
        ("mv a x; mv x a; rm -r d/e; mkdir d/e; echo g > d/e/g", &[]),
        ("mkdir -p n/m; rmdir n/m n", &[]),
        ("echo three >> a", &["a"]),
        ("sed -i s/one/1/ a", &["a"]),
        ("chmod +x a", &["a"]),
        ("rm a", &["a"]),
        ("rm -r d", &["d"]),
        ("mv a x", &["a", "x"]),
        ("mv d x", &["d", "x", "x/e", "x/e/g", "x/f"]),
        ("rm -r d; mkdir d; echo 1 > d/n", &["d/e", "d/f", "d/n"]),
        ("rm -r d; echo 1 > d", &["d"]),
        ("rm a; mkdir a; echo 1 > a/x", &["a", "a/x"]),
        ("ln -s /etc/passwd l; ln a h", &["h", "l"]),
        ("ln -sf b a", &["a"]),
        ("echo 1 > x; ln x y", &["x", "y"]),
        ("mkfifo p", &["p"]),
        ("printf x > $'\\xff\\n\\e[31m'", &["\u{fffd}\n\u{1b}[31m"]),
        ("mkdir -p s/t; echo 1 > s/t/u; chmod 000 s/t/u s/t s", &["s", "s/t", "s/t/u"]),
        ("chmod 500 d; chmod 700 .", &["", "d"]),
        ("truncate -s 5M z; echo q > d/e/g; chmod 711 d/e", &["d/e", "d/e/g", "z"]),
    ];
    for (number, (script, expected)) in (1..).zip(table) {
        let draft = open(&drafts, number);
        run(&place, &draft, script);
        assert_eq!(listing(&place.workspace()), before, "{script}: the workspace is touched");
        let set = draft.change_set().unwrap();
        let paths: Vec<String> = set.changes.iter().map(|change| change.path.to_string_lossy().into_owned()).collect();
        assert_eq!(paths, expected, "{script}: {}", set.summary(0).shown);
        let kept = draft.keep(&set.digest(), Timestamp::UNIX_EPOCH).unwrap();
        if expected.is_empty() || expected == ["p"] {
            assert_eq!(kept.changes, 0, "{script}");
            continue;
        }
        assert_eq!((kept.changes as usize, kept.left_out.len()), (expected.len(), 0), "{script}: {kept}");
        if expected != ["", "d"] {
            assert_ne!(listing(&place.workspace()), before, "{script}");
        }
        let undone = drafts.undo_last(None, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(undone.left_out, [], "{script}");
        assert_eq!(listing(&place.workspace()), before, "{script}: it is not taken back");
    }
}

#[tokio::test]
async fn the_commands_of_a_draft_see_what_those_before_did() {
    let Some((place, drafts)) = house().await else { return };
    let draft = open(&drafts, 1);
    run(&place, &draft, "echo 1 > n; rm b");
    run(&place, &draft, "test -f n && ! test -e b && mv n m");
    run(&place, &draft, "echo 2 >> m");
    let set = draft.change_set().unwrap();
    draft.keep(&set.digest(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(fs::read_to_string(place.workspace().join("m")).unwrap(), "1\n2\n");
    assert!(!place.workspace().join("b").exists() && !place.workspace().join("n").exists());
}

#[tokio::test]
async fn what_a_command_leaves_to_break_a_cleanup_is_gone_with_the_draft() {
    let Some((place, drafts)) = house().await else { return };
    let draft = open(&drafts, 1);
    // No shell: it would look for its own place at each step.
    let nests =
        "import os\nfor _ in range(3000): os.mkdir('d1'); os.chdir('d1')\nopen('f', 'w').close(); os.chmod('.', 0)";
    run(&place, &draft, &format!("python3 -c \"{nests}\""));
    draft.change_set().unwrap_err();
    draft.discard().unwrap();
    assert_eq!(fs::read_dir(place.path("data/drafts")).unwrap().count(), 0);
}
