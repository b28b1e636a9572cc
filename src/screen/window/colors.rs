//! The terminal's own colours that the child changed: the palette, text, background, cursor and others (OSC
//! 4, 5, 10 to 19, kitty's 21), and the colour stack.
//!
//! The model draws no colours: it keeps them to restore them, and to set them on another terminal.

use std::collections::BTreeMap;

/// The most colours of kitty's OSC 21 that are kept by name.
const NAMES_MAX: usize = 32;
/// The longest name, in bytes.
const NAME_MAX: usize = 40;
/// The longest description of a colour, in bytes. No terminal accepts a longer one.
const VALUE_MAX: usize = 64;
/// The most pushes that are kept: xterm keeps 10.
const DEPTH: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorId {
    /// OSC 4: a colour of the palette.
    Palette(u8),
    /// OSC 5: bold, underline and the like.
    Special(u8),
    /// OSC 10 to 19: text, background, cursor and the like.
    Dynamic(u8),
}

impl ColorId {
    /// The colour of the pair that OSC 4 and 5 give.
    fn of_pair(command: u16, number: u16) -> Option<Self> {
        match (command, u8::try_from(number)) {
            (4, Ok(number)) => Some(Self::Palette(number)),
            (5, Ok(number @ 0..=7)) => Some(Self::Special(number)),
            _ => None,
        }
    }

    /// The start of the OSC that sets it.
    pub fn command(self) -> String {
        match self {
            Self::Palette(number) => format!("4;{number}"),
            Self::Special(number) => format!("5;{number}"),
            Self::Dynamic(number) => number.to_string(),
        }
    }

    /// The sequence that resets it to the terminal's configuration.
    fn reset(self) -> String {
        match self {
            Self::Palette(number) => format!("\x1b]104;{number}\x07"),
            Self::Special(number) => format!("\x1b]105;{number}\x07"),
            Self::Dynamic(number) => format!("\x1b]{}\x07", u16::from(number) + 100),
        }
    }
}

/// The colours that were changed.
#[derive(Clone, Debug, Default, PartialEq)]
struct ColorSet {
    numbered: BTreeMap<ColorId, String>,
    named: BTreeMap<String, String>,
}

impl ColorSet {
    fn undo(&self, before: &BTreeMap<ColorId, String>, out: &mut String) {
        for color in self.numbered.keys() {
            match before.get(color) {
                Some(value) => out.push_str(&format!("\x1b]{};{value}\x07", color.command())),
                None => out.push_str(&color.reset()),
            }
        }
        if !self.named.is_empty() {
            let names: Vec<&str> = self.named.keys().map(String::as_str).collect();
            out.push_str(&format!("\x1b]21;{}\x07", names.join(";")));
        }
    }

    /// The sequences that lead from `before` to this state.
    fn from(&self, before: &Self) -> String {
        let mut out = String::new();
        for color in before.numbered.keys().filter(|color| !self.numbered.contains_key(color)) {
            out.push_str(&color.reset().replace('\x07', "\x1b\\"));
        }
        for (color, value) in
            self.numbered.iter().filter(|(color, value)| before.numbered.get(color) != Some(*value))
        {
            out.push_str(&format!("\x1b]{};{value}\x1b\\", color.command()));
        }
        for name in before.named.keys().filter(|name| !self.named.contains_key(*name)) {
            out.push_str(&format!("\x1b]21;{name}\x1b\\"));
        }
        for (name, value) in self.named.iter().filter(|(name, value)| before.named.get(*name) != Some(*value))
        {
            out.push_str(&format!("\x1b]21;{name}={value}\x1b\\"));
        }
        out
    }
}

/// Whether a text may be a colour: printable, and not too long.
fn color_value(value: &[u8]) -> Option<&str> {
    let plain =
        value.len() <= VALUE_MAX && !value.is_empty() && value.iter().all(|byte| matches!(byte, b' '..=b'~'));
    std::str::from_utf8(value).ok().filter(|_| plain)
}

