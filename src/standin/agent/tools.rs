//! The tools of the stand-in agent: Bash, Read, Write, Edit, and the task list.
//!
//! Texts and result objects are those of the real program (samples, 2.1.329), because hooks, transcripts
//! and tests look at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::children::{Children, StderrMode};
use super::task_tools;

/// The tools that the model is offered, with the properties of their input.
const OFFERED: &[(&str, &[&str])] = &[
    ("Bash", &["command", "description", "timeout"]),
    ("Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    ("Read", &["file_path", "offset", "limit"]),
    ("TaskCreate", &["subject", "description"]),
    ("TaskList", &[]),
    ("TaskUpdate", &["taskId", "status", "subject", "description"]),
    ("Write", &["file_path", "content"]),
];

/// The longest file that is read or edited, in bytes.
const MAX_FILE: u64 = 10 * 1024 * 1024;

/// The result of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolRun {
    /// The text for the model.
    pub(super) content: String,
    /// The `tool_response` of hooks and `toolUseResult` of the transcript.
    pub(super) result: Value,
    pub(super) failed: bool,
}

impl ToolRun {
    fn ok(content: impl Into<String>, result: Value) -> ToolRun {
        ToolRun { content: content.into(), result, failed: false }
    }

    pub(super) fn failed(text: impl Into<String>) -> ToolRun {
        let content = text.into();
        let result = json!(format!("Error: {content}"));
        ToolRun { content, result, failed: true }
    }
}

/// The environment of tools.
pub(super) struct ToolContext<'a> {
    pub(super) cwd: &'a Path,
    /// The file in which a shell that changed its directory writes it.
    pub(super) left: &'a Path,
    /// The directory of the task list.
    pub(super) tasks: PathBuf,
    /// Records the processes.
    pub(super) children: &'a Children,
    /// Variables besides the inherited environment.
    pub(super) env: &'a [(String, String)],
}

impl ToolContext<'_> {
    /// The directory in which the last command ended; `None` if it did not change.
    pub(super) fn place_left(&self) -> Option<PathBuf> {
        let place = fs::read_to_string(self.left).ok()?;
        let _ = fs::remove_file(self.left);
        Some(PathBuf::from(place.trim_end())).filter(|place| place.is_dir())
    }
}

/// The `tools` of a request.
pub(super) fn definitions() -> Value {
    let tool = |(name, properties): &(&str, &[&str])| {
        let properties: serde_json::Map<_, _> =
            properties.iter().map(|p| ((*p).to_owned(), json!({}))).collect();
        json!({"name": name, "description": format!("The tool {name}."),
            "input_schema": {"type": "object", "properties": properties}})
    };
    OFFERED.iter().map(tool).collect()
}

/// Whether there is such a tool. An unknown one is answered without hooks, as measured.
pub(super) fn is_known(name: &str) -> bool {
    OFFERED.iter().any(|(known, _)| *known == name)
}

/// The input for hooks and transcripts: paths absolute, defaults filled in.
pub(super) fn normalised(name: &str, mut input: Value, cwd: &Path) -> Value {
    if let Some(path) = input.get("file_path").and_then(Value::as_str) {
        input["file_path"] = json!(cwd.join(path).to_string_lossy());
    }
    if name == "Edit" && input.is_object() && input.get("replace_all").is_none() {
        input["replace_all"] = json!(false);
    }
    input
}

/// Whether the tool needs permission in the default mode. Commands that only read do not, as in the real
/// program (measured: `echo`, `ls`, `sleep`, `cat x | wc -l`, `git status` do not; `touch`, `date > x`,
/// `perl` do).
pub(super) fn needs_permission(name: &str, input: &Value) -> bool {
    const READING: &[&str] = &[
        "cat", "cd", "date", "echo", "false", "git status", "grep", "head", "id", "ls", "ps", "pwd", "sleep",
        "sort", "tail", "true", "uname", "wc", "which", "whoami",
    ];
    match name {
        "Write" | "Edit" => true,
        "Bash" => {
            let command = input["command"].as_str().unwrap_or("");
            let plain = !command.contains(['>', '`', '\n']) && !command.contains("$(");
            let reads = |part: &str| {
                let part = part.trim();
                READING.iter().any(|r| {
                    part.strip_prefix(r).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                })
            };
            !(plain && command.split([';', '|', '&']).filter(|p| !p.trim().is_empty()).all(reads))
        }
        _ => false,
    }
}

