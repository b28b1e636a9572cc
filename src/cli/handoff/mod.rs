//! `hopty handoff`: the store of handoffs, for people, scripts, hooks and Claude's Bash tool.
//!
//! The verbs read the store's files. They connect to a session only to find its conversation and channel.

mod create;
mod current;
mod fit;
pub(super) mod handoff_args;
mod handoff_output;
mod handoff_place;
mod handoff_store_error;
mod load;
mod redactions;
mod script_loaded;
mod show;
mod snooze;

use super::error::VerbError;
use crate::core::supervisor::handover_question::AskAnswer;
use handoff_args::HandoffVerb;
use handoff_place::HandoffPlace;
pub(super) use script_loaded::settle;

pub(super) fn handoff(verb: &HandoffVerb) -> Result<u8, VerbError> {
    let place = HandoffPlace::new()?;
    let done = match verb {
        HandoffVerb::Create(options) => create::create(&place, options),
        HandoffVerb::Show(options) => show::show(&place, options),
        HandoffVerb::List { all, at } => show::list(&place, at, *all),
        HandoffVerb::Load(options) => load::load(&place, options),
        HandoffVerb::Clear(which) => load::clear(&place, which),
        HandoffVerb::Path { which, record } => show::path(&place, which, *record),
        HandoffVerb::Fit(options) => fit::fit(&place, options),
        HandoffVerb::Recent(options) => current::recent(&place, options),
        HandoffVerb::Session(options) => current::session(&place, options),
        HandoffVerb::Id { at, new: false } => show::id(&place, at),
        HandoffVerb::Id { at, new: true } => create::new_id(&place, at),
        HandoffVerb::Snooze(session) => snooze::answer(&place.paths, session, AskAnswer::Snooze),
        HandoffVerb::Dismiss(session) => snooze::answer(&place.paths, session, AskAnswer::Dismiss),
    };
    place.print_notices();
    done
}
