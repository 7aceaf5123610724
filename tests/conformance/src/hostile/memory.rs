//! How much memory this process holds.

use std::fs;

/// So much may a case keep when it is run once more: less than any plugin is given, more than an allocator moves
/// about. 16 MiB.
pub(super) const MAY_KEEP: u64 = 16 << 20;

/// Bytes of this process in memory; none where the system does not tell (anything but Linux).
pub(super) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_touched_is_resident() {
        let before = resident().expect("a figure");
        let held = vec![1u8; 64 << 20];
        let after = resident().expect("a figure");
        assert!(after > before + (32 << 20), "{before} {after}");
        drop(held);
    }
}
