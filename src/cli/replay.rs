//! `hopty replay JOURNAL`.

use std::path::Path;

use serde_json::json;

use super::error::{Failed, say, visible};
use crate::core::journal::{Replay, replay as run};

/// Where one finds what is to be given.
const WHERE: &str = "a session's journal is ~/.local/state/hopty/sessions/NAME/journal.jsonl";

pub(super) fn replay(path: &Path, as_json: bool) -> Result<u8, Failed> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failed::new(2, format!("it cannot be read: {e}")).about(path.display()).hint(WHERE))?;
    let found = run(&text).map_err(|e| Failed::new(2, format!("it cannot be replayed: {e}")).about(path.display()).hint(WHERE))?;
    match found {
        Replay::Same { events, actions } if as_json => {
            say(format_args!("{}", json!({"same": true, "events": events, "actions": actions})))?
        }
        Replay::Same { events, actions } => say(format_args!("the same: {events} events gave the same {actions} actions"))?,
        Replay::Differs { seq, recorded, replayed } => {
            if as_json {
                say(format_args!("{}", json!({"same": false, "seq": seq, "recorded": recorded, "replayed": replayed})))?;
            } else {
                say(format_args!("differs at line {seq}"))?;
                say(format_args!("  recorded: {}", visible(&recorded)))?;
                say(format_args!("  replayed: {}", visible(&replayed)))?;
            }
            return Ok(1);
        }
    }
    Ok(0)
}
