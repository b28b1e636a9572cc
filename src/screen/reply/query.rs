//! The child's queries to its terminal, and the answers when no client's terminal is attached.
//!
//! A query is stored with the state at its time (such as the cursor's position), so the answer may be made
//! later. Unknown queries get no answer: a terminal without the feature is silent, too, and the child would
//! treat unexpected bytes as typed text.

use super::setting::TerminalSetting;
use crate::screen::modes::ModeSpace;

/// The most pending queries; more are dropped.
const QUERIES_MAX: usize = 64;

/// The size of a cell in pixels, width and height, without a window.
const CELL: (u32, u32) = (9, 18);

/// The state of a mode for DECRQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeState {
    /// 0: the mode is not known.
    Unknown,
    /// 1: it is on.
    Set,
    /// 2: it is off.
    Reset,
}

/// A colour that OSC queries by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicColor {
    /// OSC 10: text.
    Foreground,
    /// OSC 11: background.
    Background,
    /// OSC 12: the cursor.
    Cursor,
}

/// The terminator of a string; the answer has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringEnd {
    Bell,
    Terminator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// DA1, `CSI c`.
    PrimaryAttributes,
    /// DA2, `CSI > c`.
    SecondaryAttributes,
    /// XTVERSION, `CSI > q`.
    Version,
    /// DSR 5: device status.
    Status,
    /// DSR 6: cursor position.
    Position {
        /// Plain, or the private form `CSI ? 6 n`.
        space: ModeSpace,
        /// Column, 1-based.
        col: u16,
        /// Row, 1-based; from the top margin in origin mode.
        row: u16,
    },
    /// DECRQM: the state of a mode.
    Mode {
        /// ANSI or private.
        space: ModeSpace,
        number: u16,
        state: ModeState,
    },
    /// `CSI ? u`, with the kitty keyboard flags in force.
    KeyboardFlags(u8),
    /// `CSI 14 t`: the window in pixels.
    WindowPixels { cols: u16, rows: u16 },
    /// `CSI 16 t`: a cell in pixels.
    CellPixels,
    /// `CSI 18 t`: the window in cells.
    WindowCells { cols: u16, rows: u16 },
    /// OSC 10, 11, 12.
    Color {
        which: DynamicColor,
        /// The query's terminator.
        end: StringEnd,
    },
    /// DECRQSS: a setting; `None`: not supported here.
    Setting(Option<TerminalSetting>),
}

/// Facts for answers that the screen does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalIdentity<'a> {
    /// hopty's version, as in `0.1.0`.
    pub version: &'a str,
    /// Red, green and blue of the text.
    pub foreground: [u8; 3],
    /// Red, green and blue of the background.
    pub background: [u8; 3],
    /// Red, green and blue of the cursor.
    pub cursor: [u8; 3],
    /// The three as already described ([`crate::screen::Screen::described_colors`]), which takes precedence.
    pub described: [Option<&'a str>; 3],
}

impl<'a> TerminalIdentity<'a> {
    /// Light grey on black, the most common default.
    #[must_use]
    pub fn new(version: &'a str) -> Self {
        let light = [0xd0, 0xd0, 0xd0];
        Self { version, foreground: light, background: [0, 0, 0], cursor: light, described: [None; 3] }
    }
}

/// The answer to a query, as input for the child.
pub fn reply(query: &Query, identity: &TerminalIdentity<'_>) -> Vec<u8> {
    let text = match *query {
        // VT220 with colours.
        Query::PrimaryAttributes => "\x1b[?62;22c".to_owned(),
        // A VT220 without a firmware number, for which programs have no special rules.
        Query::SecondaryAttributes => "\x1b[>1;0;0c".to_owned(),
        Query::Version => {
            let version: String = identity.version.chars().filter(|ch| !ch.is_control()).collect();
            format!("\x1bP>|hopty({version})\x1b\\")
        }
        Query::Status => "\x1b[0n".to_owned(),
        Query::Position { space, col, row } => format!("\x1b[{}{row};{col}R", marker(space)),
        Query::Mode { space, number, state } => {
            let state = match state {
                ModeState::Unknown => 0,
                ModeState::Set => 1,
                ModeState::Reset => 2,
            };
            format!("\x1b[{}{number};{state}$y", marker(space))
        }
        Query::KeyboardFlags(flags) => format!("\x1b[?{flags}u"),
        Query::WindowPixels { cols, rows } => {
            format!("\x1b[4;{};{}t", u32::from(rows) * CELL.1, u32::from(cols) * CELL.0)
        }
        Query::CellPixels => format!("\x1b[6;{};{}t", CELL.1, CELL.0),
        Query::WindowCells { cols, rows } => format!("\x1b[8;{rows};{cols}t"),
        Query::Setting(Some(setting)) => format!("\x1bP1$r{}\x1b\\", setting.text()),
        Query::Setting(None) => "\x1bP0$r\x1b\\".to_owned(),
        Query::Color { which, end } => {
            let [foreground, background, cursor] = identity.described;
            let (number, described, [r, g, b]) = match which {
                DynamicColor::Foreground => (10, foreground, identity.foreground),
                DynamicColor::Background => (11, background, identity.background),
                DynamicColor::Cursor => (12, cursor, identity.cursor),
            };
            let end = match end {
                StringEnd::Bell => "\x07",
                StringEnd::Terminator => "\x1b\\",
            };
            // X11 writes 16 bits per component; the 8 bits are doubled.
            let usual = || format!("rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}");
            format!("\x1b]{number};{}{end}", described.map_or_else(usual, str::to_owned))
        }
    };
    text.into_bytes()
}

