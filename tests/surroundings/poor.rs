//! A world with something missing in it, and a Claude that is started there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hopty::standin::script::{Script, ScriptedReply};

use super::support::claude::{self, Kind};
use super::support::term::Term;
use super::support::wait;
use super::support::wait_for;
use super::support::world::World;

/// The user of the rows about permissions, which root ignores.
const NOBODY: &str = "65534";
/// One that has no other process: a limit of processes counts all that a user has.
const ALONE: &str = "64123";

/// Who runs the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// Whoever runs the tests.
    Anybody,
    /// A user for whom modes of files count: `nobody` where root runs the tests.
    Ordinary,
    /// `nobody`, after `root` was run by root.
    OrdinaryByRoot,
    /// A user who runs nothing else; only where root runs the tests.
    Lonely,
    /// Root, in a mount namespace of its own in which `root` was run.
    Root,
}

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// hopty in place of Claude.
    Hopty,
    /// The stand-in agent alone.
    Alone,
}

/// The world.
pub struct Poor {
    pub world: World,
    pub root: PathBuf,
    hopty: PathBuf,
    mark: String,
    who: As,
    /// Run by root before the user's part.
    prepare: String,
}

pub fn is_root() -> bool {
    // SAFETY: geteuid cannot fail.
    unsafe { nix::libc::geteuid() == 0 }
}

impl Poor {
    /// `None` where this needs root, a namespace or another user, which are not to be had.
    pub fn new(who: As, prepare: &str) -> Option<Poor> {
        let needs_root = matches!(who, As::Root | As::OrdinaryByRoot | As::Lonely);
        if needs_root && !(is_root() && can_unshare()) || who == As::Ordinary && is_root() && !has("setpriv")
        {
            return None;
        }
        let script = Script::each(|request, _| match request.continued_handoff() {
            Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            None if request.contains("fill it") => ScriptedReply::text("Filled.").filling(170_000),
            None => ScriptedReply::text(format!("Answer {}.", request.assistant_messages())).filling(2000),
        });
        let mut world = World::new(Kind::StandIn, script)?;
        let root = world.root.path().canonicalize().unwrap();
        for (name, variable) in [("tmp", "TMPDIR"), ("run", "XDG_RUNTIME_DIR")] {
            let dir = root.join(name);
            std::fs::create_dir(&dir).unwrap();
            world.set(variable, dir.to_str().unwrap());
        }
        // Where another user can reach it. By a process of its own: a file that this one writes is busy in
        // all that it forks.
        let hopty = root.join("hopty");
        assert!(Command::new("cp").arg(claude::hopty()).arg(&hopty).status().unwrap().success());
        let lift = "eval \"$HOPTY_TEST_LIFT\"";
        let agent = format!("#!/bin/sh\n{lift}\nexec '{}' __agent \"$@\"\n", hopty.display());
        std::fs::write(root.join("claude"), agent).unwrap();
        let mark = format!("HOPTY_TEST_MARK={}", root.display());
        world.set("HOPTY_TEST_MARK", root.to_str().unwrap());
        world.set("ROOT", root.to_str().unwrap());
        let poor = Poor { world, root, hopty, mark, who, prepare: prepare.to_owned() };
        if poor.is_another_user() {
            let id = poor.id();
            let done =
                Command::new("chown").arg("-R").arg(format!("{id}:{id}")).arg(&poor.root).status().unwrap();
            assert!(done.success());
        }
        Some(poor)
    }

    fn is_another_user(&self) -> bool {
        matches!(self.who, As::Ordinary | As::OrdinaryByRoot | As::Lonely) && is_root()
    }

