//! How much of Hob's own program is resident while there is little to do.
//!
//! A start goes through far more of the program than a quiet day does (migrations, certificates, handshakes), and the kernel maps
//! 64 KB around every place that is touched. So all that is the program file's is let go once the start is over, and every hour
//! from then on: what is needed again comes from the system's cache within microseconds, and what is not is the first that the
//! system takes back.
//!
//! Never: a page that this process wrote to. It is in no file.
//! Start at [`keep_small`].

use std::path::Path;
use std::time::Duration;

use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use rustix::mm::{Advice, madvise};

use crate::daemon::chores::slept;
use crate::daemon::switches::Switches;

/// By then every platform has been greeted, or does not answer.
const AFTER_START: Duration = Duration::from_secs(20);
/// A reload, a round of upkeep and a new connection bring in code that is not needed for long either.
const EVERY: Duration = Duration::from_secs(3_600);

/// Why the code stays. Nothing but memory hangs on it.
#[derive(Debug, thiserror::Error)]
enum StaysError {
    #[error("/proc does not tell what is mapped: {0}")]
    Untold(#[from] procfs::ProcError),
    #[error("the kernel does not let it go: {0}")]
    Kept(#[from] rustix::io::Errno),
}

/// Lets the program go some time after the start, and every hour.
pub(super) fn keep_small(switches: &Switches) {
    let stop = switches.drain.clone();
    switches.keep("residence", async move {
        let mut wait = AFTER_START;
        while !slept(wait, &stop).await {
            wait = EVERY;
            match let_program_go() {
                Ok(bytes) => tracing::debug!(bytes, "program.let_go"),
                Err(error) => tracing::debug!(%error, "program.stays"),
            }
        }
    });
}

/// Gives how many bytes of it were resident.
fn let_program_go() -> Result<u64, StaysError> {
    let process = Process::myself()?;
    let program = process.exe()?;
    let mut gone = 0;
    for mapping in process.smaps()? {
        if is_as_in_its_file(&mapping, &program) {
            let_go(&mapping)?;
            gone += told(&mapping, "Rss").unwrap_or(0);
        }
    }
    Ok(gone)
}

/// Code and constants of the program that nothing has written to: neither a debugger nor whoever loaded it.
fn is_as_in_its_file(mapping: &MemoryMap, program: &Path) -> bool {
    mapping.perms.contains(MMPermissions::READ | MMPermissions::PRIVATE)
        && !mapping.perms.contains(MMPermissions::WRITE)
        && matches!(&mapping.pathname, MMapPath::Path(path) if path == program)
        && told(mapping, "Anonymous") == Some(0)
}

/// What `/proc/self/smaps` tells of the mapping, in bytes.
fn told(mapping: &MemoryMap, what: &str) -> Option<u64> {
    mapping.extension.map.get(what).copied()
}

#[expect(unsafe_code, reason = "the kernel is told of memory by its address")]
fn let_go(mapping: &MemoryMap) -> Result<(), rustix::io::Errno> {
    let (start, end) = mapping.address;
    let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(end - start)) else {
        return Err(rustix::io::Errno::OVERFLOW);
    };
    // SAFETY: the mapping is private, cannot be written to, and none of its pages differs from the file. The program's file
    // cannot change while it runs (ETXTBSY), so whatever is touched next is read anew as it was.
    unsafe { madvise(std::ptr::without_provenance_mut(start), length, Advice::LinuxDontNeed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is resident of the program that runs this test, as long as nobody has written to it.
    fn resident() -> u64 {
        let process = Process::myself().unwrap();
        let program = process.exe().unwrap();
        let all: Vec<_> = process.smaps().unwrap().into_iter().collect();
        let unchanged = all.iter().filter(|mapping| is_as_in_its_file(mapping, &program));
        unchanged.map(|mapping| told(mapping, "Rss").unwrap()).sum()
    }

    #[test]
    fn a_program_that_is_let_go_is_gone_and_runs_on() {
        let before = resident();
        let gone = let_program_go().unwrap();
        let after = resident();
        assert!(gone >= before, "{gone} of {before} bytes were let go");
        assert!(after < before, "of {before} bytes {after} are resident");
    }

    #[test]
    fn what_was_written_to_is_kept() {
        let process = Process::myself().unwrap();
        let program = process.exe().unwrap();
        let mut mapping =
            process.smaps().unwrap().into_iter().find(|mapping| is_as_in_its_file(mapping, &program)).unwrap();
        assert!(!is_as_in_its_file(&mapping, Path::new("/another/program")));
        let mut writable = mapping.clone();
        writable.perms |= MMPermissions::WRITE;
        assert!(!is_as_in_its_file(&writable, &program));
        mapping.extension.map.insert("Anonymous".to_owned(), 4_096);
        assert!(!is_as_in_its_file(&mapping, &program));
        mapping.extension.map.remove("Anonymous");
        assert!(!is_as_in_its_file(&mapping, &program), "whether it was written to is not known");
    }
}
