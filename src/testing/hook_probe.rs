//! What Claude's hooks did in a test: every hook command of the project's copy is run through `hopty __hook`,
//! which passes everything on and records it.
//!
//! The probe is a process of Claude's, not of the runner's; it writes one file per call to a directory that
//! the runner reads.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::text::shell_word::shell_word;
use crate::sys::safe_file::{self, FileRule};

/// The hidden first argument with which hopty runs and records a hook.
pub const HOOK_ARG: &str = "__hook";

/// The event name for the status line's command.
pub const STATUS_LINE: &str = "StatusLine";

/// The most bytes that are read of a settings file or a record.
const FILE_MAX: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookCall {
    /// The event, such as `PreToolUse`.
    pub event: String,
    /// The command in the settings.
    pub command: String,
    /// What Claude gave it on standard input; null if that was no JSON.
    pub payload: Value,
    /// Its exit code; 128 + n for signal n.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// The start in µs since 1970.
    pub began_us: u64,
    /// The duration in µs.
    pub took_us: u64,
}

/// The directory of a test's hook records.
#[derive(Clone, Debug)]
pub struct HookProbe {
    program: PathBuf,
    dir: PathBuf,
}

impl HookProbe {
    /// Records go to `dir`, which is created; `program` is hopty.
    pub fn new(program: &Path, dir: &Path) -> io::Result<HookProbe> {
        fs::create_dir_all(dir)?;
        Ok(HookProbe { program: program.to_owned(), dir: dir.to_owned() })
    }

    /// Runs every hook command of a settings file, or of a plugin's `hooks.json`, through the probe. False if
    /// there is no such file, or it has no hooks.
    ///
    /// # Errors
    /// When the file cannot be read or written. A file that is not JSON is left to Claude.
    pub fn wrap_file(&self, path: &Path) -> io::Result<bool> {
        let read = safe_file::read(path, FileRule::of_claude(FILE_MAX)).map_err(io::Error::other)?;
        let Some(mut settings) = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else {
            return Ok(false);
        };
        let wrapped = self.wrap(&mut settings);
        if wrapped {
            fs::write(path, format!("{settings:#}\n"))?;
        }
        Ok(wrapped)
    }

    /// [`HookProbe::wrap_file`] for settings in memory.
    pub fn wrap(&self, settings: &mut Value) -> bool {
        let mut wrapped = false;
        if let Some(events) = settings.get_mut("hooks").and_then(Value::as_object_mut) {
            for (event, groups) in events {
                let groups = groups.as_array_mut().into_iter().flatten();
                let hooks = groups.filter_map(|group| group.get_mut("hooks")?.as_array_mut()).flatten();
                for hook in hooks {
                    wrapped |= self.wrap_command(event, hook);
                }
            }
        }
        if let Some(line) = settings.get_mut("statusLine") {
            wrapped |= self.wrap_command(STATUS_LINE, line);
        }
        wrapped
    }

    fn wrap_command(&self, event: &str, hook: &mut Value) -> bool {
        if hook.get("type").and_then(Value::as_str) != Some("command") {
            return false;
        }
        let Some(Value::String(command)) = hook.get_mut("command") else { return false };
        let words = [
            &self.program.to_string_lossy(),
            HOOK_ARG,
            &self.dir.to_string_lossy(),
            event,
            "--",
            command.as_str(),
        ]
        .map(shell_word);
        *command = words.join(" ");
        true
    }

    /// Every call that has ended, in the order of their starts.
    pub fn calls(&self) -> Vec<HookCall> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let records = entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "json"));
        let mut calls: Vec<HookCall> = records
            .filter_map(|entry| {
                let bytes = safe_file::read(&entry.path(), FileRule::own(FILE_MAX)).ok().flatten()?;
                serde_json::from_slice(&bytes).ok()
            })
            .collect();
        calls.sort_by_key(|call| call.began_us);
        calls
    }
}

