//! What a command cannot exhaust, and that it ends.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hob_tools::Outcome;
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::sandbox::SandboxProfile;
use serde_json::json;

use crate::place::{Harness, IsolationMode, WAYS};

/// A command that was ended because of its time; what it printed up to then.
async fn timed_out(place: &Harness, command: &str) -> String {
    match place.call(json!({ "command": command, "timeout_secs": 1 })).await.0 {
        Outcome::Error(text) => text,
        other => panic!("{command}: {other:?}"),
    }
}

/// The most memory that this process has held, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn c9_two_gigabytes_fill_neither_memory_nor_disk() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let before = peak();
    let (text, code) = place.run("echo first; yes 'a line of no use' | head -c 2G; echo; echo last").await;
    assert_eq!(code, 0);
    assert!(text.starts_with("first\na line of no use\n") && text.ends_with("\nlast"));
    assert!(text.contains(" bytes left out …"), "{}", text.len());
    assert!(text.len() <= (16 << 20) + 100, "{}", text.len());
    let grown = peak() - before;
    assert!(grown < 120 << 10, "{grown} KiB");
}

/// How this shell line is started in a sandbox that has to leave so much of the disk.
fn sandboxed(place: &Harness, temporary: &Path, disk_left_mb: u64, line: &str) -> Vec<OsString> {
    let mut reach = place.confinement.reach.clone();
    reach.limits.disk_left_mb = disk_left_mb;
    let profile = SandboxProfile { reach, overlays: Vec::new(), temporary: temporary.to_owned() };
    place.sandbox.vector(&profile, &["/bin/bash", "-c", line].map(str::to_owned)).unwrap()
}

#[tokio::test]
async fn who_is_slow_to_begin_hides_nothing() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
    let free = hob_store::space::free(temporary.path()).unwrap() >> 20;
    // For so many microseconds each process stays what it was when it was forked: one whose memory nobody may look into. strace
    // is no parent of it, as a sandbox looks who its parent is.
    let mut slow = Command::new("strace");
    slow.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=execve", "-e", "inject=execve:delay_enter=40000"]);
    slow.args(sandboxed(&place, temporary.path(), free + free / 3, "echo begun")).current_dir(place.workspace());
    let ended = slow.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "begun\n", "{}", String::from_utf8_lossy(&ended.stderr));
}

