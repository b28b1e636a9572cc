//! A passphrase, typed on the terminal and not shown.

use std::fs::File;
use std::io::{self, Read, Write};

use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};

/// The byte of Ctrl+C.
const CTRL_C: u8 = 3;
/// The longest line that a terminal returns, in bytes.
const PASSPHRASE_LINE_MAX: usize = 4096;

/// Restores the terminal's echo when dropped.
struct EchoOff<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> EchoOff<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        // SIGINT would end the process with the echo off: Ctrl+C ends the line instead.
        hidden.local_flags.remove(LocalFlags::ISIG);
        hidden.local_flags.insert(LocalFlags::ICANON | LocalFlags::ECHONL);
        hidden.control_chars[SpecialCharacterIndices::VEOL as usize] = CTRL_C;
        tcsetattr(terminal, SetArg::TCSAFLUSH, &hidden)?;
        Ok(EchoOff { terminal, before })
    }
}

impl Drop for EchoOff<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, SetArg::TCSADRAIN, &self.before);
    }
}

/// Asks on the controlling terminal, even if standard input and output are redirected.
///
/// # Errors
/// When there is no terminal, it has hung up, or Ctrl+C was typed.
pub fn ask(question: &str) -> io::Result<String> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let hidden = EchoOff::new(&terminal)?;
    (&terminal).write_all(question.as_bytes())?;
    let mut line = vec![0; PASSPHRASE_LINE_MAX];
    let read = (&terminal).read(&mut line)?;
    drop(hidden);
    line.truncate(read);
    if read == 0 || line.contains(&CTRL_C) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no passphrase was given"));
    }
    let line = String::from_utf8(line).map_err(|_| io::Error::other("the passphrase is not UTF-8"))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