pub(super) fn run(name: &str, input: &Value, bench: &ToolContext<'_>) -> ToolRun {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or("");
    let path = PathBuf::from(text("file_path"));
    match name {
        "Bash" => bash(text("command"), input.get("timeout").and_then(Value::as_u64), bench),
        "Read" => read(&path, input, bench.cwd),
        "Write" => write(&path, text("content")),
        "Edit" => edit(&path, text("old_string"), text("new_string"), input["replace_all"] == true),
        "TaskCreate" => task_tools::create(&bench.tasks, text("subject"), text("description")),
        "TaskUpdate" => task_tools::update(&bench.tasks, text("taskId"), input),
        "TaskList" => task_tools::list(&bench.tasks),
        _ => ToolRun::failed(format!("No such tool available: {name}")),
    }
}

fn bash(command: &str, timeout_ms: Option<u64>, bench: &ToolContext<'_>) -> ToolRun {
    let limit = Duration::from_millis(timeout_ms.unwrap_or(120_000).min(600_000));
    let mut child = Command::new("/bin/sh");
    // As in the real program, the shell itself reports the directory in which it ended.
    let moving = format!("trap 'pwd -P > \"{}\"' EXIT\n{command}", bench.left.display());
    child
        .args(["-c", if command.contains("cd ") { &moving } else { command }])
        .current_dir(bench.cwd)
        .envs(bench.env.iter().cloned());
    let done = match bench.children.run(&mut child, b"", StderrMode::Joined, limit) {
        Ok(done) => done,
        Err(e) => return ToolRun::failed(format!("the shell could not be started: {e}")),
    };
    let output = done.stdout.trim_end().to_owned();
    if done.timed_out {
        return ToolRun::failed(format!("Command timed out after {}s\n{output}", limit.as_secs()).trim_end());
    }
    if done.code != 0 {
        return ToolRun::failed(format!("Exit code {}\n{output}", done.code).trim_end());
    }
    let result = json!({"stdout": output, "stderr": "", "interrupted": false, "isImage": false,
        "noOutputExpected": false});
    ToolRun::ok(if output.is_empty() { "(Bash completed with no output)".to_owned() } else { output }, result)
}

fn contents(path: &Path, cwd: &Path) -> Result<String, ToolRun> {
    let gone = || {
        ToolRun::failed(format!(
            "File does not exist. Note: your current working directory is {}.",
            cwd.display()
        ))
    };
    let size = fs::metadata(path).map_err(|_| gone())?.len();
    if size > MAX_FILE {
        return Err(ToolRun::failed(format!("File content ({size} bytes) exceeds maximum allowed size.")));
    }
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|_| gone())
}

/// The whole file, or `limit` lines of it from line `offset` on.
fn read(path: &Path, input: &Value, cwd: &Path) -> ToolRun {
    let text = match contents(path, cwd) {
        Ok(text) => text,
        Err(failed) => return failed,
    };
    let number = |key: &str| input.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let (first, limit) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(usize::MAX));
    let all: Vec<&str> = text.split('\n').collect();
    let lines: Vec<&str> = all.iter().skip(first - 1).take(limit).copied().collect();
    let numbered: Vec<String> =
        lines.iter().enumerate().map(|(n, l)| format!("{}\t{l}", first + n)).collect();
    let file = json!({"filePath": path.to_string_lossy(), "content": lines.join("\n"),
        "numLines": lines.len(), "startLine": first,
        "totalLines": all.len()});
    ToolRun::ok(numbered.join("\n"), json!({"type": "text", "file": file}))
}

fn write(path: &Path, content: &str) -> ToolRun {
    let before = fs::read_to_string(path).ok();
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, content));
    if let Err(e) = made {
        return ToolRun::failed(format!("{}: {e}", path.display()));
    }
    let (kind, words) = if before.is_some() { ("update", "updated") } else { ("create", "created") };
    let result = json!({"type": kind, "filePath": path.to_string_lossy(), "content": content,
        "structuredPatch": [],
        "originalFile": before, "userModified": false});
    let note = "(file state is current in your context — no need to Read it back)";
    ToolRun::ok(format!("File {words} successfully at: {} {note}", path.display()), result)
}

