//! Work trees that make git run their own code.

mod rows;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use hopty::standin::script::{Script, ScriptedReply};
use nix::libc::{self, c_ulong, sock_filter, sock_fprog};
use serde_json::{Value, json};

use self::rows::{Row, rows};
use super::support::claude::{Kind, hopty};
use super::support::program_files;
use super::support::skip;
use super::support::world::World;

/// How many rows are tried at the same time.
const LANES: usize = 4;
const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

/// A project that is a repository with three files, one of them changed, and a program outside of it that
/// leaves a trace.
struct Trap {
    world: World,
    root: PathBuf,
    canary: PathBuf,
    evil: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000));
        Self::with(script)
    }

    fn with(script: Script) -> Self {
        let mut world = World::with(Kind::StandIn, None, script);
        let root = world.project.parent().unwrap().to_owned();
        let (canary, evil) = (root.join("canary"), root.join("evil"));
        program(&evil, &format!("touch '{}'; exit 1", canary.display()));
        world.set("HOPTY_HANDOFF_GIT_TIMEOUT", "20s");
        let trap = Self { world, root, canary, evil };
        trap.sh("git init -q -b main; touch b c; echo one >a; git add .; git commit -qm x; echo two >a");
        trap
    }

    /// Runs a script in the project, with plain git and no configuration but the repository's.
    fn sh(&self, script: &str) -> Output {
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
            .map(|name| (name, "t"));
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "30", "sh", "-c", script]).current_dir(&self.world.project).envs(who);
        command
            .env("HOME", &self.world.home)
            .env("EVIL", &self.evil)
            .env("CANARY", &self.canary)
            .env("ROOT", &self.root);
        command.stdin(std::process::Stdio::null()).output().unwrap()
    }

    /// The document of a handoff that is made of a conversation in the project, gone to `moved` below it; and
    /// how long that took.
    fn handed_over(&self, moved: &str, change: impl FnOnce(&mut Command)) -> (String, Duration) {
        let line = |cwd: &Path, mut line: Value| {
            line["cwd"] = json!(cwd);
            line["sessionId"] = json!(ID);
            line["timestamp"] = json!("2026-11-20T14:29:50.000Z");
            format!("{line}\n")
        };
        let (project, path) = (&self.world.project, self.root.join(format!("{ID}.jsonl")));
        let there = project.join(moved);
        let prompt = line(
            project,
            json!({"type": "user", "message": {"role": "user", "content": "Build the bridge."}}),
        );
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 9,
            "cache_creation_input_tokens": 0, "output_tokens": 7});
        let message = json!({"id": "m", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
            "usage": usage,
            "content": [{"type": "text", "text": "It is done."}]});
        let answer = line(
            if moved.is_empty() { project } else { &there },
            json!({"type": "assistant", "message": message}),
        );
        std::fs::write(&path, prompt + &answer).unwrap();
        let mut command = Command::new(hopty());
        command
            .args(["handoff", "create", "--transcript"])
            .arg(&path)
            .env_clear()
            .envs(self.world.env.iter().cloned());
        command.current_dir(project);
        change(&mut command);
        let began = Instant::now();
        let output = command.output().unwrap();
        let took = began.elapsed();
        assert!(output.status.success(), "{output:?}");
        (self.world.ask(&["handoff", "show", String::from_utf8(output.stdout).unwrap().trim()]), took)
    }

    /// Whether the trace is there; it is taken away.
    fn sprung(&self) -> bool {
        std::fs::remove_file(&self.canary).is_ok()
    }
}

fn program(path: &Path, script: &str) {
    program_files::write(path, &format!("#!/bin/sh\n{script}\n"));
}

fn spring(row: &Row) -> Vec<String> {
    let trap = Trap::new();
    let mut wrong = Vec::new();
    let built = trap.sh(row.build);
    trap.sprung();
    let (document, took) = trap.handed_over(row.moved, |command| {
        let is_late = row.says.contains("in time") || row.says.contains("not known: git ");
        command.env("HOPTY_HANDOFF_GIT_TIMEOUT", if is_late { "400ms" } else { "20s" });
    });
    if trap.sprung() {
        wrong.push(format!("{}: it was run", row.name));
    }
    let says = row.says.replace("ROOT", trap.root.to_str().unwrap());
    if !document.contains(&says) {
        let git = document.split("## Git").nth(1).unwrap_or_default();
        wrong.push(format!("{}: the handoff does not say {says:?} but {git}; {built:?}", row.name));
    }
    if took > Duration::from_secs(15) {
        wrong.push(format!("{}: it took {took:?}", row.name));
    }
    if !row.springs.is_empty() {
        let plain = trap.sh(row.springs);
        if !trap.sprung() {
            wrong.push(format!("{}: it springs nothing by itself: {plain:?}, {built:?}", row.name));
        }
    }
    wrong
}

