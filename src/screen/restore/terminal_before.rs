//! The state of the terminal before the child changed it, as far as the child itself queried it.
//!
//! hopty sends no queries. But most programs query the state that they are about to change, and hopty sees
//! the answers. An answer describes the state before the child if the child had not changed it when it asked;
//! each query is stored with that fact, and matched with the first answer of its kind, because a terminal
//! answers in order.

use std::collections::{BTreeMap, VecDeque};

use vte::{Params, Parser, Perform};

use crate::screen::cursor::CursorShape;
use crate::screen::modes::{ModeSpace, TerminalMode};
use crate::screen::window::ColorId;

/// The most pending queries; the oldest is dropped.
const ASKED_MAX: usize = 64;
/// The longest description of a colour that is kept, in bytes.
const COLOR_MAX: usize = 64;
/// The longest answer, in bytes. Longer input is ignored.
const ANSWER_MAX: usize = 4096;

/// The subject of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionTopic {
    /// DECRQM.
    Mode(TerminalMode),
    /// `CSI ? u`: the kitty flags of the visible screen.
    Keyboard {
        /// Of the alternate screen.
        alternate: bool,
    },
    /// `CSI ? 4 m`: modifyOtherKeys.
    OtherKeys,
    /// DECRQSS of DECSCUSR.
    Shape,
    /// OSC 4, 5, 10 to 19 with `?`.
    Color(ColorId),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PendingQuestion {
    topic: QuestionTopic,
    /// The child had not changed it before the query.
    untouched: bool,
}

/// The known state of the terminal, and the pending queries. It belongs to one terminal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TerminalBefore {
    /// The known modes, and which of them were set.
    modes: (u64, u64),
    keyboard: [Option<u8>; 2],
    other_keys: Option<u16>,
    shape: Option<CursorShape>,
    colors: BTreeMap<ColorId, String>,
    /// Text, background and cursor (OSC 10 to 12), as this terminal or one before it described them.
    described: BTreeMap<ColorId, String>,
    asked: VecDeque<PendingQuestion>,
}

impl TerminalBefore {
    /// Whether a mode was set.
    pub(in crate::screen) fn mode(&self, mode: TerminalMode) -> Option<bool> {
        let (known, on) = self.modes;
        (known & mode.bit() != 0).then_some(on & mode.bit() != 0)
    }

    /// The kitty flags of one screen.
    pub(in crate::screen) fn keyboard(&self, alternate: bool) -> Option<u8> {
        self.keyboard[usize::from(alternate)]
    }

    /// The level of modifyOtherKeys.
    pub(in crate::screen) fn other_keys(&self) -> Option<u16> {
        self.other_keys
    }

    pub(in crate::screen) fn shape(&self) -> Option<CursorShape> {
        self.shape
    }

    /// Colours, as the terminal described them.
    pub(in crate::screen) fn colors(&self) -> &BTreeMap<ColorId, String> {
        &self.colors
    }

    /// The last queried terminal's description of text, background or cursor colour.
    pub(in crate::screen) fn described(&self, color: ColorId) -> Option<&str> {
        self.described.get(&color).map(String::as_str)
    }

    /// Another terminal is used from here on, with this known state: the descriptions in `other` apply until
    /// it sends its own.
    pub(in crate::screen) fn follow(&mut self, other: &Self) {
        for (color, value) in &other.described {
            self.described.entry(*color).or_insert_with(|| value.clone());
        }
    }

    /// The child sends a query.
    pub(in crate::screen) fn ask(&mut self, topic: QuestionTopic, untouched: bool) {
        if self.asked.len() == ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(PendingQuestion { topic, untouched });
    }

    /// Whether an answer is pending.
    pub(in crate::screen) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The queries were not answered by the terminal.
    pub(in crate::screen) fn forget_questions(&mut self) {
        self.asked.clear();
    }

    /// Finds the query and removes it. True if the answer describes the state before the child.
    fn answers(&mut self, matches: impl Fn(QuestionTopic) -> bool) -> Option<QuestionTopic> {
        let at = self.asked.iter().position(|asked| matches(asked.topic))?;
        let asked = self.asked.remove(at)?;
        asked.untouched.then_some(asked.topic)
    }

    fn read_mode(&mut self, space: ModeSpace, number: u16, state: u16) {
        let Some(mode) = TerminalMode::from_number(space, number) else { return };
        if self.answers(|topic| topic == QuestionTopic::Mode(mode)).is_none() {
            return;
        }
        // 1 set, 2 reset, 3 and 4 permanently so, 0 unknown.
        let (known, on) = &mut self.modes;
        match state {
            1 | 3 => (*known, *on) = (*known | mode.bit(), *on | mode.bit()),
            2 | 4 => (*known, *on) = (*known | mode.bit(), *on & !mode.bit()),
            _ => {}
        }
    }

