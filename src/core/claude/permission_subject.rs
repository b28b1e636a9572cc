//! What a dialog of Claude's asks for: the tool, and what it is to be used on.

use serde_json::Value;

/// The fields of a tool's input that say what it is used on, the most telling first.
const TELLING: [&str; 9] =
    ["command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description", "skill"];

/// `Bash: touch x1`, from the payload of a PermissionRequest hook; of a question of Claude's its words. The
/// text is as it came: neither shortened nor without its secrets.
#[must_use]
pub fn subject(payload: &Value) -> Option<String> {
    let tool = payload["tool_name"].as_str().filter(|tool| !tool.is_empty())?;
    let input = &payload["tool_input"];
    if let Some(question) = input["questions"][0]["question"].as_str() {
        return Some(question.to_owned());
    }
    let words = TELLING.iter().find_map(|key| input[*key].as_str()).filter(|words| !words.trim().is_empty());
    Some(words.map_or_else(|| tool.to_owned(), |words| format!("{tool}: {words}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tool_and_what_it_is_used_on() {
        for (tool, input, words) in [
            ("Bash", json!({"description": "Make a file", "command": "touch x1"}), "Bash: touch x1"),
            ("Edit", json!({"file_path": "/p/a.rs", "old_string": "x"}), "Edit: /p/a.rs"),
            ("WebFetch", json!({"url": "http://localhost", "prompt": "What?"}), "WebFetch: http://localhost"),
            ("mcp__files__list", json!({"depth": 3}), "mcp__files__list"),
            ("AskUserQuestion", json!({"questions": [{"question": "Which one?"}]}), "Which one?"),
            ("Bash", json!({"command": " "}), "Bash"),
            ("Bash", json!([7]), "Bash"),
        ] {
            let found = subject(&json!({"tool_name": tool, "tool_input": input}));
            assert_eq!(found.as_deref(), Some(words));
        }
        assert_eq!(subject(&json!({"tool_input": {"command": "x"}})), None);
        assert_eq!(subject(&json!(["tool_name"])), None);
    }
}
