//! The daemon's own routes over a Unix socket in its data directory, always: for `hob health`, `hob status`, and whoever may
//! read the data.
//!
//! Never: a reason not to start, or an answer to anybody but the user that Hob runs as (and root).
//! Start at [`LocalSocket::open`]; [`super::local_client`] is the other end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use axum::Router as Routes;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

/// The socket's name in the data directory.
pub(crate) const SOCKET: &str = "hob.sock";
/// Its name until only its owner may speak to it.
const BINDING: &str = "hob.bind";
/// The longest path of a socket, in bytes: the kernel has room for 108, the last of which ends it.
pub const PATH_BYTES_MAX: usize = 107;

/// There is no socket.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The data directory lies too deep.
    #[error(
        "{}: is {} bytes long, and a socket's path has at most {PATH_BYTES_MAX}; `hob health` and `hob status` cannot ask this \
         Hob: give it a data directory with a shorter path", path.display(), path.as_os_str().len()
    )]
    TooLong {
        /// Where it would be.
        path: PathBuf,
    },
    /// It cannot be made.
    #[error("{}: cannot be made: {source}; `hob health` and `hob status` cannot ask this Hob", path.display())]
    Io {
        /// Where it would be.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where the socket of a data directory is.
///
/// # Errors
/// When its path would be too long for a socket.
pub fn place(data_dir: &Path) -> Result<PathBuf, LocalError> {
    let path = data_dir.join(SOCKET);
    if path.as_os_str().as_bytes().len() > PATH_BYTES_MAX { Err(LocalError::TooLong { path }) } else { Ok(path) }
}

/// The socket, open; dropped, it is gone.
#[derive(Debug)]
pub struct LocalSocket {
    listener: UnixListener,
    file: SocketFile,
}

#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Which file it is: another Hob may have put its own there since.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|now| identity(&now) == self.identity);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "the socket stays behind; the next start replaces it");
        }
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl LocalSocket {
    /// Opens the socket of this data directory, whose lock the caller holds: whatever was left there by a Hob that died is
    /// replaced.
    ///
    /// # Errors
    /// When the path is too long, or nothing can be made there.
    pub fn open(data_dir: &Path) -> Result<Self, LocalError> {
        let path = place(data_dir)?;
        // Nobody else may speak to it at any time, so it gets its name last.
        let binding = data_dir.join(BINDING);
        let open = || {
            match fs::remove_file(&binding) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let listener = UnixListener::bind(&binding)?;
            fs::set_permissions(&binding, Permissions::from_mode(0o600))?;
            fs::rename(&binding, &path)?;
            let file = SocketFile { identity: identity(&fs::symlink_metadata(&path)?), path: path.clone() };
            Ok(Self { listener, file })
        };
        open().map_err(|source| LocalError::Io { path: path.clone(), source })
    }

    /// Answers until `stop`, then takes the socket away.
    pub async fn serve(self, routes: Routes, stop: CancellationToken) {
        let Self { listener, file } = self;
        let app = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = app {
            tracing::error!(%error, "local.failed: `hob health` and `hob status` are not answered any more");
        }
        drop(file);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
mod tests {
    use std::time::Duration;

    use axum::routing::get;

    use super::*;
    use crate::local_client::{AskError, ask};

    const PATIENCE: Duration = Duration::from_secs(10);

    fn routes() -> Routes {
        Routes::new().route("/hello", get(async || "good day\n"))
    }

    async fn get_for_test(dir: &Path, path: &'static str) -> Result<(u16, String), AskError> {
        let dir = dir.to_owned();
        let answer = tokio::task::spawn_blocking(move || ask(&dir, path, PATIENCE)).await.unwrap();
        answer.map(|answer| (answer.status, answer.body))
    }

    #[tokio::test]
    async fn n11_it_is_the_owners_alone_replaces_a_stale_one_and_goes_with_its_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SOCKET);
        // What a Hob that was killed leaves behind.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        fs::write(dir.path().join(BINDING), "cut off").unwrap();
        assert!(matches!(get_for_test(dir.path(), "/hello").await, Err(AskError::NotRunning)));
        let (local, stop) = (LocalSocket::open(dir.path()).unwrap(), CancellationToken::new());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let app = tokio::spawn(local.serve(routes(), stop.clone()));
        assert_eq!(get_for_test(dir.path(), "/hello").await.unwrap(), (200, "good day\n".to_owned()));
        assert_eq!(get_for_test(dir.path(), "/elsewhere").await.unwrap().0, 404);
        stop.cancel();
        app.await.unwrap();
        assert!(!path.exists() && !dir.path().join(BINDING).exists());
        assert!(matches!(get_for_test(dir.path(), "/hello").await, Err(AskError::NotRunning)));
    }

    #[tokio::test]
    async fn n11_a_hob_that_is_slow_to_end_leaves_the_next_ones_socket_alone() {
        let dir = tempfile::tempdir().unwrap();
        let first = LocalSocket::open(dir.path()).unwrap();
        let second = LocalSocket::open(dir.path()).unwrap();
        drop(first);
        assert!(dir.path().join(SOCKET).exists());
        drop(second);
        assert!(!dir.path().join(SOCKET).exists());
    }

    #[tokio::test]
    async fn n11_a_path_that_is_too_long_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(PATH_BYTES_MAX));
        fs::create_dir(&deep).unwrap();
        let error = LocalSocket::open(&deep).unwrap_err().to_string();
        assert!(error.contains("a socket's path has at most 107; "), "{error}");
        assert!(fs::read_dir(&deep).unwrap().next().is_none());
        // The longest that fits does.
        let base = dir.path().as_os_str().len();
        let fits = dir.path().join("d".repeat(PATH_BYTES_MAX - base - 2 - SOCKET.len()));
        fs::create_dir(&fits).unwrap();
        drop(LocalSocket::open(&fits).unwrap());
    }
}
