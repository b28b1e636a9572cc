//! The directories of the demo: a home, a project and a `claude` of its own in one temporary directory.
//! Nothing of the person's is read or written, whatever the environment says.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Files, scripted_model};
use crate::core::text::shell_word::shell_bytes;
use crate::fs::paths::Paths;
use crate::standin::{AGENT_ARG, home};
use crate::testing::test_terminal::ProgramUnderTest;

/// A key for the stand-in API, which accepts any.
const KEY: &str = "sk-ant-demo-0123456789-abcdefghijklmnopqrst";
/// The project's directory, and so the session's name.
pub(super) const PROJECT: &str = "counting";

/// The directories, and how a program is started in them.
#[derive(Debug)]
pub(super) struct DemoDirs {
    root: Option<TempDir>,
    /// The temporary directory; links resolved.
    pub(super) base: PathBuf,
    /// The project, a small git repository if git is installed.
    pub(super) project: PathBuf,
    /// hopty's and Claude's directories below the home.
    pub(super) paths: Paths,
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl DemoDirs {
    /// Creates the directories, for an API at `api_url`.
    ///
    /// # Errors
    /// When the temporary directory cannot be written.
    pub(super) fn make(api_url: &str) -> io::Result<DemoDirs> {
        let root = tempfile::Builder::new().prefix("hopty-demo-").tempdir()?;
        let base = root.path().canonicalize()?;
        let (home, project, bin) = (base.join("home"), base.join(PROJECT), base.join("bin"));
        for dir in [&home, &project, &bin, &home.join(".claude")] {
            std::fs::create_dir(dir)?;
        }
        home::seed(&home, &project, KEY)?;
        let program = this_program();
        let claude = bin.join("claude");
        write_claude(&claude, &program)?;
        let mut env: Vec<(OsString, OsString)> = home::environment(&home, api_url, KEY)
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let more: [(&str, OsString); 8] = [
            ("PATH", path),
            ("TMPDIR", base.clone().into()),
            ("SHELL", "/bin/sh".into()),
            ("LANG", "C.UTF-8".into()),
            // The client's terminal is hopty's own screen model.
            ("TERM", "xterm-256color".into()),
            ("HOPTY_PROGRAM_CLAUDE", claude.into()),
            // If the demo itself is killed, its terminal is gone and the session ends with it.
            ("HOPTY_TERMINAL_ON_HANGUP", "end".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ];
        env.extend(more.map(|(name, value)| (name.into(), value)));
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.clone().into_os_string()))
            .ok_or_else(|| io::Error::other("the temporary directory has no absolute path"))?;
        let place = DemoDirs { root: Some(root), base, project, paths, program, env };
        place.begin_repository();
        Ok(place)
    }

    /// hopty with these arguments, in a terminal of its own with `cols` and `rows`.
    pub(super) fn hopty_in_terminal(&self, args: &[&str], (cols, rows): (u16, u16)) -> ProgramUnderTest {
        let argv = std::iter::once(self.program.as_os_str()).chain(args.iter().map(|arg| (*arg).as_ref()));
        let own_dir = Some(self.base.clone());
        let (env, cwd) = (self.env.clone(), self.project.clone());
        ProgramUnderTest { env, cwd, cols, rows, own_dir, history: 0, ..ProgramUnderTest::new(argv) }
    }

    /// A program with the demo's environment and nothing of the person's.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.iter().cloned()).current_dir(&self.project);
        command
    }

    pub(super) fn hopty(&self) -> Command {
        self.command(&self.program)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.project.join(scripted_model::FILE)
    }

    /// Without git the project is no repository, and the handoff has no git section.
    fn begin_repository(&self) {
        let git = |args: &[&str]| {
            let mut command = self.command("git".as_ref());
            command
                .args([
                    "-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false",
                ])
                .args(args);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let text = "A project for `hopty demo`.\n";
        if std::fs::write(self.project.join("README.md"), text).is_ok() && git(&["init", "-q"]) {
            let _ = git(&["add", "README.md"]) && git(&["commit", "-q", "-m", "Begin"]);
        }
    }

    /// Removes the directories, or keeps them and returns their path.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub(super) fn leave(&mut self, files: Files) -> io::Result<Option<PathBuf>> {
        let Some(root) = self.root.take() else { return Ok(None) };
        match files {
            Files::Kept => Ok(Some(root.keep())),
            Files::Removed => root.close().map(|()| None),
        }
    }
}

/// The running file, by a name under which it can be started again. If it was replaced or removed
/// meanwhile, it is still available through this process.
fn this_program() -> PathBuf {
    let own = std::env::current_exe().ok().filter(|path| path.is_file());
    own.unwrap_or_else(|| format!("/proc/{}/exe", std::process::id()).into())
}

/// A `claude` that runs this hopty as the stand-in agent.
fn write_claude(path: &Path, program: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o700).open(path)?;
    file.write_all(b"#!/bin/sh\nexec ")?;
    file.write_all(&shell_bytes(program.as_os_str().as_bytes()))?;
    writeln!(file, " {AGENT_ARG} \"$@\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_are_removed_unless_kept() {
        let mut place = DemoDirs::make("http://127.0.0.1:1").unwrap();
        let base = place.base.clone();
        let output = place.command("/bin/sh".as_ref()).args(["-c", "echo $HOME; pwd"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("{0}/home\n{0}/counting\n", base.display()));
        assert_eq!(place.leave(Files::Removed).unwrap(), None);
        assert!(!base.exists());

        let mut place = DemoDirs::make("http://127.0.0.1:1").unwrap();
        let kept = place.leave(Files::Kept).unwrap().unwrap();
        drop(place);
        assert!(kept.join("bin/claude").is_file());
        std::fs::remove_dir_all(kept).unwrap();
    }
}
