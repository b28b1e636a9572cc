//! Long output for a person: through `$PAGER`, or `less -R`, where standard output is a terminal.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use nix::libc;

use super::error::stdout;
use crate::sys::program_search::path_outside_of_projects;
use crate::sys::signals;

/// Where long output goes.
pub(super) struct Pager {
    child: Option<Child>,
    /// Whether the person sees it: colours make sense.
    pub is_terminal: bool,
}

impl Pager {
    /// The pager of the person, which is not looked up in a repository; standard output itself where that is
    /// no terminal, where `paged` is false, or where no pager can be started.
    pub fn open(paged: bool) -> Pager {
        let is_terminal = io::stdout().is_terminal();
        let words = std::env::var("PAGER").unwrap_or_default();
        let words = if words.trim().is_empty() { "less -R" } else { words.as_str() };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(words).env("PATH", path_outside_of_projects()).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // As git does: nothing is paged that fits on the screen, and what was shown stays.
            command.env("LESS", "FRX");
        }
        let wanted = paged && is_terminal && !matches!(words.trim(), "cat" | "-");
        let child = if wanted { command.spawn().ok() } else { None };
        if child.is_some() {
            // The pager takes the keys, Ctrl+C too; when it ends, what is left to write goes nowhere.
            signals::ignore(libc::SIGPIPE);
            signals::ignore(libc::SIGINT);
        }
        Pager { child, is_terminal }
    }

    /// Writes text. Once the pager is gone it says `false`: nobody reads on.
    ///
    /// # Errors
    /// When it cannot be written for another reason.
    pub fn write(&mut self, text: &str) -> io::Result<bool> {
        let done = match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(pipe) => pipe.write_all(text.as_bytes()),
            None => stdout()?.write_all(text.as_bytes()),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Waits until the person has read it.
    pub fn finish(mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
