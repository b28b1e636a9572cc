//! What the dashboard knows and what a key means: state and key in, action out. Pure; it draws nothing and
//! asks nobody.

use super::preview::Preview;
use super::session_row::{SessionRow, clean};
use crate::core::ids::SessionName;
use crate::core::input::plain_keys::PlainKey;
use crate::core::status_types::SessionStatus;

/// The longest line that can be written to a session from here, in characters.
const LINE_MAX: usize = 4000;
/// The state of a session that waits for a person.
const BLOCKED: &str = "blocked";
/// That of one that is over.
pub(super) const ENDED: &str = "ended";

/// What the keys go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputMode {
    List,
    /// The page of keys.
    Help,
    /// The text that narrows the list down.
    Filter,
    /// A line to a session.
    Line {
        to: SessionName,
        /// What stands there so far.
        text: String,
    },
    /// The directory of a new session.
    Directory(String),
    /// What a session has done, newest first; the line that is shown first.
    Log(SessionName, Vec<String>, usize),
    /// Whether this is really to be done.
    Sure(DashAction),
    /// A refusal. It stays until Enter or Escape: what was typed for a line does nothing else.
    Refused(String),
}

/// What is to be done about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DashAction {
    /// Bring the session into this terminal.
    Attach(SessionName),
    /// Hand over and start fresh.
    Restart(SessionName),
    /// End it.
    Stop(SessionName),
    /// Start one in this directory.
    New(String),
    /// Ask what it has done.
    Log(SessionName),
    /// Show ended ones, or no longer.
    Ended,
    /// Give its agent a line.
    Send(SessionName, String),
    /// Press the key of an option in the dialog that it waits in; the dialog's name.
    Answer(SessionName, u8, String),
    /// Draw everything again.
    Redraw,
    /// Stop this process, as the shell's Ctrl+Z does.
    Suspend,
    /// Leave.
    Quit,
}

#[derive(Debug)]
pub struct DashState {
    rows: Vec<SessionRow>,
    chosen: Option<SessionName>,
    /// What the list is narrowed down to; empty: nothing.
    pub filter: String,
    /// What the keys go to.
    pub mode: InputMode,
    /// The last word, shown until the next key.
    pub notice: String,
    /// Nobody has pressed a key, and not every session has told its state: the first row is chosen.
    is_new: bool,
    /// The session that was started from here and is not listed yet: it will be chosen.
    awaited: Option<SessionName>,
    /// The chosen session's screen.
    pub preview: Preview,
    /// Whether the sessions have been looked for.
    pub looked: bool,
    /// Whether ended ones are listed too.
    pub ended: bool,
}

impl Default for DashState {
    fn default() -> Self {
        DashState {
            rows: Vec::new(),
            chosen: None,
            is_new: true,
            filter: String::new(),
            mode: InputMode::List,
            notice: String::new(),
            awaited: None,
            preview: Preview::None,
            looked: false,
            ended: false,
        }
    }
}

impl DashState {
    /// The rows that the filter lets through: those that wait for a person first, ended ones last.
    pub fn shown(&self) -> Vec<&SessionRow> {
        let mut shown: Vec<&SessionRow> = self.rows.iter().filter(|row| row.matches(&self.filter)).collect();
        shown.sort_by_key(|row| match row.state.as_str() {
            BLOCKED => 0,
            ENDED => 2,
            _ => 1,
        });
        shown
    }

    /// How many sessions there are, filter or not.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// How many answers the dialog has that the chosen session waits in; `None` while that is not known.
    pub fn answers(&self) -> Option<u8> {
        let (_, row) = self.chosen().filter(|(_, row)| row.state == BLOCKED)?;
        self.preview.options(&row.name)
    }

    /// How many sessions wait for a person.
    pub fn blocked(&self) -> usize {
        self.rows.iter().filter(|row| row.state == BLOCKED).count()
    }

