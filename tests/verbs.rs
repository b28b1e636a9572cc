//! No verb ever reaches Claude as a prompt, nor does a word that was meant as one.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[allow(dead_code)]
#[path = "support/skip.rs"]
mod skip;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// A home in which `claude` leaves a trace when it is started.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        let claude = home.0.path().join("claude");
        std::fs::write(&claude, format!("#!/bin/sh\necho \"$*\" >> '{}'\n", home.trace().display())).unwrap();
        std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    /// A person has accepted Claude's trust question here.
    fn trust(&self) {
        let here = self.0.path().canonicalize().unwrap().display().to_string();
        let state = serde_json::json!({"projects": {here: {"hasTrustDialogAccepted": true}}});
        std::fs::write(self.0.path().join(".claude.json"), state.to_string()).unwrap();
    }

    fn trace(&self) -> std::path::PathBuf {
        self.0.path().join("trace")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopty"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", "/usr/bin:/bin")
            .env("HOPTY_PROGRAM_CLAUDE", self.0.path().join("claude"))
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn hopty(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The verbs that `hopty help` lists, without itself.
    fn verbs(&self) -> Vec<String> {
        let help = String::from_utf8(self.hopty(&["help"]).stdout).unwrap();
        let list = help.split("Verbs:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        // What goes on from the line before stands further to the right.
        let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names: Vec<String> =
            names.filter(|name| !["", "help"].contains(name)).map(str::to_owned).collect();
        assert!(names.len() > 40, "{help}");
        names
    }
}

#[test]
fn no_verb_reaches_claude() {
    let home = Home::new();
    for verb in home.verbs().iter().map(String::as_str).chain(["hook", "statusline"]) {
        let done = home.hopty(&[verb, "--help"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{verb}: {said}");
        assert!(!done.stdout.is_empty(), "{verb} has no help");
        assert!(
            !home.trace().exists(),
            "{verb} started Claude: {}",
            std::fs::read_to_string(home.trace()).unwrap()
        );
    }
}

#[test]
fn two_dashes_always_reach_claude() {
    let home = Home::new();
    // Without a terminal it is Claude's own business, so hopty is replaced by it.
    for verb in ["attach", "ls", "dash"] {
        assert!(home.hopty(&["--", verb, "x"]).status.success());
    }
    assert_eq!(std::fs::read_to_string(home.trace()).unwrap(), "attach x\nls x\ndash x\n");
}

/// `hopty --help` is Claude's, so hopty's own help must not offer it, and must say which hopty this is.
#[test]
fn hopty_s_own_help_offers_nothing_that_is_claude_s() {
    let home = Home::new();
    let done = home.hopty(&["help"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(said.starts_with(concat!("hopty ", env!("CARGO_PKG_VERSION"), ": ")), "{said}");
    assert!(!said.contains("-V") && !said.contains("-h, "), "{said}");
    assert!(home.hopty(&["run", "--help"]).stdout.starts_with(b"Supervise any program"));
}

#[test]
fn the_configuration_says_where_each_value_came_from() {
    let home = Home::new();
    let ask = |args: &[&str]| {
        let done = home.hopty(args);
        (done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    let file = home.0.path().join(".config/hopty/config.toml");
    assert_eq!(ask(&["config", "path"]).1.trim_end(), file.to_str().unwrap());
    assert_eq!(ask(&["config", "init"]), (Some(0), format!("{}\n", file.display()), String::new()));
    let before = std::fs::read(&file).unwrap();
    assert_eq!(ask(&["config", "init"]).0, Some(1), "it is never written over");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let nowhere = home.command(&["config", "init"]).env("XDG_CONFIG_HOME", "/dev/null").output().unwrap();
    let said = String::from_utf8(nowhere.stderr).unwrap();
    assert!(
        nowhere.status.code() == Some(125) && said.contains("\nhint: check the permissions of its directory"),
        "{said}"
    );
    std::fs::write(&file, "[restart]\nmode = \"ask\"\n\n[context]\nprofile = \"s3\"\n").unwrap();
    std::fs::write(home.0.path().join(".hopty.toml"), "[handoff]\ngotchas = 7\n").unwrap();
    let shown = ask(&["config"]);
    assert!(
        shown.1.contains("gotchas = 5") && shown.2.contains("/.hopty.toml is ignored: Claude does not trust"),
        "{shown:?}"
    );
    assert!(shown.2.contains("\nhint: accept Claude's trust dialog here"), "{shown:?}");
    home.trust();
    let shown = ask(&["config"]);
    assert_eq!((shown.0, shown.2.as_str()), (Some(0), ""), "{shown:?}");
    let remark = |line: &str| {
        shown.1.lines().find(|l| l.starts_with(line)).and_then(|l| l.split_once("# ")).unwrap().1.to_owned()
    };
    assert!(remark("mode = \"ask\"").ends_with("/.config/hopty/config.toml:2"), "{}", shown.1);
    assert!(remark("gotchas = 7").ends_with("/.hopty.toml:2"), "{}", shown.1);
    assert_eq!(remark("ask = { percent = 60 }"), "profile s3");
    assert_eq!(remark("handoff = {}"), "profile s3");
    assert!(remark("claude = ").ends_with("HOPTY_PROGRAM_CLAUDE"), "{}", shown.1);
    assert_eq!(remark("max_restarts = 10"), "default");
    shown.1.parse::<toml::Table>().unwrap();
    let json: serde_json::Value = serde_json::from_str(&ask(&["config", "show", "--json"]).1).unwrap();
    let mode = json.as_array().unwrap().iter().find(|key| key["key"] == "restart.mode").unwrap();
    assert_eq!(
        (&mode["value"], &mode["default"], &mode["from"]),
        (&"ask".into(), &"auto".into(), &"user".into())
    );
    assert_eq!(ask(&["config", "check"]).1, "the configuration is valid: 4 keys are set\n");
    let conf = home.0.path().join(".claude/claudikins-acm.conf");
    std::fs::create_dir_all(conf.parent().unwrap()).unwrap();
    std::fs::write(&conf, "SNOOZE_DURATION=60\nTHRESHOLD=45\n").unwrap();
    let shown = ask(&["config"]).1;
    let line = shown.lines().find(|line| line.starts_with("ask = { percent = 45 }")).unwrap();
    assert!(line.ends_with("/.claude/claudikins-acm.conf:2"), "{line}");
    std::fs::write(&conf, "THRESHOLD=much\n").unwrap();
    let told = ask(&["config", "check"]);
    assert!(
        told.0 == Some(2) && told.1.contains("/.claude/claudikins-acm.conf:1: context.ask = "),
        "{told:?}"
    );
    std::fs::remove_file(conf).unwrap();
    std::fs::write(&file, "[restart]\nmod = 1\n[context]\nhart = 2\nask = 3\n").unwrap();
    let lines: Vec<String> =
        ask(&["config", "check"]).1.lines().map(|l| l.split(": ").next().unwrap().to_owned()).collect();
    assert!(
        lines.len() == 3
            && lines.iter().zip([2, 4, 5]).all(|(at, line)| at.ends_with(&format!(".toml:{line}"))),
        "{lines:?}"
    );
    for args in [&["config"][..], &["config", "check"]] {
        let (code, out, err) = ask(args);
        assert_eq!(code, Some(2), "{err}");
        assert!(
            (out + &err).contains(
                "config.toml:2: unknown key \"restart.mod\"; the nearest known key is restart.mode"
            )
        );
    }
    let said = ask(&["config"]).2;
    assert!(said.contains(", and 2 more errors\nhint: `hopty config check` shows all\n"), "{said}");
}

#[test]
fn check_names_what_is_wrong_and_what_helps() {
    let home = Home::new();
    let ask = || {
        let done = home.hopty(&["check"]);
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    // This Claude says no version; that is no mistake.
    let (code, said) = ask();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.lines().next().is_some_and(|line| line.starts_with("note  claude ")), "{said}");
    for about in ["hooks", "configuration", "sessions", "handoffs", "hosts", "git", "environment"] {
        assert!(said.lines().any(|line| line.starts_with(&format!("ok    {about} "))), "{about}: {said}");
    }
    std::fs::set_permissions(
        home.0.path().join(".local/state/hopty/run"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    home.trust();
    std::fs::write(home.0.path().join(".hopty.toml"), "[restart]\ngrace = \"1s\"\n").unwrap();
    std::fs::create_dir(home.0.path().join(".claude")).unwrap();
    std::fs::write(home.0.path().join(".claude/settings.json"), r#"{"disableAllHooks": true}"#).unwrap();
    std::fs::remove_file(home.0.path().join("claude")).unwrap();
    let (code, said) = ask();
    assert_eq!(code, Some(1), "{said}");
    for (about, fix) in
        [("claude", "set program.claude"), ("configuration", "hopty config show"), ("sessions", "chmod 700")]
    {
        let mut lines = said.lines().skip_while(|line| !line.starts_with(&format!("bad   {about} ")));
        assert!(
            lines.next().is_some() && lines.next().is_some_and(|line| line.contains(fix)),
            "{about}: {said}"
        );
    }
    let found: serde_json::Value = serde_json::from_slice(&home.hopty(&["check", "--json"]).stdout).unwrap();
    let bad = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["state"] == "bad" && finding["fix"].is_string());
    assert_eq!(bad.count(), 3, "{found}");
}

/// Both are made from the tree of verbs, so that each verb of this version is in them.
#[test]
fn completions_and_manual_pages_have_every_verb() {
    let home = Home::new();
    let verbs = home.verbs();
    let shown = |args: &[&str]| {
        let done = home.hopty(args);
        assert!(
            done.status.success() && done.stderr.is_empty(),
            "{args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap()
    };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = shown(&["completions", shell]);
        let missing: Vec<_> = verbs.iter().filter(|verb| !text.contains(*verb)).collect();
        assert!(missing.is_empty() && text.contains("max-restarts"), "{shell}: {missing:?}");
    }
    // As a file: it is longer than an argument may be.
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("completions.bash");
    std::fs::write(&script, shown(&["completions", "bash"])).unwrap();
    let bash = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(bash.status.success() && bash.stderr.is_empty(), "{}", String::from_utf8_lossy(&bash.stderr));
    let page = shown(&["man", "--roff"]);
    assert!(page.contains(".TH hopty 1") && !page.contains("\\-\\-help\\fR"), "{page}");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    let wanted = [
        "NAME", "SYNOPSIS", "DESCRIPTION", "VERBS", "EXAMPLES", "NOTES", "KEYS", "\"EXIT STATUS\"", "FILES",
        "ENVIRONMENT", "\"SEE ALSO\"",
    ];
    assert_eq!(
        headings.iter().map(|heading| heading.trim_matches('"')).collect::<Vec<_>>(),
        wanted.map(|heading| heading.trim_matches('"'))
    );
    assert!(page.contains("ctrl\\-\\e and then d to detach"), "{page}");
    for verb in &verbs {
        assert!(page.contains(&format!("hopty\\-{}(1)", verb.replace('-', "\\-"))), "{verb}: {page}");
        let page = shown(&["man", "--roff", verb]);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(&format!(".TH hopty-{verb} 1 ")), "{page}");
    }
    assert!(shown(&["man", "handoff", "show"]).contains("redactions"));
    for path in ["/nowhere", "/usr/bin:/bin"] {
        let text = home.command(&["man", "ask"]).env("PATH", path).output().unwrap();
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.contains("hopty ask rocket \"Which tests fail?\""), "{text}");
        let is_source =
            text.lines().any(|line| line.starts_with('.')) || text.contains('\\') || text.contains('\u{8}');
        assert!(!is_source, "plain text in a pipe: {text}");
    }
    assert_eq!(home.hopty(&["man", "nosuch"]).status.code(), Some(2));
}

/// With Claude or without it, such a word costs nothing.
#[test]
fn a_word_that_was_meant_as_a_verb_never_reaches_claude() {
    let home = Home::new();
    for claude in [true, false] {
        if !claude {
            std::fs::remove_file(home.0.path().join("claude")).unwrap();
        }
        for (word, instead) in [
            ("lss", "hopty ls"),
            ("statsu", "hopty status"),
            ("list", "hopty ls"),
            ("new", "hopty"),
            ("kill", "hopty stop"),
            ("history", "hopty conversations ls"),
            ("archive", "hopty conversations archive"),
        ] {
            let done = home.hopty(&[word, "--json"]);
            let said = String::from_utf8(done.stderr).unwrap();
            let lines: Vec<&str> = said.lines().collect();
            assert_eq!(done.status.code(), Some(2), "{word}: {said}");
            assert_eq!(lines[0], format!("hopty: `{word}` is not a verb; did you mean `{instead}`?"));
            assert!(lines[1].starts_with(&format!("hint: `hopty -- {word}` passes it to Claude")), "{said}");
            let error: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            assert_eq!(error["error"]["code"], "bad_request", "{word}");
        }
        assert!(!home.trace().exists(), "Claude was started");
    }
}

/// Neither a prompt that is no verb, nor what Claude does not take as a prompt, is refused.
#[test]
fn a_word_that_is_claude_s_reaches_claude() {
    let home = Home::new();
    for words in [&["explain"][..], &["logs", "1"], &["agents"], &["--last"], &["--", "list"]] {
        assert_eq!(home.hopty(words).status.code(), Some(0), "{words:?}");
    }
    assert_eq!(std::fs::read_to_string(home.trace()).unwrap(), "explain\nlogs 1\nagents\n--last\nlist\n");
}

#[test]
fn both_versions_are_told_where_both_are() {
    let home = Home::new();
    let hopty = concat!("hopty ", env!("CARGO_PKG_VERSION"));
    let stdout = |args: &[&str]| {
        let done = home.hopty(args);
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let claude = home.0.path().join("claude");
    std::fs::write(&claude, "#!/bin/sh\necho '2.1.400 (Claude Code)'\n").unwrap();
    assert_eq!(stdout(&["version"]), format!("{hopty}\nClaude Code 2.1.400 ({})\n", claude.display()));
    let object: serde_json::Value = serde_json::from_str(&stdout(&["version", "--json"])).unwrap();
    assert_eq!((&object["hopty"], &object["claude"]), (&env!("CARGO_PKG_VERSION").into(), &"2.1.400".into()));
    assert_eq!(stdout(&["--version"]), "2.1.400 (Claude Code)\n", "a script gets Claude's answer alone");
    std::fs::remove_file(&claude).unwrap();
    for args in [&["version"][..], &["--version"], &["-v"]] {
        let said = stdout(args);
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some(hopty), "{args:?}");
        assert!(lines.next().is_some_and(|line| line.starts_with("Claude Code: ")), "{args:?}: {said}");
        assert!(!said.contains("Claude Code: Claude Code"), "{args:?}: {said}");
    }
    for args in [&["--help"][..], &["-h"], &["help"]] {
        assert!(stdout(args).contains("\nVerbs:\n"), "{args:?}");
    }
    let object: serde_json::Value = serde_json::from_str(&stdout(&["version", "--json"])).unwrap();
    assert_eq!(object["claude"], serde_json::Value::Null);
}

/// `hopty --version | head -1`.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    std::fs::remove_file(home.0.path().join("claude")).unwrap();
    for args in [&["--version"][..], &["--help"], &["run", "--help"], &["version"], &["man", "ls"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = home.command(args).stdout(writer).output().unwrap();
        assert_eq!(done.status.signal(), Some(nix::libc::SIGPIPE), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
    }
}

/// A person sees whose version and whose help it is.
#[test]
fn in_a_terminal_hopty_introduces_claude_s_answer() {
    let Some(_) = skip::needs("script") else { return };
    let home = Home::new();
    std::fs::write(home.0.path().join("claude"), "#!/bin/sh\necho \"claude says $*\"\n").unwrap();
    let said = |args: &str| {
        let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_hopty"));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env_clear().env("HOME", home.0.path());
        script.env("PATH", "/usr/bin:/bin").env("HOPTY_PROGRAM_CLAUDE", home.0.path().join("claude"));
        script.current_dir(home.0.path()).stdin(Stdio::null());
        String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned()
    };
    let version = said("--version");
    assert!(version.starts_with("hopty ") && version.contains("\nclaude says --version"), "{version}");
    let help = said("--help");
    assert!(help.contains("`hopty help` shows hopty's") && help.contains("claude says --help"), "{help}");
    assert!(!said("mcp list").contains("hopty"), "any other answer is Claude's alone");
}

/// With a terminal as without one: an option is an option, and Claude's subcommands are no prompts.
#[test]
fn only_a_prompt_is_called_a_prompt() {
    let Some(_) = skip::needs("script") else { return };
    let home = Home::new();
    let said = |args: &[&str]| {
        let line = format!("'{}' {}", env!("CARGO_BIN_EXE_hopty"), args.join(" "));
        let mut script = Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .env("HOME", home.0.path())
            .env("PATH", "/usr/bin:/bin");
        script
            .env("HOPTY_PROGRAM_CLAUDE", home.0.path().join("claude"))
            .current_dir(home.0.path())
            .stdin(Stdio::null());
        String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned()
    };
    for args in [&["--help"][..], &["-h"], &["--version"], &["agents"], &["logs", "1"]] {
        let said = said(args);
        assert!(!said.contains("prompt"), "{args:?}: {said}");
        assert!(
            std::fs::read_to_string(home.trace()).unwrap().ends_with(&format!("{}\n", args.join(" "))),
            "{args:?}"
        );
    }
}

/// What stands before the program is an option of `run`, or a mistake that is named.
#[test]
fn an_option_that_run_does_not_take_is_named() {
    let home = Home::new();
    for (args, hint) in [
        (&["run", "--size", "80x24", "--", "true"][..], "`hopty run --help` shows the usage"),
        (&["run", "--size=80x24", "true"], "`hopty run --help` shows the usage"),
        (&["run", "--nam", "x", "--", "true"], "a similar argument exists: '--name'"),
        (&["run", "--read-only", "true"], "--read-only is an option of `hopty attach`"),
        (&["run", "--keep", "true"], "--keep is an option of `hopty demo`, `hopty test`"),
        (&["run", "-x", "true"], "`hopty run --help` shows the usage"),
    ] {
        let done = home.hopty(args);
        let said = String::from_utf8(done.stderr).unwrap();
        let option = args[1].split('=').next().unwrap();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(
            said,
            format!("hopty: run: unexpected argument '{option}' found\nhint: {hint}\n"),
            "{args:?}"
        );
    }
    let said = String::from_utf8(home.hopty(&["backup", "create", "-o", "x"]).stderr).unwrap();
    assert!(said.ends_with("hint: the file needs no option: `hopty backup create FILE`\n"), "{said}");
    // Behind the program, and behind two dashes, everything is the program's.
    for args in [
        &["run", "sh", "-c", "exit 7"][..],
        &["run", "--", "sh", "-c", "exit 7"],
        &["run", "--name", "x", "sh", "-c", "exit 7"],
    ] {
        assert_eq!(home.hopty(args).status.code(), Some(7), "{args:?}");
    }
    let done = home.hopty(&["run", "--", "--size"]);
    assert_eq!(
        String::from_utf8(done.stderr).unwrap(),
        "hopty: run: --size: no such program\nhint: check the name and PATH\n"
    );
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    for args in [&["help"][..], &["ls", "--help"], &["man"], &["completions", "bash"], &["config"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let done = home.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(125), "{args:?}: {said}");
        assert!(said.starts_with(&format!("hopty: {}: No space left", args[0])), "{args:?}: {said}");
    }
}

#[test]
fn what_is_asked_with_standard_output_closed_is_not_answered() {
    let home = Home::new();
    for args in ["ls --json", "config path", "channel", "completions bash", "man"] {
        let line = format!("exec \"$0\" {args} >&-");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &line, env!("CARGO_BIN_EXE_hopty")])
            .env_clear()
            .env("HOME", home.0.path())
            .stdin(Stdio::null());
        let done = shell.output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(125), "{args}: {said}");
        assert!(said.contains("Bad file descriptor"), "{args}: {said}");
    }
}

/// What runs Claude alone adds nothing to what a script gets, without a home, too.
#[test]
fn without_a_home_claude_alone_is_claude_alone() {
    let home = Home::new();
    for args in [&["--version"][..], &["-p", "hello"], &["mcp", "list"]] {
        let done = home.command(args).env_remove("HOME").output().unwrap();
        assert_eq!((done.status.code(), done.stdout, done.stderr), (Some(0), vec![], vec![]), "{args:?}");
    }
    assert_eq!(std::fs::read_to_string(home.trace()).unwrap(), "--version\n-p hello\nmcp list\n");
}

#[test]
fn a_wait_without_its_condition_is_told_how_it_goes() {
    let home = Home::new();
    std::fs::create_dir_all(home.0.path().join(".local/state/hopty/sessions/proj")).unwrap();
    for (args, cause, hint) in [
        (
            &["wait"][..],
            "hopty: wait: no condition given",
            "conditions: idle, busy, blocked, exit, text=REGEX",
        ),
        (&["wait", "proj"], "hopty: wait: proj: unknown condition", "`hopty wait proj idle`"),
        (&["wait", "busy", "proj"], "hopty: wait: proj: unknown condition", "`hopty wait proj busy`"),
        (&["wait", "nosuch"], "hopty: wait: nosuch: unknown condition", "conditions: idle, busy"),
    ] {
        let done = home.hopty(args);
        let said = String::from_utf8(done.stderr).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!((done.status.code(), lines[0]), (Some(2), cause), "{args:?}");
        assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{args:?}: {said}");
    }
}
