//! `hopty replay JOURNAL`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::json;

use super::error::{VerbError, say, say_wrapped, visible};
use super::exit_codes::USAGE;
use crate::core::journal::{Replay, replay as run};

/// The hint with the place of the journals.
const WHERE: &str = "session journals are in ~/.local/state/hopty/sessions/NAME/journal.jsonl";

/// The largest journal, in bytes: the largest file that a session writes.
const LONGEST: u64 = 1 << 30;

/// A person may pass a journal through a pipe.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)? as u64;
    if length > LONGEST {
        Err(std::io::Error::other(format!("the journal is longer than {LONGEST} bytes")))
    } else {
        Ok(text)
    }
}

pub(super) fn replay(path: &Path, as_json: bool) -> Result<u8, VerbError> {
    let text = read(path).map_err(|e| {
        VerbError::new(USAGE, format!("it cannot be read: {e}")).about(path.display()).hint(WHERE)
    })?;
    let found = run(&text).map_err(|e| {
        VerbError::new(USAGE, format!("it cannot be replayed: {e}")).about(path.display()).hint(WHERE)
    })?;
    match found {
        Replay::Same { events, actions, missing } if as_json => say(format_args!(
            "{}",
            json!({"same": true, "events": events, "actions": actions, "missing": missing})
        ))?,
        Replay::Same { events, actions, missing } => {
            let lacks = if missing == 0 {
                String::new()
            } else {
                format!("; {missing} lines are missing from the journal")
            };
            say_wrapped(format_args!("identical: {events} events, {actions} actions{lacks}"))?
        }
        Replay::Differs { seq, recorded, replayed } => {
            if as_json {
                say(format_args!(
                    "{}",
                    json!({"same": false, "seq": seq, "recorded": recorded, "replayed": replayed})
                ))?;
            } else {
                say_wrapped(format_args!("differs at line {seq}"))?;
                say_wrapped(format_args!("  recorded: {}", visible(&recorded)))?;
                say_wrapped(format_args!("  replayed: {}", visible(&replayed)))?;
            }
            return Ok(1);
        }
    }
    Ok(0)
}
