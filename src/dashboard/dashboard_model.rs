//! The state of the dashboard, and the meaning of keys: state and key in, action out. Pure: it neither
//! draws nor asks hosts.

use super::preview::Preview;
use super::session_row::{SessionRow, clean};
use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::core::status_types::SessionStatus;

/// The longest line that can be sent to a session from here, in characters.
const LINE_MAX: usize = 4000;
/// The state of a session that waits for a person.
const BLOCKED: &str = "blocked";
/// The state of a session that has ended.
pub(super) const ENDED: &str = "ended";

/// Where keys go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputMode {
    List,
    /// The help page.
    Help,
    /// Editing the filter.
    Filter,
    /// Writing a line to a session.
    Line {
        to: SessionName,
        text: String,
    },
    /// Typing the directory of a new session.
    Directory(String),
    /// A session's log, newest first, and the first line shown.
    Log(SessionName, Vec<String>, usize),
    /// Asking for confirmation.
    Confirm(DashAction),
    /// Showing a refusal until Enter or Escape: the rest of a typed line must not act as keys.
    Refused(String),
}

/// What a key requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DashAction {
    /// Attach this terminal to the session.
    Attach(SessionName),
    /// Hand over to a fresh conversation.
    Restart(SessionName),
    Stop(SessionName),
    /// Start a session in this directory.
    New(String),
    Log(SessionName),
    /// Toggle ended sessions.
    Ended,
    /// Submit a line to its agent.
    Send(SessionName, String),
    /// Choose an option of the dialog with this name.
    Answer(SessionName, u8, String),
    Redraw,
    /// Stop this process, as the shell's Ctrl+Z does.
    Suspend,
    Quit,
}

#[derive(Debug)]
pub struct DashState {
    rows: Vec<SessionRow>,
    chosen: Option<SessionName>,
    /// The filter of the list; empty for none.
    pub filter: String,
    pub mode: InputMode,
    /// A message, shown until the next key.
    pub notice: String,
    /// No key was pressed yet and some states are still unknown: the first row stays selected.
    is_untouched: bool,
    /// A session that was started from here and is not listed yet; it will be selected.
    starting: Option<SessionName>,
    pub preview: Preview,
    /// Whether the sessions were listed at least once.
    pub is_listed: bool,
    /// Whether ended sessions are listed.
    pub ended: bool,
}

impl Default for DashState {
    fn default() -> Self {
        DashState {
            rows: Vec::new(),
            chosen: None,
            is_untouched: true,
            filter: String::new(),
            mode: InputMode::List,
            notice: String::new(),
            starting: None,
            preview: Preview::None,
            is_listed: false,
            ended: false,
        }
    }
}

impl DashState {
    /// The rows that match the filter: sessions that wait for a person first, ended ones last.
    pub fn shown(&self) -> Vec<&SessionRow> {
        let mut shown: Vec<&SessionRow> = self.rows.iter().filter(|row| row.matches(&self.filter)).collect();
        shown.sort_by_key(|row| match row.state.as_str() {
            BLOCKED => 0,
            ENDED => 2,
            _ => 1,
        });
        shown
    }

    /// The number of sessions, whatever the filter.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The number of answers in the dialog that the selected session waits in; `None` if unknown.
    pub fn answers(&self) -> Option<u8> {
        let (_, row) = self.chosen().filter(|(_, row)| row.state == BLOCKED)?;
        self.preview.options(&row.name)
    }

    pub fn blocked(&self) -> usize {
        self.rows.iter().filter(|row| row.state == BLOCKED).count()
    }

    /// The selected row, and its index among the rows shown.
    pub fn chosen(&self) -> Option<(usize, &SessionRow)> {
        self.shown().into_iter().enumerate().find(|(_, row)| Some(&row.name) == self.chosen.as_ref())
    }

    /// Replaces the list of live sessions.
    pub fn listed(&mut self, names: &[SessionName]) {
        self.is_listed = true;
        let gone: Vec<String> = self
            .rows
            .iter()
            .filter(|row| !names.contains(&row.name) && row.state != ENDED)
            .map(|row| row.name.as_str().to_owned())
            .collect();
        if !gone.is_empty() {
            self.notice = format!("{} ended", gone.join(", "));
        }
        let at = self.chosen().map(|(at, _)| at);
        self.rows.retain(|row| names.contains(&row.name));
        for name in names {
            // Until its host has answered, only its name is known.
            if let Err(at) = self.place(name) {
                self.rows.insert(
                    at,
                    SessionRow::of(name, &SessionStatus::default(), "", |_| String::new(), |_| String::new()),
                );
            }
        }
        self.choose_again(at);
        self.choose_starting();
    }

    /// A session was started from here: it is selected as soon as it is listed.
    pub fn started(&mut self, name: SessionName) {
        self.starting = Some(name);
        self.choose_starting();
    }

    /// Clears a filter that would hide the new session.
    fn choose_starting(&mut self) {
        let Some(at) = self.starting.as_ref().and_then(|name| self.place(name).ok()) else { return };
        if !self.rows[at].matches(&self.filter) {
            self.filter.clear();
        }
        self.chosen = self.starting.take();
        self.preview = Preview::None;
    }

