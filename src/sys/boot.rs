//! The run of the machine, from one start to the next.

use std::path::Path;

use super::safe_file::{self, FileRule};

/// Where Linux tells it.
const FILE: &str = "/proc/sys/kernel/random/boot_id";
/// The longest id that is read, in bytes.
const BOOT_ID_MAX: u64 = 256;

/// The id that this run of the machine has and no other; `None` where the system does not tell.
pub fn id() -> Option<String> {
    let text = safe_file::read_text(Path::new(FILE), FileRule::of_claude(BOOT_ID_MAX)).ok()??;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
