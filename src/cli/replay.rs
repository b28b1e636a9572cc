//! `hopty replay JOURNAL`.

use std::path::Path;

use serde_json::json;

use super::error::{Failed, visible};
use crate::core::journal::{Replay, replay as run};

pub(super) fn replay(path: &Path, as_json: bool) -> Result<u8, Failed> {
    let text = std::fs::read_to_string(path).map_err(|e| Failed::new(2, format!("{} cannot be read: {e}", path.display())))?;
    let found = run(&text).map_err(|e| {
        Failed::new(2, format!("{} cannot be replayed: {e}", path.display()))
            .hint("a session's journal is journal.jsonl in its directory")
    })?;
    match found {
        Replay::Same { events, actions } if as_json => println!("{}", json!({"same": true, "events": events, "actions": actions})),
        Replay::Same { events, actions } => println!("the same: {events} events gave the same {actions} actions"),
        Replay::Differs { seq, recorded, replayed } => {
            if as_json {
                println!("{}", json!({"same": false, "seq": seq, "recorded": recorded, "replayed": replayed}));
            } else {
                println!("differs at line {seq}");
                println!("  recorded: {}", visible(&recorded));
                println!("  replayed: {}", visible(&replayed));
            }
            return Ok(1);
        }
    }
    Ok(0)
}