    /// Updates the row of a session, if that is still listed.
    pub fn update_row(&mut self, row: SessionRow) {
        if let Ok(at) = self.place(&row.name) {
            self.rows[at] = row;
            if self.is_untouched && self.starting.is_none() {
                self.choose_first();
            }
            self.choose_again(None);
        }
    }

    /// Whether it runs an agent.
    pub fn is_agent(&self, name: &SessionName) -> bool {
        self.rows.iter().any(|row| row.name == *name && row.agent == Some(true))
    }

    fn place(&self, name: &SessionName) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.name.cmp(name))
    }

    /// Shows the result of an action.
    pub fn show_notice(&mut self, words: &str) {
        self.notice = clean(words);
    }

    /// Keeps the same row selected if possible, else the one at its index.
    fn choose_again(&mut self, at: Option<usize>) {
        if self.chosen().is_none() {
            let shown = self.shown();
            let place = at.unwrap_or(0).min(shown.len().saturating_sub(1));
            self.chosen = shown.get(place).map(|row| row.name.clone());
            self.preview = Preview::None;
        }
    }

    /// Selects the first row, which may change as states arrive: sessions that wait for a person move to
    /// the top.
    fn choose_first(&mut self) {
        let first = self.shown().first().map(|row| row.name.clone());
        if first != self.chosen {
            (self.chosen, self.preview) = (first, Preview::None);
        }
        self.is_untouched = self.rows.iter().any(|row| row.agent.is_none());
    }

    /// Selects the row with this index among the rows shown.
    pub fn choose(&mut self, at: usize) {
        self.is_untouched = false;
        self.go(|_| at);
    }

    /// Shows a session's log, unless something is being typed.
    pub fn show_log(&mut self, of: SessionName, lines: Vec<String>) {
        if self.mode == InputMode::List {
            self.notice.clear();
            self.mode = InputMode::Log(of, lines, 0);
        }
    }

    fn go(&mut self, to: impl FnOnce(usize) -> usize) {
        let at = self.chosen().map_or(0, |(at, _)| at);
        let shown = self.shown();
        let name = shown.get(to(at).min(shown.len().saturating_sub(1))).map(|row| row.name.clone());
        if name != self.chosen {
            self.chosen = name;
            self.preview = Preview::None;
        }
    }

    /// Selects the next session that waits for a person, starting over after the last.
    fn go_to_blocked(&mut self) {
        let (shown, at) = (self.shown(), self.chosen().map_or(0, |(at, _)| at));
        let count = shown.len();
        match (1..=count).map(|n| (at + n) % count).find(|at| shown[*at].state == BLOCKED) {
            Some(next) => self.go(|_| next),
            None => self.show_notice("no session waits for you"),
        }
    }

    /// Handles a key. Returns what the loop must do.
    pub fn key(&mut self, key: PlainKey) -> Option<DashAction> {
        self.notice.clear();
        self.is_untouched = false;
        match key {
            PlainKey::Suspend => return Some(DashAction::Suspend),
            PlainKey::Redraw => return Some(DashAction::Redraw),
            _ => {}
        }
        match std::mem::replace(&mut self.mode, InputMode::List) {
            InputMode::List => self.key_in_list(&key),
            InputMode::Help => matches!(key, PlainKey::Cancel).then_some(DashAction::Quit),
            InputMode::Filter => {
                self.key_in_filter(&key);
                None
            }
            InputMode::Line { to, mut text } => match edit(&mut text, &key) {
                LineEdit::Typing => {
                    self.mode = InputMode::Line { to, text };
                    None
                }
                LineEdit::Accepted if !text.trim().is_empty() => Some(DashAction::Send(to, text)),
                LineEdit::Accepted | LineEdit::Cancelled => None,
            },
            InputMode::Directory(mut dir) => match edit(&mut dir, &key) {
                LineEdit::Typing => {
                    self.mode = InputMode::Directory(dir);
                    None
                }
                LineEdit::Accepted if !dir.trim().is_empty() => Some(DashAction::New(dir.trim().to_owned())),
                LineEdit::Accepted | LineEdit::Cancelled => None,
            },
            InputMode::Log(of, lines, first) => {
                if let Some(first) = scrolled(first, lines.len(), &key) {
                    self.mode = InputMode::Log(of, lines, first);
                }
                None
            }
            InputMode::Confirm(action) if matches!(key, PlainKey::Char('y' | 'Y')) => Some(action),
            InputMode::Confirm(_) => {
                self.show_notice("cancelled");
                None
            }
            InputMode::Refused(why) => {
                if !matches!(key, PlainKey::Enter | PlainKey::Escape | PlainKey::Cancel) {
                    self.mode = InputMode::Refused(why);
                }
                None
            }
        }
    }

    fn key_in_filter(&mut self, key: &PlainKey) {
        match edit(&mut self.filter, key) {
            LineEdit::Typing => self.mode = InputMode::Filter,
            LineEdit::Accepted => {}
            LineEdit::Cancelled => self.filter.clear(),
        }
        // The first match is the likeliest.
        self.choose_again(None);
        match key {
            PlainKey::Up => self.go(|at| at.saturating_sub(1)),
            PlainKey::Down => self.go(|at| at + 1),
            _ => {}
        }
    }

    fn key_in_list(&mut self, key: &PlainKey) -> Option<DashAction> {
        let blocked = self.chosen().map(|(_, row)| row).filter(|row| row.state == BLOCKED);
        let dialog = blocked.map(|row| row.dialog.clone());
        let answers = self.answers();
        let chosen = self.chosen().map(|(_, row)| (row.name.clone(), row.agent));
        let is_over = self.chosen().is_some_and(|(_, row)| row.state == ENDED);
        match key {
            PlainKey::Char('q') | PlainKey::Cancel => return Some(DashAction::Quit),
            PlainKey::Escape if !self.filter.is_empty() => {
                self.filter.clear();
                self.choose_again(None);
            }
            PlainKey::Char('?' | 'h') => self.mode = InputMode::Help,
            PlainKey::Char('/') => self.mode = InputMode::Filter,
            PlainKey::Up | PlainKey::WheelUp | PlainKey::Char('k') => self.go(|at| at.saturating_sub(1)),
            PlainKey::Down | PlainKey::WheelDown | PlainKey::Char('j') => self.go(|at| at + 1),
            PlainKey::PageUp => self.go(|at| at.saturating_sub(10)),
            PlainKey::PageDown => self.go(|at| at + 10),
            PlainKey::Home | PlainKey::Char('g') => self.go(|_| 0),
            PlainKey::End | PlainKey::Char('G') => self.go(|_| usize::MAX),
            PlainKey::Tab => self.go_to_blocked(),
            PlainKey::Char('e') => {
                self.ended = !self.ended;
                return Some(DashAction::Ended);
            }
            PlainKey::Char('n') => {
                let dir = self.chosen().map_or_else(|| "~".to_owned(), |(_, row)| row.dir.clone());
                self.mode = InputMode::Directory(dir);
            }
            _ => {}
        }
        let (name, agent) = chosen?;
        match (key, agent) {
            (PlainKey::Char('w'), _) => return Some(DashAction::Log(name)),
            (PlainKey::Enter | PlainKey::Char('r' | 's' | ':' | 'i'), _) if is_over => {
                self.show_notice(&format!("{name} has ended: `hopty status {name}` says how to resume it"));
            }
            (PlainKey::Enter, _) => return Some(DashAction::Attach(name)),
            (PlainKey::Char('r'), _) => self.mode = InputMode::Confirm(DashAction::Restart(name)),
            (PlainKey::Char(option @ '1'..='9'), _) => {
                let option = *option as u8 - b'0';
                match (dialog, answers) {
                    (None, _) => self.show_notice(&format!("{name} does not wait for an answer")),
                    (_, Some(count)) if option > count => {
                        self.show_notice(&format!("{name}: the dialog has the answers 1 to {count}"));
                    }
                    (Some(dialog), _) => return Some(DashAction::Answer(name, option, dialog)),
                }
            }
            (PlainKey::Char('s'), _) => self.mode = InputMode::Confirm(DashAction::Stop(name)),
            (PlainKey::Char(':' | 'i'), Some(false)) => {
                self.mode = InputMode::Refused(format!("{name} is not Claude: attach to type into it"));
            }
            (PlainKey::Char(':' | 'i'), _) => self.mode = InputMode::Line { to: name, text: String::new() },
            _ => {}
        }
        None
    }
}

