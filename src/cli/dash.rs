//! `hopty dash`.

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::control::paths;
use super::error::{VerbError, broken_page};
use super::exit_codes::USAGE;
use crate::core::process_change::Signal;
use crate::dashboard::paint::ColorOutput;
use crate::dashboard::{self, DashEnd};
use crate::tty::{can_draw, wants_colors};

const HINT: &str = "the sessions keep running; `hopty ls` lists them";

pub(super) fn dash() -> Result<u8, VerbError> {
    let paths = paths()?;
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(VerbError::new(USAGE, "standard input and output must be a terminal")
            .hint("use `hopty ls` without one"));
    }
    if !can_draw() {
        let term = std::env::var("TERM").unwrap_or_default();
        return Err(VerbError::new(USAGE, "this terminal cannot draw a full screen")
            .about(format!("TERM={term}"))
            .hint("`hopty ls` lists sessions"));
    }
    let colors = if wants_colors() { ColorOutput::On } else { ColorOutput::Off };
    match catch_unwind(AssertUnwindSafe(|| dashboard::run(&paths, colors))) {
        Ok(Ok(DashEnd::Quit)) => Ok(0),
        Ok(Ok(DashEnd::Signal(signal))) => Ok(Signal(signal).exit_code()),
        Ok(Err(error)) => Err(broken_page(&error.to_string()).hint(HINT)),
        Err(_) => Err(broken_page("it failed").hint(HINT)),
    }
}