    /// The chosen row and its place among those that are shown.
    pub fn chosen(&self) -> Option<(usize, &SessionRow)> {
        self.shown().into_iter().enumerate().find(|(_, row)| Some(&row.name) == self.chosen.as_ref())
    }

    /// These sessions live, and no other.
    pub fn listed(&mut self, names: &[SessionName]) {
        self.looked = true;
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
            // Until its host has answered, it has a name and nothing else.
            if let Err(at) = self.place(name) {
                self.rows.insert(
                    at,
                    SessionRow::of(name, &SessionStatus::default(), "", |_| String::new(), |_| String::new()),
                );
            }
        }
        self.choose_again(at);
        self.choose_awaited();
    }

    /// A session was started from here: it is chosen as soon as it is listed.
    pub fn started(&mut self, name: SessionName) {
        self.awaited = Some(name);
        self.choose_awaited();
    }

    /// A filter that would hide it goes.
    fn choose_awaited(&mut self) {
        let Some(at) = self.awaited.as_ref().and_then(|name| self.place(name).ok()) else { return };
        if !self.rows[at].matches(&self.filter) {
            self.filter.clear();
        }
        self.chosen = self.awaited.take();
        self.preview = Preview::None;
    }

    /// What a session says of itself; one that is not listed any more is not heard.
    pub fn told(&mut self, row: SessionRow) {
        if let Ok(at) = self.place(&row.name) {
            self.rows[at] = row;
            if self.is_new && self.awaited.is_none() {
                self.choose_first();
            }
            self.choose_again(None);
        }
    }

    /// Whether an agent runs in it.
    pub fn is_agent(&self, name: &SessionName) -> bool {
        self.rows.iter().any(|row| row.name == *name && row.agent == Some(true))
    }

    fn place(&self, name: &SessionName) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.name.cmp(name))
    }

    /// The word that an action ended with.
    pub fn say(&mut self, words: &str) {
        self.notice = clean(words);
    }

    /// One row is always chosen where there is one: the same as before, else the one that is now at its
    /// place.
    fn choose_again(&mut self, at: Option<usize>) {
        if self.chosen().is_none() {
            let shown = self.shown();
            let place = at.unwrap_or(0).min(shown.len().saturating_sub(1));
            self.chosen = shown.get(place).map(|row| row.name.clone());
            self.preview = Preview::None;
        }
    }

    /// The first row may be another one as states come in: who waits for a person is at the top.
    fn choose_first(&mut self) {
        let first = self.shown().first().map(|row| row.name.clone());
        if first != self.chosen {
            (self.chosen, self.preview) = (first, Preview::None);
        }
        self.is_new = self.rows.iter().any(|row| row.agent.is_none());
    }

    /// Selects the row at this place among those that are shown.
    pub fn choose(&mut self, at: usize) {
        self.is_new = false;
        self.go(|_| at);
    }

    /// Shows what a session has done, unless something is being typed.
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

    /// To the next one that waits for a person, from the top again behind the last.
    fn go_to_blocked(&mut self) {
        let (shown, at) = (self.shown(), self.chosen().map_or(0, |(at, _)| at));
        let count = shown.len();
        match (1..=count).map(|n| (at + n) % count).find(|at| shown[*at].state == BLOCKED) {
            Some(next) => self.go(|_| next),
            None => self.say("no session waits for you"),
        }
    }

    /// What a key does.
    pub fn key(&mut self, key: PlainKey) -> Option<DashAction> {
        self.notice.clear();
        self.is_new = false;
        match key {
            PlainKey::Suspend => return Some(DashAction::Suspend),
            PlainKey::Redraw => return Some(DashAction::Redraw),
            _ => {}
        }
        match std::mem::replace(&mut self.mode, InputMode::List) {
            InputMode::List => self.key_in_list(&key),
            InputMode::Help => matches!(key, PlainKey::Cancel).then_some(DashAction::Quit),
            InputMode::Filter => {
                match edit(&mut self.filter, &key) {
                    Edited::On => self.mode = InputMode::Filter,
                    Edited::Done => {}
                    Edited::Given => self.filter.clear(),
                }
                // The first one that matches is the likeliest.
                self.choose_again(None);
                // Also while one types.
                match key {
                    PlainKey::Up => self.go(|at| at.saturating_sub(1)),
                    PlainKey::Down => self.go(|at| at + 1),
                    _ => {}
                }
                None
            }
            InputMode::Line { to, mut text } => match edit(&mut text, &key) {
                Edited::On => {
                    self.mode = InputMode::Line { to, text };
                    None
                }
                Edited::Done if !text.trim().is_empty() => Some(DashAction::Send(to, text)),
                Edited::Done | Edited::Given => None,
            },
            InputMode::Directory(mut dir) => match edit(&mut dir, &key) {
                Edited::On => {
                    self.mode = InputMode::Directory(dir);
                    None
                }
                Edited::Done if !dir.trim().is_empty() => Some(DashAction::New(dir.trim().to_owned())),
                Edited::Done | Edited::Given => None,
            },
            InputMode::Log(of, lines, first) => {
                let last = lines.len().saturating_sub(1);
                let to = match key {
                    PlainKey::Up | PlainKey::WheelUp | PlainKey::Char('k') => first.saturating_sub(1),
                    PlainKey::Down | PlainKey::WheelDown | PlainKey::Char('j') => first + 1,
                    PlainKey::PageUp => first.saturating_sub(10),
                    PlainKey::PageDown => first + 10,
                    PlainKey::Home | PlainKey::Char('g') => 0,
                    PlainKey::End | PlainKey::Char('G') => last,
                    _ => return None,
                };
                self.mode = InputMode::Log(of, lines, to.min(last));
                None
            }
            InputMode::Sure(action) if matches!(key, PlainKey::Char('y' | 'Y')) => Some(action),
            InputMode::Sure(_) => {
                self.say("cancelled");
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
                self.say(&format!("{name} has ended: `hopty status {name}` says how to resume it"));
            }
            (PlainKey::Enter, _) => return Some(DashAction::Attach(name)),
            (PlainKey::Char('r'), _) => self.mode = InputMode::Sure(DashAction::Restart(name)),
            (PlainKey::Char(option @ '1'..='9'), _) => {
                let option = *option as u8 - b'0';
                match (dialog, answers) {
                    (None, _) => self.say(&format!("{name} does not wait for an answer")),
                    (_, Some(count)) if option > count => {
                        self.say(&format!("{name}: the dialog has the answers 1 to {count}"));
                    }
                    (Some(dialog), _) => return Some(DashAction::Answer(name, option, dialog)),
                }
            }
            (PlainKey::Char('s'), _) => self.mode = InputMode::Sure(DashAction::Stop(name)),
            (PlainKey::Char(':' | 'i'), Some(false)) => {
                self.mode = InputMode::Refused(format!("{name} is not Claude: attach to type into it"));
            }
            (PlainKey::Char(':' | 'i'), _) => self.mode = InputMode::Line { to: name, text: String::new() },
            _ => {}
        }
        None
    }
}

/// What became of a line by a key.
enum Edited {
    /// It is still written.
    On,
    Done,
    /// It is given up.
    Given,
}

fn edit(text: &mut String, key: &PlainKey) -> Edited {
    let mut add = |c: char| {
        if text.chars().count() < LINE_MAX {
            text.push(c);
        }
    };
    match key {
        PlainKey::Char(c) => add(*c),
        // One line it stays, whatever was pasted.
        PlainKey::Paste(pasted) => {
            clean(&pasted.trim_end().replace(['\r', '\n', '\t'], " ")).chars().for_each(add)
        }
        PlainKey::Backspace if text.is_empty() => return Edited::Given,
        PlainKey::Backspace => drop(text.pop()),
        PlainKey::Clear => text.clear(),
        PlainKey::Enter => return Edited::Done,
        PlainKey::Escape | PlainKey::Cancel => return Edited::Given,
        _ => {}
    }
    Edited::On
}
