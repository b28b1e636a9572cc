//! The messages of source documents 001 and 002 between two sessions, for people who configured them.
//!
//! hopty itself is their orchestrator: the next session begins without anybody typing.

use super::layouts::{Material, checkpoint};
use crate::core::handoff::checkpoint::Phases;
use crate::core::ids::HandoffId;
use crate::core::text::safe_text::{cut_chars, safe_line, thousands};

/// The width of a rule, in columns.
const RULE: usize = 62;
/// How much of the task is printed, in characters.
const TASK: usize = 50;

/// `=== Auto-restarting (#N) ===`, the banner of source document 001.
pub fn banner(restart: u32) -> String {
    format!("\n=== Auto-restarting (#{restart}) ===\n\n")
}

/// The notice when level `warn` is crossed.
pub fn approaching(percent: u64) -> String {
    format!("Token usage: {percent}% - approaching limit")
}

/// Everything from the limit to the next session, as lines.
pub fn handing_over(of: &Material) -> String {
    let rule = "═".repeat(RULE);
    let checkpoint = of.checkpoint();
    let (tokens, window) = (of.state.tokens_used.unwrap_or(0), of.state.tokens_max.unwrap_or(0));
    let percent = percent(tokens, window);
    let reached = match percent {
        Some(percent) if of.state.kind == "auto" => format!("Token limit reached ({percent}%)"),
        _ => "Handoff requested".to_owned(),
    };
    let usage = match percent {
        Some(percent) => format!("{} / {} ({percent}%)", thousands(tokens), thousands(window)),
        None => "not known".to_owned(),
    };
    let complete = match of.phases {
        Phases { total: 0, .. } => "no list of phases".to_owned(),
        Phases { done, total } => format!("{done}/{total} phases complete"),
    };
    let steps = format!(
        "  ! {reached}\n  → Completing current operation...\n  → Creating checkpoint...\n  → Signaling \
         handoff...\n"
    );
    let handoff = format!(
        "{rule}\n SESSION HANDOFF\n{rule}\n\n Progress: {complete}\n Checkpoint: {checkpoint}\n\n Token \
         usage: {usage}\n\n Resume command:\n hopty --handoff={id}\n (only where the next session does not \
         begin by itself)\n\n Or manually:\n hopty handoff show {id}\n\n{rule}\n",
        id = of.state.id
    );
    format!(
        "{steps}\n{handoff}\nHandoff complete. Orchestrator will start new session.\n\n\
         Handoff detected. Starting new session...\nCheckpoint: {checkpoint}\n\n"
    )
}

/// The message when the next session begins.
pub fn resuming(id: &HandoffId, task: &str, phases: Phases) -> String {
    let rule = "═".repeat(RULE);
    let task = cut_chars(&safe_line(task), TASK);
    let (progress, next) = match phases {
        Phases { total: 0, .. } => ("no list of phases".to_owned(), "Continuing...".to_owned()),
        Phases { done, total } if done >= total => {
            (format!("{done}/{total} phases"), "Continuing...".to_owned())
        }
        Phases { done, total } => {
            (format!("{done}/{total} phases"), format!("Continuing with Phase {}...", done + 1))
        }
    };
    format!(
        "{rule}\n RESUMING FROM HANDOFF\n{rule}\n\n Checkpoint: {}\n Task: {task}\n\n Progress: \
         {progress}\n\n {next}\n\n{rule}\n",
        checkpoint(id)
    )
}

fn percent(tokens: u64, window: u64) -> Option<u64> {
    let (tokens, window) = (u128::from(tokens), u128::from(window));
    (window > 0).then(|| u64::try_from((tokens * 200 + window) / (window * 2)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::layouts::material;
    use super::*;
    use crate::core::handoff::document::tests::capture;

    #[test]
    fn the_banner_is_that_of_the_source_document() {
        assert_eq!(banner(3), "\n=== Auto-restarting (#3) ===\n\n");
    }

    #[test]
    fn item_095_the_box_says_progress_checkpoint_and_usage() {
        let of = material();
        let text = handing_over(&of);
        let rule = "═".repeat(62);
        assert!(
            text.contains(&format!("{rule}\n SESSION HANDOFF\n{rule}\n\n Progress: 3/5 phases complete\n")),
            "{text}"
        );
        assert!(
            text.contains(&format!(
                " Checkpoint: {}\n\n Token usage: 82,000 / 100,000 (82%)\n",
                of.checkpoint()
            )),
            "{text}"
        );
        let commands = format!(
            " Resume command:\n hopty --handoff={id}\n (only where the next session does not begin by \
             itself)\n\n Or manually:\n hopty handoff show {id}\n",
            id = of.state.id
        );
        assert!(text.contains(&commands), "commands that there are: {text}");
        let empty = handing_over(&Material::of(&capture("")));
        assert!(
            empty.contains(" Progress: no list of phases\n") && empty.contains(" Token usage: not known\n"),
            "{empty}"
        );
    }

    #[test]
    fn item_096_the_result_message_follows_the_box() {
        let text = handing_over(&material());
        let (above, below) =
            text.split_once("Handoff complete. Orchestrator will start new session.\n").unwrap();
        assert!(above.trim_end().ends_with('═'), "{above}");
        assert!(below.contains("Handoff detected. Starting new session...\nCheckpoint: chk-"), "{below}");
    }

    #[test]
    fn item_099_the_lines_of_a_limit_are_said_in_order() {
        assert_eq!(approaching(72), "Token usage: 72% - approaching limit");
        let text = handing_over(&material());
        let lines = [
            "! Token limit reached (82%)",
            "→ Completing current operation...",
            "→ Creating checkpoint...",
            "→ Signaling handoff...",
        ];
        let found: Vec<&str> = text.lines().map(str::trim).take(4).collect();
        assert_eq!(found, lines);
    }

    #[test]
    fn the_next_session_says_phase_and_task() {
        let of = material();
        let resuming = |of: &Material| resuming(&of.state.id, &of.state.context.current_objective, of.phases);
        let text = resuming(&of);
        assert!(
            text.contains(" RESUMING FROM HANDOFF\n") && text.contains(" Continuing with Phase 4...\n"),
            "{text}"
        );
        assert!(text.contains(" Progress: 3/5 phases\n") && !text.contains("hunter22"), "{text}");
        let mut long = capture(&"word ".repeat(40));
        long.tasks.list.clear();
        let text = resuming(&Material::of(&long));
        let task = text.lines().find_map(|line| line.strip_prefix(" Task: ")).unwrap();
        assert_eq!((task.chars().count(), task.ends_with("...")), (53, true), "the first 50 characters");
        assert!(text.contains(" Continuing...\n"), "{text}");
    }

    #[test]
    fn figures() {
        assert_eq!(
            [0, 999, 1000, 82_000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "82,000", "1,234,567"]
        );
        assert_eq!(
            (percent(82_499, 100_000), percent(82_500, 100_000), percent(1, 0)),
            (Some(82), Some(83), None)
        );
    }
}