#[test]
fn nothing_that_a_work_tree_names_is_run_and_nothing_hangs() {
    let only = std::env::var("HOPTY_TEST_ROW").unwrap_or_default();
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.name.contains(&only)).collect();
    // Most of the time is spent waiting for git to be late.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let of_lane = rows.iter().skip(lane).step_by(LANES);
                scope.spawn(move || of_lane.flat_map(spring).collect::<Vec<_>>())
            })
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// A `git` that a project brings along is found by no search, whatever `PATH` says.
#[test]
fn a_git_that_lies_in_a_project_is_not_run() {
    for place in
        [".", "", "bin", "PROJECT/bin", "PROJECT/../proj/bin", "ROOT/other/bin", "ROOT/link", "ROOT/links"]
    {
        let mut trap = Trap::new();
        trap.sh(
            "mkdir bin links; git init -q ../other; mkdir ../other/bin ../links; ln -s proj/bin ../link; \
                 ln -s ../proj/bin/git ../links/git",
        );
        for at in [trap.world.project.clone(), trap.world.project.join("bin"), trap.root.join("other/bin")] {
            program_files::copy(&trap.evil, &at.join("git"));
        }
        let place = place
            .replace("PROJECT", trap.world.project.to_str().unwrap())
            .replace("ROOT", trap.root.to_str().unwrap());
        let path = format!("{place}:{}", std::env::var("PATH").unwrap());
        trap.world.set("PATH", &path);
        let (document, _) = trap.handed_over("", |_| {});
        trap.world.hopty(&["check"]);
        assert!(!trap.sprung() && document.contains(".M a"), "{place}: {document}");
        trap.sh(&format!("PATH='{path}'; git status"));
        assert!(trap.sprung(), "{place}");
        // Where there is no other, the handoff says so.
        trap.world.set("PATH", &place);
        let (document, _) = trap.handed_over("", |_| {});
        assert!(
            !trap.sprung() && document.contains("no git in PATH outside of the project"),
            "{place}: {document}"
        );
    }
}

#[test]
fn a_git_that_is_too_old_is_not_asked_about_a_work_tree() {
    let mut trap = Trap::new();
    let old = trap.root.join("old");
    std::fs::create_dir(&old).unwrap();
    let script =
        format!("test \"$*\" = version && exec echo git version 2.31.8; touch '{}'", trap.canary.display());
    program(&old.join("git"), &script);
    trap.world.set("PATH", old.to_str().unwrap());
    let (document, _) = trap.handed_over("", |_| {});
    assert!(!trap.sprung() && document.contains("git 2.31.8 is too old: 2.32 is needed"), "{document}");
}

/// What the environment and the person's own configuration name, and the work tree can bring along.
#[test]
fn programs_that_the_environment_or_the_persons_configuration_names_are_not_run() {
    for name in [
        "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND",
        "GIT_EDITOR", "PAGER",
    ] {
        let trap = Trap::new();
        let (document, _) = trap.handed_over("", |command| {
            command.env(name, &trap.evil);
        });
        assert!(!trap.sprung() && document.contains(".M a"), "{name}: {document}");
    }
    let trap = Trap::new();
    trap.sh(
        "mkdir hooks; cp $EVIL hooks/post-index-change; cp $EVIL fs; cp $EVIL clean; touch -d yesterday b",
    );
    trap.sh("git init -q ../in; git -C ../in config core.fsmonitor $EVIL; echo '* filter=x diff=x' \
             >.gitattributes");
    let keys = [
        "core.fsmonitor=./fs", "core.hooksPath=hooks", "filter.x.clean=./clean", "diff.x.textconv=./clean",
        "diff.external=./clean",
    ];
    let count = |command: &mut Command| {
        command.env("GIT_CONFIG_COUNT", keys.len().to_string());
        for (n, (key, value)) in keys.iter().filter_map(|pair| pair.split_once('=')).enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
    };
    let (document, _) = trap.handed_over("", |command| {
        count(command);
        command
            .env("GIT_DIR", trap.root.join("in/.git"))
            .env("GIT_WORK_TREE", "/")
            .env("GIT_EXEC_PATH", &trap.world.project);
        command.env("GIT_TRACE", &trap.canary).env("GIT_TRACE2_EVENT", &trap.canary);
    });
    assert!(!trap.sprung() && document.contains(".M a"), "{document}");
    for pair in keys {
        let (key, value) = pair.split_once('=').unwrap();
        trap.sh(&format!("git config --global {key} {value}"));
    }
    let (document, _) = trap.handed_over("", |_| {});
    assert!(!trap.sprung() && document.contains(".M a"), "{document}");
    assert!(
        document.contains("filters are not run (x): their files are compared as they are on disk"),
        "{document}"
    );
    trap.sh("git status");
    assert!(trap.sprung());
}