/// `hopty __hook DIR EVENT -- COMMAND`: runs the command in a shell as Claude does, with the same standard
/// input, passes on its output and exit code, and writes a record to `DIR`.
pub fn main(args: &[String]) -> u8 {
    let [dir, event, dashes, command] = args else { return 1 };
    if dashes != "--" {
        return 1;
    }
    let began = SystemTime::now();
    let mut payload = Vec::new();
    let _ = io::stdin().read_to_end(&mut payload);
    let (code, stdout, stderr) = match run(command, &payload) {
        Ok(output) => {
            let code = output.status.code().or_else(|| output.status.signal().map(|n| 128 + n));
            (code.unwrap_or(1), output.stdout, output.stderr)
        }
        Err(error) => (127, Vec::new(), format!("cannot run sh: {error}\n").into_bytes()),
    };
    // The record comes first: once Claude continues, the test may look for it.
    let call = HookCall {
        event: event.clone(),
        command: command.clone(),
        payload: serde_json::from_slice(&payload).unwrap_or(Value::Null),
        code,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        began_us: micros(began.duration_since(UNIX_EPOCH).unwrap_or_default()),
        took_us: micros(began.elapsed().unwrap_or_default()),
    };
    let _ = record(Path::new(dir), &call);
    let _ = io::stdout().write_all(&stdout).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(&stderr);
    u8::try_from(code).unwrap_or(1)
}

fn run(command: &str, payload: &[u8]) -> io::Result<std::process::Output> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    // In a thread: a hook may write much before it reads.
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(payload)));
        child.wait_with_output()
    })
}

fn record(dir: &Path, call: &HookCall) -> io::Result<()> {
    let (name, pid) = (call.began_us, std::process::id());
    let unfinished = dir.join(format!("{name}-{pid}.part"));
    fs::write(&unfinished, serde_json::to_vec(call)?)?;
    fs::rename(unfinished, dir.join(format!("{name}-{pid}.json")))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_command_of_the_settings_is_wrapped_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let probe = HookProbe::new(Path::new("/opt/ho pty"), &dir.path().join("calls")).unwrap();
        let file = dir.path().join("settings.json");
        let settings = json!({
            "model": "m",
            "statusLine": {"type": "command", "command": "line.sh"},
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": "echo 'a'"},
                {"type": "prompt", "prompt": "?"}]}],
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh",
                "timeout": 5}]}],
            },
        });
        fs::write(&file, settings.to_string()).unwrap();
        assert!(probe.wrap_file(&file).unwrap());
        let wrapped: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let command = wrapped["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.starts_with("'/opt/ho pty' __hook ") && command.contains(" Stop -- "), "{command}");
        assert_eq!(wrapped["hooks"]["Stop"][0]["hooks"][1], settings["hooks"]["Stop"][0]["hooks"][1]);
        assert_eq!(wrapped["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], 5);
        assert!(wrapped["statusLine"]["command"].as_str().unwrap().contains(" StatusLine -- line.sh"));
        assert_eq!(wrapped["model"], "m");
        assert!(!probe.wrap_file(&dir.path().join("none.json")).unwrap());
    }

    #[test]
    fn a_call_is_recorded_whole_and_calls_are_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let probe = HookProbe::new(Path::new("hopty"), dir.path()).unwrap();
        let call = |event: &str, began_us| HookCall {
            event: event.to_owned(),
            command: "true".to_owned(),
            payload: json!({"tool_name": "Bash"}),
            code: 2,
            stdout: String::new(),
            stderr: "no\n".to_owned(),
            began_us,
            took_us: 5,
        };
        record(dir.path(), &call("Stop", 20)).unwrap();
        record(dir.path(), &call("PreToolUse", 10)).unwrap();
        fs::write(dir.path().join("5-1.part"), "{").unwrap();
        assert_eq!(probe.calls(), [call("PreToolUse", 10), call("Stop", 20)]);
    }

    #[test]
    fn the_command_gets_the_payload_and_its_output_comes_back() {
        let output = run("cat; echo bad >&2; exit 2", b"{\"a\":1}").unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(2), b"{\"a\":1}".to_vec()));
        assert_eq!(output.stderr, b"bad\n");
        // A hook that does not read a long payload.
        assert_eq!(run("exit 3", &vec![b'x'; 1 << 20]).unwrap().status.code(), Some(3));
    }
}
