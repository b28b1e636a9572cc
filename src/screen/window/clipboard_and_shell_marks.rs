//! What a program reports to its terminal besides the picture: texts for the clipboard (OSC 52), and where a
//! shell's prompts and commands start and end (OSC 133, and 633 of VS Code). Kept only if a caller reads
//! them: they may be long and secret.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::screen::Screen;

/// How many reports are kept, the newest.
const REPORTS_KEPT: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenReport {
    /// The program put this text on the clipboard or into a selection.
    Clipboard(String),
    /// A mark of a shell.
    Shell(ShellMark),
}

/// The part of a shell's output that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellMark {
    /// `A`: a prompt.
    Prompt,
    /// `B`: what the person types after it.
    Input,
    /// `C`: the output of a command.
    Output,
    /// `D`: none, the command has ended, with its exit status if the shell reports it.
    Done(Option<i32>),
}

impl ShellMark {
    fn read(params: &[&[u8]]) -> Option<Self> {
        let status = || std::str::from_utf8(params.get(1)?).ok()?.parse().ok();
        match *params.first()? {
            b"A" => Some(Self::Prompt),
            b"B" => Some(Self::Input),
            b"C" => Some(Self::Output),
            b"D" => Some(Self::Done(status())),
            _ => None,
        }
    }
}

/// The reports that have not been taken; `None`: they are not kept.
#[derive(Clone, Debug, Default)]
pub struct ProgramReports(Option<Vec<ScreenReport>>);

/// Always equal: nothing that later bytes could show depends on it.
impl PartialEq for ProgramReports {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl ProgramReports {
    /// One operating system command, with its number first.
    pub fn osc(&mut self, params: &[&[u8]]) {
        let Some(kept) = &mut self.0 else { return };
        let report = match params {
            // A query of the clipboard gets no answer, as in most terminals.
            [b"52", _, b"?"] => None,
            [b"52", _, data] => BASE64_STANDARD
                .decode(data)
                .ok()
                .map(|bytes| ScreenReport::Clipboard(String::from_utf8_lossy(&bytes).into_owned())),
            [b"133" | b"633", mark @ ..] => ShellMark::read(mark).map(ScreenReport::Shell),
            _ => None,
        };
        if let Some(report) = report {
            if kept.len() == REPORTS_KEPT {
                kept.remove(0);
            }
            kept.push(report);
        }
    }
}

impl Screen {
    /// Starts to keep the program's reports, for [`Screen::take_reports`].
    pub fn keep_reports(&mut self) {
        self.terminal.window.reports.0.get_or_insert_default();
    }

    /// The program's reports since the last call, oldest first: at most the newest 64, and none unless
    /// [`Screen::keep_reports`] was called.
    pub fn take_reports(&mut self) -> Vec<ScreenReport> {
        self.terminal.window.reports.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// How often the program has rung the bell.
    pub fn bells(&self) -> u64 {
        self.terminal.display.bells.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_kept_in_order_for_who_reads_them() {
        let bytes = b"\x1b]133;A;cl=m\x07$ \
                      \x1b]133;B\x07ls\x1b]633;C\x1b\\\x1b]52;c;aGk=\x07\x1b]133;D;7\x07\x1b]133;D\x07";
        let mut screen = Screen::new(20, 2);
        screen.feed(bytes);
        assert!(screen.take_reports().is_empty());
        screen.keep_reports();
        screen.feed(bytes);
        let shell = ScreenReport::Shell;
        assert_eq!(
            screen.take_reports(),
            [
                shell(ShellMark::Prompt),
                shell(ShellMark::Input),
                shell(ShellMark::Output),
                ScreenReport::Clipboard("hi".to_owned()),
                shell(ShellMark::Done(Some(7))),
                shell(ShellMark::Done(None)),
            ]
        );
        assert!(screen.take_reports().is_empty());
    }

    #[test]
    fn what_is_no_report_is_none() {
        let mut screen = Screen::new(20, 2);
        screen.keep_reports();
        screen.feed(b"\x1b]52;c;?\x07\x1b]52;c;a?\x07\x1b]52\x07\x1b]133\x07\x1b]133;Z\x07\x1b]8;;x\x07");
        assert!(screen.take_reports().is_empty());
        screen.feed("\x1b]133;A\x07".repeat(1000).as_bytes());
        assert_eq!(screen.take_reports().len(), REPORTS_KEPT);
    }

    #[test]
    fn the_bell_is_counted_but_not_as_the_end_of_a_string() {
        let mut screen = Screen::new(20, 2);
        screen.feed(b"\x07a\x07\x1b]0;t\x07\x1b[1\x07m");
        assert_eq!(screen.bells(), 3);
        assert_eq!(screen.lines()[0], "a");
    }
}
