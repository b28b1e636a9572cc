//! A place of its own for what is measured: home, sockets and temporary files in one directory, an
//! environment with nothing of the person's but PATH, and the end of every process that was started there.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::processes::{self, VARIABLE};

/// The directories that the environment names.
const DIRECTORIES: [&str; 4] = ["home", "run", "tmp", "screens"];

/// The place. Whatever still runs there when it is dropped is found by its variable and killed by pid.
pub struct Place {
    dir: TempDir,
    id: String,
}

impl Place {
    /// A new one, empty.
    pub fn new() -> io::Result<Place> {
        let dir = tempfile::Builder::new().prefix("bench").tempdir()?;
        for name in DIRECTORIES {
            std::fs::create_dir(dir.path().join(name))?;
            std::fs::set_permissions(dir.path().join(name), PermissionsExt::from_mode(0o700))?;
        }
        let id = format!("{}-{}", std::process::id(), dir.path().file_name().unwrap_or_default().display());
        Ok(Place { dir, id })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What starts these words here.
    pub fn command(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .envs(self.environment())
            .env(VARIABLE, &self.id)
            .current_dir(self.path());
        command
    }

    /// The same without input and output.
    pub fn silent(&self, words: &[OsString]) -> Command {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The environment: nothing of the person's but PATH.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let place = |name: &str| self.path().join(name).into_os_string();
        let mut env: Vec<(OsString, OsString)> = [
            ("HOME", place("home")),
            ("XDG_RUNTIME_DIR", place("run")),
            ("XDG_CONFIG_HOME", place("home/.config")),
            ("XDG_STATE_HOME", place("home/.state")),
            ("XDG_DATA_HOME", place("home/.data")),
            ("XDG_CACHE_HOME", place("home/.cache")),
            ("TMPDIR", place("tmp")),
            ("TMUX_TMPDIR", place("tmp")),
            ("SCREENDIR", place("screens")),
            ("ABDUCO_SOCKET_DIR", place("run")),
            ("ZMX_DIR", place("run")),
            ("TERM", "xterm-256color".into()),
            ("COLORTERM", "truecolor".into()),
            ("LANG", "C.UTF-8".into()),
            ("SHELL", "/bin/sh".into()),
            ("USER", "bench".into()),
        ]
        .into_iter()
        .map(|(name, value)| (OsString::from(name), value))
        .collect();
        env.extend(std::env::var_os("PATH").map(|path| ("PATH".into(), path)));
        env
    }

    /// Every process that was started here and lives.
    pub fn processes(&self) -> Vec<i32> {
        processes::of(&self.id)
    }

    /// Kills what is left here, by pid, and gives who that was.
    pub fn kill_all(&self) -> Vec<i32> {
        let left = self.processes();
        for pid in &left {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        left
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        collect(self.kill_all().into_iter());
    }
}

/// Waits for a child, and kills it when the limit has passed.
pub fn wait_at_most(child: &mut Child, limit: Duration) {
    let until = Instant::now() + limit;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits for those that became children of this process when their parents ended; the others are gone
/// already.
pub fn collect(pids: impl Iterator<Item = i32>) {
    for pid in pids {
        for _ in 0..100 {
            if !matches!(waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive))
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
