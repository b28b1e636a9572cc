//! A tape being recorded: inputs, each followed by checks of the program's answer. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::new_text::lasting_texts;
use crate::core::process_change::ProcessEnd;
use crate::core::tape::{
    ClickCommand, ExpectArea, ExpectCommand, KeyAction, KeyName, ProgramEnd, TapeCommand, TapePattern,
    TapeSignal, TapeText,
};
use crate::screen::ScreenPlace;
use crate::testing::fresh_text_watch::{FreshTextWatch, TestMark};
use crate::testing::processes::end_words;

/// Inputs with a longer pause between them are separate, so that a check can come between them.
const PAUSE: Duration = Duration::from_millis(700);
/// Clicks in one place with a longer pause between them are not a double click: the default of GTK and of Qt.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

const SETTLE: TapeCommand = TapeCommand::Settle { limit: None, quiet: None, except: Vec::new() };

fn expect(text: &str) -> TapeCommand {
    TapeCommand::Expect(ExpectCommand {
        area: ExpectArea::Screen,
        limit: None,
        times: None,
        pattern: TapePattern::Text(TapeText::plain(text)),
    })
}

/// Commands so far.
#[derive(Debug)]
pub(super) struct TapeDraft {
    commands: Vec<TapeCommand>,
    /// For the index of an `Expect`: its text and other candidates.
    expected: BTreeMap<usize, Vec<String>>,
    /// The last command is an input, which a further one may join.
    is_open: bool,
    /// The last command is a key that new text has answered.
    is_answered: bool,
    /// The time of the last input.
    last_input: Duration,
    /// The number of variables that replace hidden input.
    secrets: u32,
    is_secret: bool,
    /// Text that differs in every run.
    avoid: Vec<String>,
    /// Hidden input, which must not appear in the tape.
    hidden: Vec<String>,
}

/// A shell's report about an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellAnswer {
    /// A shell waits for the next command.
    pub is_ready: bool,
    /// The status of the last one.
    pub status: Option<i32>,
}

impl TapeDraft {
    pub fn new(avoid: Vec<String>) -> Self {
        TapeDraft {
            commands: Vec::new(),
            expected: BTreeMap::new(),
            is_open: false,
            is_answered: false,
            last_input: Duration::ZERO,
            secrets: 0,
            is_secret: false,
            avoid,
            hidden: Vec::new(),
        }
    }

    pub fn commands(&self) -> &[TapeCommand] {
        &self.commands
    }

    /// The time of the last input; `None` if none is open.
    pub fn last_input(&self) -> Option<Duration> {
        self.is_open.then_some(self.last_input)
    }

    /// The text that was typed last, while no check follows it.
    pub fn typed_text(&self) -> Option<&str> {
        match self.commands.last() {
            Some(TapeCommand::Type { text, .. }) if self.is_open && !self.is_secret => Some(text.as_str()),
            _ => None,
        }
    }

    /// Whether an input belongs to the last one: no check comes between them, and they share a mark.
    pub fn joins(&self, input: &TapeCommand, is_secret: bool, at: Duration) -> bool {
        if !self.is_open || at.saturating_sub(self.last_input) > PAUSE {
            return false;
        }
        match (self.commands.last(), input) {
            (Some(TapeCommand::Type { .. }), TapeCommand::Type { .. }) => self.is_secret == is_secret,
            (Some(TapeCommand::Key(last)), TapeCommand::Key(next)) => {
                last.chords == next.chords && !self.is_answered
            }
            (Some(TapeCommand::Resize { .. }), TapeCommand::Resize { .. }) => true,
            (Some(TapeCommand::Click(last)), TapeCommand::Click(next)) => {
                let is_same = ClickCommand { times: next.times, ..last.clone() } == *next;
                is_same && at.saturating_sub(self.last_input) <= DOUBLE_CLICK
            }
            (
                Some(TapeCommand::Wheel { direction, at, .. }),
                TapeCommand::Wheel { direction: next_way, at: next_place, .. },
            ) => direction == next_way && at == next_place,
            _ => false,
        }
    }

