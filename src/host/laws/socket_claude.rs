//! A Claude that is only a socket: it draws a prompt box, shows what is typed into it, and calls hooks on
//! command.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use crate::core::draft::units;
use crate::core::input::{Classifier, InputClass};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::terminal::Size;
use crate::host::child::Processes;
use crate::pty::open::Pty;
use crate::pty::spawn::{ChildProgram, SpawnError};
use crate::sys::process::Process;

/// The first process id: larger than any of the system.
const FIRST_PID: i32 = 1_000_000_000;

/// One life of the program.
#[derive(Debug)]
pub(super) struct Child {
    pub pid: i32,
    /// Its end of the terminal; `None` once it has ended.
    pub terminal: Option<UnixStream>,
    pub conversation: String,
    pub changes: VecDeque<ProcessEnd>,
    pub signals: Vec<Signal>,
    pub stopped: bool,
    /// It was told to end and has not done so.
    pub dying: bool,
    /// Everything that was typed into it.
    pub received: Vec<u8>,
}

/// All processes of a history, shared by the host and the test.
#[derive(Clone, Debug, Default)]
pub(super) struct Stage(pub Rc<RefCell<Vec<Child>>>, Rc<RefCell<Option<UnixStream>>>);

impl Stage {
    /// The current program, or the last one.
    pub fn last<T>(&self, with: impl FnOnce(&mut Child) -> T) -> Option<T> {
        self.0.borrow_mut().last_mut().map(with)
    }

    /// The program ends.
    pub fn end(&self, end: ProcessEnd) -> bool {
        self.last(|child| {
            // Bytes in its terminal count as delivered, read or not.
            if let Some(terminal) = &mut child.terminal {
                let _ = terminal.read_to_end(&mut child.received);
            }
            let lives = child.terminal.take().is_some();
            if lives {
                child.stopped = false;
                child.changes.push_back(end);
            }
            lives
        }) == Some(true)
    }
}

impl Processes for Stage {
    fn open(&mut self, _: Size) -> io::Result<Pty> {
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        *self.1.borrow_mut() = Some(far);
        Ok(Pty::of_socket(near.into()))
    }

    fn start(&mut self, _: &Pty, program: &ChildProgram) -> Result<i32, SpawnError> {
        let mut children = self.0.borrow_mut();
        let pid = FIRST_PID + i32::try_from(children.len()).unwrap();
        let mut args = program.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let conversation =
            args.by_ref().find(|arg| arg == "--session-id" || arg == "--resume").and_then(|_| args.next());
        children.push(Child {
            pid,
            terminal: self.1.borrow_mut().take(),
            conversation: conversation.unwrap_or_default(),
            changes: VecDeque::new(),
            signals: Vec::new(),
            stopped: false,
            dying: false,
            received: Vec::new(),
        });
        Ok(pid)
    }

    fn change(&mut self, pid: i32) -> io::Result<Option<ProcessEnd>> {
        Ok(self
            .0
            .borrow_mut()
            .iter_mut()
            .find(|child| child.pid == pid)
            .and_then(|child| child.changes.pop_front()))
    }

    fn signal(&mut self, pid: i32, signal: Signal, _: bool) -> io::Result<()> {
        let mut children = self.0.borrow_mut();
        let Some(child) = children.iter_mut().find(|child| child.pid == pid && child.terminal.is_some())
        else {
            return Err(io::Error::from_raw_os_error(nix::libc::ESRCH));
        };
        child.signals.push(signal);
        match signal {
            Signal::KILL => {
                child.terminal = None;
                child.stopped = false;
                child.changes.push_back(ProcessEnd::Signaled(signal));
            }
            Signal::TERM | Signal::HUP | Signal::INT => child.dying = true,
            Signal(nix::libc::SIGCONT) if child.stopped => {
                child.stopped = false;
                child.changes.push_back(ProcessEnd::Continued);
            }
            _ => {}
        }
        Ok(())
    }

    fn is_stopped(&self, pid: i32) -> bool {
        self.0.borrow().iter().any(|child| child.pid == pid && child.stopped)
    }

    fn ignores(&self, _: i32, _: Signal) -> bool {
        false
    }

