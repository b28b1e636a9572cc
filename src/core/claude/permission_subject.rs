//! The subject of a permission dialog: the tool, and the file or command that it will be used on.

use serde_json::Value;

/// The fields of a tool's input that say what it is used on, the most informative first.
const SUBJECT_FIELDS: [&str; 9] =
    ["command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description", "skill"];

/// The fields among them that are paths.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// The subject in the payload of a PermissionRequest hook, such as `Bash: touch x1`, or the text of Claude's
/// question. The text is complete and may contain secrets, but a path below Claude's working directory is
/// relative to it.
pub fn subject(payload: &Value) -> Option<String> {
    let tool = payload["tool_name"].as_str().filter(|tool| !tool.is_empty())?;
    let input = &payload["tool_input"];
    if let Some(question) = input["questions"][0]["question"].as_str() {
        return Some(question.to_owned());
    }
    let words = SUBJECT_FIELDS.iter().find_map(|key| {
        let words = input[*key].as_str()?;
        Some(if PATHS.contains(key) { below(words, payload["cwd"].as_str()) } else { words })
    });
    let words = words.filter(|words| !words.trim().is_empty());
    Some(words.map_or_else(|| tool.to_owned(), |words| format!("{tool}: {words}")))
}

/// The path relative to `dir`, if it is below.
fn below<'a>(path: &'a str, dir: Option<&str>) -> &'a str {
    let dir = dir.filter(|dir| !dir.is_empty());
    let rest = dir.and_then(|dir| path.strip_prefix(dir)?.strip_prefix('/'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
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
        for (cwd, path, words) in [
            ("/home/u/rocket", "/home/u/rocket/src/a.rs", "Edit: src/a.rs"),
            ("/home/u/rocket", "/home/u/rockets/a.rs", "Edit: /home/u/rockets/a.rs"),
            ("/home/u/rocket", "/etc/hosts", "Edit: /etc/hosts"),
            ("/", "/etc/hosts", "Edit: /etc/hosts"),
            ("", "/etc/hosts", "Edit: /etc/hosts"),
        ] {
            let payload = json!({"tool_name": "Edit", "tool_input": {"file_path": path}, "cwd": cwd});
            assert_eq!(subject(&payload).as_deref(), Some(words), "{path} from {cwd}");
        }
        assert_eq!(subject(&json!({"tool_input": {"command": "x"}})), None);
        assert_eq!(subject(&json!(["tool_name"])), None);
    }
}