fn marker(space: ModeSpace) -> &'static str {
    match space {
        ModeSpace::Ansi => "",
        ModeSpace::Private => "?",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryQueue {
    queries: Vec<Query>,
}

impl QueryQueue {
    /// Stores a query if there is room.
    pub fn push(&mut self, query: Query) {
        if self.queries.len() < QUERIES_MAX {
            self.queries.push(query);
        }
    }

    /// Takes all of them, oldest first.
    pub fn take(&mut self) -> Vec<Query> {
        std::mem::take(&mut self.queries)
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Screen, TerminalBefore};

    fn answers(bytes: &str) -> String {
        let mut screen = Screen::new(80, 24);
        screen.feed(bytes.as_bytes());
        let identity = TerminalIdentity::new("0.1.0");
        let bytes = screen.take_queries().iter().flat_map(|query| reply(query, &identity)).collect();
        assert!(screen.take_queries().is_empty());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_question_has_its_answer() {
        let table = [
            ("\x1b[c", "\x1b[?62;22c"),
            ("\x1b[0c", "\x1b[?62;22c"),
            ("\x1b[>c", "\x1b[>1;0;0c"),
            ("\x1b[>0q", "\x1bP>|hopty(0.1.0)\x1b\\"),
            ("\x1b[5n", "\x1b[0n"),
            ("\x1b[3;4H\x1b[6n\x1b[H", "\x1b[3;4R"),
            ("\x1b[3;4H\x1b[?6n", "\x1b[?3;4R"),
            ("\x1b[3;9r\x1b[?6h\x1b[2;2H\x1b[6n", "\x1b[2;2R"),
            ("\x1b[?2026$p", "\x1b[?2026;2$y"),
            ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
            ("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"),
            ("\x1b[?31337$p", "\x1b[?31337;0$y"),
            ("\x1b[?69h\x1b[?69$p", "\x1b[?69;0$y"),
            ("\x1b[?2027h\x1b[?2027$p", "\x1b[?2027;0$y"),
            ("\x1b[?2048h\x1b[?2048$p", "\x1b[?2048;0$y"),
            ("\x1b[?5522$p\x1b[?9001$p", "\x1b[?5522;0$y\x1b[?9001;0$y"),
            ("\x1b[4$p", "\x1b[4;2$y"),
            ("\x1b[>5u\x1b[?u", "\x1b[?5u"),
            ("\x1b[14t", "\x1b[4;432;720t"),
            ("\x1b[16t", "\x1b[6;18;9t"),
            ("\x1b[18t", "\x1b[8;24;80t"),
            ("\x1b[1m\x1bP$qm\x1b\\\x1b[m", "\x1bP1$r0;1m\x1b\\"),
            ("\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"),
            ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
            ("\x1b]10;?\x1b\\", "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
        ];
        for (question, answer) in table {
            assert_eq!(answers(question), answer, "{question:?}");
        }
    }

    #[test]
    fn a_person_s_terminal_is_believed_after_it_has_gone() {
        let told = |screen: &mut Screen| {
            let queries = screen.take_queries();
            let identity =
                TerminalIdentity { described: screen.described_colors(), ..TerminalIdentity::new("0.1.0") };
            String::from_utf8(queries.iter().flat_map(|query| reply(query, &identity)).collect()).unwrap()
        };
        let mut screen = Screen::new(80, 24);
        screen.feed(b"\x1b]11;?\x07\x1b]10;?\x07");
        screen.learn(b"\x1b]11;rgb:ffff/ffff/f0f0\x1b\\");
        assert_eq!(screen.take_queries().len(), 2);
        // Another one with unknown state came and went.
        screen.set_terminal_before(TerminalBefore::default());
        screen.feed(b"\x1b]11;?\x07\x1b]10;?\x07");
        assert_eq!(told(&mut screen), "\x1b]11;rgb:ffff/ffff/f0f0\x07\x1b]10;rgb:d0d0/d0d0/d0d0\x07");
        screen.feed(b"\x1b]11;rgb:11/22/33\x07\x1b]11;?\x07\x1b]10;red\x07\x1b]10;?\x07");
        assert_eq!(
            told(&mut screen),
            "\x1b]11;rgb:11/22/33\x07\x1b]10;rgb:d0d0/d0d0/d0d0\x07",
            "what the child set itself"
        );
        screen.feed(b"\x1b]11;rgb:1/2/rm x\x07\x1b]11;?\x07");
        assert_eq!(told(&mut screen), "\x1b]11;rgb:0000/0000/0000\x07", "a text is no colour");
    }

    #[test]
    fn what_is_not_known_gets_no_answer() {
        for question in [
            "\x1b[=c",
            "\x1b]7501;?\x07",
            "\x1b_Gi=31,s=1,v=1,a=q;AAAA\x1b\\",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x18",
            "\x1b[?996n",
            "\x1b[21t",
            "\x1b[?62;22c",
            "\x05",
        ] {
            assert_eq!(answers(question), "", "{question:?}");
        }
    }

    #[test]
    fn questions_are_bounded() {
        let mut screen = Screen::new(80, 24);
        screen.feed("\x1b[c".repeat(10_000).as_bytes());
        assert_eq!(screen.take_queries().len(), QUERIES_MAX);
    }
}
