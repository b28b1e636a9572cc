//! The plugin directory of one launch (`--plugin-dir`): hooks and commands. From 2.1.197 on, an event that
//! this Claude does not know opens no dialog there, unlike in a settings file; 2.0.76 then drops all hooks
//! of the plugin (measured).

use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::slash_commands;
use crate::core::claude::version_features::HookSet;
use crate::core::config::{DurationMs, Hooks};
use crate::core::text::shell_word::shell_word;
use crate::sys::private_dir::{self, is_own};
use crate::sys::safe_file::{self, FileRule};

pub use crate::core::claude::hooks::PLUGIN_NAME as NAME;

/// The events of 2.1.197 and later, and their timeouts in seconds.
pub const FULL: [(&str, u32); 11] = [
    ("SessionStart", 10),
    ("UserPromptSubmit", 5),
    ("PostToolBatch", 90),
    ("Stop", 5),
    ("StopFailure", 5),
    ("PreCompact", 30),
    ("PostCompact", 5),
    ("PermissionRequest", 5),
    ("Notification", 5),
    ("SubagentStop", 5),
    ("SessionEnd", 2),
];

/// The events for 2.0.76 to 2.1.196.
pub const OLD: [(&str, u32); 9] = [
    ("SessionStart", 10),
    ("UserPromptSubmit", 5),
    ("PostToolUse", 5),
    ("Stop", 5),
    ("PreCompact", 30),
    ("PermissionRequest", 5),
    ("Notification", 5),
    ("SubagentStop", 5),
    ("SessionEnd", 2),
];

/// The events of a set, and their timeouts in seconds.
pub fn events(set: HookSet) -> &'static [(&'static str, u32)] {
    match set {
        HookSet::None => &[],
        HookSet::Full => &FULL,
        HookSet::Old => &OLD,
    }
}

/// The path of the running hopty, without the suffix of a replaced file.
pub fn this_binary() -> PathBuf {
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("hopty"));
    let text = path.to_string_lossy();
    text.strip_suffix(" (deleted)").map_or(path.clone(), PathBuf::from)
}

/// The hook command: quoted for the shell, with exit code 0 even if the binary is gone. The shell is
/// replaced by hopty: a shell that cannot fork exits with 2, which Claude takes for a blocking hook. A wait
/// for the host other than the default is an argument, in ms, because a hook has no time to read a
/// configuration.
pub fn command(binary: &Path, event: &str, ack: DurationMs) -> String {
    let hopty = shell_word(&binary.to_string_lossy());
    let ack = if ack == Hooks::default().ack { String::new() } else { format!(" {}", ack.ms()) };
    format!("[ -x {hopty} ] && exec {hopty} hook {event}{ack} || :")
}

/// The status-line command, quoted for the shell, and silent if the binary is gone. It contains the
/// person's own command: a file with it could be rewritten while Claude runs.
pub fn statusline_command(binary: &Path, own: &str) -> String {
    format!("{} statusline {} || :", shell_word(&binary.to_string_lossy()), shell_word(own))
}

/// The content of `hooks.json`.
pub fn hooks_json(binary: &Path, set: HookSet, ack: DurationMs) -> Value {
    let hooks: Map<String, Value> = events(set)
        .iter()
        .map(|(event, seconds)| {
            let hook = json!({"type": "command", "command": command(binary, event, ack), "timeout": seconds});
            ((*event).to_owned(), json!([{"hooks": [hook]}]))
        })
        .collect();
    json!({"description": "hopty follows this session", "hooks": hooks})
}

/// What to put into a plugin directory.
#[derive(Clone, Copy, Debug)]
pub struct PluginParts {
    pub hooks: HookSet,
    /// How long a hook waits for the host's first answer.
    pub ack: DurationMs,
    /// Whether to include the slash commands, if this Claude supports them.
    pub commands: bool,
}

