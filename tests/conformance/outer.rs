//! The outer terminal: a pseudo-terminal with the independent emulator behind it, which answers what it is
//! asked.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopty::core::terminal::{Modes, Size};
use hopty::pty::open::Pty;
use hopty::pty::spawn::spawn_leader;
use hopty::sys::poll::{Interest, wait_for};
use hopty::tty::modes;

use super::emulator::{Emulator, View};
use super::support::{LIMIT, wait};

/// Who answers the questions of a program.
#[derive(Clone, Copy)]
pub enum Answers {
    /// The emulator.
    Emulator,
    /// This table of questions and answers, and nobody else.
    Table(&'static [(&'static [u8], &'static [u8])]),
}

struct Seen {
    emulator: Emulator,
    bytes: Vec<u8>,
    /// How far questions of the table were looked for.
    heard: usize,
    last: Instant,
    over: bool,
}

/// The terminal and what was started in it.
pub struct Outer {
    pty: Arc<Pty>,
    slave: Option<File>,
    child: Child,
    /// Its modes before anything was started.
    pub before: Modes,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

impl Outer {
    /// Starts `words` in a new terminal, as the leader of its session, like a shell in a window.
    pub fn start(
        words: &[String],
        env: &[(OsString, OsString)],
        dir: &Path,
        size: Size,
        answers: Answers,
    ) -> Outer {
        let pty = Arc::new(Pty::open(size).unwrap());
        let slave = pty.open_slave().unwrap();
        let before = modes::read(&slave).unwrap();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(env.iter().cloned()).current_dir(dir);
        let child = spawn_leader(&slave, command).unwrap();
        let seen = Seen {
            emulator: Emulator::new(size.cols, size.rows),
            bytes: Vec::new(),
            heard: 0,
            last: Instant::now(),
            over: false,
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let reader = {
            let (seen, pty) = (Arc::clone(&seen), Arc::clone(&pty));
            std::thread::spawn(move || read(&pty, &seen, answers))
        };
        Outer { pty, slave: Some(slave), child, before, seen, reader: Some(reader) }
    }

    /// The process that was started.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The name of the terminal.
    pub fn name(&self) -> String {
        self.pty.slave().display().to_string()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Types.
    pub fn send(&self, bytes: &[u8]) {
        let mut rest = bytes;
        let until = Instant::now() + LIMIT;
        while !rest.is_empty() {
            assert!(Instant::now() < until, "the terminal takes no more keys");
            let n = hopty::sys::fd::write_some(&*self.pty, rest).unwrap();
            rest = &rest[n..];
            if n == 0 {
                wait_for(&self.pty.as_fd(), Interest::Write, 100).unwrap();
            }
        }
    }

    /// The rows of the picture.
    pub fn rows(&self) -> Vec<String> {
        self.seen().emulator.rows()
    }

    /// The picture and what is on.
    pub fn view(&self) -> View {
        self.seen().emulator.view()
    }

    /// All bytes that the terminal was ever sent.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen().bytes.clone()
    }

    /// The terminal's modes now.
    pub fn modes(&self) -> Modes {
        modes::read(self.slave.as_ref().unwrap()).unwrap()
    }

    /// Waits until the picture, as rows, is as wanted.
    pub fn wait_rows(&self, what: &str, mut wanted: impl FnMut(&[String]) -> bool) {
        self.wait(what, |seen| wanted(&seen.emulator.rows()));
    }

    /// Waits until the picture is as wanted; false when it never is.
    pub fn sees(&self, limit: Duration, mut wanted: impl FnMut(&View) -> bool) -> bool {
        self.waits(limit, |seen| wanted(&seen.emulator.view()))
    }

    /// Waits until a row contains `text`.
    pub fn wait_text(&self, text: &str) {
        self.wait_rows(&format!("the text {text:?}"), |rows| rows.iter().any(|row| row.contains(text)));
    }

    /// Waits until this many bytes have come.
    pub fn wait_received(&self, count: usize) {
        self.wait(&format!("{count} bytes"), |seen| seen.bytes.len() >= count);
    }

    /// Waits until nothing has come for a moment: a program that is done with its picture does not say so.
    pub fn wait_quiet(&self) {
        const QUIET: Duration = Duration::from_millis(120);
        self.wait("quiet", |seen| seen.last.elapsed() >= QUIET);
    }

    fn wait(&self, what: &str, wanted: impl FnMut(&Seen) -> bool) {
        let met = self.waits(LIMIT, wanted);
        assert!(met, "waited in vain for {what}; the screen shows:\n{}", self.rows().join("\n"));
    }

    fn waits(&self, limit: Duration, mut wanted: impl FnMut(&Seen) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut seen = self.seen();
        while !wanted(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let pause = left.min(Duration::from_millis(50));
            seen = self.seen.1.wait_timeout(seen, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Changes the window's size.
    pub fn resize(&self, size: Size) {
        self.seen().emulator.resize(size.cols, size.rows);
        self.pty.resize(size).unwrap();
    }

    /// Changes it many times as fast as possible.
    pub fn storm(&self, sizes: &[Size]) {
        for size in sizes {
            self.pty.resize(*size).unwrap();
        }
        let last = sizes[sizes.len() - 1];
        self.seen().emulator.resize(last.cols, last.rows);
    }

    /// Waits for the end: the exit code, 128 + n for a signal, and the modes then. Everything that was
    /// written is there afterwards, because the terminal is closed by everybody.
    pub fn finish(&mut self) -> (i32, Modes) {
        let Some(status) = wait::end_of(&mut self.child, LIMIT) else {
            panic!("the program does not end; the screen shows:\n{}", self.rows().join("\n"));
        };
        let after = self.modes();
        self.slave = None;
        self.wait("the last byte", |seen| seen.over);
        (status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), after)
    }
}

/// The size of a terminal.
pub fn size_of(tty: &impl AsFd) -> Size {
    // SAFETY: a winsize of zeros is valid, and TIOCGWINSZ writes one.
    let found = unsafe {
        let mut found: nix::libc::winsize = std::mem::zeroed();
        assert_eq!(nix::libc::ioctl(tty.as_fd().as_raw_fd(), nix::libc::TIOCGWINSZ, &raw mut found), 0);
        found
    };
    Size { cols: found.ws_col, rows: found.ws_row, xpixel: found.ws_xpixel, ypixel: found.ws_ypixel }
}

fn read(pty: &Pty, seen: &(Mutex<Seen>, Condvar), answers: Answers) {
    let mut buf = [0; 65536];
    let lock = || seen.0.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let _ = wait_for(&pty.as_fd(), Interest::Read, 200);
        let n = match hopty::sys::fd::read_some(pty, &mut buf) {
            Ok(Some(0)) | Err(_) => break,
            Ok(None) if lock().over => return,
            Ok(None) => continue,
            Ok(Some(n)) => n,
        };
        let mut now = lock();
        now.emulator.feed(&buf[..n]);
        now.bytes.extend_from_slice(&buf[..n]);
        now.last = Instant::now();
        let by_emulator = now.emulator.take_answers();
        let say = match answers {
            Answers::Emulator => by_emulator,
            Answers::Table(table) => look_up(table, &mut now),
        };
        drop(now);
        seen.1.notify_all();
        let mut rest = &say[..];
        while let Ok(n) = hopty::sys::fd::write_some(pty, rest)
            && n < rest.len()
        {
            rest = &rest[n..];
            let _ = wait_for(&pty.as_fd(), Interest::Write, 100);
        }
    }
    lock().over = true;
    seen.1.notify_all();
}

/// The answers to the questions of the table that have come whole by now.
fn look_up(table: &[(&[u8], &[u8])], seen: &mut Seen) -> Vec<u8> {
    let mut said = Vec::new();
    let mut at = seen.heard;
    while at < seen.bytes.len() {
        let rest = &seen.bytes[at..];
        if let Some((question, answer)) = table.iter().find(|(question, _)| rest.starts_with(question)) {
            said.extend_from_slice(answer);
            at += question.len();
        } else if table.iter().any(|(question, _)| question.starts_with(rest)) {
            break;
        } else {
            at += 1;
        }
    }
    seen.heard = at;
    said
}

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.seen().over = true;
        self.slave = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