    fn id(&self) -> &'static str {
        if self.who == As::Lonely { ALONE } else { NOBODY }
    }

    /// The words that run `line` in a shell of this world's user, after what root prepares.
    fn shell(&self, line: &str) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let mut user = words(&["/bin/sh", "-c", line]);
        if self.is_another_user() {
            user = [
                words(&[
                    "/usr/bin/setpriv",
                    "--reuid",
                    self.id(),
                    "--regid",
                    self.id(),
                    "--clear-groups",
                    "--",
                ]),
                user,
            ]
            .concat();
        }
        if matches!(self.who, As::Root | As::OrdinaryByRoot) {
            let all = format!("{}\nexec \"$@\"", self.prepare);
            user = [words(&["/usr/bin/unshare", "--mount", "/bin/sh", "-ec", &all, "sh"]), user].concat();
        }
        user
    }

    /// A terminal in which `before` is run by a shell, which then becomes hopty or the agent.
    pub fn start(&self, before: &str, started: Started) -> Term {
        let program = match started {
            Started::Hopty => self.hopty.clone(),
            Started::Alone => self.root.join("claude"),
        };
        self.terminal(&format!("{before}\nexec '{}' --model claude-sonnet-4-5", program.display()))
    }

    /// A terminal with a shell that runs `line`.
    pub fn terminal(&self, line: &str) -> Term {
        let words = self.shell(line);
        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        Term::start(Path::new(&words[0]), &args, &self.world.env, &self.world.project, (120, 40))
    }

    /// A verb after `before`, without a terminal, run to its end.
    pub fn verb(&self, before: &str, verb: &str) -> Output {
        let words = self.shell(&format!("{before}\nexec '{}' {verb}", self.hopty.display()));
        Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .envs(self.world.env.iter().cloned())
            .current_dir(&self.world.project)
            .output()
            .unwrap()
    }

    /// The processes of this world, with their environment.
    pub fn processes(&self) -> Vec<(i32, Vec<OsString>)> {
        use std::os::unix::ffi::OsStringExt;
        let Ok(dir) = std::fs::read_dir("/proc") else { return Vec::new() };
        let of_ours = dir.flatten().filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let env = std::fs::read(entry.path().join("environ")).ok()?;
            let env: Vec<OsString> =
                env.split(|b| *b == 0).map(|var| OsString::from_vec(var.to_vec())).collect();
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let dead = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
            (!dead && env.iter().any(|var| *var == *self.mark)).then_some((pid, env))
        });
        of_ours.collect()
    }

    /// The state directory that the session at hand uses, by the environment of its program; `None` without
    /// hopty.
    pub fn state_in_use(&self) -> Option<PathBuf> {
        let socket = self.processes().into_iter().find_map(|(_, env)| {
            env.iter().find_map(|var| var.to_str()?.strip_prefix("HOPTY_SOCKET=").map(PathBuf::from))
        })?;
        Some(socket.parent()?.parent()?.to_owned())
    }

    /// The agent that hopty runs.
    pub fn agent(&self) -> i32 {
        let of_hopty = |env: &[OsString]| {
            env.iter().any(|var| var.to_str().is_some_and(|var| var.starts_with("HOPTY_SOCKET=")))
        };
        let agents = || {
            self.processes().into_iter().find_map(|(pid, env)| {
                let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
                let is_agent = words.split(|byte| *byte == 0).nth(1) == Some(b"__agent");
                (is_agent && of_hopty(&env)).then_some(pid)
            })
        };
        wait_for("the agent's process", agents)
    }

    /// No process is left, and no directory that went with a session.
    pub fn assert_nothing_left(&self, about: &str) {
        wait_for(
            &format!(
                "{about}: the end of {:?}",
                self.processes().iter().map(|(pid, _)| *pid).collect::<Vec<_>>()
            ),
            || self.processes().is_empty().then_some(()),
        );
        for dir in ["tmp", "run"] {
            let names: Vec<_> = std::fs::read_dir(self.root.join(dir))
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.file_name())
                .collect();
            assert!(names.is_empty(), "{about}: left in {dir}: {names:?}");
        }
    }
}

impl Drop for Poor {
    fn drop(&mut self) {
        // Only what carries this world's mark was started by it.
        for (pid, _) in self.processes() {
            // SAFETY: kill takes two numbers.
            unsafe { nix::libc::kill(pid, nix::libc::SIGKILL) };
            wait::ends_within(pid, std::time::Duration::from_secs(5));
        }
        // For the directory's own removal, where this process is not root.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.root).output();
    }
}

fn has(program: &str) -> bool {
    Path::new("/usr/bin").join(program).exists()
}

/// Whether there can be a mount namespace, which containers may forbid even to root.
fn can_unshare() -> bool {
    has("setpriv")
        && Command::new("unshare")
            .args(["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
            .output()
            .is_ok_and(|done| done.status.success())
}

/// A prompt is answered: the trust question of a home that knows nothing first.
pub fn answers(term: &Term) {
    term.wait_for("the prompt box or the trust question", |screen| {
        screen
            .lines()
            .iter()
            .any(|line| line.starts_with("❯\u{a0}") || line.contains("Yes, I trust this folder"))
    });
    if term.lines().iter().any(|line| line.contains("Yes, I trust this folder")) {
        term.accept_trust();
    }
    term.wait_box();
    term.submit("hi");
    term.wait_text("Answer 0.");
}

/// The lines that hopty has said in this terminal.
pub fn said(term: &Term) -> Vec<String> {
    let text = String::from_utf8_lossy(&term.bytes()).into_owned();
    // What gives the terminal back, a title last, may stand before it on its line.
    let of_line = |line: &str| Some(line.rsplit(['\x07', '\r']).next()?.strip_prefix("hopty: ")?.to_owned());
    let mut said: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().map(|line| line.trim_end_matches('\r')) {
        let first = of_line(line);
        // A long one is broken between words, and indented by the prefix.
        let rest = line.strip_prefix("       ").filter(|rest| goes_on && !rest.starts_with(' '));
        goes_on = first.is_some() || rest.is_some();
        match (first, rest, said.last_mut()) {
            (Some(first), ..) => said.push(first),
            (None, Some(rest), Some(before)) => *before = format!("{before} {rest}"),
            _ => {}
        }
    }
    said
}
