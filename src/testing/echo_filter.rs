//! The terminal's own echo of what was typed. It proves nothing about the program, which may be busy or dead,
//! so it does not count as new.

use memchr::memmem;
use nix::libc;

use crate::core::terminal::Modes;

/// How many bytes of output are searched for an echo.
const SEARCHED_MAX: usize = 4096;
/// The shortest echo that is searched for after the place where it is expected: the program may write at the
/// same time, and its output may contain shorter ones.
const SEARCHED_MIN: usize = 4;

/// The echo of typed input that has not arrived.
#[derive(Clone, Debug, Default)]
pub struct EchoFilter {
    pending: Vec<u8>,
    /// How much other output has arrived since, while the first byte of the echo has not.
    searched: usize,
    began: bool,
}

impl EchoFilter {
    /// `bytes` are about to be typed into a terminal with these modes.
    pub fn expect(&mut self, bytes: &[u8], modes: &Modes) {
        if self.pending.is_empty() {
            (self.searched, self.began) = (0, false);
        }
        self.pending.extend(echo_of(bytes, modes));
    }

    /// Whether an echo has not arrived completely.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Stops expecting an echo.
    pub fn give_up(&mut self) {
        self.pending.clear();
    }

    /// The position of the echo in the next bytes of output: start, end. Empty if it is not there.
    pub fn take(&mut self, bytes: &[u8]) -> (usize, usize) {
        if self.pending.is_empty() || bytes.is_empty() {
            return (0, 0);
        }
        let same = bytes.iter().zip(&self.pending).take_while(|(one, other)| one == other).count();
        // Only the end of the bytes can cut it.
        if same == bytes.len() || same == self.pending.len() {
            self.pending.drain(..same);
            self.began = true;
            return (0, same);
        }
        if !self.began && self.pending.len() >= SEARCHED_MIN {
            let found = memmem::find(bytes, &self.pending);
            if let Some(at) = found.filter(|at| self.searched + at <= SEARCHED_MAX) {
                let end = at + self.pending.len();
                self.pending.clear();
                return (at, end);
            }
            self.searched += bytes.len();
            if self.searched <= SEARCHED_MAX {
                return (0, 0);
            }
        }
        self.pending.clear();
        (0, same)
    }
}

/// What a terminal with these modes echoes, up to the first key whose echo depends on the line.
fn echo_of(bytes: &[u8], modes: &Modes) -> Vec<u8> {
    let is = |flags: u64, flag: libc::tcflag_t| flags & u64::from(flag) != 0;
    let is_key = |byte: u8, key: usize| modes.cc.get(key).is_some_and(|set| *set != 0 && *set == byte);
    let mut echo = Vec::new();
    if !is(modes.lflag, libc::ECHO) {
        return echo;
    }
    for byte in bytes.iter().copied() {
        let byte = match byte {
            b'\r' if is(modes.iflag, libc::IGNCR) => continue,
            b'\r' if is(modes.iflag, libc::ICRNL) => b'\n',
            b'\n' if is(modes.iflag, libc::INLCR) => b'\r',
            byte => byte,
        };
        if is(modes.iflag, libc::IXON) && (is_key(byte, libc::VSTART) || is_key(byte, libc::VSTOP)) {
            continue;
        }
        if is(modes.lflag, libc::ICANON) {
            if is_key(byte, libc::VEOF) {
                continue;
            }
            let edits = [libc::VERASE, libc::VKILL, libc::VWERASE, libc::VREPRINT, libc::VLNEXT];
            if edits.iter().any(|key| is_key(byte, *key)) {
                break;
            }
        }
        match byte {
            b'\n' if is(modes.oflag, libc::OPOST) && is(modes.oflag, libc::ONLCR) => {
                echo.extend_from_slice(b"\r\n");
            }
            b'\n' | b'\t' => echo.push(byte),
            byte if byte.is_ascii_control() && is(modes.lflag, libc::ECHOCTL) => {
                echo.extend_from_slice(&[b'^', byte ^ 0x40]);
            }
            byte => echo.push(byte),
        }
    }
    echo
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The modes of a new terminal.
    pub fn cooked() -> Modes {
        let mut cc = vec![0; 19];
        for (key, byte) in [
            (libc::VINTR, 3),
            (libc::VEOF, 4),
            (libc::VERASE, 0x7f),
            (libc::VKILL, 0x15),
            (libc::VSTART, 0x11),
            (libc::VSTOP, 0x13),
        ] {
            cc[key] = byte;
        }
        Modes {
            iflag: u64::from(libc::ICRNL | libc::IXON),
            oflag: u64::from(libc::OPOST | libc::ONLCR),
            cflag: 0,
            lflag: u64::from(libc::ECHO | libc::ECHOCTL | libc::ICANON | libc::ISIG | libc::IEXTEN),
            line: 0,
            cc,
            speed: (0, 0),
        }
    }

    #[test]
    fn the_echo_is_that_of_the_line_discipline() {
        let echo = |bytes: &str| String::from_utf8(echo_of(bytes.as_bytes(), &cooked())).unwrap();
        assert_eq!(echo("ls ä\r"), "ls ä\r\n");
        assert_eq!(echo("a\t\x1b[A\x03"), "a\t^[[A^C");
        assert_eq!(echo("a\x04\x13b\x7fc"), "ab", "what a backspace echoes depends on the line");
        let raw = Modes { lflag: 0, ..cooked() };
        assert!(echo_of(b"secret\r", &raw).is_empty());
    }

    fn typed(text: &str) -> EchoFilter {
        let mut echo = EchoFilter::default();
        echo.expect(text.as_bytes(), &cooked());
        echo
    }

    #[test]
    fn an_echo_is_taken_where_it_is_expected_however_it_is_cut() {
        let mut echo = typed("ab\r");
        assert_eq!(echo.take(b"a"), (0, 1));
        assert_eq!(echo.take(b"b\r"), (0, 2));
        assert!(echo.is_pending());
        assert_eq!(echo.take(b"\nab"), (0, 1));
        assert!(!echo.is_pending());
        assert_eq!(echo.take(b"ab"), (0, 0));
    }

    #[test]
    fn another_output_is_no_echo() {
        let mut echo = typed("ab");
        assert_eq!(echo.take(b"xab"), (0, 0));
        assert!(!echo.is_pending());
        let mut echo = typed("abc");
        assert_eq!((echo.take(b"a"), echo.take(b"xbc")), ((0, 1), (0, 0)));
    }

    #[test]
    fn a_long_echo_is_found_behind_output_that_came_between() {
        let mut echo = typed("hello");
        assert_eq!(echo.take(b"progress 1\r\n"), (0, 0));
        assert_eq!(echo.take(b"progress 2\r\nhello\r\n"), (12, 17));
        let mut echo = typed("hello");
        assert_eq!(echo.take(&[b'x'; 5000]), (0, 0));
        assert!(!echo.is_pending());
    }
}
