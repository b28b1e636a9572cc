//! `hopty handoff fit`: whether work of a size still fits into the window.

use serde_json::json;

use super::handoff_args::FitOptions;
use super::handoff_place::HandoffPlace;
use crate::cli::context::figure;
use crate::cli::control::Rule;
use crate::cli::error::{VerbError, say, say_wrapped, visible};
use crate::core::context_usage::fits;
use crate::core::text::safe_text::thousands;

pub(super) fn fit(place: &HandoffPlace, options: &FitOptions) -> Result<u8, VerbError> {
    let remaining = figure(&place.paths, options.of.as_deref(), Rule::Careful)?.context.remaining();
    let fits = fits(remaining, options.tokens);
    if options.json {
        let needed = u128::from(options.tokens) * 12 / 10;
        let needed = u64::try_from(needed).unwrap_or(u64::MAX);
        say(format_args!(
            "{}",
            json!({"fits": fits, "remaining": remaining, "estimated": options.tokens, "needed": needed})
        ))?;
    } else if let Some(phase) = &options.phase {
        let phase = visible(phase);
        say_wrapped(format_args!("Checking if Phase {phase} fits..."))?;
        say_wrapped(format_args!(
            "Estimated: {} tokens, Available: {}",
            thousands(options.tokens),
            thousands(remaining)
        ))?;
        say_wrapped(format_args!(
            "{}",
            if fits { "Continuing..." } else { "It does not fit: hand over first." }
        ))?;
    } else {
        say_wrapped(format_args!("{}", if fits { "fits" } else { "does not fit" }))?;
    }
    Ok(u8::from(!fits))
}
