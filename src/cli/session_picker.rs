//! The list from which a person picks a session to attach to: its lines, its keys, and the loop that owns the
//! terminal meanwhile.

use std::io;

use unicode_width::UnicodeWidthStr;

use super::list;
use super::table::{self, BOLD, DIM};
use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::core::status_types::SessionStatus;
use crate::core::text::ellipsis::begin_of;
use crate::tty::full_screen::{self, BEGIN_WITH_MOUSE, UNDO_WITH_MOUSE};
use crate::tty::full_screen_page::FullScreenPage;
use crate::tty::wants_colors;

/// SGR parameter.
const REVERSED: u8 = 7;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PickerEnd {
    Picked(SessionName),
    Cancelled,
    /// With its number.
    Signal(i32),
}

/// Lets a person pick one of these sessions in the terminal on standard input and output. The first `here` of
/// them run in this directory.
///
/// # Errors
/// When the terminal is gone.
pub(super) fn pick(sessions: Vec<SessionStatus>, here: usize) -> io::Result<PickerEnd> {
    let mut picker = SessionPicker::new(sessions, here);
    let mut page = FullScreenPage::open(BEGIN_WITH_MOUSE, UNDO_WITH_MOUSE)?;
    loop {
        let (cols, rows) = full_screen::size();
        let shown = picker.lines(usize::from(cols), usize::from(rows), wants_colors());
        page.draw(&texts(&shown))?;
        let pressed = match page.wait(None)? {
            Ok(pressed) => pressed,
            Err(signal) => return Ok(PickerEnd::Signal(signal)),
        };
        for key in pressed {
            if let PlainKey::Click(row) = key {
                shown
                    .get(usize::from(row))
                    .and_then(|line| line.session)
                    .into_iter()
                    .for_each(|at| picker.select(at));
            } else if let Some(end) = picker.key(&key) {
                return Ok(end);
            }
        }
    }
}

fn texts(lines: &[PickerLine]) -> Vec<String> {
    lines.iter().map(|line| line.text.clone()).collect()
}

struct PickerLine {
    text: String,
    session: Option<usize>,
}

struct SessionPicker {
    sessions: Vec<SessionStatus>,
    here: usize,
    /// The index of the selected one.
    at: usize,
    /// The number typed so far; 0: none.
    typed: usize,
    /// A message about a number that no session has. Enter only clears it: the selected session is not the
    /// one that was typed.
    message: String,
}

impl SessionPicker {
    fn new(sessions: Vec<SessionStatus>, here: usize) -> SessionPicker {
        SessionPicker { sessions, here, at: 0, typed: 0, message: String::new() }
    }

    fn select(&mut self, at: usize) {
        self.at = at.min(self.sessions.len().saturating_sub(1));
    }

    /// A number only selects: whoever types it with Enter after it would otherwise press that Enter in the
    /// session, where it may answer a dialog.
    fn key(&mut self, key: &PlainKey) -> Option<PickerEnd> {
        let is_refused = !std::mem::take(&mut self.message).is_empty();
        let typed = std::mem::take(&mut self.typed);
        match key {
            PlainKey::Enter if is_refused => {}
            PlainKey::Char(digit @ '0'..='9') => self.number(typed, usize::from(*digit as u8 - b'0')),
            PlainKey::Up | PlainKey::WheelUp | PlainKey::Char('k') => self.select(self.at.saturating_sub(1)),
            PlainKey::Down | PlainKey::WheelDown | PlainKey::Tab | PlainKey::Char('j') => {
                self.select(self.at + 1)
            }
            PlainKey::PageUp => self.select(self.at.saturating_sub(10)),
            PlainKey::PageDown => self.select(self.at + 10),
            PlainKey::Home | PlainKey::Char('g') => self.select(0),
            PlainKey::End | PlainKey::Char('G') => self.select(usize::MAX),
            PlainKey::Enter => {
                let name = self.sessions.get(self.at).and_then(|session| session.name.parse().ok());
                return Some(name.map_or(PickerEnd::Cancelled, PickerEnd::Picked));
            }
            PlainKey::Escape | PlainKey::Cancel | PlainKey::Char('q') => {
                return Some(PickerEnd::Cancelled);
            }
            _ => {}
        }
        None
    }

    /// A digit extends the number before it if such a session exists, and starts a new number otherwise.
    fn number(&mut self, before: usize, digit: usize) {
        let count = self.sessions.len();
        let whole = before * 10 + digit;
        match [whole, digit].into_iter().find(|number| (1..=count).contains(number)) {
            Some(number) => {
                self.typed = number;
                self.select(number - 1);
            }
            None => self.message = format!("there is no session {digit}: type 1 to {count}"),
        }
    }

