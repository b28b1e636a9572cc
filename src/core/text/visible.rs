//! Invisible characters on which a terminal or a JSON reader may act, and two ways to make them visible.

use std::fmt::Write as _;

/// Whether a character is not drawn: controls (C0, DEL, C1), characters that change the direction of text or
/// end a line, and invisible ones. Characters that change the picture of a neighbour (variation selectors,
/// accents) count as drawn.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, joiner, Arabic mark, Hangul and Khmer fillers, Mongolian separators.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            // Zero width, direction, line and paragraph, invisible operators.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            // Format controls of hieroglyphs, shorthand and musical notes.
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags, and variation selectors beyond the sixteen in use.
            | '\u{e0000}'..='\u{e0fff}')
}

/// Text for people, with each hidden character as `\u{...}`.
pub fn visible(text: &str) -> String {
    replaced(text, is_hidden, |c, out| {
        let _ = write!(out, "{}", c.escape_unicode());
    })
}

/// JSON, or lines of text with colours, with each hidden character as JSON writes it (`\uXXXX`). Newlines,
/// tabs and the escape character stay: in JSON, the first two occur only between values, the last not at all.
pub fn escaped(text: &str) -> String {
    replaced(
        text,
        |c| is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{1b}'),
        |c, out| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

fn replaced(text: &str, which: impl Fn(char) -> bool, with: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if which(c) { with(c, &mut out) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: &str = "\u{0}\u{7}\u{1b}\u{7f}\u{80}\u{9b}\u{9f}\u{ad}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{202e}\u{2028}\u{2029}\
                          \u{2060}\u{2066}\u{2069}\u{feff}\u{fff9}\u{e0001}\u{e0041}\u{e007f}\u{e0100}";

    #[test]
    fn nothing_hidden_is_left_and_everything_else_is() {
        for c in HIDDEN.chars() {
            assert!(is_hidden(c), "{c:?}");
        }
        let drawn = "aä漢 字é❤\u{fe0f}e\u{301}👍🏽\u{a0}…";
        assert_eq!((visible(drawn), escaped(drawn)), (drawn.to_owned(), drawn.to_owned()));
        assert_eq!(visible("a\u{1b}[2J\u{e0041}b"), "a\\u{1b}[2J\\u{e0041}b");
    }

    /// `Default_Ignorable_Code_Point` of Unicode 17.0, `DerivedCoreProperties.txt`.
    const IGNORABLE: [(u32, u32); 17] = [
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x17b4, 0x17b5),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x206f),
        (0x3164, 0x3164),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xfff8),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0000, 0xe0fff),
    ];
    /// General category `Cf` of Unicode 17.0, `DerivedGeneralCategory.txt`.
    const FORMAT: [(u32, u32); 21] = [
        (0xad, 0xad),
        (0x600, 0x605),
        (0x61c, 0x61c),
        (0x6dd, 0x6dd),
        (0x70f, 0x70f),
        (0x890, 0x891),
        (0x8e2, 0x8e2),
        (0x180e, 0x180e),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x2064),
        (0x2066, 0x206f),
        (0xfeff, 0xfeff),
        (0xfff9, 0xfffb),
        (0x110bd, 0x110bd),
        (0x110cd, 0x110cd),
        (0x13430, 0x1343f),
        (0x1bca0, 0x1bca3),
        (0x1d173, 0x1d17a),
        (0xe0001, 0xe0001),
        (0xe0020, 0xe007f),
    ];
    /// Characters of that category that are drawn, around or above the characters behind them
    /// (`Prepended_Concatenation_Mark`, `PropList.txt`).
    const DRAWN_FORMAT: [(u32, u32); 7] = [
        (0x600, 0x605),
        (0x6dd, 0x6dd),
        (0x70f, 0x70f),
        (0x890, 0x891),
        (0x8e2, 0x8e2),
        (0x110bd, 0x110bd),
        (0x110cd, 0x110cd),
    ];

    #[test]
    fn characters_that_unicode_makes_invisible_are_hidden() {
        let is_in = |ranges: &[(u32, u32)], code: u32| {
            ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
        };
        for (first, last) in IGNORABLE.iter().chain(&FORMAT) {
            for code in *first..=*last {
                let is_drawn = (0xfe00..=0xfe0f).contains(&code) || is_in(&DRAWN_FORMAT, code);
                assert_eq!(is_hidden(char::from_u32(code).unwrap()), !is_drawn, "U+{code:04X}");
            }
        }
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "text": HIDDEN, HIDDEN: [HIDDEN] });
        for text in [value.to_string(), format!("{value:#}")] {
            let text = escaped(&text);
            assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}
