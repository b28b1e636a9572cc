//! A terminal with a person in front of it: an outer pseudo-terminal whose picture a test can look at.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hopty::core::terminal::{Modes, Size};
use hopty::pty::open::Pty;
use hopty::pty::spawn::spawn_leader;
use hopty::screen::{Screen, TerminalIdentity, reply};
use hopty::tty::modes;

use super::{LIMIT, wait};

struct Seen {
    screen: Screen,
    bytes: Vec<u8>,
    open: bool,
    stalled: bool,
    /// The reader has seen that it is to read nothing.
    parked: bool,
}

/// The terminal and the program started in it.
pub struct Term {
    pub pty: Arc<Pty>,
    pub child: Child,
    pub before: Modes,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    slave: Option<std::fs::File>,
}

impl Term {
    /// Starts `program` in a new terminal, as the leader of its session, like a shell in a window.
    pub fn start(
        program: &Path,
        args: &[&str],
        env: &[(OsString, OsString)],
        dir: &Path,
        size: (u16, u16),
    ) -> Term {
        let pty = Arc::new(Pty::open(Size::cells(size.0, size.1)).unwrap());
        let slave = pty.open_slave().unwrap();
        let before = modes::read(&slave).unwrap();
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env.iter().cloned()).current_dir(dir);
        let child = spawn_leader(&slave, command).unwrap();
        let seen = Seen {
            screen: Screen::new(size.0, size.1),
            bytes: Vec::new(),
            open: true,
            stalled: false,
            parked: false,
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let reader = {
            let (seen, pty) = (Arc::clone(&seen), Arc::clone(&pty));
            std::thread::spawn(move || read(&pty, &seen))
        };
        Term { pty, child, before, seen, reader: Some(reader), slave: Some(slave) }
    }

