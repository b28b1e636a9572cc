//! Decodes bytes from the terminal into keys: legacy, xterm and kitty encodings, and pastes.
//!
//! Input may be cut anywhere: an incomplete sequence waits for the next read. The meaning of a key is up to
//! the caller.

/// The longest paste, in bytes; the rest is dropped.
const MAX_PASTE: usize = 16 * 1024 * 1024;
/// The longest escape sequence, in bytes.
const MAX_SEQUENCE: usize = 4096;
/// One unbracketed write of more characters counts as a paste (measured: 900 bytes in one write are wrapped).
const PASTE_CHARS: usize = 800;

/// A key, or another input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentKey {
    Text(String),
    /// A bracketed paste, or a text that is too long to have been typed.
    Paste(String),
    Enter,
    /// A line break in the text: line feed, shift+enter, alt+enter.
    Newline,
    Backspace,
    /// Ctrl+C in any encoding.
    Interrupt,
    /// Ctrl+D.
    EndOfInput,
    /// Ctrl+U.
    KillLine,
    /// Ctrl+Z.
    Suspend,
    /// Escape alone.
    Escape,
    Up,
    Down,
    Left,
    Right,
    /// Home or Ctrl+A.
    Home,
    /// End or Ctrl+E.
    End,
    /// Shift+Tab.
    BackTab,
    /// The terminal answered the query of the kitty keyboard protocol, so it supports it.
    KittyKnown,
}

/// Decodes keys.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    waiting: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    /// The keys that are complete after these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<AgentKey> {
        self.waiting.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.waiting.is_empty() {
            match self.step(&mut keys) {
                0 => break,
                n => drop(self.waiting.drain(..n)),
            }
        }
        keys
    }

    /// Whether a lone ESC waits for more bytes.
    pub(super) fn has_escape(&self) -> bool {
        self.paste.is_none() && self.waiting.first() == Some(&0x1b)
    }

    /// No more bytes arrived: a lone ESC is the Escape key.
    pub(super) fn settle(&mut self) -> Vec<AgentKey> {
        if !self.has_escape() {
            return Vec::new();
        }
        let rest: Vec<u8> = self.waiting.drain(..).skip(1).collect();
        let mut keys = vec![AgentKey::Escape];
        // A sequence that was cut off is dropped with its ESC.
        if rest.first().is_some_and(|b| !matches!(b, b'[' | b'O' | b']' | b'P' | b'_')) {
            keys.extend(self.feed(&rest));
        }
        keys
    }

    /// Decodes one input at the front; returns its length, or 0 if it is incomplete.
    fn step(&mut self, keys: &mut Vec<AgentKey>) -> usize {
        if let Some(paste) = &mut self.paste {
            const CLOSE: &[u8] = b"\x1b[201~";
            let end = self.waiting.windows(CLOSE.len()).position(|w| w == CLOSE);
            // An incomplete end marker must stay.
            let keep = (1..CLOSE.len()).rev().find(|n| self.waiting.ends_with(&CLOSE[..*n])).unwrap_or(0);
            let take = end.unwrap_or(self.waiting.len() - keep);
            let room = MAX_PASTE.saturating_sub(paste.len());
            paste.extend_from_slice(&self.waiting[..take.min(room)]);
            if end.is_some() {
                let text = String::from_utf8_lossy(paste).replace("\r\n", "\n").replace('\r', "\n");
                keys.push(AgentKey::Paste(text));
                self.paste = None;
                return take + CLOSE.len();
            }
            return take;
        }
        match self.waiting[0] {
            0x1b => self.escape(keys),
            byte @ (0..=0x1f | 0x7f) => {
                keys.extend(control(byte));
                1
            }
            _ => self.text(keys),
        }
    }

    fn text(&mut self, keys: &mut Vec<AgentKey>) -> usize {
        let run = self.waiting.iter().position(|b| *b < 0x20 || *b == 0x7f).unwrap_or(self.waiting.len());
        let run = &self.waiting[..run];
        let (text, used) = match std::str::from_utf8(run) {
            Ok(text) => (text.to_owned(), run.len()),
            // Cut inside a character: its rest comes with the next read.
            Err(e) if e.error_len().is_none() && run.len() == self.waiting.len() => {
                (String::from_utf8_lossy(&run[..e.valid_up_to()]).into_owned(), e.valid_up_to())
            }
            Err(_) => (String::from_utf8_lossy(run).into_owned(), run.len()),
        };
        if text.chars().count() > PASTE_CHARS {
            keys.push(AgentKey::Paste(text));
        } else if !text.is_empty() {
            keys.push(AgentKey::Text(text));
        }
        used
    }

    fn escape(&mut self, keys: &mut Vec<AgentKey>) -> usize {
        let bytes = &self.waiting;
        match bytes.get(1) {
            None => 0,
            Some(b'[') => {
                let Some(end) = bytes[2..].iter().position(|b| (0x40..=0x7e).contains(b)) else {
                    return if bytes.len() > MAX_SEQUENCE { bytes.len() } else { 0 };
                };
                let parameters = String::from_utf8_lossy(&bytes[2..2 + end]).into_owned();
                match (bytes[2 + end], parameters.as_str()) {
                    (b'~', "200") => self.paste = Some(Vec::new()),
                    (last, parameters) => keys.extend(sequence(last, parameters)),
                }
                end + 3
            }
            Some(b'O') if bytes.len() < 3 => 0,
            Some(b'O') => {
                keys.extend(arrow(bytes[2]));
                3
            }
            // Answers of the terminal: OSC, DCS, APC, up to BEL or ST.
            Some(b']' | b'P' | b'_') => {
                let bell = bytes.iter().position(|b| *b == 7).map(|n| n + 1);
                let st = bytes[2..].windows(2).position(|w| w == b"\x1b\\").map(|n| n + 4);
                match bell.into_iter().chain(st).min() {
                    Some(end) => end,
                    None if bytes.len() > MAX_SEQUENCE => bytes.len(),
                    None => 0,
                }
            }
            Some(0x1b) => {
                keys.push(AgentKey::Escape);
                1
            }
            Some(b'\r') => {
                keys.push(AgentKey::Newline);
                2
            }
            Some(_) => 2,
        }
    }
}

