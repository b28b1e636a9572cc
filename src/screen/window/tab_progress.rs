//! A program's progress in the tab or the task bar (OSC 9;4).

/// Its state, 1 to 4, and percent; `None` if none is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress(Option<(u8, u8)>);

impl Progress {
    /// Reads the parameters after `9;4`.
    pub fn set(&mut self, state: &[u8], percent: &[u8]) {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u8>().ok();
        match (state, number(state)) {
            (b"" | b"0", _) => self.0 = None,
            (_, Some(state @ 1..=4)) => self.0 = Some((state, number(percent).unwrap_or(0).min(100))),
            _ => {}
        }
    }

    /// The sequence that shows it.
    pub fn redo(self) -> String {
        self.0.map(|(state, percent)| format!("\x1b]9;4;{state};{percent}\x1b\\")).unwrap_or_default()
    }

    /// The sequence that removes it; empty if none is shown.
    pub fn undo(self) -> &'static str {
        if self.0.is_some() { "\x1b]9;4;0;0\x07" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_until_it_is_taken_away() {
        let mut progress = Progress::default();
        progress.set(b"1", b"150");
        assert_eq!((progress.redo().as_str(), progress.undo()), ("\x1b]9;4;1;100\x1b\\", "\x1b]9;4;0;0\x07"));
        progress.set(b"9", b"");
        assert!(!progress.redo().is_empty());
        progress.set(b"0", b"0");
        assert_eq!((progress, progress.undo()), (Progress::default(), ""));
    }
}
