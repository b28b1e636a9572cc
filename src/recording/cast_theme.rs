//! The colours of a recording.

use crate::core::cast::CastTheme;
use crate::screen::picture::theme::{PictureTheme, Rgb};

/// The theme of a recording. Invalid colours get their defaults; with 8 colours the bright ones equal the
/// others.
pub fn theme_of_cast(cast: &CastTheme) -> PictureTheme {
    let usual = PictureTheme::default();
    let mut palette = usual.palette;
    for (at, color) in palette.iter_mut().enumerate() {
        let named = cast.palette.get(at).or_else(|| cast.palette.get(at % 8));
        *color = named.and_then(|named| parse_rgb(named)).unwrap_or(*color);
    }
    PictureTheme {
        fg: parse_rgb(&cast.fg).unwrap_or(usual.fg),
        bg: parse_rgb(&cast.bg).unwrap_or(usual.bg),
        palette,
    }
}

/// A colour as CSS or X11 writes it: `#rrggbb`, `#rgb`, `rgb:rr/gg/bb`.
pub fn parse_rgb(text: &str) -> Option<Rgb> {
    let digits = |text: &str, each: usize| -> Option<Rgb> {
        if text.len() != 3 * each || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(&text[at * each..(at + 1) * each], 16).ok();
        let scale = if each == 1 { 17 } else { 1 };
        Some([part(0)? * scale, part(1)? * scale, part(2)? * scale])
    };
    match text.strip_prefix('#') {
        Some(rest) if rest.len() == 3 => digits(rest, 1),
        Some(rest) => digits(rest, 2),
        None => digits(&text.strip_prefix("rgb:")?.replace('/', ""), 2),
    }
}