#[test]
fn a_repository_of_another_user_is_left_alone() {
    if !nix::unistd::geteuid().is_root() {
        return skip("only root can give a repository to another user");
    }
    let trap = Trap::new();
    trap.sh("git config core.fsmonitor $EVIL; chown 65534 . .git");
    let (document, _) = trap.handed_over("", |_| {});
    assert!(
        !trap.sprung() && document.contains("belongs to another user, and safe.directory does not name it"),
        "{document}"
    );
    trap.sh("git config --global safe.directory $PWD");
    let (document, _) = trap.handed_over("", |_| {});
    assert!(!trap.sprung() && document.contains(".M a"), "{document}");
    trap.sh("git status");
    assert!(trap.sprung());
}

/// Where the kernel cannot keep git from starting programs, git is not run at all.
#[test]
fn without_a_filter_for_system_calls_git_is_not_run() {
    let trap = Trap::new();
    let (document, _) = trap.handed_over("", refuse_filters);
    assert!(document.contains("this kernel cannot filter system calls"), "{document}");
    assert!(!document.contains("Branch: "), "{document}");
}

/// Has `prctl(PR_SET_SECCOMP, ...)` fail in what `command` starts, as it does on a kernel without filters.
fn refuse_filters(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let line = |code: u32, jf: u8, k: u32| sock_filter { code: u16::try_from(code).unwrap(), jt: 0, jf, k };
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let answer = libc::BPF_RET | libc::BPF_K;
    let filter = [
        line(load, 0, 0),
        line(equals, 3, u32::try_from(libc::SYS_prctl).unwrap()),
        line(load, 0, 16),
        line(equals, 1, libc::PR_SET_SECCOMP.unsigned_abs()),
        line(answer, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL.unsigned_abs()),
        line(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: only system calls, on memory that the closure owns.
    unsafe {
        command.pre_exec(move || {
            let program = sock_fprog { len: 6, filter: filter.as_ptr().cast_mut() };
            let (on, none, mode): (c_ulong, c_ulong, c_ulong) = (1, 0, libc::SECCOMP_MODE_FILTER.into());
            let done = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == 0;
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
}

/// The way it was found: Claude goes into a directory of the clone, and the automatic hand-over asks git
/// there.
#[test]
fn a_conversation_that_went_into_a_trap_hands_over_without_springing_it() {
    let script =
        Script::each(move |request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            (None, 0) => ScriptedReply::bash("cd docs && pwd").filling(20_000),
            (None, 1) => ScriptedReply::bash("ls").filling(190_000),
            (None, _) => ScriptedReply::text("No more.").filling(191_000),
        });
    let trap = Trap::with(script);
    let bare = rows().into_iter().find(|row| row.moved == "docs").unwrap();
    trap.sh(bare.build);
    trap.sh(
        "git config filter.x.clean $EVIL; git config core.fsmonitor $EVIL; echo '* filter=x' >.gitattributes",
    );
    trap.sprung();
    let world = &trap.world;
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Read the documents.");
    term.wait_text("Continuing from handoff HO-");
    world.wait_decision("handoff.consumed", 1);
    assert!(!trap.canary.exists(), "{}", world.story());
    let id = world.wait_decision("handoff.saved", 1)["handoff"].as_str().unwrap().to_owned();
    let document = world.ask(&["handoff", "show", &id]);
    assert!(
        document.contains("docs is unknown: this is a bare repository") && document.contains(".M a"),
        "{document}"
    );
    trap.world.wait_state("idle");
    assert!(!trap.canary.exists());
    trap.sh("cd docs; git status");
    assert!(trap.sprung());
    trap.sh("git status");
    assert!(trap.sprung());
    world.leave(term);
}
