//! Layout `pid`: `{channel}-{pid}.md` of source document 001 in the directory of handoffs.
//!
//! The pid is that of the Claude that ends, because some scripts load only the file of a dead process. The
//! file is deleted when the handoff is consumed, not when it is loaded; the record keeps the handoff.

use std::fmt::Write;

use super::Material;
use crate::core::ids::{Channel, HandoffId};
use crate::core::text::safe_text::{cut_chars, fenced, safe_line};

/// The longest line of a field, in characters.
const FIELD: usize = 500;

/// Whether a file's name is that of such a file of the channel.
pub fn is_name(name: &str, channel: &Channel) -> bool {
    let pid =
        name.strip_prefix(channel.as_str()).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".md"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
}

/// The last line, which identifies the handoff of the file.
pub fn mark(id: &HandoffId) -> String {
    format!("<!-- HANDOFF-ID: {id} -->\n")
}

pub fn render(of: &Material) -> String {
    let (state, context) = (&of.state, &of.state.context);
    let field = |text: &str| cut_chars(&safe_line(text), FIELD);
    let progress = match (of.phases.total, state.files_count) {
        (0, 0) => "No todos and no files".to_owned(),
        (0, files) => format!("{files} files written"),
        (total, files) => format!("{} of {total} todos done, {files} files written", of.phases.done),
    };
    let file = context.key_files_modified.first().map_or_else(|| "None".to_owned(), |file| field(file));
    let mut text = format!(
        "# Handoff State\n\n**Task:** {}\n**Progress:** {progress}\n**Current File:** {file}\n**Next \
         Steps:** {}\n\n## Context\n",
        if context.current_objective.is_empty() {
            "Not captured".to_owned()
        } else {
            field(&context.current_objective)
        },
        field(&context.next_steps.join("; ")),
    );
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {line}");
    };
    line(format!("Directory: {}", field(&state.project_dir)));
    if let Some(git) = state.git.as_ref().filter(|git| !git.unknown) {
        line(format!(
            "Branch: {}, {} changed",
            git.branch.as_deref().map_or_else(|| "(detached)".to_owned(), field),
            git.modified_files.len()
        ));
    }
    for decision in &context.recent_decisions {
        line(format!("Decided: {}: {}", field(&decision.question), field(&decision.answer)));
    }
    for error in state.errors.iter().take(3) {
        line(format!("Failed: {}", field(error)));
    }
    if !context.progress_summary.trim().is_empty() {
        let _ = write!(text, "\n{}", fenced(context.progress_summary.trim()));
    }
    text.push_str("\n## Commands in Progress\n");
    match state.unfinished.as_slice() {
        [] => text.push_str("None\n"),
        some => some.iter().for_each(|tool| {
            let _ = writeln!(text, "- {}", field(tool));
        }),
    }
    let _ = write!(text, "\n{}", mark(&state.id));
    text
}

#[cfg(test)]
mod tests {
    use super::super::material;
    use super::*;
    use crate::core::handoff::document::has_handoff_id;

    #[test]
    fn item_055_the_file_is_the_template_filled_in() {
        let text = render(&material());
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| {
                if line.starts_with('#') {
                    Some(line)
                } else {
                    line.strip_prefix("**")?.split_once(":** ").map(|f| f.0)
                }
            })
            .collect();
        assert_eq!(
            names,
            [
                "# Handoff State", "Task", "Progress", "Current File", "Next Steps", "## Context",
                "## Commands in Progress"
            ]
        );
        assert!(
            text.contains(
                "**Progress:** 3 of 5 todos done, 12 files written\n**Current File:** /home/u/proj/f1\n"
            ),
            "{text}"
        );
        assert!(text.contains("\n## Commands in Progress\n- Bash: make pier\n"), "{text}");
        assert!(!text.contains("hunter22") && text.ends_with(&mark(&material().state.id)), "{text}");
        assert!(has_handoff_id(&text) && !has_handoff_id("# Handoff State\n\n**Task:** the pier\n"));
    }

    #[test]
    fn names() {
        let channel: Channel = "web".parse().unwrap();
        assert_eq!(channel.file_name(Some(77)), "web-77.md");
        assert!(is_name("web-77.md", &channel));
        for other in ["web-CURRENT.md", "web-.md", "web2-77.md", "web-77.md.bak", "web-7a.md", "web-web-1.md"]
        {
            assert!(!is_name(other, &channel), "{other}");
        }
    }
}