    /// Notes whether new text has answered a key such as Enter or Tab: the same key again may answer that.
    /// Keys that move or erase are one input however far they go.
    pub fn look_for_answer(&mut self, watch: &FreshTextWatch, mark: &TestMark) {
        let Some(TapeCommand::Key(press)) = self.commands.last() else { return };
        let moves = |key: KeyName| {
            use KeyName as K;
            matches!(key, K::Up | K::Down | K::Left | K::Right | K::Home | K::End | K::PageUp | K::PageDown)
                || matches!(key, K::Backspace | K::Delete)
        };
        let is_text = |place: &ScreenPlace| {
            let row = watch.screen().row_text(place.row);
            !row.part(place.cols.clone()).text().trim().is_empty()
        };
        self.is_answered = self.is_open
            && !press.chords.iter().all(|chord| moves(chord.key))
            && watch.new_places(mark).iter().any(is_text);
    }

    /// Adds an input. `is_secret`: the program does not show it, as at a password prompt, so a variable
    /// replaces it.
    pub fn input(&mut self, mut input: TapeCommand, is_secret: bool, at: Duration) {
        let joins = self.joins(&input, is_secret, at);
        self.last_input = at;
        if is_secret && let TapeCommand::Paste(text) = &input {
            self.hidden.push(text.as_str().to_owned());
        }
        if is_secret && let TapeCommand::Type { text, .. } = &mut input {
            match self.hidden.last_mut().filter(|_| joins) {
                Some(hidden) => hidden.push_str(text.as_str()),
                None => self.hidden.push(text.as_str().to_owned()),
            }
            if joins {
                return;
            }
            self.secrets += 1;
            *text = TapeText::of_variable(&format!("SECRET_{}", self.secrets));
        }
        self.is_secret = is_secret;
        self.is_open = true;
        self.is_answered = false;
        match (self.commands.last_mut(), &input) {
            (Some(TapeCommand::Type { text, .. }), TapeCommand::Type { text: more, .. }) if joins => {
                text.append(more);
            }
            (Some(TapeCommand::Key(last)), TapeCommand::Key(next)) if joins => {
                debug_assert_eq!(last.action, KeyAction::Press);
                last.count += next.count;
            }
            (Some(TapeCommand::Click(last)), TapeCommand::Click(next)) if joins => last.times += next.times,
            (Some(TapeCommand::Wheel { notches, .. }), TapeCommand::Wheel { notches: more, .. }) if joins => {
                *notches += more;
            }
            (Some(last @ TapeCommand::Resize { .. }), TapeCommand::Resize { .. }) if joins => *last = input,
            _ => self.commands.push(input),
        }
    }

    /// Adds checks for what appeared since the mark of the last input.
    pub fn check(&mut self, watch: &FreshTextWatch, mark: &TestMark, shell: ShellAnswer, is_over: bool) {
        let last = if self.is_open { self.commands.last() } else { None };
        let is_typed = matches!(last, Some(TapeCommand::Type { .. }));
        let echo = match last {
            Some(TapeCommand::Type { text, .. }) if !self.is_secret => text.as_str(),
            _ => "",
        };
        let places = without_echo(watch, mark, echo);
        // The same words drawn again are an answer, too.
        let is_drawn_again = self.is_open && !is_typed && watch.has_output_since(mark);
        let mut checks = Vec::new();
        if shell.is_ready && !is_typed && !is_over {
            checks.push(TapeCommand::Ready { limit: None });
            checks.extend(shell.status.map(TapeCommand::Status));
        }
        let texts = lasting_texts(watch, mark, &places, &self.avoid, &self.hidden);
        match texts.first() {
            Some(text) => {
                checks.push(expect(text));
                self.expected.insert(self.commands.len() + checks.len() - 1, texts);
            }
            None if checks.is_empty() && (!places.is_empty() || is_drawn_again) && !is_over => {
                checks.push(SETTLE);
            }
            None => {}
        }
        if !checks.is_empty() {
            self.commands.extend(checks);
            self.is_open = false;
        }
    }

    /// Adds a check for the program's end.
    pub fn end(&mut self, end: ProcessEnd) {
        let end = match end {
            ProcessEnd::Exited(code) => Some(ProgramEnd::Code(i32::from(code))),
            _ => end_words(end).strip_prefix("SIG").and_then(TapeSignal::named).map(ProgramEnd::Signal),
        };
        self.commands.extend(end.map(|end| TapeCommand::Exit { limit: None, end }));
    }

    /// The tape after its header.
    pub fn text(&self, header: &str) -> String {
        let mut tape = header.to_owned();
        if self.secrets > 0 {
            let names: Vec<String> = self.secret_names().iter().map(|name| format!("--env {name}")).collect();
            let _ = writeln!(
                tape,
                "# What was typed and not shown is a variable: hopty test {}",
                names.join(" ")
            );
        }
        for command in &self.commands {
            let _ = writeln!(tape, "{command}");
        }
        tape
    }