fn control(byte: u8) -> Option<AgentKey> {
    Some(match byte {
        b'\r' => AgentKey::Enter,
        b'\n' => AgentKey::Newline,
        0x7f | 8 => AgentKey::Backspace,
        1 => AgentKey::Home,
        3 => AgentKey::Interrupt,
        4 => AgentKey::EndOfInput,
        5 => AgentKey::End,
        0x15 => AgentKey::KillLine,
        0x1a => AgentKey::Suspend,
        b'\t' => AgentKey::Text("  ".into()),
        _ => return None,
    })
}

fn arrow(last: u8) -> Option<AgentKey> {
    Some(match last {
        b'A' => AgentKey::Up,
        b'B' => AgentKey::Down,
        b'C' => AgentKey::Right,
        b'D' => AgentKey::Left,
        b'H' => AgentKey::Home,
        b'F' => AgentKey::End,
        b'Z' => AgentKey::BackTab,
        _ => return None,
    })
}

fn sequence(last: u8, parameters: &str) -> Option<AgentKey> {
    let fields: Vec<&str> = parameters.split(';').collect();
    let number = |n: usize| fields.get(n).and_then(|f| f.split(':').next()?.parse::<u32>().ok());
    match last {
        b'u' if parameters.starts_with('?') => Some(AgentKey::KittyKnown),
        b'u' => {
            let released = fields.get(1).is_some_and(|f| f.ends_with(":3"));
            if released { None } else { modified(number(0)?, number(1).unwrap_or(1)) }
        }
        // xterm's modifyOtherKeys: CSI 27 ; modifiers ; code ~
        b'~' if number(0) == Some(27) => modified(number(2)?, number(1).unwrap_or(1)),
        b'~' if matches!(number(0), Some(1 | 7)) => Some(AgentKey::Home),
        b'~' if matches!(number(0), Some(4 | 8)) => Some(AgentKey::End),
        last => arrow(last),
    }
}

