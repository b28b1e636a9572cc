//! The words for what `hopty wait` waits for, and the one that was meant where a word is wrong.

use strsim::osa_distance;

use super::error::Failed;

/// The word before a condition that must not hold.
pub(super) const NOT: &str = "not";
/// The conditions; those with `=` need a value.
pub(super) const WORDS: [&str; 7] = ["idle", "busy", "blocked", "exit", "text=", "quiet=", NOT];
/// The same for people.
pub(super) const KNOWN: &str = "conditions: idle, busy, blocked, exit, text=REGEX, quiet=TIME, each also with `not` before it; give the session's name first if several are running";
/// What other tools and hopty's own pages call a condition.
const OTHER_WORDS: [(&str, &str); 16] = [
    ("ready", "idle"),
    ("done", "idle"),
    ("finished", "idle"),
    ("prompt", "idle"),
    ("working", "busy"),
    ("running", "busy"),
    ("active", "busy"),
    ("waiting", "blocked"),
    ("permission", "blocked"),
    ("question", "blocked"),
    ("ended", "exit"),
    ("end", "exit"),
    ("exited", "exit"),
    ("stopped", "exit"),
    ("regex", "text="),
    ("silent", "quiet="),
];
/// Edits between a word and the one that may be meant.
const SLIP: usize = 2;

/// That a word is no condition, with the nearest that is one.
pub(super) fn unknown(word: &str) -> Failed {
    let failed = Failed::new(2, "unknown condition").about(word);
    match nearest(word) {
        Some(meant) => failed.hint(format!("did you mean `{meant}`?")),
        None => failed.hint(KNOWN),
    }
}

/// The condition that a word was meant for, ready to be typed.
fn nearest(word: &str) -> Option<String> {
    let negated = ["not-", "not=", "not:", "no-", "!"].iter().find_map(|sign| word.strip_prefix(sign));
    if let Some(rest) = negated {
        let condition = if WORDS.contains(&rest) { rest.to_owned() } else { nearest(rest)? };
        return Some(format!("{NOT} {condition}"));
    }
    let (key, value) = word.split_once(['=', ':']).unwrap_or((word, ""));
    let lower = key.to_lowercase();
    let known = OTHER_WORDS.iter().find(|(other, _)| *other == lower).map(|(_, known)| *known);
    let near = || {
        // Two edits make any word of three letters.
        let most = if lower.len() < 4 { 1 } else { SLIP };
        let names = WORDS.iter().map(|name| (osa_distance(name.trim_end_matches('='), &lower), *name));
        names.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
    };
    let name = known.or_else(near)?;
    Some(match (name, value) {
        ("text=", "") => "text=REGEX".to_owned(),
        ("quiet=", "") => "quiet=500ms".to_owned(),
        ("text=" | "quiet=", value) => format!("{name}{value}"),
        (name, _) => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_that_was_meant_is_named() {
        for (word, meant) in [
            ("bussy", "busy"),
            ("idel", "idle"),
            ("Idle", "idle"),
            ("block", "blocked"),
            ("exits", "exit"),
            ("done", "idle"),
            ("ended", "exit"),
            ("text", "text=REGEX"),
            ("txt=ok", "text=ok"),
            ("text:a=b", "text=a=b"),
            ("quite=2s", "quiet=2s"),
            ("quiet", "quiet=500ms"),
            ("quiet:1s", "quiet=1s"),
            ("!busy", "not busy"),
            ("not-bussy", "not busy"),
        ] {
            assert_eq!(nearest(word).as_deref(), Some(meant), "{word}");
        }
        for word in ["tired", "", "xyz", "!", "=", "rocket", "a"] {
            assert_eq!(nearest(word), None, "{word}");
        }
    }

    #[test]
    fn every_other_word_is_for_a_condition() {
        assert!(OTHER_WORDS.iter().all(|(other, known)| WORDS.contains(known) && !WORDS.contains(other)));
    }
}