/// The first line of a log of `count` lines after this key; `None` for a key that closes the log.
fn scrolled(first: usize, count: usize, key: &PlainKey) -> Option<usize> {
    let last = count.saturating_sub(1);
    let first = match key {
        PlainKey::Up | PlainKey::WheelUp | PlainKey::Char('k') => first.saturating_sub(1),
        PlainKey::Down | PlainKey::WheelDown | PlainKey::Char('j') => first + 1,
        PlainKey::PageUp => first.saturating_sub(10),
        PlainKey::PageDown => first + 10,
        PlainKey::Home | PlainKey::Char('g') => 0,
        PlainKey::End | PlainKey::Char('G') => last,
        _ => return None,
    };
    Some(first.min(last))
}

/// The effect of a key on a line.
enum LineEdit {
    Typing,
    Accepted,
    Cancelled,
}

fn edit(text: &mut String, key: &PlainKey) -> LineEdit {
    let mut add = |c: char| {
        if text.chars().count() < LINE_MAX {
            text.push(c);
        }
    };
    match key {
        PlainKey::Char(c) => add(*c),
        // Pasted line breaks must not split the line.
        PlainKey::Paste(pasted) => {
            clean(&pasted.trim_end().replace(['\r', '\n', '\t'], " ")).chars().for_each(add)
        }
        PlainKey::Backspace if text.is_empty() => return LineEdit::Cancelled,
        PlainKey::Backspace => drop(text.pop()),
        PlainKey::Clear => text.clear(),
        PlainKey::Enter => return LineEdit::Accepted,
        PlainKey::Escape | PlainKey::Cancel => return LineEdit::Cancelled,
        _ => {}
    }
    LineEdit::Typing
}