    fn read_color(&mut self, color: ColorId, value: &[u8]) {
        let Some(value) =
            std::str::from_utf8(value).ok().filter(|value| value.len() <= COLOR_MAX && !value.is_empty())
        else {
            return;
        };
        let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":/#.,".contains(&byte));
        if self.answers(|topic| topic == QuestionTopic::Color(color)).is_some() && plain {
            self.colors.insert(color, value.to_owned());
            if matches!(color, ColorId::Dynamic(10..=12)) {
                self.described.insert(color, value.to_owned());
            }
        }
    }
}

/// Reads answers from the terminal's input, ignoring keys between them.
#[derive(Default)]
pub struct AnswerReader {
    parser: Parser,
    /// The result of the report of a setting (DECRPSS).
    setting: Option<Vec<u8>>,
    /// Bytes since the parser last recognized anything.
    silent: usize,
}

impl AnswerReader {
    /// Reads the terminal's input, and passes answers to `before`.
    pub fn read(&mut self, before: &mut TerminalBefore, bytes: &[u8]) {
        for chunk in bytes.chunks(ANSWER_MAX) {
            let mut ear = AnswerSink { before, setting: &mut self.setting, heard: false };
            self.parser.advance(&mut ear, chunk);
            let heard = ear.heard;
            self.silent = if heard { 0 } else { self.silent + chunk.len() };
            if self.silent > ANSWER_MAX {
                *self = Self::default();
            }
        }
    }
}

struct AnswerSink<'a> {
    before: &'a mut TerminalBefore,
    setting: &'a mut Option<Vec<u8>>,
    heard: bool,
}

/// A number of a sequence, 0 if absent.
fn value(params: &Params, at: usize) -> u16 {
    params.iter().nth(at).and_then(|param| param.first()).copied().unwrap_or(0)
}

