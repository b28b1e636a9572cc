//! The settings of VHS.

use super::command::TapeCommand;
use super::lexer::{Token, TokenKind};
use super::own_commands::OWN_SETTINGS;
use super::parser::TapeParser;
use super::tape_problem::printable;
use super::tape_settings::TapeSettings;
use super::tape_time::TapeTime;
use crate::core::text::nearest_word::nearest_word;

pub(super) const VHS_SETTINGS: [&str; 21] = [
    "Shell", "FontFamily", "FontSize", "LetterSpacing", "LineHeight", "Framerate", "TypingSpeed", "Theme",
    "PlaybackSpeed", "Height", "Width", "Padding", "LoopOffset", "MarginFill", "Margin", "WindowBar",
    "WindowBarSize", "BorderRadius", "CursorBlink", "WaitTimeout", "WaitPattern",
];
const WINDOW_BARS: [&str; 5] = ["", "Colorful", "ColorfulRight", "Rings", "RingsRight"];
/// Settings that affect the number of cells in a VHS window.
const GRID_SETTINGS: [&str; 9] = [
    "FontSize", "LetterSpacing", "LineHeight", "Width", "Height", "Padding", "Margin", "WindowBar",
    "WindowBarSize",
];
/// The shells that VHS can start.
const SHELLS: [&str; 9] = ["bash", "zsh", "fish", "nu", "osh", "xonsh", "pwsh", "powershell", "cmd"];

impl<'a> TapeParser<'a, '_, '_> {
    /// Reads one `Set` into the settings of the tape.
    pub(super) fn set(&mut self) -> Option<TapeCommand> {
        let name = self.peek;
        let mut settings = self.reading.tape.settings.clone();
        let is_valid = match self.own_setting(&mut settings) {
            Some(is_valid) => is_valid,
            None => self.vhs_setting(name, &mut settings).is_some(),
        };
        if !is_valid {
            return None;
        }
        let typing_speed = settings.typing_speed;
        if self.may_set() || name.text == "Shell" {
            settings.has_pixel_size |= GRID_SETTINGS.contains(&name.text);
            self.reading.tape.settings = settings;
        }
        Some(match name.text {
            "TypingSpeed" => TapeCommand::TypingSpeed(typing_speed),
            _ => TapeCommand::Set(self.lexer.source[name.start..self.cur.end].to_owned()),
        })
    }

    /// Reads a setting of VHS into `settings`; `None` after an error.
    fn vhs_setting(&mut self, name: Token<'a>, settings: &mut TapeSettings) -> Option<()> {
        if !(name.kind == TokenKind::Keyword && VHS_SETTINGS.contains(&name.text)) {
            self.refuse_setting(name);
            return None;
        }
        self.next();
        let value = self.peek;
        let literal = value.literal();
        if value.kind == TokenKind::Illegal && !value.text.is_ascii() {
            // VHS takes its first byte as the value, and fails at the next ones.
            let message = format!("`{}` begins no value", printable(value.text));
            self.error_with_hint(value, message, "a text stands in quotes such as \"…\" or '…'");
            self.skip_value();
            return None;
        }
        if name.text == "WaitTimeout" {
            let raw = self.time()?;
            return self.take_value(name, raw.token, raw.parse(), &mut settings.wait_timeout);
        }
        self.next();
        match name.text {
            "WaitPattern" => settings.wait_pattern = self.regex_of(value)?,
            "TypingSpeed" => {
                let time = self.typing_speed(value);
                self.take_value(name, value, time, &mut settings.typing_speed)?;
            }
            "WindowBar" => {
                if value.kind == TokenKind::End || !WINDOW_BARS.contains(&literal.as_ref()) {
                    let hint = "Colorful, ColorfulRight, Rings or RingsRight";
                    let message = format!("there is no window bar `{}`", printable(&literal));
                    self.error_with_hint(value, message, hint);
                    return None;
                }
                settings.window_bar = literal.into_owned();
            }
            "MarginFill" => settings.margin_fill = Some(self.margin_fill(value)?),
            "CursorBlink" => {
                if value.kind != TokenKind::Boolean {
                    self.error(value, "`CursorBlink` is true or false");
                    return None;
                }
                settings.cursor_blink = value.text == "true";
            }
            "Shell" => {
                if !SHELLS.contains(&literal.as_ref()) {
                    let message =
                        format!("VHS does not start `{}`, but {}", printable(&literal), SHELLS.join(", "));
                    self.warn(value.start, value.end, message);
                }
                settings.shell = literal.into_owned();
            }
            "FontFamily" => settings.font_family = literal.into_owned(),
            "Theme" => settings.theme = literal.into_owned(),
            "LetterSpacing" | "LineHeight" | "LoopOffset" | "PlaybackSpeed" => {
                if name.text == "LoopOffset" && self.peek.kind == TokenKind::Percent {
                    self.next();
                }
                let field = match name.text {
                    "LetterSpacing" => &mut settings.letter_spacing,
                    "LineHeight" => &mut settings.line_height,
                    "LoopOffset" => &mut settings.loop_offset,
                    _ => &mut settings.playback_speed,
                };
                self.take_value(name, value, float(&literal), field)?;
            }
            _ => {
                let field = match name.text {
                    "FontSize" => &mut settings.font_size,
                    "Width" => &mut settings.width,
                    "Height" => &mut settings.height,
                    "Padding" => &mut settings.padding,
                    "Framerate" => &mut settings.framerate,
                    "Margin" => &mut settings.margin,
                    "WindowBarSize" => &mut settings.window_bar_size,
                    _ => &mut settings.border_radius,
                };
                self.take_value(name, value, literal.parse().ok(), field)?;
            }
        }
        Some(())
    }

