//! Layout `acm`: `handoff-state.json` (version 2.0) and `handoff.md` of source document 003, in
//! `.claude/claudikins-acm/` of the project.
//!
//! The JSON has exactly the keys and types of that document, for scripts that read it; the record's
//! `state.json` has more.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Material;
use crate::core::text::safe_text::safe_line;

/// The directory of both files, below the project.
pub const DIR: &str = ".claude/claudikins-acm";
pub const STATE: &str = "handoff-state.json";
pub const DOCUMENT: &str = "handoff.md";
/// How many lines of git's status are listed.
const GIT_LINES: usize = 5;
/// How many files the document lists.
const FILES: usize = 5;

/// The text of `handoff-state.json`.
pub fn state(of: &Material) -> String {
    let (state, context) = (&of.state, &of.state.context);
    let todos =
        context.active_todos.iter().map(|todo| json!({"content": todo.content, "status": todo.status}));
    let decisions = context.recent_decisions.iter().map(|d| json!(format!("{}: {}", d.question, d.answer)));
    let summary = context.progress_summary.lines().map(str::trim).filter(|line| !line.is_empty());
    let value = json!({
        "version": "2.0",
        "created_at": state.created_at,
        "project_dir": state.project_dir,
        "transcript_path": state.transcript_path,
        "context": {
            "current_objective": context.current_objective,
            "progress_summary": summary.collect::<Vec<_>>(),
            "active_todos": todos.collect::<Vec<Value>>(),
            "recent_decisions": decisions.collect::<Vec<Value>>(),
            "key_files_modified": context.key_files_modified,
            "next_steps": context.next_steps,
        },
        "git": state.git.as_ref().map_or_else(|| json!({}), |git| json!({
            "branch": git.branch.as_deref().unwrap_or_default(),
            "modified_files": git
                .modified_files
                .iter()
                .take(GIT_LINES)
                .map(|line| short(line))
                .collect::<Vec<_>>(),
        })),
    });
    serde_json::to_string_pretty(&value).map(|text| text + "\n").unwrap_or_default()
}

/// A line of `git status --short`, with a blank where the index or the work tree is unchanged.
fn short(line: &str) -> String {
    let (code, rest) = line.split_at_checked(2).unwrap_or_default();
    format!("{}{rest}", code.replace('.', " "))
}

/// The text of `handoff.md`.
pub fn document(of: &Material) -> String {
    let (state, context) = (&of.state, &of.state.context);
    let or = |text: String, other: &str| if text.is_empty() { format!("{other}\n") } else { text };
    let objective = safe_line(&context.current_objective);
    let todos =
        context.active_todos.iter().map(|todo| format!("- [{}] {}\n", todo.status, todo.content)).collect();
    let files = context.key_files_modified.iter().take(FILES).map(|file| format!("{file}\n")).collect();
    let branch = state.git.as_ref().and_then(|git| git.branch.as_deref()).map(safe_line);
    let mut text = format!("# Claudikins ACM Handoff\n\n*Generated: {}*\n", state.created_at);
    let sections = [
        (
            "Current Objective",
            or(if objective.is_empty() { objective } else { objective + "\n" }, "Not captured"),
        ),
        ("Active Todos", or(todos, "None")),
        ("Recent Files Modified", or(files, "None")),
        ("Git Status", format!("Branch: {}\n", branch.as_deref().unwrap_or("unknown"))),
    ];
    for (title, body) in sections {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {title}\n{body}");
    }
    let _ = write!(text, "\n---\n*Full state: {DIR}/{STATE}*\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::material;
    use super::*;
    use crate::core::handoff::document::tests::capture;

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn item_110_the_state_has_the_keys_and_types_of_version_two() {
        let value: Value = serde_json::from_str(&state(&material())).unwrap();
        assert_eq!(keys(&value).len(), 6);
        for key in ["version", "created_at", "project_dir", "transcript_path", "context", "git"] {
            assert!(!value[key].is_null(), "{key}");
        }
        assert_eq!(value["version"], "2.0");
        let context = &value["context"];
        assert_eq!(keys(context).len(), 6);
        for key in
            ["progress_summary", "active_todos", "recent_decisions", "key_files_modified", "next_steps"]
        {
            assert!(context[key].is_array(), "{key}");
        }
        assert!(context["current_objective"].is_string());
        assert_eq!(
            context["active_todos"],
            json!([{"content": "railing", "status": "in_progress"}, {"content": "paint",
                "status": "pending"}])
        );
        assert_eq!(context["recent_decisions"], json!(["Which stone?: granite"]));
        assert_eq!(context["key_files_modified"].as_array().unwrap().len(), 10);
        assert_eq!(value["git"]["branch"], "main");
        let files = value["git"]["modified_files"].as_array().unwrap();
        assert_eq!(files.len(), 5, "git status: its first five lines");
        assert!(
            files.iter().all(|line| line.as_str().is_some_and(|line| !line[..2].contains('.'))),
            "{files:?}"
        );
        assert_eq!([".M a", "M. a b", "?? c", "R. d"].map(short), [" M a", "M  a b", "?? c", "R  d"]);
        assert!(!state(&material()).contains("hunter22"), "secrets are hidden");
    }

    #[test]
    fn item_112_the_document_has_the_sections_and_names_the_state() {
        let text = document(&material());
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(
            headings,
            [
                "# Claudikins ACM Handoff", "## Current Objective", "## Active Todos",
                "## Recent Files Modified", "## Git Status"
            ]
        );
        assert!(text.contains("\n## Active Todos\n- [in_progress] railing\n- [pending] paint\n"), "{text}");
        assert!(text.contains("\n/home/u/proj/f5\n\n## Git Status\nBranch: main\n"), "five files: {text}");
        assert!(text.ends_with("\n---\n*Full state: .claude/claudikins-acm/handoff-state.json*\n"), "{text}");
        let empty = document(&Material::of(&capture("")));
        assert!(
            empty.contains("## Current Objective\nNot captured\n") && empty.contains("Branch: unknown\n"),
            "{empty}"
        );
        assert!(
            empty.contains("## Active Todos\nNone\n") && empty.contains("## Recent Files Modified\nNone\n"),
            "{empty}"
        );
    }
}