/// The changed colours now, and at every push.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TerminalColors {
    now: ColorSet,
    pushed: Vec<ColorSet>,
}

fn number(bytes: &[u8]) -> Option<u16> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

impl TerminalColors {
    /// An OSC that may be about colours, with its number first. Returns the colours that it queries. A colour
    /// that is set to its value `before` is not changed any more.
    pub fn osc(&mut self, params: &[&[u8]], before: &BTreeMap<ColorId, String>) -> Vec<ColorId> {
        let mut asked = Vec::new();
        let Some((command, rest)) = params.split_first() else { return asked };
        match number(command) {
            Some(command @ (4 | 5)) => {
                for pair in rest.chunks_exact(2) {
                    let color = number(pair[0]).and_then(|number| ColorId::of_pair(command, number));
                    self.set(color, pair[1], before, &mut asked);
                }
            }
            Some(first @ 10..=19) => {
                for (number, value) in (first..=19).zip(rest) {
                    self.set(u8::try_from(number).ok().map(ColorId::Dynamic), value, before, &mut asked);
                }
            }
            Some(21) => rest.iter().for_each(|pair| self.name(pair)),
            Some(command @ (104 | 105)) if rest.iter().all(|number| number.is_empty()) => {
                self.now.numbered.retain(|color, _| {
                    ColorId::of_pair(command - 100, 0).is_none_or(|of| !same_kind(of, *color))
                });
            }
            Some(command @ (104 | 105)) => {
                for color in
                    rest.iter().filter_map(|n| number(n)).filter_map(|n| ColorId::of_pair(command - 100, n))
                {
                    self.now.numbered.remove(&color);
                }
            }
            Some(command @ 110..=119) => {
                self.now
                    .numbered
                    .retain(|color, _| u8::try_from(command - 100).map(ColorId::Dynamic) != Ok(*color));
            }
            _ => {}
        }
        asked
    }

    fn set(
        &mut self,
        color: Option<ColorId>,
        value: &[u8],
        before: &BTreeMap<ColorId, String>,
        asked: &mut Vec<ColorId>,
    ) {
        match color {
            Some(color) if value == b"?" => asked.push(color),
            Some(color) if before.get(&color).is_some_and(|known| known.as_bytes() == value) => {
                self.now.numbered.remove(&color);
            }
            Some(color) => {
                if let Some(value) = color_value(value) {
                    self.now.numbered.insert(color, value.to_owned());
                }
            }
            None => {}
        }
    }

    /// A part of OSC 21: `name=value` sets, `name=?` queries, `name` alone resets.
    fn name(&mut self, pair: &[u8]) {
        let Ok(pair) = std::str::from_utf8(pair) else { return };
        let (name, value) = pair.split_once('=').map_or((pair, None), |(name, value)| (name, Some(value)));
        let known = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !known || name.is_empty() || name.len() > NAME_MAX {
            return;
        }
        match value {
            None => {
                self.now.named.remove(name);
            }
            Some("?") => {}
            Some(value) => {
                let room = self.now.named.len() < NAMES_MAX || self.now.named.contains_key(name);
                if let Some(value) = color_value(value.as_bytes()).filter(|_| room) {
                    self.now.named.insert(name.to_owned(), value.to_owned());
                }
            }
        }
    }

    /// Whether the child has changed this colour, or may have.
    pub fn is_touched(&self, color: ColorId) -> bool {
        self.now.numbered.contains_key(&color)
            || self.pushed.iter().any(|set| set.numbered.contains_key(&color))
    }

    /// The child's own description of a colour that it set.
    pub fn value(&self, color: ColorId) -> Option<&str> {
        self.now.numbered.get(&color).map(String::as_str)
    }

    /// XTPUSHCOLORS, `CSI # P`.
    pub fn push(&mut self) {
        if self.pushed.len() < DEPTH {
            self.pushed.push(self.now.clone());
        }
    }

    /// XTPOPCOLORS, `CSI # Q`.
    pub fn pop(&mut self) {
        if let Some(set) = self.pushed.pop() {
            self.now = set;
        }
    }

