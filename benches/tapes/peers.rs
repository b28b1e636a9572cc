//! Who tests a terminal program, and how each is told what to do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::place::Place;
use crate::support::{find, installed_hopty};

/// How long a peer may take for all that it is asked for.
const LIMIT: Duration = Duration::from_secs(40);

/// The program under test: it asks, and answers.
const PROGRAM: &str = "printf 'name? '; read name; echo \"hello $name\"\n";

/// The same as a tape for hopty.
const TAPE: &str = "Start sh PROGRAM
Expect \"name? \"
Type \"Ada\"
Enter
Expect \"hello Ada\"
Exit 0
";

/// For pexpect: N tests. It sleeps 50 ms before each input and 0.1 s at each end, unless told otherwise.
const PEXPECT: &str = r#"
import sys, pexpect
for _ in range(int(sys.argv[1])):
    child = pexpect.spawn("sh", [sys.argv[2]], dimensions=(24, 80))
    child.delaybeforesend = None
    child.expect_exact("name? ")
    child.send("Ada\r")
    child.expect_exact("hello Ada")
    child.expect(pexpect.EOF)
    assert child.wait() == 0
    child.ptyproc.delayafterclose = 0
    child.close()
"#;

/// For expect.
const EXPECT: &str = r#"
log_user 0
for {set n [lindex $argv 0]} {$n > 0} {incr n -1} {
    spawn -noecho sh [lindex $argv 1]
    expect "name? " {} default {exit 1}
    send "Ada\r"
    expect "hello Ada" {} default {exit 1}
    expect eof
    if {[lindex [wait] 3] != 0} {exit 1}
}
"#;

/// A script that asks tmux for the screen again and again, without a pause. The exit status is not checked,
/// and the end is asked for at most 100 times: tmux 3.3 misses the end of a pane now and then.
const TMUX: &str = r#"
T="tmux -L bench-$$"
$T -f /dev/null new-session -d -s keep -x 80 -y 24 cat
$T set-option -g remain-on-exit on
n=$1
while [ "$n" -gt 0 ]; do
    $T new-session -d -s t -x 80 -y 24 "sh $2"
    until $T capture-pane -p -t t | grep -q 'name?'; do :; done
    $T send-keys -t t Ada Enter
    until $T capture-pane -p -t t | grep -q 'hello Ada'; do :; done
    asked=0
    until [ "$($T display-message -p -t t '#{pane_dead}')" = 1 ] || [ "$asked" = 100 ]; do
        asked=$((asked + 1))
    done
    $T kill-session -t t
    n=$((n - 1))
done
$T kill-server || true
"#;

/// Who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Hopty,
    Pexpect,
    Expect,
    Tmux,
}

/// Something that tests terminal programs.
#[derive(Clone, Debug)]
pub struct Peer {
    pub tool: Tool,
    /// The program that it is, or that has it.
    pub program: PathBuf,
}

impl Peer {
    /// Everybody that is here, hopty first, and the names of those that are not.
    pub fn all() -> Result<(Vec<Peer>, Vec<&'static str>)> {
        let mut here = vec![Peer { tool: Tool::Hopty, program: installed_hopty()? }];
        let mut missing = Vec::new();
        for (tool, program) in [(Tool::Pexpect, "python3"), (Tool::Expect, "expect"), (Tool::Tmux, "tmux")] {
            let peer = find(program).map(|program| Peer { tool, program }).filter(Peer::is_whole);
            match peer {
                Some(peer) => here.push(peer),
                None => missing.push(name(tool)),
            }
        }
        Ok((here, missing))
    }

    /// Whether a Python has pexpect.
    fn is_whole(&self) -> bool {
        if self.tool != Tool::Pexpect {
            return true;
        }
        let mut command = Command::new(&self.program);
        command.args(["-c", "import pexpect"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// As in the tables.
    pub fn name(&self) -> &'static str {
        name(self.tool)
    }

    /// Prepares `tests` tests in `place`, to be done `jobs` at a time, as commands that are started together.
    pub fn commands(&self, place: &Place, tests: usize, jobs: usize) -> Result<Vec<Command>> {
        let program = write(place, "hello.sh", PROGRAM)?;
        if self.tool == Tool::Hopty {
            let tape = TAPE.replace("PROGRAM", &program.to_string_lossy());
            std::fs::create_dir(place.path().join("tapes"))?;
            for n in 0..tests {
                write(place, &format!("tapes/{n}.tape"), &tape)?;
            }
            let words = ["test", "tapes", "--fast", "--jobs", &jobs.to_string()].map(OsString::from);
            return Ok(vec![self.command(place, &words)]);
        }
        let script = match self.tool {
            Tool::Pexpect => write(place, "trivial.py", PEXPECT)?,
            Tool::Expect => write(place, "trivial.tcl", EXPECT)?,
            _ => write(place, "trivial.sh", TMUX)?,
        };
        let each = |job: usize| {
            let count = (tests + job) / jobs;
            let words = [script.clone().into(), count.to_string().into(), program.clone().into()];
            if self.tool == Tool::Tmux {
                let shell = Peer { program: "sh".into(), ..self.clone() };
                return shell.command(place, &words);
            }
            self.command(place, &words)
        };
        Ok((0..jobs).map(each).collect())
    }

    /// This peer with these words.
    pub fn command(&self, place: &Place, words: &[OsString]) -> Command {
        let mut all = vec![self.program.clone().into_os_string()];
        all.extend_from_slice(words);
        place.silent(&all)
    }
}

fn name(tool: Tool) -> &'static str {
    match tool {
        Tool::Hopty => "hopty",
        Tool::Pexpect => "pexpect",
        Tool::Expect => "expect",
        Tool::Tmux => "tmux",
    }
}

/// Writes a file into the place.
pub fn write(place: &Place, name: &str, text: &str) -> Result<PathBuf> {
    let path = place.path().join(name);
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Starts all of them and waits; each must succeed. Returns what they wrote where that is a pipe.
pub fn succeed(name: &str, commands: Vec<Command>) -> Result<String> {
    let mut children = Vec::new();
    for mut command in commands {
        children.push(command.stderr(Stdio::piped()).spawn()?);
    }
    let pids: Vec<i32> = children.iter().filter_map(|child| i32::try_from(child.id()).ok()).collect();
    let (done, waits) = channel::<()>();
    // A peer that never finds its text would wait for ever. Until all were waited for, their ids are theirs.
    let guard = std::thread::spawn(move || {
        if waits.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            for pid in pids {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    });
    let outputs: Vec<_> = children.into_iter().map(Child::wait_with_output).collect();
    drop(done);
    let _ = guard.join();
    let mut text = String::new();
    for output in outputs {
        let output = output?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{name} failed: {}\n{said}", output.status);
        text.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    Ok(text)
}
