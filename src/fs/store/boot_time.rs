//! How long ago something was written, by a clock that nobody can set: the time since boot. It is stored in
//! a small file beside the record, and used only within the same boot; otherwise the time of day must do.

use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::core::time::WallTime;
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::sys::boot;
use crate::sys::safe_file::{self, FileRule};

/// The file in a record.
const FILE: &str = "boot";
/// The longest file that is read, in bytes.
const BOOT_FILE_MAX: u64 = 256;
/// How much the stored time may differ from the time of day, in ms: a record whose second was taken is
/// moved by a few.
const SLACK_MS: i64 = 150_000;

/// Stores beside a record how long after boot it was made. Nothing is stored for a record that is dated at
/// another time than now.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn note(record: &Path, made: WallTime) -> Result<(), FsError> {
    let now = chrono::Utc::now().timestamp_millis();
    match this_run() {
        Some((run, uptime)) if (now - made.0).abs() <= SLACK_MS => {
            atomic::swap(&record.join(FILE), format!("{run} {uptime} {}\n", made.0 / 1000).as_bytes())
        }
        _ => Ok(()),
    }
}

/// Milliseconds since the record was made, which is dated `made`; `None` if that is not known.
pub(super) fn elapsed(record: &Path, made: WallTime) -> Option<u64> {
    let text = safe_file::read_text(&record.join(FILE), FileRule::own(BOOT_FILE_MAX)).ok()??;
    let mut words = text.split_whitespace();
    let (run, then, second) =
        (words.next()?, words.next()?.parse::<u64>().ok()?, words.next()?.parse::<i64>().ok()?);
    let (this, now) = this_run()?;
    (this == run && second == made.0 / 1000).then(|| now.checked_sub(then)).flatten()
}

/// The boot id, and the time since boot, including sleep, in ms.
fn this_run() -> Option<(String, u64)> {
    let id = boot::id()?;
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
    Some((id, u64::try_from(Duration::from(time).as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_run_of_the_machine_and_this_record_count() {
        let dir = tempfile::tempdir().unwrap();
        let now = WallTime(chrono::Utc::now().timestamp_millis());
        assert_eq!(elapsed(dir.path(), now), None);
        note(dir.path(), WallTime(0)).unwrap();
        assert_eq!(elapsed(dir.path(), WallTime(0)), None, "a time that is not now is not noted");
        note(dir.path(), now).unwrap();
        assert!(elapsed(dir.path(), now).unwrap() < 60_000);
        assert_eq!(elapsed(dir.path(), now.after(5000)), None, "another time");
        let (run, uptime) = this_run().unwrap();
        let write = |text: String| std::fs::write(dir.path().join(FILE), text).unwrap();
        write(format!("{run} {} {}\n", uptime - 50_000, now.0 / 1000));
        assert!((50_000..110_000).contains(&elapsed(dir.path(), now).unwrap()));
        for odd in [
            format!("other {uptime} {}", now.0 / 1000),
            format!("{run} {} {}", uptime * 2, now.0 / 1000),
            String::new(),
        ] {
            write(odd);
            assert_eq!(elapsed(dir.path(), now), None);
        }
    }
}
