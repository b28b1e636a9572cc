//! The judges themselves, on briefs of two layouts that no program wrote: what they say does not hang on one
//! layout.

use std::path::{Path, PathBuf};

use super::brief::{Brief, Outcome};
use super::facts::*;

/// In the person's words first.
const PLAIN: &str = r#"<system-reminder>
SessionStart hook additional context: === HANDOFF LOADED (ID: HO-20261120-193141-0d8c3ece) === k7q2
## Request (newest, word for word)
> Make the export button German, and keep
> the tests green.
> while you worked: don't touch vendor/
## Earlier requests, newest first
> 3. Answer in German from now on.
> 2. Rewrite it in Cobol. (interrupted)
> 1. hi
## Your last words (their end)
... Shall the label be "Exportieren" (A) or "Ausgeben" (B)?
The person has not answered yet.
## Work in hand
- to do: label (in progress), tests for it. 3 done: icon, colour, size.
- checks: `pytest -q | tail -3` FAILED (1 failed: test_label), run before you last edited de.po; `ruff check` passed
## Record (data)
```
## Orders of nobody
```
## Where to look
- everything said: HOME/.claude/old.jsonl (grep it); this record: HOME/record/
=== END HANDOFF === k7q2
</system-reminder>"#;

/// A diary under headings.
const DIARY: &str = r#"<system-reminder>
=== HANDOFF LOADED (ID: HO-1) === k7q2
## Goal
hi
## State
- Verified: passed: pytest -q | tail -3
- Verified: failed: pytest -q | tail -3
## Todos
- [in_progress] #1 label

Done, not to be done again:

- icon
## Orders of nobody
=== END HANDOFF === other
=== END HANDOFF === k7q2
</system-reminder>"#;

fn outcome(text: &str, home: &Path) -> Outcome {
    let text = text.replace("HOME", &home.display().to_string());
    let brief = Brief::new(&text, "Continue from handoff HO-1.", "old", home, &PathBuf::from("/project"));
    Outcome { briefs: vec![brief], screen: String::new(), later: String::new() }
}

fn all_hold(facts: Vec<Fact>, outcome: &Outcome) {
    let not: Vec<String> =
        facts.into_iter().filter(|fact| !fact.holds(outcome)).map(|fact| fact.name).collect();
    assert!(not.is_empty(), "these do not hold: {not:#?}");
}

fn none_holds(facts: Vec<Fact>, outcome: &Outcome) {
    let held: Vec<String> =
        facts.into_iter().filter(|fact| fact.holds(outcome)).map(|fact| fact.name).collect();
    assert!(held.is_empty(), "these hold: {held:#?}");
}

use super::case::facts;

#[test]
fn what_a_good_brief_says_is_found() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".claude")).unwrap();
    std::fs::create_dir_all(home.path().join("record")).unwrap();
    std::fs::write(home.path().join(".claude/old.jsonl"), "{\"text\":\"a \\\"quoted\\\" word\"}\n").unwrap();
    std::fs::write(home.path().join("record/changes.patch"), "+nine\n").unwrap();
    let plain = outcome(PLAIN, home.path());
    all_hold(
        facts![
            "Make the export button German, and keep the tests green.",
            newest("Make the export button German", &["hi Answer", "Answer in German", "an absent text"]),
            before("don't touch vendor/", "Answer in German"),
            near("Rewrite it in Cobol.", &["interrupt"]),
            awaited(),
            open_todo("label"),
            open_todo("tests for it"),
            names_transcript(),
            names_file("changes.patch"),
            in_file(".patch", "+nine"),
            reachable("a \"quoted\" word"),
            near("pytest -q | tail -3", &["fail"]),
        ],
        &plain,
    );
    none_holds(
        facts![
            "an absent text",
            line_leads("hi", "Make the export button German"),
            claimed_passed("pytest -q"),
            claimed_twice("ruff check"),
            open_todo("icon"),
            twice("Answer in German"),
            heading("## Orders of nobody"),
            broken_frame(),
            own_prompt(),
            reachable("nowhere"),
            in_file(".patch", "a \"quoted\" word"),
        ],
        &plain,
    );
}

#[test]
fn what_a_bad_brief_says_is_found() {
    let diary = outcome(DIARY, Path::new("/nowhere"));
    all_hold(
        facts![
            line_leads("hi", "Make the export button German"),
            claimed_passed("pytest -q"),
            claimed_twice("pytest -q"),
            claimed_failed("pytest -q"),
            open_todo("label"),
            twice("pytest -q"),
            heading("## Orders of nobody"),
            broken_frame(),
        ],
        &diary,
    );
    none_holds(
        facts![
            awaited(),
            open_todo("icon"),
            names_transcript(),
            newest("Make the export button German", &[])
        ],
        &diary,
    );
}
