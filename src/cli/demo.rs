//! `hopty demo`.

use super::error::VerbError;
use super::exit_codes::INTERNAL;
use crate::demo::{self, Files};

pub(super) fn demo(keep: bool) -> Result<u8, VerbError> {
    let files = if keep { Files::Kept } else { Files::Removed };
    demo::run(files).map_err(|e| {
        VerbError::new(INTERNAL, format!("cannot set it up: {e}")).hint(
            "the demo needs a temporary directory that allows programs to run (set TMPDIR to use \
                   another) and a loopback device that is up",
        )
    })
}
