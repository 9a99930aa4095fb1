//! Tries what must not be possible in the sandbox.

use std::fs::{self, File, OpenOptions, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::fs::Access;
use rustix::fs::inotify::{CreateFlags, WatchFlags};

use crate::sandbox::spec::EscapeTrial;

/// Tries all of it; tells what was possible.
pub(super) fn attempt(trial: &EscapeTrial, temporary: &Path) -> Vec<String> {
    let beside = |name: &str| trial.file.with_file_name(name);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, trial.port));
    let connected = TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok();
    let tries: [(&str, bool); 13] = [
        ("read", File::open(&trial.file).is_ok()),
        ("list", trial.file.parent().is_some_and(|dir| fs::read_dir(dir).is_ok())),
        ("write", OpenOptions::new().append(true).open(&trial.file).is_ok()),
        ("truncate", nix::unistd::truncate(&trial.file, 0).is_ok()),
        ("change the mode of", fs::set_permissions(&trial.file, Permissions::from_mode(0o600)).is_ok()),
        ("create", File::create(beside("new")).is_ok()),
        ("see", fs::symlink_metadata(&trial.file).is_ok() || rustix::fs::access(&trial.file, Access::EXISTS).is_ok()),
        ("follow", fs::read_link(beside("link")).is_ok()),
        ("watch", can_watch(trial)),
        ("make a program of its owner's of", sets_owner(temporary)),
        ("connect to", connected),
        ("talk to", UnixStream::connect(beside("socket")).is_ok() || reaches_abstract_socket(trial)),
        ("send to", is_sent(trial)),
    ];
    tries.into_iter().filter(|(_, done)| *done).map(|(what, _)| what.to_owned()).collect()
}

fn can_watch(trial: &EscapeTrial) -> bool {
    let watch = rustix::fs::inotify::init(CreateFlags::CLOEXEC);
    watch.and_then(|watch| rustix::fs::inotify::add_watch(watch, &trial.file, WatchFlags::MODIFY)).is_ok()
}

fn reaches_abstract_socket(trial: &EscapeTrial) -> bool {
    LocalAddr::from_abstract_name(&trial.name).and_then(|address| UnixStream::connect_addr(&address)).is_ok()
}

/// One end of a pair of datagram sockets could speak to anybody.
fn is_sent(trial: &EscapeTrial) -> bool {
    let Ok((one, _other)) = UnixDatagram::pair() else { return false };
    one.send_to(b"x", trial.file.with_file_name("datagrams")).is_ok()
}

/// A program that runs as its owner, of which there must be none.
fn sets_owner(temporary: &Path) -> bool {
    let path = temporary.join("owner");
    let made = File::create(&path).and_then(|file| file.set_permissions(Permissions::from_mode(0o4700)));
    made.is_ok()
}
