//! What tells one state of a file from another without reading it.

use std::fs::Metadata;

/// Size, times and identity of a file, as its directory tells them.
///
/// Some mounts make them up anew at every look: what is kept by a stamp is then never found, and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Size in bytes; seconds and nanoseconds of the last change of the content, then of anything; the inode.
    pub(crate) parts: [i64; 6],
}

/// How long a file must have been left alone: two changes within one tick of a file system's clock, ten milliseconds
/// on the slowest, leave it with the same times.
#[cfg(unix)]
const TICKS: std::time::Duration = std::time::Duration::from_millis(20);

impl Stamp {
    /// The stamp of a file; none of what is no file, and none on systems that tell too little.
    #[cfg(unix)]
    pub(crate) fn of(meta: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let parts = [
            meta.size().cast_signed(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
            meta.ino().cast_signed(),
        ];
        meta.is_file().then_some(Self { parts })
    }

    /// None: nothing here changes with every write as Unix's time of change does.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether whatever changes the file from now on changes the stamp too. Not so just after a change, nor where the
    /// clock says that the change is still to come.
    #[cfg(unix)]
    pub(crate) fn is_settled(&self) -> bool {
        let [_, _, _, seconds, nanos, _] = self.parts;
        let changed = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let age = now.map(|now| now.as_nanos().cast_signed() - changed);
        age.is_ok_and(|age| age >= TICKS.as_nanos().cast_signed())
    }

    /// Never: see [`of`](Self::of).
    #[cfg(not(unix))]
    pub(crate) fn is_settled(&self) -> bool {
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn changed(seconds_ago: i64) -> Stamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp { parts: [1, 0, 0, now.as_secs().cast_signed() - seconds_ago, 999_999_999, 7] }
    }

    #[test]
    fn a_file_is_settled_when_its_last_change_is_past() {
        assert!(changed(3600).is_settled());
        // Later in this second, or in an hour, as a clock tells that went back.
        assert!(!changed(0).is_settled());
        assert!(!changed(-3600).is_settled());
    }

    #[test]
    fn only_a_file_has_a_stamp() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Stamp::of(&dir.path().metadata().unwrap()), None);
        let file = dir.path().join("file");
        std::fs::write(&file, "a").unwrap();
        let stamp = Stamp::of(&file.metadata().unwrap()).unwrap();
        assert_eq!(Stamp::of(&file.metadata().unwrap()), Some(stamp));
        std::fs::write(&file, "ab").unwrap();
        assert_ne!(Stamp::of(&file.metadata().unwrap()), Some(stamp));
    }
}
