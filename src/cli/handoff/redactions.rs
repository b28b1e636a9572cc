//! `hopty handoff show --redactions`: the places where a secret was replaced in a handoff's document, or
//! would be in its raw copies. The secrets are not printed.

use std::io::Read;

use serde_json::{Value, json};

use super::handoff_place::HandoffPlace;
use super::handoff_store_error::store_failed;
use crate::cli::error::{VerbError, note, say, visible};
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::ids::HandoffId;
use crate::core::redact::redact;
use crate::core::text::safe_text::safe_line;
use crate::sys::safe_file;

/// The most places that are listed.
const LISTED: usize = 1000;
/// The text on each side of a place, in characters.
const AROUND: usize = 40;
/// The longest line or file that is searched, in bytes.
const LOOKED_AT: usize = 8 << 20;

struct HiddenPlace {
    file: &'static str,
    line: usize,
    kind: &'static str,
    around: String,
}

pub(super) fn redactions(place: &HandoffPlace, id: &HandoffId, as_json: bool) -> Result<u8, VerbError> {
    let loaded = place.store.show(id).map_err(store_failed)?;
    let mut all = Vec::new();
    look(&loaded.text, "handoff.md", 0, &mut all);
    for (file, copy) in place.store.records().raw_copies(id) {
        if file.ends_with(".gz") { each_line(copy, file, &mut all) } else { whole(copy, file, &mut all) }
    }
    if as_json {
        let list =
            all.iter().map(|h| json!({"file": h.file, "line": h.line, "kind": h.kind, "around": h.around}));
        say(format_args!("{}", Value::Array(list.collect())))?;
        return Ok(0);
    }
    for hidden in &all {
        say(format_args!("{}:{}: {}: {}", hidden.file, hidden.line, hidden.kind, visible(&hidden.around)))?;
    }
    if all.is_empty() {
        note(format_args!("{id} contains no replaced secrets"));
    } else if all.len() >= LISTED {
        note(format_args!("this lists only the first {LISTED}"));
    }
    Ok(0)
}

/// Searches a transcript line by line.
fn each_line(mut from: impl Read, file: &'static str, all: &mut Vec<HiddenPlace>) {
    let mut splitter = LineSplitter::with_cap(LOOKED_AT);
    let mut buf = vec![0; 1 << 16];
    let mut above = 0;
    while let Ok(n @ 1..) = from.read(&mut buf) {
        splitter.feed(&buf[..n], |bytes| {
            look(&String::from_utf8_lossy(bytes), file, above, all);
            above += 1;
        });
        if all.len() >= LISTED {
            return;
        }
    }
    look(&String::from_utf8_lossy(splitter.tail()), file, above, all);
}

/// Searches a text in which a secret may span lines.
fn whole(from: impl Read, file: &'static str, all: &mut Vec<HiddenPlace>) {
    if let Ok(bytes) = safe_file::first_bytes(from, LOOKED_AT as u64) {
        look(&String::from_utf8_lossy(&bytes), file, 0, all);
    }
}

/// Searches `text`, which follows line `above` of the file.
fn look(text: &str, file: &'static str, above: usize, all: &mut Vec<HiddenPlace>) {
    let places = crate::core::redact::redactions(text);
    if places.is_empty() {
        return;
    }
    let redacted = redact(text);
    let lines: Vec<&str> = redacted.split('\n').collect();
    for place in places.into_iter().take(LISTED.saturating_sub(all.len())) {
        let (before, after) = lines
            .get(place.line - 1)
            .and_then(|line| line.split_at_checked(place.column - 1))
            .unwrap_or_default();
        let before: String =
            before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
        let after: String = after.chars().take(2 * AROUND).collect();
        all.push(HiddenPlace {
            file,
            line: above + place.line,
            kind: place.kind.word(),
            around: safe_line(&(before + &after)),
        });
    }
}