/// Creates the directory below `session_dir` and returns its path. A directory with exactly this content is
/// kept; anything else is removed first, without following links.
///
/// # Errors
/// When a file cannot be written, or the old directory cannot be removed.
pub fn write(session_dir: &Path, binary: &Path, parts: PluginParts) -> io::Result<PathBuf> {
    let root = session_dir.join("plugin");
    let manifest = json!({"name": NAME, "version": env!("CARGO_PKG_VERSION"),
        "description": "hopty follows this session"});
    let hooks = hooks_json(binary, parts.hooks, parts.ack);
    let json = |name: &str, value: Value| vec![(name.to_owned(), format!("{value:#}\n"))];
    let mut dirs =
        vec![(".claude-plugin", json("plugin.json", manifest)), ("hooks", json("hooks.json", hooks))];
    let commands = parts.commands && parts.hooks == HookSet::Full;
    let commands = binary.to_str().filter(|_| commands).map(slash_commands::files).unwrap_or_default();
    if !commands.is_empty() {
        dirs.insert(1, ("commands", commands));
    }
    let names: Vec<&str> = dirs.iter().map(|(dir, _)| *dir).collect();
    let kept = holds_only(&root, &names)
        && dirs.iter().all(|(dir, files)| {
            let (dir, names) =
                (root.join(dir), files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
            holds_only(&dir, &names) && files.iter().all(|(name, text)| holds(&dir.join(name), text))
        });
    if kept {
        return Ok(root);
    }
    remove(&root)?;
    private_dir::create(&root)?;
    for (dir, files) in dirs {
        let dir = root.join(dir);
        private_dir::create(&dir)?;
        for (name, text) in files {
            let mut new = std::fs::File::options();
            new.write(true).create_new(true).mode(0o600).open(dir.join(name))?.write_all(text.as_bytes())?;
        }
    }
    Ok(root)
}

/// Whether a private directory has exactly these entries.
fn holds_only(dir: &Path, names: &[&str]) -> bool {
    let own = std::fs::symlink_metadata(dir)
        .is_ok_and(|meta| meta.is_dir() && is_own(&meta) && meta.mode() & 0o7777 == 0o700);
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    let mut found: Vec<_> = entries.take(names.len() + 1).flatten().map(|entry| entry.file_name()).collect();
    found.sort();
    // Sorted by file name, which is not the order of the commands: `-` comes before `.md`.
    let mut names = names.to_vec();
    names.sort_unstable();
    own && found == names
}

/// Whether a private file has this content.
pub fn holds(path: &Path, text: &str) -> bool {
    let own = |meta: &std::fs::Metadata| meta.mode() & 0o7777 == 0o600 && meta.nlink() == 1;
    std::fs::symlink_metadata(path).is_ok_and(|meta| own(&meta))
        && matches!(safe_file::read(path, FileRule::own(text.len() as u64)),
            Ok(Some(found)) if found == text.as_bytes())
}

/// Removes a file, or a directory with its content. Links are not followed.
///
/// # Errors
/// When it exists and cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK: DurationMs = DurationMs::from_ms(300);

    fn parts(hooks: HookSet) -> PluginParts {
        PluginParts { hooks, ack: ACK, commands: true }
    }

    #[test]
    fn a_path_with_an_apostrophe_stays_one_word() {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("it's here");
        std::fs::write(&binary, "#!/bin/sh\necho \"$1 $2\"\n").unwrap();
        std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let run = |command: String| std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        assert_eq!(run(command(&binary, "Stop", ACK)).stdout, b"hook Stop\n");
        std::fs::write(&binary, "#!/bin/sh\necho \"$*\"\n").unwrap();
        assert_eq!(run(command(&binary, "Stop", DurationMs::from_secs(2))).stdout, b"hook Stop 2000\n");
        std::fs::remove_file(&binary).unwrap();
        assert!(
            run(command(&binary, "Stop", ACK)).status.success(),
            "a binary that is gone must not break Claude"
        );
    }

    #[test]
    fn the_directory_is_made_afresh_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (session, elsewhere) = (dir.path().join("session"), dir.path().join("elsewhere"));
        std::fs::create_dir(&session).unwrap();
        std::fs::create_dir_all(elsewhere.join("hooks")).unwrap();
        std::fs::write(elsewhere.join("hooks/hooks.json"), "theirs").unwrap();
        let root = session.join("plugin");
        let make = || write(&session, Path::new("/bin/hopty"), parts(HookSet::Full));
        for plant in [
            (|_, _| ()) as fn(&Path, &Path),
            |root, _| std::fs::write(root.join(".mcp.json"), "{}").unwrap(),
            |root, _| std::fs::remove_dir_all(root).unwrap(),
            |root, to| {
                std::fs::remove_dir_all(root).unwrap();
                std::os::unix::fs::symlink(to, root).unwrap();
            },
            |root, to| {
                std::fs::remove_dir_all(root.join("hooks")).unwrap();
                std::os::unix::fs::symlink(to.join("hooks"), root.join("hooks")).unwrap();
            },
            |root, _| {
                std::fs::remove_dir_all(root).unwrap();
                std::fs::write(root, "").unwrap();
            },
        ] {
            make().unwrap();
            plant(&root, &elsewhere);
            make().unwrap();
            assert!(!root.is_symlink() && !root.join("hooks").is_symlink());
            assert_eq!(std::fs::read_dir(&root).unwrap().count(), 3);
            assert_eq!(std::fs::read_dir(root.join("commands")).unwrap().count(), 8);
            assert!(std::fs::read_to_string(root.join("hooks/hooks.json")).unwrap().contains("hook Stop"));
            assert_eq!(std::fs::read_to_string(elsewhere.join("hooks/hooks.json")).unwrap(), "theirs");
        }
    }

    #[test]
    fn commands_are_left_out_where_they_are_off_or_unsafe() {
        let dir = tempfile::tempdir().unwrap();
        let there = |binary: &str, parts: PluginParts| {
            write(dir.path(), Path::new(binary), parts).unwrap().join("commands").exists()
        };
        assert!(there("/bin/hopty", parts(HookSet::Full)));
        assert!(!there("/bin/hopty", PluginParts { commands: false, ..parts(HookSet::Full) }));
        assert!(!there("/bin/hopty", parts(HookSet::Old)));
        assert!(!there("/bin/ho`pty", parts(HookSet::Full)));
    }

    #[test]
    fn item_056_one_launch_is_given_a_directory_of_hooks_with_their_time_outs() {
        let dir = tempfile::tempdir().unwrap();
        let events = |set| {
            let root = write(dir.path(), Path::new("/bin/hopty"), parts(set)).unwrap();
            let hooks: Value =
                serde_json::from_slice(&std::fs::read(root.join("hooks/hooks.json")).unwrap()).unwrap();
            hooks["hooks"].clone()
        };
        let full = events(HookSet::Full);
        assert_eq!(full["PostToolBatch"][0]["hooks"][0]["timeout"], 90);
        assert_eq!((full.as_object().unwrap().len(), full.get("PostToolUse")), (FULL.len(), None));
        let old = events(HookSet::Old);
        assert_eq!((old.as_object().unwrap().len(), old.get("PostToolBatch")), (OLD.len(), None));
    }

    /// What stands in for the source documents' scripts and their tests: each command by real shells, as
    /// written.
    #[test]
    fn item_136_every_hook_as_written_runs_in_a_shell_and_ends_well_without_its_binary() {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("a $HOME \"b\" `c`; d");
        for set in [HookSet::Full, HookSet::Old] {
            std::fs::write(&binary, "#!/bin/sh\necho \"$*\"\n").unwrap();
            std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let root = write(dir.path(), &binary, parts(set)).unwrap();
            let written: Value =
                serde_json::from_slice(&std::fs::read(root.join("hooks/hooks.json")).unwrap()).unwrap();
            let commands: Vec<(String, String)> = written["hooks"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(event, hooks)| {
                    (event.clone(), hooks[0]["hooks"][0]["command"].as_str().unwrap().to_owned())
                })
                .collect();
            assert_eq!(commands.len(), events(set).len());
            let run =
                |command: &str| std::process::Command::new("sh").args(["-euc", command]).output().unwrap();
            for (event, command) in &commands {
                let done = run(command);
                assert_eq!(
                    (done.stdout, done.status.code()),
                    (format!("hook {event}\n").into_bytes(), Some(0)),
                    "{command}"
                );
            }
            std::fs::remove_file(&binary).unwrap();
            for (_, command) in &commands {
                let done = run(command);
                assert_eq!((done.stdout.len(), done.status.code()), (0, Some(0)), "{command}");
            }
        }
    }
}