#[tokio::test]
async fn c9_a_command_does_not_fill_the_disk() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
    let free = hob_store::space::free(temporary.path()).unwrap() >> 20;
    let vector = |disk_left_mb, line: &str| sandboxed(&place, temporary.path(), disk_left_mb, line);
    let start = |disk_left_mb: u64, line: &str| {
        let vector = vector(disk_left_mb, line);
        let mut command = Command::new(&vector[0]);
        command.args(&vector[1..]).current_dir(place.workspace()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let end = |child: Child| {
        let ended = child.wait_with_output().unwrap();
        (ended.status.code(), String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap())
    };
    let ended_by_hob = (Some(125), "Hob has ended this: the disk is nearly full.\n".to_owned());
    let writes = |files: u32| {
        format!("for n in $(seq {files}); do head -c 8000000 /dev/zero > $TMPDIR/$$-$n; done; sleep 1; echo all")
    };
    // As if a part of the reserve were gone: who has written much is ended, who has not stays.
    let nearly_full = free + free / 3;
    let mut other = start(nearly_full, "echo little > $TMPDIR/other; read -r line; echo $line");
    assert_eq!(end(start(nearly_full, &writes(2))), (Some(0), "all\n".to_owned()));
    assert_eq!(end(start(nearly_full, &writes(60))), ended_by_hob);
    other.stdin.as_mut().unwrap().write_all(b"still here\n").unwrap();
    assert_eq!(end(other), (Some(0), "still here\n".to_owned()));
    // Who hides what they have written has written all.
    let hides = "python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(60)'";
    assert_eq!(end(start(nearly_full, hides)), ended_by_hob);
    // As if no more than the last part were left: nobody begins.
    assert_eq!(end(start(5 * free, "echo begun")), ended_by_hob);
    // Nor by the older calls for the same, which no limit of a file's size holds back.
    let reserve =
        "import fcntl, struct; f = open('a', 'wb'); r = struct.pack('hhqqiI4i', 0, 0, 0, 1 << 20, 0, 0, 0, 0, 0, 0)
for call in (0x40305828, 0x4030582a, 0x40305839):
    try: fcntl.ioctl(f, call, r); print('reserved')
    except OSError as error: print(error.errno)";
    let (told, _) = place.run(&format!("python3 -c \"{reserve}\"")).await;
    assert_eq!(told, "95\n95\n95", "EOPNOTSUPP");
    assert_eq!(place.run("fallocate -l 1M a 2>&1; echo more > a && cat a").await.0.lines().last(), Some("more"));
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_over() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let bomb = ":(){ :|:& };:; b(){ setsid bash -c 'sleep 600' & b; }; b & wait; sleep 600";
    let mut most = 0;
    let told = {
        let bombed = timed_out(&place, bomb);
        tokio::pin!(bombed);
        loop {
            tokio::select! {
                biased;
                told = &mut bombed => break told,
                () = tokio::time::sleep(Duration::from_millis(10)) => most = most.max(place.alive()),
            }
        }
    };
    assert!(told.starts_with("It was ended after 1 s, with all that it had started."), "{told}");
    assert!((50..=520).contains(&most), "{most} at once");
    place.quiet().await;
    assert_eq!(place.run("echo fine").await.0, "fine");
}

#[tokio::test]
async fn nobody_within_stops_who_ends_them() {
    for way in [IsolationMode::Namespaces, IsolationMode::Bubblewrap] {
        let place = Harness::new(way).await;
        if !place.sandbox.kills_descendants() {
            eprintln!("skipped: there is no bubblewrap");
            continue;
        }
        let stops = "kill -STOP $PPID 1; kill -KILL $PPID 1; sleep 0.1; echo $PPID; grep State /proc/$PPID/status";
        assert_eq!(place.run(stops).await.0, "1\nState:\tS (sleeping)", "{way:?}");
        // Whatever keeps the processors busy, who looks after it comes first.
        let outside = Command::new("nice").output().unwrap().stdout;
        let outside = String::from_utf8(outside).unwrap();
        let places = "nice; cat /proc/1/task/*/stat | cut -d' ' -f19 | sort -n | head -1";
        assert_eq!(place.run(places).await.0, format!("5\n{}", outside.trim()), "{way:?}");
        place.quiet().await;
    }
}

#[tokio::test]
async fn whatever_it_does_to_stay_it_ends() {
    for way in WAYS {
        let place = Harness::new(way).await;
        for command in [
            "trap '' TERM HUP INT; echo up; while true; do sleep 600; done",
            "echo up; setsid sleep 600 & wait",
            "echo up; (setsid bash -c 'trap \"\" TERM; setsid sleep 600 & sleep 600' &) ; sleep 600",
            "echo up; nohup sleep 600 > /dev/null & disown; exec sleep 600",
            "echo up; cat /dev/zero > /dev/null",
        ] {
            let told = timed_out(&place, command).await;
            assert_eq!(told, "It was ended after 1 s, with all that it had started.\nup", "{way:?}: {command}");
            place.quiet().await;
        }
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_command_that_ended() {
    for way in WAYS {
        let place = Harness::new(way).await;
        for command in
            ["sleep 600 & echo up", "setsid sleep 600 & echo up", "(setsid sleep 600 >/dev/null 2>&1 &); echo up"]
        {
            assert_eq!(place.run(command).await.0, "up", "{way:?}: {command}");
            place.quiet().await;
        }
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_all_with_it() {
    for way in WAYS {
        let place = Harness::new(way).await;
        let up = async {
            while place.alive() < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            (text, _) = place.run("setsid sleep 600 & sleep 600") => panic!("{text}"),
            () = up => {}
        }
        place.quiet().await;
    }
}

#[tokio::test]
async fn memory_and_files_have_limits() {
    for way in WAYS {
        let place = Harness::new(way).await;
        let (text, code) = place.run("python3 -c 'bytearray(2 << 30)'").await;
        assert!(code != 0 && text.contains("MemoryError"), "{way:?}: {code}: {text}");
        let (text, code) = place.run("head -c 20M /dev/zero > big").await;
        assert!(code != 0, "{way:?}: {text}");
        assert_eq!(fs::metadata(place.workspace().join("big")).unwrap().len(), 8 << 20);
    }
}

/// A killed Hob leaves nothing, whatever a command does to hold on to what tells of its end.
#[tokio::test]
async fn a_killed_hob_leaves_nothing_running() {
    let hold = "for file in /proc/1/fd/* /proc/$PPID/fd/*; do exec {held}<>$file; done 2> /dev/null";
    let shell = format!("{hold}; setsid sleep 600 & echo > up; sleep 600");
    for way in WAYS {
        let place = Harness::new(way).await;
        let temporary = place.path("data/scratch-of-test");
        fs::create_dir(&temporary).unwrap();
        let room = SandboxProfile { reach: place.confinement.reach.clone(), overlays: Vec::new(), temporary };
        let vector = place.sandbox.vector(&room, &["/bin/bash", "-c", &shell].map(str::to_owned)).unwrap();
        let leftovers = ProcessReaper::of(&place.path("data"));
        let (mark, whose) = leftovers.mark();
        // A shell plays Hob: it is the one whose end counts.
        let mut hob = Command::new("/bin/bash");
        hob.args(["-c", r#"read -r spec; "$0" sandboxed "$spec" "$@" & wait"#]).arg(&vector[0]).args(&vector[3..]);
        hob.env(mark, whose).current_dir(place.workspace()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut hob = hob.spawn().unwrap();
        let parent = |id: u32| format!("\"parent\":{id},");
        let spec = vector[2].to_str().unwrap().replace(&parent(std::process::id()), &parent(hob.id()));
        writeln!(hob.stdin.as_ref().unwrap(), "{spec}").unwrap();
        while !place.workspace().join("up").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        hob.kill().unwrap();
        hob.wait().unwrap();
        if way == IsolationMode::LandlockAlone {
            // Who left the session is found by the mark, at the next start.
            leftovers.kill().await;
        }
        place.quiet().await;
    }
}

#[tokio::test]
async fn a_folder_may_be_deep_but_not_elsewhere() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let deep = vec!["d"; 200].join("/");
    fs::create_dir_all(place.workspace().join(&deep)).unwrap();
    let at = |dir: String| json!({ "command": "pwd -P | wc -c", "dir": dir });
    let (outcome, _) = place.call(at(deep)).await;
    assert!(
        matches!(&outcome, Outcome::Exited { text, code: 0 } if text.parse::<usize>().unwrap() > 400),
        "{outcome:?}"
    );
    std::os::unix::fs::symlink("/etc", place.workspace().join("link")).unwrap();
    for elsewhere in ["..", "/etc", "link", "d/../../..", "/"] {
        let (outcome, _) = place.call(at(elsewhere.to_owned())).await;
        assert!(matches!(&outcome, Outcome::Error(text) if text.contains("is not in the workspace")), "{outcome:?}");
    }
    let (outcome, _) = place.call(at("missing".to_owned())).await;
    assert!(matches!(&outcome, Outcome::Error(text) if text.contains("is not there")), "{outcome:?}");
}