    /// Replaces an `Expect`, on this line of [`TapeDraft::text`], whose text did not appear again: by another
    /// candidate that is in `rows`, or if there is none by `Settle`. Returns the new command; `None` if there
    /// is no `Expect` of this recording.
    pub fn replace_expect(&mut self, header: &str, line: usize, rows: &[String]) -> Option<String> {
        let first = self.text(header).lines().count() - self.commands.len() + 1;
        let at = line.checked_sub(first)?;
        let texts = self.expected.remove(&at)?;
        let comes_again = |text: &String| rows.iter().any(|row| row.contains(text.as_str()));
        let left: Vec<String> = texts.into_iter().skip(1).filter(comes_again).collect();
        self.commands[at] = left.first().map_or(SETTLE, |text| expect(text));
        if !left.is_empty() {
            self.expected.insert(at, left);
        }
        Some(self.commands[at].to_string())
    }

    /// The variables that replace hidden input.
    pub fn secret_names(&self) -> Vec<String> {
        (1..=self.secrets).map(|number| format!("SECRET_{number}")).collect()
    }
}

/// What appeared since the mark, without a typed text before the cursor.
fn without_echo(watch: &FreshTextWatch, mark: &TestMark, echo: &str) -> Vec<ScreenPlace> {
    let mut places = watch.new_places(mark);
    if echo.is_empty() {
        return places;
    }
    let (cursor, cols) = (watch.screen().cursor(), watch.screen().size().0);
    // At the cursor an editor may have inserted more than was typed.
    let width: usize = echo.chars().map(|c| unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)).sum();
    let end = usize::from(cursor.row) * usize::from(cols) + usize::from(cursor.col);
    let start = end.saturating_sub(width);
    if watch.stands_at_cursor(echo, mark) {
        places.retain_mut(|place| {
            let row = usize::from(place.row) * usize::from(cols);
            let from = row + usize::from(place.cols.start);
            let to = row + usize::from(place.cols.end);
            if from >= start && from < end {
                place.cols.start = (end.min(to) - row) as u16;
            }
            place.cols.start < place.cols.end
        });
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tape::TypedKeys;

    /// A tape of inputs, each with the program's output in answer.
    fn tape(steps: &[(u64, &str, &str)]) -> String {
        let mut watch = FreshTextWatch::new((40, 6), 10);
        let mut draft = TapeDraft::new(Vec::new());
        let mut mark = watch.take_mark(1);
        let mut keys = TypedKeys::new();
        for (ms, typed, answer) in steps {
            let at = Duration::from_millis(*ms);
            for command in keys.commands(typed.as_bytes()) {
                draft.look_for_answer(&watch, &mark);
                if !draft.joins(&command, false, at) {
                    draft.check(&watch, &mark, ShellAnswer::default(), false);
                    mark = watch.take_mark(2);
                }
                draft.input(command, false, at);
            }
            watch.feed(answer.as_bytes());
            watch.end_frame();
        }
        draft.check(&watch, &mark, ShellAnswer::default(), true);
        draft.end(ProcessEnd::Exited(3));
        draft.text("")
    }

    #[test]
    fn typed_characters_are_joined_and_the_answer_is_expected() {
        let steps = [
            (0, "", "name? "),
            (10, "A", "A"),
            (20, "d", "d"),
            (30, "e", "e"),
            (40, "\x7f", "\x08 \x08"),
            (45, "a", "a"),
            (50, "\r", "\r\nhello Ada\r\n"),
        ];
        assert_eq!(
            tape(&steps),
            "Expect \"name?\"\nType \"Ade\"\nBackspace\nSettle\nType \"a\"\nEnter\nExpect \"hello \
             Ada\"\nExit 3\n"
        );
    }

    #[test]
    fn a_text_that_does_not_appear_again_is_replaced() {
        let mut watch = FreshTextWatch::new((40, 6), 10);
        let mut draft = TapeDraft::new(Vec::new());
        let mark = watch.take_mark(1);
        watch.feed(b"a hint of the day\r\n9 files\r\nready\r\n");
        watch.end_frame();
        draft.check(&watch, &mark, ShellAnswer::default(), false);
        let header = "Start prog\n\n";
        let mut replaced = |line, rows: &[&str]| {
            let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
            draft.replace_expect(header, line, &rows)
        };
        assert_eq!((replaced(1, &[]), replaced(4, &[])), (None, None), "no `Expect` stands there");
        assert_eq!(replaced(3, &["another hint", "ready"]).as_deref(), Some("Expect \"ready\""));
        assert_eq!(replaced(3, &["ready"]).as_deref(), Some("Settle"));
        assert_eq!(replaced(3, &["ready"]), None);
        assert_eq!(draft.text(header), "Start prog\n\nSettle\n");
    }

    #[test]
    fn an_answer_to_typing_is_expected_too() {
        // A list that is filtered while typing, and a cursor that only moves.
        let steps = [
            (0, "", "> \x1b[2Hthree found\x1b[1;3H"),
            (10, "b", "b\x1b[2Hone   left\x1b[K\x1b[1;4H"),
            (20, "\x1b[D", "\x08"),
        ];
        assert_eq!(tape(&steps), "Expect \"three found\"\nType \"b\"\nExpect \"left\"\nLeft\nExit 3\n");
    }

    #[test]
    fn a_pause_parts_keys_and_repeats_are_counted() {
        let steps =
            [(0, "\x1b[B", "\x1b[2Htwo"), (100, "\x1b[B", "\x1b[3Hmore"), (2000, "\x1b[B", "\x1b[4Hlast")];
        assert_eq!(tape(&steps), "Down 2\nExpect \"two\"\nDown\nExpect \"last\"\nExit 3\n");
    }

    #[test]
    fn a_key_that_answers_what_the_same_key_has_shown_is_another_input() {
        let steps = [
            (0, "", "Colour?"),
            (10, "\r", "\x1b[2HSure?"),
            (400, "\r", "\x1b[3Hdone"),
            (2000, "\t", "\x07"),
            (2100, "\t", ""),
        ];
        assert_eq!(
            tape(&steps),
            "Expect \"Colour?\"\nEnter\nExpect \"Sure?\"\nEnter\nExpect \"done\"\nTab 2\nExit 3\n"
        );
    }

    #[test]
    fn a_password_is_a_variable() {
        let mut draft = TapeDraft::new(Vec::new());
        let mut keys = TypedKeys::new();
        for (ms, typed) in [(0, "ge"), (10, "heim")] {
            for command in keys.commands(typed.as_bytes()) {
                draft.input(command, true, Duration::from_millis(ms));
            }
        }
        let text = draft.text("");
        assert!(text.ends_with("Type $\"${SECRET_1}\"\n") && draft.secret_names() == ["SECRET_1"], "{text}");
    }

    #[test]
    fn hidden_input_is_never_expected() {
        let check = |answer: &str| {
            let mut watch = FreshTextWatch::new((40, 6), 10);
            let mut draft = TapeDraft::new(Vec::new());
            let mut keys = TypedKeys::new();
            let mark = watch.take_mark(1);
            for part in ["Geheim", "-Wort"] {
                for command in keys.commands(part.as_bytes()) {
                    draft.input(command, true, Duration::ZERO);
                }
            }
            watch.feed(answer.as_bytes());
            watch.end_frame();
            draft.check(&watch, &mark, ShellAnswer::default(), false);
            draft.text("")
        };
        let tape = check("\r\nkey=Geheim-Wort");
        assert!(!tape.contains("Geheim") && tape.ends_with("Settle\n"), "{tape}");
        let tape = check("\r\nlogged in with Geheim-Wo");
        assert!(!tape.contains("Geheim") && tape.ends_with("Expect \"logged in with\"\n"), "{tape}");
    }

    #[test]
    fn the_same_words_drawn_anew_are_waited_for() {
        let steps = [(0, "", "ok"), (10, "\r", "\x1b[2J\x1b[Hok"), (2000, "\x1b[B", "")];
        assert_eq!(tape(&steps), "Expect \"ok\"\nEnter\nSettle\nDown\nExit 3\n");
    }

    #[test]
    fn two_clicks_in_one_place_are_a_double_click_only_if_they_are_quick() {
        let click = "\x1b[<0;3;4M\x1b[<0;3;4m";
        let steps =
            [(0, click, ""), (300, click, ""), (900, click, "\x1b[2Hpicked"), (1000, "\x1b[<65;1;2M", "")];
        assert_eq!(tape(&steps), "Click 4,3 x2\nClick 4,3\nExpect \"picked\"\nWheel Down 1 at 2,1\nExit 3\n");
    }

    #[test]
    fn an_end_by_a_signal_is_recorded() {
        let mut draft = TapeDraft::new(Vec::new());
        draft.end(ProcessEnd::Signaled(crate::core::process_change::Signal::TERM));
        assert_eq!(draft.text(""), "Exit TERM\n");
    }
}