    /// Types.
    pub fn send(&self, bytes: impl AsRef<[u8]>) {
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            let n = hopty::sys::fd::write_some(&*self.pty, rest).unwrap();
            rest = &rest[n..];
            if n == 0 {
                hopty::sys::poll::wait_for(&self.pty.as_fd(), hopty::sys::poll::Interest::Write, 1000)
                    .unwrap();
            }
        }
    }

    /// Types a line, sees its begin stand there, and ends it with Enter.
    pub fn submit(&self, text: &str) {
        self.send(text);
        self.wait_text(&text.chars().take(40).collect::<String>());
        self.send("\r");
    }

    /// Types until nothing more is taken for a while, and gives how many bytes that was.
    pub fn fill(&self, most: usize) -> usize {
        use hopty::sys::poll::{Interest, wait_for};
        let (mut taken, mut refused) = (0, 0);
        while taken < most && refused < 20 {
            let n = hopty::sys::fd::write_some(&*self.pty, &[b'x'; 1000]).unwrap();
            taken += n;
            refused = if n == 0 && !wait_for(&self.pty.as_fd(), Interest::Write, 20).unwrap() {
                refused + 1
            } else {
                0
            };
        }
        taken
    }

    /// The rows of the picture.
    pub fn lines(&self) -> Vec<String> {
        self.look(Screen::lines)
    }

    /// Looks at the terminal.
    pub fn look<T>(&self, see: impl FnOnce(&Screen) -> T) -> T {
        see(&self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).screen)
    }

    /// All bytes that the terminal was ever sent.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.clone()
    }

    /// How many bytes it was ever sent.
    pub fn len(&self) -> usize {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.len()
    }

    /// Waits until the picture is as wanted.
    pub fn wait_for(&self, what: &str, mut wanted: impl FnMut(&Screen) -> bool) {
        let until = Instant::now() + LIMIT;
        let (seen, changed) = &*self.seen;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        while !wanted(&seen.screen) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "waited in vain for {what}; the screen shows:\n{}",
                seen.screen.lines().join("\n")
            );
            seen = changed
                .wait_timeout(seen, left.min(Duration::from_millis(500)))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Waits until a row contains `text`.
    pub fn wait_text(&self, text: &str) {
        self.wait_for(&format!("the text {text:?}"), |screen| {
            screen.lines().iter().any(|line| line.contains(text))
        });
    }

    /// Waits until Claude's prompt box is drawn.
    pub fn wait_box(&self) {
        self.wait_for("the prompt box", |screen| {
            screen.lines().iter().any(|line| line.starts_with("❯\u{a0}"))
        });
    }

    /// Answers Claude's trust question with yes, as a person does who looks before each key: Claude draws the
    /// question anew in its first second, takes no Enter then, and forgets what was chosen. Nor is the
    /// question at its end when it is gone from one picture, before an Enter.
    pub fn accept_trust(&self) {
        const QUESTION: &str = "Yes, I trust this folder";
        self.wait_text(QUESTION);
        let (mut before, mut since, mut entered) = (Vec::new(), Instant::now(), false);
        self.wait_for("the end of the trust question", |screen| {
            let lines = screen.lines();
            if !lines.iter().any(|line| line.contains(QUESTION)) {
                return entered;
            }
            if lines != before {
                (before, since) = (lines, Instant::now());
            } else if since.elapsed() > Duration::from_millis(1200) {
                let yes = lines.iter().any(|line| line.contains('❯') && line.contains(QUESTION));
                self.send(if yes { "\r" } else { "\x1b[B" });
                entered = yes;
                since = Instant::now();
            }
            false
        });
    }

    /// Waits for the end of the program and gives its exit code, 128 + n for a signal.
    pub fn wait_exit(&mut self) -> i32 {
        let Some(status) = wait::end_of(&mut self.child, LIMIT) else {
            panic!("the program does not end; the screen shows:\n{}", self.lines().join("\n"));
        };
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    /// The program's side of it.
    pub fn program_side(&self) -> std::fs::File {
        self.pty.open_slave().unwrap()
    }

    /// The terminal's modes (termios) now.
    pub fn modes(&self) -> Modes {
        modes::read(&self.pty.open_slave().unwrap()).unwrap()
    }

    /// Sets the terminal's modes, as a person would with `stty`.
    pub fn set_modes(&self, wanted: &Modes) {
        modes::set(&self.pty.open_slave().unwrap(), wanted).unwrap();
    }

    /// That the terminal is whole: its modes as they were found, nothing left on.
    pub fn assert_whole(&self) {
        super::wait_for("the terminal's modes to come back", || (self.modes() == self.before).then_some(()));
        self.wait_for("every mode to be off again", |screen| {
            screen.undo().is_empty() && !screen.alternate() && screen.cursor().visible
        });
    }

    /// Waits until everything is here that was written to the terminal up to now.
    pub fn drained(&self) {
        const MARK: &[u8] = b"\x1b_drained\x1b\\";
        let mut slave = self.slave.as_ref().unwrap();
        std::io::Write::write_all(&mut slave, MARK).unwrap();
        super::wait_for("the last bytes", || {
            let mut seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = seen.bytes.windows(MARK.len()).rposition(|part| part == MARK)?;
            seen.bytes.drain(at..at + MARK.len());
            Some(())
        });
    }

    /// Waits for `mark` with a number right behind it, on the screen or above it, and gives the number.
    pub fn wait_number(&self, mark: &str) -> i32 {
        super::wait_for(&format!("{mark:?} and a number"), || {
            let text = String::from_utf8_lossy(&self.bytes()).into_owned();
            let rest = &text[text.rfind(mark)? + mark.len()..];
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            rest[..end].parse().ok()
        })
    }

    /// Stops reading what is written to the terminal, or goes on. From then on nothing more is read: one
    /// read, of whatever has come by then, may be more than a test leaves to chance.
    pub fn stall(&self, stalled: bool) {
        let mut seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.stalled = stalled;
        self.seen.1.notify_all();
        while stalled && seen.open && !seen.parked {
            seen = self.seen.1.wait(seen).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Closes the window: the terminal hangs up. What was written to it so far is kept.
    pub fn hang_up(&mut self) {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).open = false;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.slave = None;
        // The last descriptor of the master goes with it.
        self.pty = Arc::new(Pty::open(Size::cells(80, 24)).unwrap());
    }

    /// Changes the window's size.
    pub fn resize(&self, cols: u16, rows: u16) {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).screen.resize(cols, rows);
        self.pty.resize(Size::cells(cols, rows)).unwrap();
    }
}

fn read(pty: &Pty, seen: &(Mutex<Seen>, Condvar)) {
    let mut file = std::fs::File::from(pty.as_fd().try_clone_to_owned().unwrap());
    let mut buf = [0; 65536];
    // What is written by the time a window is closed is still seen, and no more: a program may write without
    // end.
    let mut left = 16;
    while left > 0 {
        let mut now = seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        while now.stalled && now.open {
            now.parked = true;
            seen.1.notify_all();
            now = seen
                .1
                .wait_timeout(now, Duration::from_millis(100))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        now.parked = false;
        left -= u32::from(!now.open);
        drop(now);
        let ready = hopty::sys::poll::wait_for(&file, hopty::sys::poll::Interest::Read, 200);
        let n = match file.read(&mut buf) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock && ready.is_ok() => {
                if !seen.0.lock().unwrap_or_else(PoisonError::into_inner).open {
                    break;
                }
                continue;
            }
            Err(_) => break,
        };
        let mut now = seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.screen.feed(&buf[..n]);
        now.bytes.extend_from_slice(&buf[..n]);
        // A terminal answers what it is asked.
        let answers: Vec<u8> =
            now.screen.take_queries().iter().flat_map(|q| reply(q, &TerminalIdentity::new("test"))).collect();
        drop(now);
        let _ = hopty::sys::fd::write_some(&file, &answers);
        seen.1.notify_all();
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).open = false;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
