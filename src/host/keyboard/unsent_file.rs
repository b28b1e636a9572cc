//! The file of unsent input: what was typed and no run received, saved at the end of a session.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::text::safe_text::short_line;
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::host::jobs::log::log;
use crate::host::start::session_dir;
use crate::sys::clock::{Clock, local};
use crate::sys::worker::within;

/// How long writing the file may take.
const WRITE_LIMIT: Duration = Duration::from_secs(1);
/// How many characters of the input are shown if it cannot be saved.
const SHOWN_MOST: usize = 500;
/// The longest file of unsent input that more is added to, in bytes.
const FILE_MOST: u64 = 16 << 20;

/// At the end of a session, adds input that no run received to a file, so that nothing is lost silently.
/// Returns a sentence that names the file, or contains the text if no file can be written. `own`: the
/// session's own file, if it outlives the session.
pub(super) fn keep_unsent(unsent: &[u8], own: Option<PathBuf>) -> Option<String> {
    let text: String = String::from_utf8_lossy(unsent).replace("\x1b[200~", "").replace("\x1b[201~", "");
    if text.chars().all(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    Some(match keep(own, &text) {
        Ok(path) => format!("Your unsent input is in {}.", path.display()),
        Err(why) => format!("Your unsent input could not be saved ({why}): {}", short(&text)),
    })
}

/// Adds a draft to `own`, or if that fails to a file that outlives the session. Returns the file, or why
/// there is none.
fn keep(own: Option<PathBuf>, text: &str) -> Result<PathBuf, String> {
    let mut why = None;
    if let Some(own) = own {
        let (path, text) = (own.clone(), text.to_owned());
        match in_time(move || append(&path, &text).map_err(|e| e.to_string())) {
            Ok(()) => return Ok(own),
            Err(error) => {
                log(format_args!("cannot save the draft: {error}"));
                why = Some(error);
            }
        }
    }
    let bytes = text.as_bytes().to_vec();
    in_time(move || session_dir::write_outside(&bytes).map_err(|e| e.to_string()))
        .map_err(|error| why.unwrap_or(error))
}

/// Writes a draft below what an earlier end of the session left there, with a dated line between.
fn append(path: &Path, text: &str) -> Result<(), FsError> {
    let mut all = atomic::read(path, FILE_MOST)?.unwrap_or_default();
    if !all.is_empty() {
        all.extend_from_slice(format!("\n--- {} ---\n", local(Clock::wall())).as_bytes());
    }
    all.extend_from_slice(text.as_bytes());
    atomic::write(path, &all)
}

fn in_time<T: Send + 'static>(
    write: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    within(WRITE_LIMIT, write).unwrap_or_else(|| Err("the disk does not answer".to_owned()))
}

/// A draft on one line of limited length, with secrets removed.
fn short(text: &str) -> String {
    short_line(text, SHOWN_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_white_space_is_not_kept() {
        assert_eq!(keep_unsent(b"\x1b[200~ \n\x1b[201~", None), None);
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("unsent.txt");
        let told = keep_unsent(b"\x1b[200~a thought\x1b[201~", Some(own.clone())).unwrap();
        assert!(told.contains("unsent.txt"), "{told}");
        assert_eq!(std::fs::read(own).unwrap(), b"a thought");
    }

    #[test]
    fn the_draft_of_an_earlier_end_stays_above_a_dated_line() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("unsent.txt");
        for draft in ["first\n", "second"] {
            keep_unsent(draft.as_bytes(), Some(own.clone())).unwrap();
        }
        let text = std::fs::read_to_string(own).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1], lines[3], lines.len()), ("first", "", "second", 4), "{text}");
        assert!(lines[2].starts_with("--- 2") && lines[2].ends_with(" ---"), "{text}");
    }

    #[test]
    fn a_draft_that_is_shown_has_one_line_no_secret_and_a_bounded_length() {
        let shown = short("fix\x1b[2J the\nlogin, password=hunter2hunter2");
        assert!(
            shown.starts_with("fix") && shown.contains("the login") && !shown.contains("hunter2"),
            "{shown}"
        );
        assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
        let long = short(&"é".repeat(5000));
        assert_eq!((long.chars().count(), long.ends_with("é...")), (SHOWN_MOST + 3, true));
    }
}
