//! The settings of VHS.

use super::lexer::{Token, TokenKind};
use super::own_commands::OWN_SETTINGS;
use super::parser::TapeParser;
use super::tape_problem::printable;
use super::tape_settings::TapeSetting;
use super::tape_time::TapeTime;
use crate::core::text::nearest_word::nearest_word;

pub(super) const VHS_SETTINGS: [&str; 21] = [
    "Shell", "FontFamily", "FontSize", "LetterSpacing", "LineHeight", "Framerate", "TypingSpeed", "Theme",
    "PlaybackSpeed", "Height", "Width", "Padding", "LoopOffset", "MarginFill", "Margin", "WindowBar",
    "WindowBarSize", "BorderRadius", "CursorBlink", "WaitTimeout", "WaitPattern",
];
const WINDOW_BARS: [&str; 5] = ["", "Colorful", "ColorfulRight", "Rings", "RingsRight"];
/// The shells that VHS can start.
const SHELLS: [&str; 9] = ["bash", "zsh", "fish", "nu", "osh", "xonsh", "pwsh", "powershell", "cmd"];

impl<'a> TapeParser<'a, '_, '_> {
    pub(super) fn set(&mut self) -> Option<TapeSetting> {
        let name = self.peek;
        if let Some(setting) = self.own_setting() {
            return setting;
        }
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
        match name.text {
            "WaitTimeout" => {
                let raw = self.time()?;
                self.setting(name, raw.token, raw.parse().map(TapeSetting::WaitTimeout))
            }
            "WaitPattern" => {
                self.next();
                self.regex_of(value).map(TapeSetting::WaitPattern)
            }
            "LoopOffset" => {
                self.next();
                if self.peek.kind == TokenKind::Percent {
                    self.next();
                }
                self.setting(name, value, float(&literal).map(TapeSetting::LoopOffset))
            }
            "TypingSpeed" => self.typing_speed(name, value),
            "WindowBar" => {
                self.next();
                if value.kind == TokenKind::End || !WINDOW_BARS.contains(&literal.as_ref()) {
                    let hint = "Colorful, ColorfulRight, Rings or RingsRight";
                    let message = format!("there is no window bar `{}`", printable(&literal));
                    self.error_with_hint(value, message, hint);
                    return None;
                }
                Some(TapeSetting::WindowBar(literal.into_owned()))
            }
            "MarginFill" => self.margin_fill(value),
            "CursorBlink" => {
                self.next();
                if value.kind != TokenKind::Boolean {
                    self.error(value, "`CursorBlink` is true or false");
                    return None;
                }
                Some(TapeSetting::CursorBlink(value.text == "true"))
            }
            _ => {
                self.next();
                self.plain_setting(name, value)
            }
        }
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
    fn typing_speed(&mut self, name: Token<'a>, value: Token<'a>) -> Option<TapeSetting> {
        self.next();
        let unit = match (self.peek.kind, self.peek.text) {
            (TokenKind::Unit, "ms" | "s") => {
                self.next();
                self.cur.text
            }
            _ => "s",
        };
        let time = TapeTime::parse(&format!("{}{unit}", value.literal()));
        self.setting(name, value, time.map(TapeSetting::TypingSpeed))
    }

    /// A colour, or a file.
    fn margin_fill(&mut self, value: Token<'a>) -> Option<TapeSetting> {
        self.next();
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
        Some(TapeSetting::MarginFill(literal.into_owned()))
    }

    /// A setting whose value is one token.
    pub(super) fn plain_setting(&mut self, name: Token<'a>, value: Token<'a>) -> Option<TapeSetting> {
        use TapeSetting as S;
        let literal = value.literal();
        let integer = literal.parse::<i64>().ok();
        let setting = match name.text {
            "Shell" => {
                if !SHELLS.contains(&literal.as_ref()) {
                    let message =
                        format!("VHS does not start `{}`, but {}", printable(&literal), SHELLS.join(", "));
                    self.warn(value.start, value.end, message);
                }
                Some(S::Shell(literal.into_owned()))
            }
            "FontFamily" => Some(S::FontFamily(literal.into_owned())),
            "Theme" => Some(S::Theme(literal.into_owned())),
            "FontSize" => integer.map(S::FontSize),
            "Width" => integer.map(S::Width),
            "Height" => integer.map(S::Height),
            "Padding" => integer.map(S::Padding),
            "Framerate" => integer.map(S::Framerate),
            "Margin" => integer.map(S::Margin),
            "WindowBarSize" => integer.map(S::WindowBarSize),
            "BorderRadius" => integer.map(S::BorderRadius),
            "LetterSpacing" => float(&literal).map(S::LetterSpacing),
            "LineHeight" => float(&literal).map(S::LineHeight),
            _ => float(&literal).map(S::PlaybackSpeed),
        };
        self.setting(name, value, setting)
    }

    /// A setting, or an error if its value is invalid. VHS does not check the values of settings that it
    /// ignores.
    pub(super) fn setting(
        &mut self,
        name: Token<'a>,
        value: Token<'a>,
        setting: Option<TapeSetting>,
    ) -> Option<TapeSetting> {
        let literal = value.literal();
        if setting.is_none() && !self.may_set() && name.text != "TypingSpeed" {
            return Some(TapeSetting::Unused { name: name.text.to_owned(), value: literal.into_owned() });
        }
        if setting.is_none() {
            let kind = match name.text {
                "WaitTimeout" | "TypingSpeed" => "a time",
                "LetterSpacing" | "LineHeight" | "PlaybackSpeed" | "LoopOffset" => "a number",
                _ => "a whole number",
            };
            self.error(value, format!("`{}` is {kind}, not `{}`", name.text, printable(&literal)));
        }
        setting
    }
}

/// A number as read by Go's `ParseFloat`.
fn float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}