impl Perform for AnswerSink<'_> {
    fn print(&mut self, _ch: char) {
        self.heard = true;
    }

    fn execute(&mut self, _byte: u8) {
        self.heard = true;
    }

    fn esc_dispatch(&mut self, _intermediates: &[u8], _ignore: bool, _byte: u8) {
        self.heard = true;
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.heard = true;
        let (first, second) = (value(params, 0), value(params, 1));
        match (intermediates, action) {
            _ if ignore => {}
            ([b'?', b'$'], 'y') => self.before.read_mode(ModeSpace::Private, first, second),
            ([b'$'], 'y') => self.before.read_mode(ModeSpace::Ansi, first, second),
            ([b'?'], 'u') => {
                if let Some(QuestionTopic::Keyboard { alternate }) =
                    self.before.answers(|topic| matches!(topic, QuestionTopic::Keyboard { .. }))
                {
                    self.before.keyboard[usize::from(alternate)] = Some((first & 0x1f) as u8);
                }
            }
            ([b'>'], 'm')
                if first == 4 && self.before.answers(|topic| topic == QuestionTopic::OtherKeys).is_some() =>
            {
                self.before.other_keys = Some(second);
            }
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _bell_terminated: bool) {
        self.heard = true;
        let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<u8>().ok();
        match *params {
            [command, value] => {
                if let Some(number @ 10..=19) = number(command) {
                    self.before.read_color(ColorId::Dynamic(number), value);
                }
            }
            [command @ (b"4" | b"5"), which, value] => {
                if let Some(which) = number(which) {
                    let color =
                        if command == b"4" { ColorId::Palette(which) } else { ColorId::Special(which) };
                    self.before.read_color(color, value);
                }
            }
            _ => {}
        }
    }

    fn hook(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        self.heard = true;
        *self.setting = (intermediates == b"$" && action == 'r' && value(params, 0) == 1).then(Vec::new);
    }

    fn put(&mut self, byte: u8) {
        if let Some(setting) = self.setting.as_mut().filter(|setting| setting.len() < 16) {
            setting.push(byte);
        }
    }

    fn unhook(&mut self) {
        self.heard = true;
        let Some(setting) = self.setting.take() else { return };
        let number = setting.strip_suffix(b" q").and_then(|number| std::str::from_utf8(number).ok());
        let shape = number.and_then(|number| CursorShape::from_number(number.parse().unwrap_or(0)));
        if let Some(shape) = shape
            && self.before.answers(|topic| topic == QuestionTopic::Shape).is_some()
        {
            self.before.shape = Some(shape);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    /// The undo after the child wrote `asked`, the terminal answered, and the child wrote `then`.
    fn undo(asked: &str, answer: &str, then: &str) -> String {
        let mut screen = Screen::new(20, 6);
        screen.feed(asked.as_bytes());
        for byte in answer.as_bytes() {
            screen.learn(std::slice::from_ref(byte));
        }
        screen.feed(then.as_bytes());
        let undo = screen.undo();
        screen.feed(&undo);
        assert_eq!(screen.undo(), b"", "undone twice");
        String::from_utf8(undo).unwrap()
    }

    #[test]
    fn what_the_answer_says_is_found_again() {
        let table = [
            ("\x1b[?2004$p", "\x1b[?2004;1$y", "\x1b[?2004h", ""),
            ("\x1b[?2004$p", "\x1b[?2004;1$y", "\x1b[?2004l", "\x1b[?2004h"),
            ("\x1b[?2004$p", "\x1b[?2004;2$y", "\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?2004$p", "\x1b[?2004;0$y", "\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?2004$p", "", "\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?2004$p", "\x1b[?2004;1$y", "\x1bc", "\x1b[?2004h"),
            (
                "\x1b[?1$p\x1b[?7$p",
                "typed\x1b[?1;1$y\x1b[A\x1b[?7;2$y",
                "\x1b[?1l\x1b[?7h",
                "\x1b[?1h\x1b[?7l",
            ),
            ("\x1b[4$p", "\x1b[4;1$y", "\x1b[4l", "\x1b[4h"),
            ("\x1b[?u", "\x1b[?5u", "\x1b[>1u", "\x1b[<1u"),
            ("\x1b[?u", "\x1b[?5u", "\x1b[=1u", "\x1b[=5;1u"),
            ("\x1b[?u", "\x1b[?5u", "\x1b[<u", "\x1b[=5;1u"),
            ("\x1b[?u", "\x1b[?5u", "\x1bc", "\x1b[=5;1u"),
            ("\x1b[?u\x1b[?1049h\x1b[?u", "\x1b[?5u\x1b[?0u", "\x1b[=1u", "\x1b[=0;1u\x1b[?1049l"),
            ("\x1b[?4m", "\x1b[>4;1m", "\x1b[>4;2m", "\x1b[>4;1m"),
            ("\x1b[?4m", "\x1b[>4;1m", "\x1b[>4m", "\x1b[>4;1m"),
            ("\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\", "\x1b[2 q", "\x1b[5 q"),
            ("\x1bP$q q\x1b\\", "\x1bP0$r\x1b\\", "\x1b[2 q", "\x1b[0 q"),
            ("\x1b]11;?\x07", "\x1b]11;rgb:1/2/3\x1b\\", "\x1b]11;red\x07", "\x1b]11;rgb:1/2/3\x07"),
            ("\x1b]4;7;?\x07", "\x1b]4;7;rgb:1/2/3\x07", "\x1b]4;7;red\x07", "\x1b]4;7;rgb:1/2/3\x07"),
        ];
        for (asked, answer, then, expected) in table {
            assert_eq!(undo(asked, answer, then), expected, "{asked:?} {answer:?} {then:?}");
        }
    }

    #[test]
    fn an_answer_about_the_childs_own_doing_tells_nothing() {
        assert_eq!(undo("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y", ""), "\x1b[?2004l");
        assert_eq!(undo("\x1b[>5u\x1b[?u", "\x1b[?5u", "\x1b[<u\x1b[=1u"), "\x1b[=0;1u");
        assert_eq!(undo("\x1b]11;red\x07\x1b]11;?\x07", "\x1b]11;rgb:1/2/3\x07", ""), "\x1b]111\x07");
        assert_eq!(undo("", "\x1b[?2004;1$y", "\x1b[?2004h"), "\x1b[?2004l", "nobody asked");
        assert_eq!(undo("\x1b]11;?\x07", "\x1b]11;rgb:1 2\x07", "\x1b]11;red\x07"), "\x1b]111\x07");
    }

    #[test]
    fn hostile_answers_are_bounded() {
        let mut screen = Screen::new(20, 6);
        for _ in 0..200 {
            screen.feed(b"\x1b[?2004$p\x1b[?u\x1b]11;?\x07");
        }
        assert_eq!(screen.terminal.before.asked.len(), ASKED_MAX);
        screen.learn(b"\x1b]11;");
        screen.learn(&[b'x'; 100_000]);
        screen.learn(b"\x1b\\\x1b[?2004;1$y");
        screen.feed(b"\x1b[?2004l");
        assert_eq!(screen.undo(), b"\x1b[?2004h");
    }
}
