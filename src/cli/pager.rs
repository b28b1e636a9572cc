//! Long output through `$PAGER` or `less -R`, if standard output is a terminal.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use nix::libc;

use super::error::stdout;
use crate::sys::program_search::path_outside_of_projects;
use crate::sys::signals;

pub(super) struct Pager {
    child: Option<Child>,
    /// Whether a person sees the output, so that colours make sense.
    pub is_terminal: bool,
}

impl Pager {
    /// The person's pager; a repository cannot provide one. Standard output itself if that is no terminal, if
    /// `paged` is false, or if no pager can be started.
    pub fn open(paged: bool) -> Pager {
        let is_terminal = io::stdout().is_terminal();
        let words = std::env::var("PAGER").unwrap_or_default();
        let words = if words.trim().is_empty() { "less -R" } else { words.as_str() };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(words).env("PATH", path_outside_of_projects()).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // As git does: output that fits on the screen is not paged and stays.
            command.env("LESS", "FRX");
        }
        let wanted = paged && is_terminal && !matches!(words.trim(), "cat" | "-");
        let child = if wanted { command.spawn().ok() } else { None };
        if child.is_some() {
            // The pager gets the keys, Ctrl+C too; when it ends, the rest of the output is dropped.
            signals::ignore(libc::SIGPIPE);
            signals::ignore(libc::SIGINT);
        }
        Pager { child, is_terminal }
    }

    /// Writes text; `false` once the pager has ended.
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

    /// Waits for the pager to end.
    pub fn finish(mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
