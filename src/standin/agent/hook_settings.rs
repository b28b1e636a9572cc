//! The configured hooks: read from settings files, `--settings` and plugin directories, as Claude Code
//! merges them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::agent_files::{AgentDirs, read_json};

/// A command to run at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentHook {
    event: String,
    matcher: String,
    /// The argument of `/bin/sh -c`.
    pub(super) command: String,
    /// Its timeout, if its entry has one.
    pub(super) timeout: Option<Duration>,
    /// Its plugin, which sets `CLAUDE_PLUGIN_ROOT` and `CLAUDE_PLUGIN_DATA`.
    pub(super) plugin: Option<Plugin>,
}

#[cfg(test)]
impl AgentHook {
    pub(super) fn for_test(event: &str, command: &str, timeout: Option<Duration>) -> AgentHook {
        AgentHook {
            event: event.into(),
            matcher: String::new(),
            command: command.into(),
            timeout,
            plugin: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plugin {
    pub(super) root: PathBuf,
    /// Its data directory.
    pub(super) data: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Hooks(Vec<AgentHook>);

impl Hooks {
    /// Reads all sources; the hooks of all of them run, in parallel. `disableAllHooks` in the user's or
    /// project's settings disables all hooks unless `--settings` says false (measured on 2.1.329).
    pub(super) fn load(world: &AgentDirs, settings: Option<&str>, plugin_dirs: &[PathBuf]) -> Hooks {
        let flag = settings.map_or(Value::Null, |text| {
            serde_json::from_str(text).unwrap_or_else(|_| read_json(Path::new(text)))
        });
        let mut sources = world.settings();
        sources.push(flag);
        let off =
            sources.iter().filter_map(|s| s.get("disableAllHooks")?.as_bool()).next_back().unwrap_or(false);
        if off {
            return Hooks::default();
        }
        let mut hooks: Vec<AgentHook> = sources.iter().flat_map(|s| read(s, None)).collect();
        for dir in plugin_dirs {
            let root = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
            let named = read_json(&root.join(".claude-plugin/plugin.json"));
            let name = named.get("name").and_then(Value::as_str).unwrap_or("plugin").replace('/', "-");
            let data = world.config.join("plugins/data").join(format!("{name}-inline"));
            let plugin = Plugin { root, data };
            hooks.extend(read(&read_json(&plugin.root.join("hooks/hooks.json")), Some(&plugin)));
        }
        Hooks(hooks)
    }

    /// The hooks of an event whose matcher matches its subject (tool name, source, ...).
    pub(super) fn matching(&self, event: &str, subject: &str) -> Vec<&AgentHook> {
        self.0.iter().filter(|h| h.event == event && fits(&h.matcher, subject)).collect()
    }
}

fn read(source: &Value, plugin: Option<&Plugin>) -> Vec<AgentHook> {
    let mut hooks = Vec::new();
    let events = source.get("hooks").and_then(Value::as_object).into_iter().flatten();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or("").to_owned();
            for entry in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                let Some(command) = entry.get("command").and_then(Value::as_str) else { continue };
                let seconds =
                    entry.get("timeout").and_then(Value::as_f64).filter(|s| (0.0..86_400.0).contains(s));
                hooks.push(AgentHook {
                    event: event.clone(),
                    matcher: matcher.clone(),
                    command: command.to_owned(),
                    timeout: seconds.map(Duration::from_secs_f64),
                    plugin: plugin.cloned(),
                });
            }
        }
    }
    hooks
}

/// A matcher is a list of names; `*` and the empty matcher match everything, and a final `.*` or `*` any
/// suffix. The real program takes a regular expression, which is not needed here.
fn fits(matcher: &str, subject: &str) -> bool {
    matcher.is_empty()
        || matcher.split('|').any(|one| match one.strip_suffix(".*").or_else(|| one.strip_suffix('*')) {
            Some(start) => subject.starts_with(start),
            None => one == subject,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn world(dir: &Path) -> AgentDirs {
        AgentDirs::at(dir.join(".claude"), dir.join("p"), dir.join(".claude.json"))
    }

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn all_sources_are_merged_and_matchers_are_honoured() {
        let dir = tempfile::tempdir().unwrap();
        let hook = |c: &str| {
            format!(
                r#"{{"hooks":{{"PreToolUse":[{{"matcher":"Bash|Ed*","hooks":[{{"command":"{c}","timeout":2}}]}}]}}}}"#
            )
        };
        put(&dir.path().join(".claude/settings.json"), &hook("user"));
        put(&dir.path().join("p/.claude/settings.json"), &hook("project"));
        put(
            &dir.path().join("plug/hooks/hooks.json"),
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"plugin"}]}],"Nope":5}}"#,
        );
        let hooks = Hooks::load(&world(dir.path()), Some(&hook("flag")), &[dir.path().join("plug")]);
        let names =
            |tool| hooks.matching("PreToolUse", tool).iter().map(|h| h.command.clone()).collect::<Vec<_>>();
        assert_eq!(names("Edit"), ["user", "project", "flag", "plugin"]);
        assert_eq!(names("Read"), ["plugin"]);
        assert_eq!(hooks.matching("PreToolUse", "Bash")[0].timeout, Some(Duration::from_secs(2)));
        assert!(hooks.matching("Stop", "").is_empty());
    }

    #[test]
    fn hooks_can_be_switched_off_and_the_flag_wins() {
        let dir = tempfile::tempdir().unwrap();
        put(
            &dir.path().join(".claude/settings.json"),
            r#"{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}"#,
        );
        assert!(Hooks::load(&world(dir.path()), None, &[]).matching("Stop", "").is_empty());
        let back = Hooks::load(&world(dir.path()), Some(r#"{"disableAllHooks":false}"#), &[]);
        assert_eq!(back.matching("Stop", "").len(), 1);
    }
}
