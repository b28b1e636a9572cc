//! `hopty handoff show --redactions`: what looks like a secret in the raw copies of a handoff, and is hidden wherever its
//! text is shown. The secrets themselves are not printed.

use std::io::Read;

use serde_json::{Value, json};

use super::{Place, store_failed};
use crate::cli::error::{Failed, say, visible};
use crate::core::claude::lines::LineSplitter;
use crate::core::handoff::redact::redact;
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::ids::HandoffId;

/// What stands in place of a secret.
const HIDDEN: &str = "[redacted]";
/// How many are listed at most.
const LISTED: usize = 1000;
/// How much is shown on each side of one, in characters.
const AROUND: usize = 40;

/// One place where something was hidden.
struct Hidden {
    file: &'static str,
    line: u64,
    around: String,
}

pub(super) fn redactions(place: &Place, id: &HandoffId, as_json: bool) -> Result<u8, Failed> {
    // Only of a handoff that is whole.
    place.store.show(id).map_err(store_failed)?;
    let mut found = Vec::new();
    for (file, copy) in place.store.raw_copies(id) {
        search(copy, file, &mut found);
    }
    if as_json {
        let list: Vec<Value> =
            found.iter().map(|hidden| json!({"file": hidden.file, "line": hidden.line, "around": hidden.around})).collect();
        say(format_args!("{}", json!(list)))?;
        return Ok(0);
    }
    for hidden in &found {
        say(format_args!("{}:{}: {}", hidden.file, hidden.line, visible(&hidden.around)))?;
    }
    if found.is_empty() {
        eprintln!("nothing was hidden in {id}");
    } else if found.len() >= LISTED {
        eprintln!("only the first {LISTED} are listed");
    }
    Ok(0)
}

/// Reads in pieces of any size, lines of at most a megabyte: a longer one is passed over.
fn search(mut from: impl Read, file: &'static str, found: &mut Vec<Hidden>) {
    let mut splitter = LineSplitter::with_cap(1 << 20);
    let mut buf = vec![0; 1 << 16];
    let mut line = 0;
    while let Ok(n @ 1..) = from.read(&mut buf) {
        splitter.feed(&buf[..n], |bytes| {
            line += 1;
            look(&String::from_utf8_lossy(bytes), file, line, found);
        });
        if found.len() >= LISTED {
            return;
        }
    }
    look(&String::from_utf8_lossy(splitter.tail()), file, line + 1, found);
}

fn look(text: &str, file: &'static str, line: u64, found: &mut Vec<Hidden>) {
    let redacted = redact(text);
    if redacted.matches(HIDDEN).count() == text.matches(HIDDEN).count() {
        return;
    }
    for (at, _) in redacted.match_indices(HIDDEN) {
        if found.len() >= LISTED {
            return;
        }
        let before: Vec<char> = redacted[..at].chars().rev().take(AROUND).collect();
        let before: String = before.into_iter().rev().collect();
        let after = cut_chars(&redacted[at + HIDDEN.len()..], AROUND);
        found.push(Hidden { file, line, around: safe_line(&format!("{before}{HIDDEN}{after}")) });
    }
}