/// A key by its code and its modifiers (1 + a mask: shift 1, alt 2, ctrl 4; caps lock 64 and num lock 128
/// are ignored).
fn modified(code: u32, modifiers: u32) -> Option<AgentKey> {
    let mask = modifiers.saturating_sub(1) & 0x3f;
    match (code, mask) {
        (13, 0) => Some(AgentKey::Enter),
        (13, _) => Some(AgentKey::Newline),
        (27, 0) => Some(AgentKey::Escape),
        (127, 0) => Some(AgentKey::Backspace),
        (code @ 97..=122, 4) => control(u8::try_from(code - 96).unwrap_or(0)),
        (code, 0 | 1) => char::from_u32(code).filter(|c| !c.is_control()).map(|c| AgentKey::Text(c.into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<AgentKey> {
        Decoder::default().feed(bytes)
    }

    #[test]
    fn interrupts_have_three_encodings() {
        assert_eq!(keys(b"\x03\x1b[99;5u\x1b[27;5;99~"), vec![AgentKey::Interrupt; 3]);
        assert_eq!(keys(b"\x1b[99;69u"), vec![AgentKey::Interrupt]); // with caps lock
        assert!(keys(b"\x1b[99;5:3u").is_empty()); // the release of it
    }

    #[test]
    fn pastes_are_whole_wherever_they_are_cut() {
        let whole = b"a\x1b[200~one\r\ntwo\rthree\x1b[20x\x1b[201~\r";
        for cut in 0..whole.len() {
            let mut decoder = Decoder::default();
            let mut keys = decoder.feed(&whole[..cut]);
            keys.extend(decoder.feed(&whole[cut..]));
            let paste = AgentKey::Paste("one\ntwo\nthree\x1b[20x".into());
            assert_eq!(keys, [AgentKey::Text("a".into()), paste, AgentKey::Enter], "cut at {cut}");
        }
    }

    #[test]
    fn text_is_whole_wherever_it_is_cut_and_long_runs_are_pastes() {
        let text = "žluť 日本".as_bytes();
        for cut in 0..text.len() {
            let mut decoder = Decoder::default();
            let mut keys = decoder.feed(&text[..cut]);
            keys.extend(decoder.feed(&text[cut..]));
            let joined: String =
                keys.iter().map(|k| if let AgentKey::Text(t) = k { t.as_str() } else { "?" }).collect();
            assert_eq!(joined, "žluť 日本");
        }
        assert!(matches!(keys(&[b'x'; 801])[0], AgentKey::Paste(_)));
        assert!(matches!(keys(&[b'x'; 800])[0], AgentKey::Text(_)));
    }

    #[test]
    fn answers_of_the_terminal_are_no_keys() {
        assert_eq!(
            keys(b"\x1b[?0u\x1bP>|xterm(1)\x1b\\\x1b]11;rgb:0/0/0\x07\x1b[?62;1c\x1b[I"),
            [AgentKey::KittyKnown]
        );
    }

    #[test]
    fn a_lone_escape_without_more_bytes_is_the_escape_key() {
        let mut decoder = Decoder::default();
        assert!(decoder.feed(b"\x1b").is_empty() && decoder.has_escape());
        assert_eq!(decoder.settle(), [AgentKey::Escape]);
        assert_eq!(decoder.feed(b"\x1b\r\x1b[13;2u\n"), vec![AgentKey::Newline; 3]);
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut decoder = Decoder::default();
        let mut seed = 1u32;
        for _ in 0..5000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let byte =
                [0x1b, b'[', b'2', b'0', b'~', b';', b'u', 0xff, 0xc3, b'\r'][(seed >> 16) as usize % 10];
            decoder.feed(&[byte]);
            if seed.is_multiple_of(7) {
                decoder.settle();
            }
        }
    }
}