    /// The lines for a terminal of this size.
    fn lines(&self, cols: usize, rows: usize, colors: bool) -> Vec<PickerLine> {
        let digits = self.sessions.len().to_string().len();
        // The mark of the selected one, the number and two spaces.
        let before = 1 + digits + 2;
        let table = list::picker_table(&self.sessions, Some(cols.saturating_sub(before)));
        let color = |row: usize, column: usize| {
            let at = row.checked_sub(1).filter(|_| colors && column == list::STATE)?;
            list::state_color(&self.sessions[at])
        };
        let plain = table::lines(&table, |_, _| None);
        let colored = table::lines(&table, color);
        let line = |text: String, session| PickerLine { text, session };
        let mut body = Vec::new();
        let grouped = self.here > 0 && self.here < self.sessions.len();
        for at in 0..self.sessions.len() {
            match at {
                0 if grouped => body.push(line(sgr(DIM, "in this directory"), None)),
                at if grouped && at == self.here => body.push(line(sgr(DIM, "elsewhere"), None)),
                _ => {}
            }
            let number = format!("{:>digits$}", at + 1);
            let text = if at == self.at {
                let text = format!("›{number}  {}", plain[at + 1]);
                let blanks = cols.saturating_sub(text.width());
                sgr(REVERSED, &format!("{text}{}", " ".repeat(blanks)))
            } else {
                format!(" {number}  {}", colored[at + 1])
            };
            body.push(line(text, Some(at)));
        }
        // Title, headings and keys take a line each.
        let height = rows.saturating_sub(3).max(1);
        let selected = body.iter().position(|line| line.session == Some(self.at)).unwrap_or(0);
        let first = selected.saturating_sub(height / 2).min(body.len().saturating_sub(height));
        let headings = format!("{}{}", " ".repeat(before), plain[0]);
        let shown: Vec<usize> =
            body.iter().skip(first).take(height).filter_map(|line| line.session).collect();
        let mut title = "Attach to which session?".to_owned();
        if let (Some(first), Some(last)) = (shown.first(), shown.last())
            && shown.len() < self.sessions.len()
        {
            title.push_str(&format!("  {} to {} of {}", first + 1, last + 1, self.sessions.len()));
        }
        let mut out = vec![
            line(sgr(BOLD, &begin_of(&title, cols)), None),
            line(sgr(DIM, &begin_of(&headings, cols)), None),
        ];
        out.extend(body.into_iter().skip(first).take(height));
        out.push(line(self.foot(cols), None));
        // Clears the other rows.
        out.resize_with(rows, || line(String::new(), None));
        out
    }

    fn foot(&self, cols: usize) -> String {
        if !self.message.is_empty() {
            return sgr(BOLD, &begin_of(&self.message, cols));
        }
        let whole = ["Enter attach   q cancel   up, down, 1-9 select", "Enter attach   q cancel   ↑ ↓ 1-9"];
        let text = whole.into_iter().find(|text| text.width() <= cols).unwrap_or("Enter, q, ↑ ↓ 1-9");
        sgr(DIM, &begin_of(text, cols))
    }
}

