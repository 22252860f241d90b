//! Memory: how much there is, and how much was used.

use std::fs;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use rembrandt::data::address_space;

/// How much memory may still be used, and what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub bytes: u64,
    /// Advice where it is too little, as the end of a sentence.
    pub remedy: &'static str,
}

impl Limit {
    /// The limit that the user sets or, without a word from them, what is available; but never more than the address
    /// space has room for. Absent where neither is known.
    pub fn new(allowed: Option<ByteSize>) -> Option<Limit> {
        let left = address_space().map(|most| most.saturating_sub(occupied().unwrap_or(0)));
        Limit::least(allowed.map(|size| size.as_u64()), available(), left)
    }

    fn least(allowed: Option<u64>, available: Option<u64>, addresses: Option<u64>) -> Option<Limit> {
        let limit = match allowed {
            Some(bytes) => Some(Limit { bytes, remedy: "raise --max-memory" }),
            None => available.map(|bytes| Limit { bytes, remedy: "free some memory" }),
        };
        let addresses = addresses.map(|bytes| Limit { bytes, remedy: "raise the limit of `ulimit -v`" });
        limit.into_iter().chain(addresses).min_by_key(|limit| limit.bytes)
    }
}

/// Bytes that can still be used: what the system calls available, or less in a container or a job with a limit.
/// Absent where the system does not say.
fn available() -> Option<u64> {
    let system = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    let limited = fs::read_to_string("/proc/self/cgroup").ok().and_then(|groups| left_in_groups(&groups));
    match (system, limited) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The most memory this process has had resident so far.
pub fn peak() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The memory this process has resident now.
pub fn resident() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The address space that this process takes now.
fn occupied() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")
}

/// A line `name   123 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The limit of the control groups of this process: the tightest of them and their ancestors.
fn left_in_groups(groups: &str) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, files) = if controllers.is_empty() {
            ("/sys/fs/cgroup", ["memory.max", "memory.current"])
        } else if controllers.split(',').any(|c| c == "memory") {
            ("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"])
        } else {
            continue;
        };
        let group: PathBuf = Path::new(root).join(group.trim_start_matches('/'));
        for dir in group.ancestors().take_while(|dir| dir.starts_with(root)) {
            if let Some(left) = left_in(dir, files) {
                least = Some(least.map_or(left, |l: u64| l.min(left)));
            }
        }
    }
    least
}

/// Limit minus use, where cached files do not count as used: the system drops them when asked for memory.
fn left_in(dir: &Path, [limit, usage]: [&str; 2]) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(dir.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(limit)?, number(usage)?);
    let stat = fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
    let cached: u64 = stat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| ["active_file", "inactive_file"].contains(name))
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .sum();
    Some(limit.saturating_sub(usage.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_counts() {
        let least = |allowed, available, addresses| {
            Limit::least(allowed, available, addresses).map(|limit| (limit.bytes, limit.remedy))
        };
        assert_eq!(least(None, None, None), None);
        assert_eq!(least(None, Some(5), None), Some((5, "free some memory")));
        assert_eq!(least(Some(9), Some(5), None), Some((9, "raise --max-memory")));
        assert_eq!(least(Some(9), Some(5), Some(7)), Some((7, "raise the limit of `ulimit -v`")));
        assert_eq!(least(None, Some(5), Some(7)), Some((5, "free some memory")));
    }

    #[test]
    fn groups_limit_what_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let files = ["memory.max", "memory.current"];
        assert_eq!(left_in(dir.path(), files), None);
        fs::write(dir.path().join("memory.current"), "700\n").unwrap();
        fs::write(dir.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(left_in(dir.path(), files), None);
        fs::write(dir.path().join("memory.max"), "1000\n").unwrap();
        assert_eq!(left_in(dir.path(), files), Some(300));
        fs::write(dir.path().join("memory.stat"), "anon 5\nactive_file 100\ninactive_file 50\n").unwrap();
        assert_eq!(left_in(dir.path(), files), Some(450));
        fs::write(dir.path().join("memory.current"), "7000\n").unwrap();
        assert_eq!(left_in(dir.path(), files), Some(0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_how_much() {
        assert!(available().unwrap() > 0);
        assert!(peak().unwrap() >= resident().unwrap() / 2);
    }
}
