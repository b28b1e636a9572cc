//! `hopty handoff show --redactions`: what was hidden in a handoff's document, and what looks like a secret
//! in its raw copies and is hidden wherever their text is shown. The secrets themselves are not printed.

use std::io::Read;

use serde_json::{Value, json};

use super::{HandoffPlace, store_failed};
use crate::cli::error::{Failed, note, say, visible};
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::ids::HandoffId;
use crate::core::redact::redact;
use crate::core::text::safe_text::safe_line;

/// How many are listed at most.
const LISTED: usize = 1000;
/// How much is shown on each side of one, in characters.
const AROUND: usize = 40;
/// The longest line or file that is looked at, in bytes; a longer one is passed over.
const LOOKED_AT: usize = 8 << 20;

/// One place where something was hidden.
struct HiddenPlace {
    file: &'static str,
    line: usize,
    kind: &'static str,
    around: String,
}

pub(super) fn redactions(place: &HandoffPlace, id: &HandoffId, as_json: bool) -> Result<u8, Failed> {
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

/// A transcript, whose lines are records of their own.
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

/// A text in which a secret can go over several lines.
fn whole(from: impl Read, file: &'static str, all: &mut Vec<HiddenPlace>) {
    let mut bytes = Vec::new();
    if from.take(LOOKED_AT as u64).read_to_end(&mut bytes).is_ok() {
        look(&String::from_utf8_lossy(&bytes), file, 0, all);
    }
}

/// What is hidden in `text`, which begins below the line `above`.
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