    /// The sequences that set these colours and their stack on a fresh terminal.
    pub fn redo(&self) -> String {
        let mut out = String::new();
        let fresh = ColorSet::default();
        let mut shown = &fresh;
        for set in &self.pushed {
            out.push_str(&set.from(shown));
            out.push_str("\x1b[#P");
            shown = set;
        }
        out + &self.now.from(shown)
    }

    /// The sequences that undo everything. Changed colours are reset before the pops, for terminals without
    /// such a stack; in the others the pops restore exactly the state before.
    pub fn undo(&self, before: &BTreeMap<ColorId, String>) -> String {
        let mut out = String::new();
        self.now.undo(before, &mut out);
        if let Some(first) = self.pushed.first() {
            out.push_str(&"\x1b[#Q".repeat(self.pushed.len()));
            first.undo(before, &mut out);
        }
        out
    }
}

fn same_kind(one: ColorId, other: ColorId) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(commands: &[&str]) -> String {
        let mut colors = TerminalColors::default();
        for command in commands {
            match *command {
                "push" => colors.push(),
                "pop" => colors.pop(),
                _ => drop(
                    colors.osc(&command.split(';').map(str::as_bytes).collect::<Vec<_>>(), &BTreeMap::new()),
                ),
            }
        }
        colors.undo(&BTreeMap::new()).replace('\x1b', "^").replace('\x07', "!")
    }

    #[test]
    fn what_was_changed_is_reset_and_nothing_else() {
        let table: [(&[&str], &str); 14] = [
            (&[], ""),
            (&["4;1;red;2;?;3;#ffffff"], "^]104;1!^]104;3!"),
            (&["4;1;red", "104;1"], ""),
            (&["4;1;red;2;red", "11;red", "104"], "^]111!"),
            (&["4;1;red", "104;2;1;x"], ""),
            (&["5;0;red"], "^]105;0!"),
            (&["10;red;?;blue"], "^]110!^]112!"),
            (&["11;red", "111"], ""),
            (&["19;red;blue"], "^]119!"),
            (&["21;cursor=red;foreground=?;4=blue"], "^]21;4;cursor!"),
            (&["21;cursor=red", "21;cursor"], ""),
            (&["4;256;red", "5;9;red", "9;red", "4;x;red", "4;1", "10;", "21;=red", "21;a b=red"], ""),
            (&["push", "11;red"], "^]111!^[#Q"),
            (&["11;red", "push", "push", "4;1;red", "pop"], "^]111!^[#Q^]111!"),
        ];
        for (commands, expected) in table {
            assert_eq!(undo(commands), expected, "{commands:?}");
        }
    }

    #[test]
    fn all_is_bounded() {
        let mut colors = TerminalColors::default();
        for n in 0..1000 {
            colors.osc(&[b"21", format!("name{n}=red").as_bytes()], &BTreeMap::new());
            colors.push();
        }
        assert_eq!((colors.now.named.len(), colors.pushed.len()), (NAMES_MAX, DEPTH));
    }

    #[test]
    fn a_colour_goes_back_to_what_it_was_where_that_is_known() {
        let before = BTreeMap::from([(ColorId::Dynamic(11), "rgb:1/2/3".to_owned())]);
        let mut colors = TerminalColors::default();
        assert_eq!(colors.osc(&[b"11", b"?", b"red"], &before), [ColorId::Dynamic(11)]);
        assert_eq!(colors.undo(&before), "\x1b]112\x07");
        colors.osc(&[b"11", b"red"], &before);
        assert!(colors.is_touched(ColorId::Dynamic(11)) && !colors.is_touched(ColorId::Dynamic(10)));
        assert_eq!(colors.undo(&before), "\x1b]11;rgb:1/2/3\x07\x1b]112\x07");
        colors.osc(&[b"11", b"rgb:1/2/3"], &before);
        assert_eq!(colors.undo(&before), "\x1b]112\x07");
    }
}
