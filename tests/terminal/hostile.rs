//! Some 500 tries to get out, in a program of their own.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hob_tools::sandbox::SandboxProfile;
use hob_tools::sandbox::spec::Overlay;

use crate::place::{Harness, IsolationMode};

/// A user who owns nothing.
const NOBODY: &str = "65534";

/// What there is to be reached outside, and the arguments that tell the program of it.
struct Outside {
    _sockets: (UnixListener, UnixListener, UnixDatagram, TcpListener),
    arguments: Vec<String>,
}

impl Outside {
    fn of(place: &Harness) -> Self {
        let at = |name: &str| place.path("outside").join(name);
        fs::create_dir_all(place.path("outside")).unwrap();
        fs::write(at("secret"), "a secret").unwrap();
        let name = place.dir.path().display().to_string();
        let abstracted = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = port.local_addr().unwrap().port();
        let sockets =
            (UnixListener::bind(at("socket")).unwrap(), abstracted, UnixDatagram::bind(at("datagrams")).unwrap(), port);
        let upper = place.path("data/drafts").display().to_string();
        let [secret, socket, datagrams] = ["secret", "socket", "datagrams"].map(|name| at(name).display().to_string());
        let arguments =
            vec![secret, upper, socket, datagrams, name, number.to_string(), std::process::id().to_string()];
        Self { _sockets: sockets, arguments }
    }
}

/// The program, in the workspace.
fn hostile(place: &Harness) -> PathBuf {
    let program = place.workspace().join("hostile");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal/hostile.c");
    let made = Command::new("cc").args(["-O1", "-w", "-o"]).arg(&program).arg(source).status().unwrap();
    assert!(made.success(), "a C compiler is needed");
    program
}

fn is_root() -> bool {
    fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0).unwrap()
}

#[tokio::test]
async fn no_try_to_get_out_succeeds() {
    // A command in the foreground works in a draft.
    for place in [Harness::new(IsolationMode::Namespaces).await] {
        hostile(&place);
        fs::create_dir_all(place.path("data/draft/upper")).unwrap();
        let outside = Outside::of(&place);
        let (text, code) = place.run(&format!("./hostile {}", outside.arguments.join(" "))).await;
        assert!(text.ends_with(" tries, 0 succeeded") && code == 0, "{text}");
        assert_eq!(fs::read_to_string(place.path("outside/secret")).unwrap(), "a secret");
    }
}

#[tokio::test]
async fn nor_does_one_of_an_ordinary_user() {
    if !is_root() {
        // Then the other test is this one.
        return;
    }
    let place = Harness::new(IsolationMode::Namespaces).await;
    let program = hostile(&place);
    let outside = Outside::of(&place);
    let [temporary, upper, work] =
        ["data/scratch-of-test", "data/drafts/of-test/upper", "data/drafts/of-test/work"].map(|name| place.path(name));
    for folder in [&temporary, &upper, &work] {
        fs::create_dir_all(folder).unwrap();
    }
    let overlay = Overlay { root: place.workspace(), upper, work };
    let room = SandboxProfile { reach: place.confinement.reach.clone(), overlays: vec![overlay], temporary };
    let command: Vec<String> =
        std::iter::once(program.display().to_string()).chain(outside.arguments.clone()).collect();
    let vector = place.sandbox.vector(&room, &command).unwrap();
    // Where the build has put it, others may have no way to it.
    let hob = place.path("hob");
    fs::copy(&vector[0], &hob).unwrap();
    fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let owned =
        Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(place.dir.path()).status().unwrap();
    assert!(owned.success());
    let mut ordinary = Command::new("setpriv");
    ordinary.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(&hob).args(&vector[1..]);
    let ended = ordinary.current_dir(place.workspace()).env_clear().stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(text.trim_end().ends_with(" tries, 0 succeeded"), "{text}{}", String::from_utf8_lossy(&ended.stderr));
    let left: Vec<_> = fs::read_dir(place.workspace()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["hostile"], "what it made is in its draft");
}

#[tokio::test]
async fn what_a_command_leaves_is_deleted_however_deep_and_however_much() {
    let place = Harness::new(IsolationMode::Namespaces).await;
    let program = hostile(&place);
    let (text, code) = place.run(&format!("cd $TMPDIR && {} fill", program.display())).await;
    assert_eq!((text.as_str(), code), ("filled", 0));
    let scratch = place.path("data/scratch");
    let empty = async {
        while fs::read_dir(&scratch).unwrap().next().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(120), empty).await.is_ok(), "it is there yet");
}
