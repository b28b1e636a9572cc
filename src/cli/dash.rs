//! `hopty dash`.

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::control::paths;
use super::error::Failed;
use super::table::wants_colors;
use crate::dashboard::paint::ColorOutput;
use crate::dashboard::{self, DashEnd};

pub(super) fn dash() -> Result<u8, Failed> {
    let paths = paths()?;
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(
            Failed::new(2, "standard input and output must be a terminal").hint("use `hopty ls` without one")
        );
    }
    let term = std::env::var("TERM").unwrap_or_default();
    if matches!(term.as_str(), "" | "dumb") {
        return Err(Failed::new(2, "this terminal cannot draw a full screen")
            .about(format!("TERM={term}"))
            .hint("`hopty ls` lists sessions"));
    }
    let colors = if wants_colors() { ColorOutput::On } else { ColorOutput::Off };
    match catch_unwind(AssertUnwindSafe(|| dashboard::run(&paths, colors))) {
        Ok(Ok(DashEnd::Quit)) => Ok(0),
        Ok(Ok(DashEnd::Signal(signal))) => Ok(u8::try_from(128 + signal).unwrap_or(1)),
        Ok(Err(error)) => Err(because(&error.to_string())),
        Err(_) => Err(because("it failed")),
    }
}

/// The words of a panic, where there was one.
fn because(cause: &str) -> Failed {
    let words = crate::tty::raw::last_words().unwrap_or_else(|| cause.to_owned());
    Failed::new(125, words.split_whitespace().collect::<Vec<_>>().join(" "))
        .hint("the sessions keep running; `hopty ls` lists them")
}