fn edit(path: &Path, old: &str, new: &str, all: bool) -> ToolRun {
    let text = match contents(path, Path::new("")) {
        Ok(text) => text,
        Err(failed) => return failed,
    };
    let found = if old.is_empty() { 0 } else { text.matches(old).count() };
    if found == 0 {
        return ToolRun::failed(format!("String to replace not found in file.\nString: {old}"));
    }
    if found > 1 && !all {
        return ToolRun::failed(format!(
            "Found {found} matches of the string to replace, but replace_all is false."
        ));
    }
    if let Err(e) = fs::write(path, text.replace(old, new)) {
        return ToolRun::failed(format!("{}: {e}", path.display()));
    }
    let line = text[..text.find(old).unwrap_or(0)].matches('\n').count() + 1;
    let marked = |sign: char, part: &str| part.lines().map(|l| format!("{sign}{l}")).collect::<Vec<_>>();
    let (minus, plus) = (marked('-', old), marked('+', new));
    let (old_lines, new_lines) = (minus.len(), plus.len());
    let lines = [minus, plus].concat();
    let patch = json!([{"oldStart": line, "oldLines": old_lines, "newStart": line, "newLines": new_lines,
        "lines": lines}]);
    let result = json!({"filePath": path.to_string_lossy(), "oldString": old, "newString": new,
        "originalFile": text,
        "structuredPatch": patch, "userModified": false, "replaceAll": all});
    let note = "(file state is current in your context — no need to Read it back)";
    ToolRun::ok(format!("The file {} has been updated successfully. {note}", path.display()), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(body: impl FnOnce(&ToolContext<'_>, &Path)) {
        let dir = tempfile::tempdir().unwrap();
        let children = Children::default();
        body(
            &ToolContext {
                cwd: dir.path(),
                left: &dir.path().join("left"),
                tasks: dir.path().join("tasks"),
                children: &children,
                env: &[],
            },
            dir.path(),
        );
    }

    #[test]
    fn bash_results_are_those_of_the_real_program() {
        with(|bench, _| {
            let done = |c: &str| run("Bash", &json!({"command": c}), bench);
            assert_eq!(done("echo one").content, "one");
            assert_eq!(done("true").content, "(Bash completed with no output)");
            let failed = done("echo hi; echo err >&2; exit 4");
            assert_eq!((failed.content.as_str(), failed.failed), ("Exit code 4\nhi\nerr", true));
            assert_eq!(failed.result, json!("Error: Exit code 4\nhi\nerr"));
            let slow = run("Bash", &json!({"command": "sleep 600", "timeout": 10}), bench);
            assert!(slow.failed && slow.content.starts_with("Command timed out"));
        });
    }

    #[test]
    fn files_are_written_read_and_edited() {
        with(|bench, dir| {
            let path = dir.join("d/a.txt");
            let of = |v: Value| normalised("Edit", v, dir);
            assert!(
                run("Write", &of(json!({"file_path": "d/a.txt", "content": "hi\n"})), bench)
                    .content
                    .contains("created")
            );
            assert_eq!(run("Read", &json!({"file_path": path}), bench).content, "1\thi\n2\t");
            let part = run("Read", &json!({"file_path": path, "offset": 2, "limit": u64::MAX}), bench);
            assert_eq!((part.content.as_str(), &part.result["file"]["startLine"]), ("2\t", &json!(2)));
            let edited =
                run("Edit", &of(json!({"file_path": path, "old_string": "hi", "new_string": "ho"})), bench);
            assert_eq!(edited.result["structuredPatch"][0]["lines"], json!(["-hi", "+ho"]));
            assert_eq!(fs::read_to_string(&path).unwrap(), "ho\n");
            assert!(
                run("Edit", &of(json!({"file_path": path, "old_string": "hi", "new_string": "x"})), bench)
                    .failed
            );
            assert!(
                run("Read", &json!({"file_path": dir.join("none")}), bench)
                    .content
                    .starts_with("File does not exist")
            );
        });
    }

    #[test]
    fn commands_that_only_read_pass_and_others_are_asked_for() {
        let asks = |c: &str| needs_permission("Bash", &json!({"command": c}));
        for passes in
            ["echo hi", "sleep 0.1", "ls", "true", "echo a; echo b", "cat a.txt | wc -l", "git status"]
        {
            assert!(!asks(passes), "{passes}");
        }
        for asked in ["date > x", "perl -e 1", "touch q", "echo $(touch q)", "lsof", "echo a && touch b"] {
            assert!(asks(asked), "{asked}");
        }
        assert!(needs_permission("Write", &json!({})) && !needs_permission("Read", &json!({})));
    }

    #[test]
    fn invalid_input_does_not_panic() {
        with(|bench, dir| {
            for name in ["Bash", "Read", "Write", "Edit", "TaskCreate", "TaskUpdate", "TaskList", "Nope"] {
                for input in [json!(null), json!([1]), json!({"file_path": 5, "taskId": {}})] {
                    run(name, &normalised(name, input, dir), bench);
                }
            }
        });
    }
}
