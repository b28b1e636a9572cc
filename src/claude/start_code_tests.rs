use super::*;
use crate::core::claude::settings_code::KeyChange;
use std::os::unix::fs::PermissionsExt;

struct FileTree {
    root: tempfile::TempDir,
    places: StartCodePaths,
    project: PathBuf,
}

impl FileTree {
    fn new() -> FileTree {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let (home, project) = (base.join("home"), base.join("work/proj"));
        std::fs::create_dir_all(&project).unwrap();
        let places = StartCodePaths {
            claude: home.join(".claude"),
            state: home.join(".claude.json"),
            home,
            settings: None,
            mcp_configs: Vec::new(),
            plugin_dirs: Vec::new(),
            records: |dir| dir.ancestors().take(2).map(Path::to_owned).collect(),
        };
        FileTree { root, places, project }
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.path().canonicalize().unwrap().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn changes(&self, before: &StartCode) -> Vec<String> {
        let now = StartCode::read(&self.places, &self.project);
        let all =
            before.everywhere.changes(&now.everywhere).into_iter().chain(before.here.changes(&now.here));
        let root = self.root.path().canonicalize().unwrap().display().to_string() + "/";
        all.map(|(key, what): (String, KeyChange)| format!("{} {}", key.replace(&root, ""), what.word()))
            .collect()
    }

    fn now(&self) -> StartCode {
        StartCode::read(&self.places, &self.project)
    }
}

const HOOK: &str = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;

#[test]
fn every_new_file_that_runs_code_is_detected() {
    for (path, text, seen) in [
        ("home/.claude/settings.json", HOOK, "~/.claude/settings.json: hooks added"),
        ("home/.claude/remote-settings.json", HOOK, "remote-settings.json: hooks added"),
        ("home/.claude.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, ".claude.json: mcpServers added"),
        ("home/.claude.json", r#"{"env":{"BASH_ENV":"/x"}}"#, ".claude.json: env added"),
        (
            "work/proj/.claude/settings.json",
            r#"{"env":{"NODE_OPTIONS":"-r /x"}}"#,
            ".claude/settings.json: env added",
        ),
        (
            "work/proj/.claude/settings.local.json",
            r#"{"apiKeyHelper":"x"}"#,
            ".claude/settings.local.json: apiKeyHelper added",
        ),
        (
            "work/proj/.claude/settings.json",
            r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#,
            ".claude/settings.json: permissions.defaultMode added",
        ),
        ("work/proj/.mcp.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, ".mcp.json: mcpServers added"),
        ("work/.mcp.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, "work/.mcp.json: mcpServers added"),
        ("work/.claude/settings.json", HOOK, "work/.claude/settings.json: hooks added"),
        ("work/proj/.claude/settings.json", "{hooks", ".claude/settings.json: (not valid JSON) added"),
        (
            "work/proj/.claude/agents/a.md",
            "---\nname: a\nhooks:\n  Stop: x\n---\n",
            ".claude/agents/a.md added",
        ),
    ] {
        let tree = FileTree::new();
        let before = tree.now();
        tree.put(path, text);
        let changes = tree.changes(&before);
        assert!(changes.iter().all(|change| change == seen) && !changes.is_empty(), "{path}: {changes:?}");
    }
}

/// However an agent is written, and however many files are around it.
#[test]
fn an_agent_with_hooks_is_detected_however_it_is_hidden() {
    let plain = "---\nname: a\nhooks:\n  Stop: x\n---\n";
    let large = format!("{plain}{}", "x".repeat(2 << 20));
    for (file, text, seen) in [
        ("m.md", plain, ".claude/agents/m.md added"),
        ("sub/deep/a.md", plain, ".claude/agents/sub/deep/a.md added"),
        ("a.md", &large, ".claude/agents/a.md (cannot be read) added"),
        ("a.md", "---\n\"\\u0068ooks\": x\n---\n", ".claude/agents/a.md added"),
        ("a.md", "---\n{name: x, hooks: {}}\n---\n", ".claude/agents/a.md added"),
        ("a.md", "---\ndescription: a --- b\nhooks: x\n---\n", ".claude/agents/a.md added"),
    ] {
        let tree = FileTree::new();
        for n in 0..600 {
            tree.put(
                &format!("work/proj/.claude/agents/{n}.md"),
                "---\nname: plain\n---\nhooks: are a thing of the body\n",
            );
        }
        let before = tree.now();
        assert_eq!(tree.changes(&before), [""; 0]);
        tree.put(&format!("work/proj/.claude/agents/{file}"), text);
        assert_eq!(tree.changes(&before), [seen]);
    }
    let tree = FileTree::new();
    let loop_of = tree.put("work/proj/.claude/agents/a.md", plain);
    std::os::unix::fs::symlink(loop_of.parent().unwrap(), loop_of.with_file_name("again")).unwrap();
    let before = tree.now();
    assert_eq!(tree.changes(&before), [""; 0], "a link back ends");
}

/// Beyond every limit a change is still detected, or nothing counts as known.
#[test]
fn no_bound_lets_a_change_pass() {
    let tree = FileTree::new();
    let empty = tree.put("work/proj/.claude/agents/0.md", "").parent().unwrap().to_owned();
    for n in 0..=MAX_AGENTS {
        std::fs::write(empty.join(format!("{n}.md")), "").unwrap();
    }
    let scripts: String = (0..=MAX_SCRIPTS).map(|n| format!("./{n:04}.sh ")).collect();
    tree.put("work/proj/.claude/settings.json", &HOOK.replace("true", &scripts));
    for n in 0..=MAX_SCRIPTS {
        tree.put(&format!("work/proj/{n:04}.sh"), "true");
    }
    let before = tree.now();
    assert_eq!(tree.changes(&before), [""; 0]);
    std::fs::write(empty.join("999.md"), "---\nhooks: x\n---\n").unwrap();
    tree.put(&format!("work/proj/{MAX_SCRIPTS:04}.sh"), "false");
    let script = format!("work/proj/./{MAX_SCRIPTS:04}.sh changed");
    assert_eq!(tree.changes(&before), [".claude/agents/999.md (cannot be read) added", &script]);
    tree.put("work/proj/.claude/settings.json", &HOOK.replace("true", &"x ".repeat(10_000)));
    let now = tree.now();
    assert_eq!(
        tree.changes(&now),
        [".claude/settings.json: (a command of too many words) changed"],
        "it is never known"
    );
}

#[test]
fn files_in_a_hook_directory_are_compared_except_their_logs() {
    let tree = FileTree::new();
    tree.put("work/proj/.claude/hooks/lib/plain", "one");
    tree.put("home/.claude/hooks/a.txt", "one");
    tree.put("work/proj/.claude/hooks/calls.log", "one");
    let before = tree.now();
    tree.put("work/proj/.claude/hooks/calls.log", "two");
    tree.put("work/proj/.claude/hooks/x.lock", "");
    assert_eq!(tree.changes(&before), [""; 0]);
    tree.put("work/proj/.claude/hooks/calls.log", "#!/bin/sh\n");
    tree.put("work/proj/.claude/hooks/lib/plain", "two");
    tree.put("home/.claude/hooks/a.txt", "two");
    let hooks = "work/proj/.claude/hooks";
    let seen = [
        "home/.claude/hooks/a.txt changed".to_owned(),
        format!("{hooks}/calls.log added"),
        format!("{hooks}/lib/plain changed"),
    ];
    assert_eq!(tree.changes(&before), seen);
}

#[test]
fn servers_of_the_repository_apply_to_its_directories() {
    let tree = FileTree::new();
    let of = |servers: &str| {
        format!("{{\"projects\":{{{:?}:{{\"mcpServers\":{servers}}}}}}}", tree.project.parent().unwrap())
    };
    tree.put("home/.claude.json", &of("{}"));
    let before = tree.now();
    tree.put("home/.claude.json", &of(r#"{"x":{"command":"x"}}"#));
    let work = tree.project.parent().unwrap().display().to_string();
    let seen = &before.here.changes(&tree.now().here)[0];
    assert!(
        seen.0.starts_with(".claude.json: mcpServers of /") && seen.1 == KeyChange::Added,
        "{work}: {seen:?}"
    );
}

#[test]
fn unreadable_files_are_compared_too() {
    let tree = FileTree::new();
    let before = tree.now();
    let settings = tree.put("work/proj/.claude/settings.json", "");
    std::fs::write(&settings, [&HOOK.as_bytes()[..HOOK.len() - 1], b",\"x\":\"\xff\"}"].concat()).unwrap();
    assert_eq!(
        tree.changes(&before),
        [".claude/settings.json: hooks added"],
        "a byte that is no UTF-8 hides nothing"
    );
    std::fs::write(&settings, HOOK.replace("hooks\":{", "\\u0068ooks\":{")).unwrap();
    assert_eq!(tree.changes(&before), [".claude/settings.json: hooks added"]);
    let large = std::fs::File::create(&settings).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(tree.changes(&before), [".claude/settings.json: (cannot be read) added"]);
    std::fs::remove_file(&settings).unwrap();
    nix::unistd::mkfifo(&settings, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(tree.changes(&before), [".claude/settings.json: (cannot be read) added"]);
}

#[test]
fn scripts_that_are_named_are_compared_and_logs_are_not() {
    let tree = FileTree::new();
    let command = "\\\"$CLAUDE_PROJECT_DIR\\\"/check.sh >> ~/log.txt; ~/bin/later ~/notes.txt";
    tree.put("work/proj/.claude/settings.json", &HOOK.replace("true", command));
    let script = tree.put("work/proj/check.sh", "echo 1");
    tree.put("home/log.txt", "one");
    tree.put("home/notes.txt", "one");
    let before = tree.now();
    tree.put("home/log.txt", "one\ntwo");
    tree.put("home/notes.txt", "two");
    std::fs::write(&script, "echo 1").unwrap();
    assert_eq!(tree.changes(&before), [""; 0], "the same bytes are the same script");
    std::fs::write(&script, "echo 2").unwrap();
    let later = tree.put("home/bin/later", "");
    std::fs::set_permissions(&later, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(tree.changes(&before), ["home/bin/later added", "work/proj/check.sh changed"]);
}

#[test]
fn plugins_are_compared_where_they_lie() {
    let mut tree = FileTree::new();
    let root = tree.put("plug/hooks/hooks.json", &HOOK.replace("true", "${CLAUDE_PLUGIN_ROOT}/run"));
    let root = root.ancestors().nth(2).unwrap().to_owned();
    tree.put(
        "home/.claude/plugins/installed_plugins.json",
        &format!(r#"{{"plugins":{{"p@m":[{{"installPath":{root:?}}}]}}}}"#),
    );
    tree.put("given/.mcp.json", r#"{"a":{"command":"a"}}"#);
    tree.places.plugin_dirs = vec![tree.root.path().canonicalize().unwrap().join("given")];
    let before = tree.now();
    let run = tree.put("plug/run", "#!/bin/sh\n");
    assert_eq!(tree.changes(&before), ["plug/run added"]);
    std::fs::remove_file(run).unwrap();
    tree.put("plug/hooks/hooks.json", HOOK);
    tree.put("given/.mcp.json", r#"{"a":{"command":"b"}}"#);
    assert_eq!(tree.changes(&before), ["given/.mcp.json: a changed", "plug/hooks/hooks.json: hooks changed"]);
}

#[test]
fn trusted_directories_are_those_of_claudes_own_state() {
    let tree = FileTree::new();
    let (one, two) = (tree.put("one/x", ""), tree.put("two/x", ""));
    let dir = |path: &Path| path.parent().unwrap().display().to_string();
    let entry = |path: &Path, yes| format!("{:?}:{{\"hasTrustDialogAccepted\":{yes}}}", dir(path));
    tree.put(
        "home/.claude.json",
        &format!(
            "{{\"projects\":{{{},{},\"/gone\":{{\"hasTrustDialogAccepted\":true}}}}}}",
            entry(&one, true),
            entry(&two, false)
        ),
    );
    assert_eq!(StartCode::trusted(&tree.places, &tree.project), [one.parent().unwrap()]);
    assert!(StartCode::trusted(&tree.places, one.parent().unwrap()).is_empty());
}
