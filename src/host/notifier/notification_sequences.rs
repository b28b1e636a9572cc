//! The sequences that make a terminal show a notification.

use crate::core::config::NotifyTerminal;
use crate::core::text::safe_text::short_line;

/// The longest text for a terminal, in characters.
const TEXT: usize = 200;

/// The bytes for one notification. Neither text may contain a character that ends a sequence or separates its
/// fields.
pub(super) fn bytes(ways: &[NotifyTerminal], title: &str, text: &str) -> Vec<u8> {
    let clean = |text: &str| short_line(text, TEXT).replace(';', ",");
    let (title, text) = (clean(title), clean(text));
    let sequence = |way: &NotifyTerminal| match way {
        NotifyTerminal::Osc9 => format!("\x1b]9;{title}: {text}\x07"),
        NotifyTerminal::Osc99 => format!("\x1b]99;;{title}: {text}\x1b\\"),
        NotifyTerminal::Osc777 => format!("\x1b]777;notify;{title};{text}\x07"),
        NotifyTerminal::Bell => "\x07".to_owned(),
    };
    ways.iter().map(sequence).collect::<String>().into_bytes()
}
