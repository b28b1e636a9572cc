//! The identity of the current boot.

use std::path::Path;

use super::safe_file::{self, FileRule};

const FILE: &str = "/proc/sys/kernel/random/boot_id";
/// The longest id, in bytes.
const BOOT_ID_MAX: u64 = 256;

/// The id of the current boot; `None` if the system has none.
pub fn id() -> Option<String> {
    let text = safe_file::read_text(Path::new(FILE), FileRule::of_claude(BOOT_ID_MAX)).ok()??;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
