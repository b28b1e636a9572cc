//! A test that stops so that a person can examine and use its program.
//!
//! The program's terminal stays in this process. A hopty session shows it: the program of that session is a
//! window ([`super::pause_window`]), which draws the screen and sends keys over a socket. So `hopty attach`
//! works as with any session, and the test continues when the session ends.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::test_terminal::{TestTerminal, starting};
use crate::core::ids::SessionName;

/// The hidden verb that shows a paused test.
pub const WINDOW_ARG: &str = "__pause-window";
/// The environment variable with the session of a program; a window must not be part of one.
const OUTER: &str = "HOPTY_SESSION";

/// How long a window may take to read a screen.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseRule {
    /// Never: no person is present.
    #[default]
    Never,
    AtCommand,
    /// At `Pause`, and when a test fails.
    AtFailure,
}

/// How long the session of a pause may take to end.
const END_LIMIT: &str = "5s";

/// A pause. Its session ends with it, and nothing is left of it.
#[derive(Debug)]
pub struct TestPause {
    hopty: PathBuf,
    session: String,
    listener: UnixListener,
    window: Option<UnixStream>,
    /// The screen's revision in the window.
    shown: Option<u64>,
    note: String,
}

/// What happened during a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseNews {
    None,
    /// A person typed these bytes.
    Keys(Vec<u8>),
    /// The person has ended the pause.
    Over,
}

impl TestPause {
    /// Opens a session that shows the test `name`. `dir` is the test's directory for sockets, `note` is shown
    /// below the screen.
    pub fn begin(hopty: &Path, dir: &Path, name: &str, note: String) -> io::Result<Self> {
        let socket = dir.join("pause");
        let _ = std::fs::remove_file(&socket);
        let turn = starting();
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let name = SessionName::for_directory(&format!("test-{name}"));
        let session = run_session(hopty, name.as_str(), &socket)?;
        drop(turn);
        Ok(TestPause { hopty: hopty.to_owned(), session, listener, window: None, shown: None, note })
    }

    /// The name of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Shows the current screen, and takes what was typed. Never blocks.
    pub fn serve(&mut self, terminal: &TestTerminal) -> io::Result<PauseNews> {
        if self.window.is_none() {
            match self.listener.accept() {
                Ok((window, _)) => {
                    // A window that has read nothing for this long does not work.
                    window.set_nonblocking(false)?;
                    window.set_write_timeout(Some(WRITE_LIMIT))?;
                    (self.window, self.shown) = (Some(window), None);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(PauseNews::None),
                Err(error) => return Err(error),
            }
        }
        let Some(window) = &mut self.window else { return Ok(PauseNews::None) };
        let screen = terminal.screen();
        if self.shown != Some(screen.revision()) && !screen.is_drawing() {
            self.shown = Some(screen.revision());
            let (cols, rows) = screen.size();
            let dump = screen.dump_with(0).screen;
            let dump = String::from_utf8_lossy(&dump);
            let line = json!({"cols": cols, "rows": rows, "dump": dump, "note": self.note});
            if window.write_all(format!("{line}\n").as_bytes()).is_err() {
                return Ok(PauseNews::Over);
            }
        }
        window.set_nonblocking(true)?;
        let mut typed = [0; 4096];
        let read = window.read(&mut typed);
        window.set_nonblocking(false)?;
        match read {
            Ok(0) => Ok(PauseNews::Over),
            Ok(length) => Ok(PauseNews::Keys(typed[..length].to_vec())),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(PauseNews::None)
            }
            Err(_) => Ok(PauseNews::Over),
        }
    }
}

impl Drop for TestPause {
    /// Ends the window, and removes its session, so that `hopty ls --all` does not list it.
    fn drop(&mut self) {
        if let Some(window) = self.window.take() {
            let _ = window.shutdown(Shutdown::Both);
        }
        let run = |args: &[&str]| {
            let mut command = Command::new(&self.hopty);
            command.args(args).env_remove(OUTER);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if !run(&["wait", &self.session, "exit", "--timeout", END_LIMIT]) {
            run(&["stop", &self.session]);
        }
        run(&["rm", &self.session]);
    }
}

/// Starts the session, and returns its name.
fn run_session(hopty: &Path, name: &str, socket: &Path) -> io::Result<String> {
    let args: [&OsStr; 7] = [
        "run".as_ref(),
        "--name".as_ref(),
        name.as_ref(),
        "--detached".as_ref(),
        "--".as_ref(),
        hopty.as_os_str(),
        WINDOW_ARG.as_ref(),
    ];
    let mut command = Command::new(hopty);
    command.args(args).arg(socket).env_remove(OUTER).stdin(Stdio::null());
    let output = command.output()?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(cause.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
