//! Terminal capabilities, by the name in `TERM`: sequences that a terminal lacks are left out.
//!
//! A child writes for the terminal that it was started for, and such a terminal gets its bytes unchanged.
//! This file handles a simpler terminal that attaches later.

use std::borrow::Cow;

/// What a terminal can show of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Capabilities {
    /// A modern or unknown terminal: everything.
    Full,
    /// It draws, but lacks titles, keyboard protocols and the like, and may print them.
    Basic,
    /// It supports no sequences at all.
    Dumb,
}

impl Capabilities {
    /// By its terminfo name (`TERM`).
    pub fn of(term: &str) -> Self {
        let name = term.split(['-', '.', '+']).next().unwrap_or_default();
        match name {
            "dumb" | "unknown" => Capabilities::Dumb,
            "linux" | "ansi" | "cons25" | "vt52" | "vt100" | "vt102" | "vt220" | "vt320" | "vt420" => {
                Capabilities::Basic
            }
            _ => Capabilities::Full,
        }
    }

    /// What it shows of a child that was started for a terminal with the capabilities `child`.
    pub fn rendering(self, child: Capabilities) -> Rendering {
        match self {
            Capabilities::Full => Rendering::Bytes,
            kind if kind == child => Rendering::Bytes,
            // Only the model knows what the child will turn on.
            Capabilities::Basic if child == Capabilities::Full => Rendering::Pictures,
            Capabilities::Basic => Rendering::Bytes,
            // It cannot draw; it can only show scrolling text.
            Capabilities::Dumb => Rendering::Text,
        }
    }

    /// The picture without sequences that this terminal lacks.
    pub fn strip(self, picture: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Capabilities::Full => Cow::Borrowed(picture),
            Capabilities::Basic => Cow::Owned(filter(picture, |sequence| {
                let private = matches!(sequence.get(1..3), Some([b'[', b'>' | b'=' | b'<']));
                let window = sequence.ends_with(b"t") || sequence.ends_with(b" q");
                let string = matches!(sequence.get(1), Some(b']' | b'P' | b'_' | b'^'));
                !(private || window || string)
            })),
            Capabilities::Dumb => Cow::Owned(filter(picture, |_| false)),
        }
    }
}

/// Whether terminals of this name accept `ESC k` as a window's name: GNU screen and tmux.
pub(in crate::host) fn takes_window_names(term: &str) -> bool {
    matches!(term.split(['-', '.', '+']).next(), Some("screen" | "tmux"))
}

/// What the leader's terminal gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Rendering {
    /// The child's bytes.
    Bytes,
    /// Pictures drawn from the model.
    Pictures,
    /// The child's bytes without their sequences.
    Text,
}

/// The text with only those sequences that pass the filter. hopty made them itself, so each is complete.
fn filter(picture: &[u8], mut passes: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(picture.len());
    let mut rest = picture;
    while let Some(at) = memchr::memchr(0x1b, rest) {
        out.extend_from_slice(&rest[..at]);
        let length = length(&rest[at..]);
        let sequence = &rest[at..at + length];
        if passes(sequence) {
            out.extend_from_slice(sequence);
        }
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    out
}

/// The length of the sequence at the start of the bytes.
fn length(bytes: &[u8]) -> usize {
    let end = match bytes.get(1) {
        Some(b'[') => bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)).map(|at| at + 3),
        Some(b']' | b'P' | b'_' | b'^') => {
            // Search only up to its end: a picture may have a link in every cell.
            let end = memchr::memchr2(0x07, 0x1b, &bytes[2..]).map(|at| at + 2);
            end.map(|at| {
                at + if bytes[at] == 0x07 { 1 } else { 2 * usize::from(bytes[at..].starts_with(b"\x1b\\")) }
            })
        }
        Some(0x20..=0x2f) => bytes[1..].iter().position(|byte| (0x30..=0x7e).contains(byte)).map(|at| at + 2),
        Some(_) => Some(2),
        None => None,
    };
    end.unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (term, kind) in [
            ("xterm-256color", Capabilities::Full),
            ("tmux-256color", Capabilities::Full),
            ("", Capabilities::Full),
            ("linux", Capabilities::Basic),
            ("vt100-nav", Capabilities::Basic),
            ("dumb", Capabilities::Dumb),
        ] {
            assert_eq!(Capabilities::of(term), kind, "{term}");
        }
        for (term, takes) in [
            ("screen-256color", true),
            ("tmux-256color", true),
            ("tmux", true),
            ("xterm-256color", false),
            ("", false),
        ] {
            assert_eq!(takes_window_names(term), takes, "{term}");
        }
    }

    #[test]
    fn a_child_writes_for_the_terminal_that_it_was_started_for() {
        use Capabilities::{Basic, Dumb, Full};
        for (kind, child, shown) in [
            (Full, Full, Rendering::Bytes),
            (Full, Dumb, Rendering::Bytes),
            (Basic, Full, Rendering::Pictures),
            (Basic, Basic, Rendering::Bytes),
            (Basic, Dumb, Rendering::Bytes),
            (Dumb, Full, Rendering::Text),
            (Dumb, Basic, Rendering::Text),
            (Dumb, Dumb, Rendering::Bytes),
        ] {
            assert_eq!(kind.rendering(child), shown, "{kind:?} for a child of {child:?}");
        }
    }

    #[test]
    fn what_it_cannot_do_is_left_out() {
        let picture = "a\x1b[1;31mb\x1b]2;title\x1b\\c\x1b[>5u\x1b[=1;1u\x1b[>4;2m\x1b[5 \
                       q\x1b[22;2t\x1b[?2004h\x1b(0d\x1b7\x1b[2;3H\x1b]8;;x\x07e";
        let strip =
            |kind: Capabilities| String::from_utf8(kind.strip(picture.as_bytes()).into_owned()).unwrap();
        assert_eq!(strip(Capabilities::Full), picture);
        assert_eq!(strip(Capabilities::Basic), "a\x1b[1;31mbc\x1b[?2004h\x1b(0d\x1b7\x1b[2;3He");
        assert_eq!(strip(Capabilities::Dumb), "abcde");
        assert_eq!(Capabilities::Basic.strip(b"x\x1b[3").as_ref(), b"x\x1b[3");
        assert_eq!(Capabilities::Dumb.strip(b"x\x1b").as_ref(), b"x");
    }
}