    fn collect_orphans(&mut self, _: i32) {}

    fn descendants(&self, _: i32) -> Vec<Process> {
        Vec::new()
    }
}

/// What the program does with its input, and what it shows.
#[derive(Debug)]
pub(super) struct Claude {
    pub pid: i32,
    classifier: Classifier,
    unlabelled: Vec<u8>,
    /// The text in its prompt box.
    text: String,
    pub busy: bool,
    pub dialog: bool,
    /// It has drawn its prompt box.
    pub drawn: bool,
    /// It has reported its conversation.
    pub told: bool,
    /// Submitted prompts that no hook has reported.
    pub submitted: VecDeque<String>,
    /// How many Enters arrived while a dialog was shown.
    pub enters_in_dialog: u32,
}

impl Claude {
    pub fn new(pid: i32) -> Self {
        Claude {
            pid,
            classifier: Classifier::new(),
            unlabelled: Vec::new(),
            text: String::new(),
            busy: false,
            dialog: false,
            drawn: false,
            told: false,
            submitted: VecDeque::new(),
            enters_in_dialog: 0,
        }
    }

    /// Reads typed input. Returns whether there was any.
    pub fn read(&mut self, child: &mut Child, size: Size) -> bool {
        if child.stopped {
            return false;
        }
        let Some(terminal) = &mut child.terminal else { return false };
        let mut buf = [0; 1 << 14];
        let mut any = false;
        while let Ok(n @ 1..) = terminal.read(&mut buf) {
            any = true;
            child.received.extend_from_slice(&buf[..n]);
            self.take(&buf[..n]);
        }
        if any && self.drawn {
            self.draw(child, size);
        }
        any
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut pieces = Vec::new();
        self.classifier.feed(bytes, &mut pieces);
        self.unlabelled.extend_from_slice(bytes);
        for piece in pieces {
            let length = usize::try_from(piece.range.end - piece.range.start).unwrap();
            let part: Vec<u8> = self.unlabelled.drain(..length).collect();
            units(&part).iter().for_each(|unit| self.key(unit.class, &unit.bytes));
        }
    }

    fn key(&mut self, class: InputClass, bytes: &[u8]) {
        match class {
            InputClass::Submit if self.dialog => self.enters_in_dialog += 1,
            InputClass::Submit if !self.text.is_empty() => {
                self.submitted.push_back(std::mem::take(&mut self.text));
                self.busy = true;
            }
            InputClass::Interrupt => self.text.clear(),
            InputClass::Typed if bytes.starts_with(b"\x1b") => {}
            InputClass::Typed | InputClass::Paste if !self.dialog => {
                let text = String::from_utf8_lossy(bytes).replace("\x1b[200~", "").replace("\x1b[201~", "");
                self.text.extend(text.chars().filter(|c| !c.is_control() || *c == '\n'));
            }
            _ => {}
        }
    }

    /// Draws the prompt box, or a dialog instead.
    pub fn draw(&mut self, child: &mut Child, size: Size) {
        let (cols, _) = size.drawn();
        let rule = "─".repeat(usize::from(cols));
        let mut out = String::from("\x1b[?2004h\x1b[H\x1b[J");
        if self.dialog {
            out.push_str(&format!(
                "{rule}\r\n Bash command\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to \
                 cancel"
            ));
        } else {
            if self.busy {
                out.push_str("✻ Cooking… (esc to interrupt)\r\n\r\n");
            }
            let width = usize::from(cols) - 6;
            let rows: Vec<String> = self
                .text
                .split('\n')
                .flat_map(|line| {
                    let chars: Vec<char> = line.chars().collect();
                    let parts: Vec<String> = chars.chunks(width).map(|part| part.iter().collect()).collect();
                    if parts.is_empty() { vec![String::new()] } else { parts }
                })
                .collect();
            out.push_str(&format!("{rule}\r\n❯\u{a0}{}\r\n{rule}\r\n  ? for shortcuts", rows.join("\r\n  ")));
            // Into the last row of the box.
            out.push_str("\x1b[2A\r\x1b[2C");
        }
        if let Some(terminal) = &mut child.terminal {
            let _ = terminal.write_all(out.as_bytes());
        }
    }
}
