//! `hopty demo`.

use super::error::Failed;
use crate::demo::{self, Files};

pub(super) fn demo(keep: bool) -> Result<u8, Failed> {
    let files = if keep { Files::Kept } else { Files::Removed };
    demo::run(files).map_err(|e| {
        Failed::new(125, format!("cannot be set up: {e}"))
            .hint("it needs a temporary directory in which programs may run (TMPDIR names another) and a loopback device that is up")
    })
}