fn sgr(number: u8, text: &str) -> String {
    format!("\x1b[{number}m{text}\x1b[m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::supervisor::reported_state::SessionState;
    use crate::screen::Screen;
    use crate::tty::full_screen_page::whole_page;

    fn picker(count: usize, here: usize) -> SessionPicker {
        let session = |n: usize| SessionStatus {
            name: format!("s{}", n + 1),
            state: if n == 0 { SessionState::Blocked } else { SessionState::Idle }.into(),
            waiting_for: (n == 0).then(|| "permission".to_owned()),
            state_since: Some(crate::core::status_types::Rfc3339(crate::core::time::WallTime(
                crate::sys::clock::Clock::wall().0 - 3_600_000,
            ))),
            work: crate::core::status_types::WorkStatus {
                prompt: (n != 1).then(|| "Make the rocket pass all six stages.".to_owned()),
                ..Default::default()
            },
            ..SessionStatus::default()
        };
        SessionPicker::new((0..count).map(session).collect(), here)
    }

    /// The screen that a terminal shows.
    fn screen(picker: &SessionPicker, cols: u16, rows: u16) -> Vec<String> {
        let mut screen = Screen::new(cols, rows);
        let lines = picker.lines(usize::from(cols), usize::from(rows), true);
        // Twice, to check that the second one replaces the first.
        screen.feed(whole_page(&texts(&lines)).repeat(2).as_bytes());
        screen.lines()
    }

    #[test]
    fn the_columns_are_aligned_and_fit() {
        assert_eq!(
            screen(&picker(3, 1), 80, 24)[..8],
            [
                "Attach to which session?",
                "    NAME  STATE                 FOR  ABOUT",
                "in this directory",
                "›1  s1    blocked (permission)  1 h  Make the rocket pass all six stages.",
                "elsewhere",
                " 2  s2    idle                  1 h  -",
                " 3  s3    idle                  1 h  Make the rocket pass all six stages.",
                "Enter attach   q cancel   up, down, 1-9 select",
            ]
        );
        assert_eq!(
            screen(&picker(3, 0), 40, 6),
            [
                "Attach to which session?",
                "    NAME  STATE                 FOR",
                "›1  s1    blocked (permission)  1 h",
                " 2  s2    idle                  1 h",
                " 3  s3    idle                  1 h",
                "Enter attach   q cancel   ↑ ↓ 1-9",
            ]
        );
        assert_eq!(
            screen(&picker(3, 0), 60, 6)[4],
            " 3  s3    idle                  1 h  Make the rocket pass a…",
            "a row may fill the last column"
        );
        for (cols, rows) in [(1, 1), (5, 3), (200, 60)] {
            screen(&picker(12, 3), cols, rows);
        }
        let plain = picker(2, 0).lines(80, 24, false);
        assert!(plain.iter().all(|line| !line.text.contains("\x1b[3")), "no colours");
        assert!(picker(2, 0).lines(80, 24, true).iter().any(|line| line.text.contains("\x1b[32midle\x1b[m")));
    }

    #[test]
    fn a_long_list_shows_the_part_around_the_selected_one() {
        let mut long = picker(30, 0);
        for (key, name) in
            [(PlainKey::End, "›30  s30"), (PlainKey::Up, "›29  s29"), (PlainKey::Home, "› 1  s1")]
        {
            assert_eq!(long.key(&key), None);
            let shown = screen(&long, 80, 10);
            assert!(shown.iter().any(|line| line.starts_with(name)), "{shown:#?}");
            assert!(shown[9].starts_with("Enter attach"), "{shown:#?}");
        }
        assert_eq!(screen(&long, 80, 10)[0], "Attach to which session?  1 to 7 of 30");
        assert_eq!(long.key(&PlainKey::End), None);
        assert_eq!(screen(&long, 80, 10)[0], "Attach to which session?  24 to 30 of 30");
    }

    #[test]
    fn what_a_permission_is_for_and_where_it_runs_is_shown_where_there_is_room() {
        let mut few = picker(2, 0);
        few.sessions[0].waiting_subject = Some("Bash: touch x7".to_owned());
        few.sessions.iter_mut().for_each(|session| session.dir = "/home/user/rocket".to_owned());
        assert_eq!(screen(&few, 40, 4)[2], "›1  s1    blocked: Bash: touch x7  1 h");
        assert_eq!(
            screen(&few, 120, 4)[2],
            "›1  s1    blocked: Bash: touch x7  1 h  Make the rocket pass all six stages.  /home/user/rocket"
        );
    }

    #[test]
    fn keys_and_numbers_select_and_enter_picks() {
        let mut few = picker(3, 0);
        for (key, at) in [('j', 1), ('j', 2), ('j', 2), ('k', 1), ('3', 2), ('1', 0), ('G', 2), ('2', 1)] {
            assert_eq!((few.key(&PlainKey::Char(key)), few.at), (None, at), "{key}");
        }
        for wrong in ['7', '0'] {
            assert_eq!((few.key(&PlainKey::Char(wrong)), few.at), (None, 1));
            assert_eq!(few.message, format!("there is no session {wrong}: type 1 to 3"));
        }
        assert_eq!(few.key(&PlainKey::Enter), None, "not what was selected before the wrong number");
        assert_eq!(few.message, "");
        assert_eq!(few.key(&PlainKey::Enter), Some(PickerEnd::Picked("s2".parse().unwrap())));
        for key in [PlainKey::Escape, PlainKey::Cancel, PlainKey::Char('q')] {
            assert_eq!(few.key(&key), Some(PickerEnd::Cancelled));
        }
        let mut many = picker(12, 0);
        for (digit, at) in [('1', 0), ('2', 11), ('3', 2), ('1', 0), ('0', 9)] {
            many.key(&PlainKey::Char(digit));
            assert_eq!(many.at, at, "{digit}");
        }
    }
}