    /// Reports an unknown setting, and skips its name and its value.
    fn refuse_setting(&mut self, name: Token<'a>) {
        if !self.is_known(name.start) {
            let known = VHS_SETTINGS.iter().chain(OWN_SETTINGS.iter()).copied();
            let message = match name.kind {
                TokenKind::End => "`Set` needs the name of a setting".to_owned(),
                _ => format!("there is no setting `{}`", printable(&name.literal())),
            };
            match nearest_word(name.text, known) {
                Some(near) => self.error_with_hint(name, message, format!("did you mean `{near}`?")),
                None => self.error(name, message),
            }
        }
        self.skip_value();
        self.skip_value();
    }

    /// A time per key, in seconds unless a unit follows.
    fn typing_speed(&mut self, value: Token<'a>) -> Option<TapeTime> {
        let unit = match (self.peek.kind, self.peek.text) {
            (TokenKind::Unit, "ms" | "s") => {
                self.next();
                self.cur.text
            }
            _ => "s",
        };
        TapeTime::parse(&format!("{}{unit}", value.literal()))
    }

    /// A colour, or a file.
    fn margin_fill(&mut self, value: Token<'a>) -> Option<String> {
        let literal = value.literal();
        if value.kind == TokenKind::Comment {
            self.warn(value.start, value.end, "`#` begins a comment; quote the colour");
        }
        let hex = literal.strip_prefix('#');
        if hex.is_some_and(|hex| hex.len() != 6 || !hex.bytes().all(|b| b.is_ascii_hexdigit())) {
            let message = format!("`{}` is not a colour", printable(&literal));
            self.error_with_hint(value, message, "for example \"#6b50ff\"");
            return None;
        }
        Some(literal.into_owned())
    }

    /// Writes a value into its field, or reports it if it is invalid (`None`). VHS does not check the values
    /// of settings that it ignores.
    fn take_value<T>(
        &mut self,
        name: Token<'a>,
        value: Token<'a>,
        read: Option<T>,
        field: &mut T,
    ) -> Option<()> {
        if let Some(read) = read {
            *field = read;
        } else if self.may_set() || name.text == "TypingSpeed" {
            let kind = match name.text {
                "WaitTimeout" | "TypingSpeed" => "a time",
                "LetterSpacing" | "LineHeight" | "PlaybackSpeed" | "LoopOffset" => "a number",
                _ => "a whole number",
            };
            let literal = value.literal();
            self.error(value, format!("`{}` is {kind}, not `{}`", name.text, printable(&literal)));
            return None;
        }
        Some(())
    }
}

/// A number as read by Go's `ParseFloat`.
fn float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}
