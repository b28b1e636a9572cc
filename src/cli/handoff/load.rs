//! Verbs that change a handoff: `load` claims it, `clear` discards it.

use serde_json::json;

use super::handoff_args::{HandoffArg, LoadOptions};
use super::handoff_output::{answer, object};
use super::handoff_place::HandoffPlace;
use super::handoff_store_error::store_failed;
use crate::cli::error::{VerbError, note, visible};
use crate::cli::exit_codes::{INTERNAL, REFUSED, USAGE};
use crate::core::config::GitPolicy;
use crate::core::handoff::drift::ADVICE;
use crate::core::handoff::manifest::NotClaimed;
use crate::core::handoff::manifest_entry::Claim;
use crate::core::ids::ConversationId;
use crate::fs::session;
use crate::host::drift_check;
use crate::sys::clock::Clock;
use crate::sys::process::{self, NamedProcess};

/// Claims a handoff and prints its brief. The claim lasts as long as its process, for at most 10 minutes. The
/// handoff is consumed when the conversation has answered, which its host observes.
pub(super) fn load(place: &HandoffPlace, options: &LoadOptions) -> Result<u8, VerbError> {
    let id = place.find(&options.which)?;
    super::settle(&place.paths, &place.store, None);
    let holder = options.pid.unwrap_or_else(|| holder(place));
    let started = process::start_ticks(holder).ok_or_else(|| {
        VerbError::new(USAGE, "no such process")
            .about(holder)
            .hint("`--pid` takes the process that holds the claim")
    })?;
    let conversation =
        match (&options.session, std::env::var("CLAUDE_CODE_SESSION_ID").ok().and_then(|id| id.parse().ok()))
        {
            (Some(id), _) => id.clone(),
            (None, Some(id)) => id,
            (None, None) => new_conversation()?,
        };
    let claim = Claim {
        by_pid: holder,
        by_start: started,
        session_id: conversation.clone(),
        at: Clock::wall(),
        other: Default::default(),
    };
    let loaded = place.store.claim(&id, claim).map_err(store_failed)?;
    place.note_foreign(&loaded.entry);
    let dir = std::env::current_dir().unwrap_or_default();
    let said = drift_check::since(&place.config, &place.store, &loaded, &dir);
    if !said.is_empty() && place.config.handoff.git == GitPolicy::Hold {
        let _ = place.store.release(&id, &conversation);
        let hint = "restore the work tree, or set HOPTY_HANDOFF_GIT=tell to load it anyway";
        return Err(VerbError::new(REFUSED, said.join(" ")).about(&id).hint(hint));
    }
    if !said.is_empty() {
        said.iter()
            .map(String::as_str)
            .chain([ADVICE])
            .for_each(|line| note(format_args!("hopty: {}", visible(line))));
    }
    let (text, _) = loaded.brief(&said, place.budget());
    let value = json!({"id": id, "channel": loaded.channel, "session_id": conversation,
        "document": loaded.document_path, "frame": text});
    answer(options.which.at.json, &value, text.trim_end_matches('\n'))
}

/// The default holder of the claim: the session's host or the Claude above this command, which outlive the
/// command and its shell; otherwise the caller.
fn holder(place: &HandoffPlace) -> u32 {
    let host = place.session.as_ref().and_then(|name| session::host_of(&place.paths.session(name)));
    let caller = nix::unistd::getppid().as_raw();
    let is_claude = |process: &NamedProcess| {
        process.name == "claude" || place.paths.claude_session(process.stat.pid).is_file()
    };
    let claude = || process::lineage(caller)?.into_iter().find(is_claude).map(|process| process.stat.pid);
    u32::try_from(host.or_else(claude).unwrap_or(caller)).unwrap_or(0)
}

fn new_conversation() -> Result<ConversationId, VerbError> {
    uuid::Uuid::new_v4()
        .to_string()
        .parse()
        .map_err(|e: crate::core::ids::BadId| VerbError::new(INTERNAL, e.to_string()))
}

/// Discards a handoff, unless it is being loaded.
pub(super) fn clear(place: &HandoffPlace, which: &HandoffArg) -> Result<u8, VerbError> {
    let id = place.find(which)?;
    let known = place.store.list(None).map_err(store_failed)?.into_iter().find(|(_, entry)| entry.id == id);
    if let Some((_, entry)) = &known {
        place.note_foreign(entry);
    }
    if let Some(holder) = known.as_ref().and_then(|(_, entry)| entry.held(Clock::wall(), process::is_alive)) {
        return Err(store_failed(NotClaimed::Held { id, holder: holder.clone() }.into()));
    }
    place.store.clear(&id).map_err(store_failed)?;
    let cleared = place.store.list(None).map_err(store_failed)?.into_iter().find(|(_, entry)| entry.id == id);
    answer(
        which.at.json,
        &cleared.map(|(_, entry)| object(&entry)).unwrap_or_default(),
        &format!("discarded {id}"),
    )
}
