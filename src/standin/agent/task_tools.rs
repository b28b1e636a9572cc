//! The task list tools. The list is a directory with one file per task, shared by all conversations that
//! name it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::agent_files::read_json;
use super::tools::ToolRun;

/// The most tasks that are read.
const MAX: u64 = 1000;

pub(super) fn create(dir: &Path, subject: &str, description: &str) -> ToolRun {
    let id = (1..MAX).find(|n| !file(dir, &n.to_string()).exists()).unwrap_or(MAX).to_string();
    let task = json!({"id": id, "subject": subject, "description": description, "status": "pending",
        "blocks": [],
        "blockedBy": []});
    if let Err(e) = fs::create_dir_all(dir).and_then(|()| save(dir, &id, &task)) {
        return ToolRun::failed(e.to_string());
    }
    ToolRun {
        content: format!("Task #{id} created successfully: {subject}"),
        result: json!({"task": {"id": id, "subject": subject, "description": description}}),
        failed: false,
    }
}

pub(super) fn update(dir: &Path, id: &str, input: &Value) -> ToolRun {
    let mut task =
        if id.bytes().all(|b| b.is_ascii_digit()) { read_json(&file(dir, id)) } else { Value::Null };
    if !task.is_object() {
        return ToolRun::failed("Task not found");
    }
    let from = task["status"].clone();
    let mut fields = Vec::new();
    for field in ["subject", "description", "status", "activeForm"] {
        if let Some(value) = input.get(field).filter(|v| v.is_string()) {
            task[field] = value.clone();
            fields.push(field);
        }
    }
    if let Err(e) = save(dir, id, &task) {
        return ToolRun::failed(e.to_string());
    }
    let mut result = json!({"success": true, "taskId": id, "updatedFields": fields});
    if task["status"] != from {
        result["statusChange"] = json!({"from": from, "to": task["status"]});
    }
    ToolRun { content: format!("Updated task #{id} {}", fields.join(", ")), result, failed: false }
}

pub(super) fn list(dir: &Path) -> ToolRun {
    let tasks: Vec<Value> =
        (1..MAX).map(|n| read_json(&file(dir, &n.to_string()))).take_while(Value::is_object).collect();
    let text = |task: &Value, key: &str| task[key].as_str().unwrap_or("").to_owned();
    let lines: Vec<String> = tasks
        .iter()
        .map(|t| format!("#{} [{}] {}", text(t, "id"), text(t, "status"), text(t, "subject")))
        .collect();
    let short = |t: &Value| {
        json!({"id": t["id"], "subject": t["subject"], "status": t["status"],
        "blockedBy": t["blockedBy"]})
    };
    ToolRun {
        content: if lines.is_empty() { "No tasks found".into() } else { lines.join("\n") },
        result: json!({"tasks": tasks.iter().map(short).collect::<Vec<_>>()}),
        failed: false,
    }
}

fn file(dir: &Path, id: &str) -> std::path::PathBuf {
    dir.join(format!("{id}.json"))
}

fn save(dir: &Path, id: &str, task: &Value) -> std::io::Result<()> {
    fs::write(file(dir, id), format!("{task:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_made_changed_and_listed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("list");
        assert_eq!(list(&dir).content, "No tasks found");
        assert_eq!(create(&dir, "T1", "d").content, "Task #1 created successfully: T1");
        create(&dir, "T2", "d");
        let done = update(&dir, "1", &json!({"status": "in_progress"}));
        assert_eq!(done.content, "Updated task #1 status");
        assert_eq!(done.result["statusChange"], json!({"from": "pending", "to": "in_progress"}));
        assert_eq!(list(&dir).content, "#1 [in_progress] T1\n#2 [pending] T2");
        assert!(update(&dir, "../x", &json!({})).failed && update(&dir, "9", &json!({})).failed);
    }
}
