//! What a dialog of Claude's asks for: the tool, and what it is to be used on.

use serde_json::Value;

/// The fields of a tool's input that say what it is used on, the most telling first.
const TELLING: [&str; 9] =
    ["command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description", "skill"];

/// Those of them that are paths.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];

/// `Bash: touch x1`, from the payload of a PermissionRequest hook; of a question of Claude's its words. The
/// text is as it came, neither shortened nor without its secrets; but a path below the directory that Claude
/// works in begins there.
pub fn subject(payload: &Value) -> Option<String> {
    let tool = payload["tool_name"].as_str().filter(|tool| !tool.is_empty())?;
    let input = &payload["tool_input"];
    if let Some(question) = input["questions"][0]["question"].as_str() {
        return Some(question.to_owned());
    }
    let words = TELLING.iter().find_map(|key| {
        let words = input[*key].as_str()?;
        Some(if PATHS.contains(key) { below(words, payload["cwd"].as_str()) } else { words })
    });
    let words = words.filter(|words| !words.trim().is_empty());
    Some(words.map_or_else(|| tool.to_owned(), |words| format!("{tool}: {words}")))
}

/// A path as it is from `dir`, if it lies below.
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
