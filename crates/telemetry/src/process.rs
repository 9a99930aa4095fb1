//! What the system tells of this process, where it has `/proc`.

use std::fs;

/// Bytes of memory that are really there.
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes.saturating_mul(1_024))
}

/// Open file descriptors; the one that is open to count them is not among them.
pub fn open_files() -> Option<u64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(open.saturating_sub(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn n11_memory_and_descriptors_are_what_the_system_says() {
        assert!(resident_bytes().unwrap() > 100_000);
        let before = open_files().unwrap();
        let held: Vec<_> = (0..20).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        assert!(open_files().unwrap() >= before + 10, "{} are held", held.len());
    }
}
