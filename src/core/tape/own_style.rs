//! `Style`: how cells look.

use super::command::{
    StyleAttribute, StyleColor, StyleCommand, StyleRule, StyleTarget, TapeCommand, UnderlineForm,
};
use super::own_commands::{parse_number, region, side, unknown_option};
use super::tape_args::{ArgResult, ArgWord, TapeArgs};
use super::tape_problem::printable;
use super::tape_text::TapeText;

const ATTRIBUTES: [(&str, StyleAttribute); 8] = [
    ("bold", StyleAttribute::Bold),
    ("dim", StyleAttribute::Dim),
    ("italic", StyleAttribute::Italic),
    ("underline", StyleAttribute::Underline),
    ("blink", StyleAttribute::Blink),
    ("reverse", StyleAttribute::Reverse),
    ("hidden", StyleAttribute::Hidden),
    ("strike", StyleAttribute::Strike),
];
const UNDERLINES: [(&str, UnderlineForm); 5] = [
    ("single", UnderlineForm::Single),
    ("double", UnderlineForm::Double),
    ("curly", UnderlineForm::Curly),
    ("dotted", UnderlineForm::Dotted),
    ("dashed", UnderlineForm::Dashed),
];
/// The colours 0 to 7; 8 to 15 have the prefix `bright-`.
const COLORS: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

impl StyleAttribute {
    pub fn name(self) -> &'static str {
        ATTRIBUTES.iter().find(|(_, attribute)| *attribute == self).map_or("", |(name, _)| name)
    }
}

impl UnderlineForm {
    pub fn name(self) -> &'static str {
        UNDERLINES.iter().find(|(_, form)| *form == self).map_or("", |(name, _)| name)
    }
}

impl StyleColor {
    /// The colour with this name: `red`, `bright-red`, `208`, `#ff8700`, `default`.
    pub fn parse(name: &str) -> Option<StyleColor> {
        let lower = name.to_ascii_lowercase();
        if let Some(hex) = lower.strip_prefix('#') {
            let part = |at: usize| hex.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
            let whole = hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit());
            return whole.then(|| Some(StyleColor::Rgb(part(0)?, part(2)?, part(4)?))).flatten();
        }
        let named = |name: &str| COLORS.iter().position(|known| *known == name);
        match lower.as_str() {
            "default" => Some(StyleColor::Default),
            "gray" | "grey" => Some(StyleColor::Indexed(8)),
            name => {
                let index = match name.strip_prefix("bright-") {
                    Some(name) => named(name).map(|index| index + 8),
                    None => named(name),
                };
                let index = index.and_then(|index| u8::try_from(index).ok()).or_else(|| parse_number(name));
                index.map(StyleColor::Indexed)
            }
        }
    }

    #[must_use]
    pub fn name(self) -> String {
        match self {
            StyleColor::Default => "default".to_owned(),
            StyleColor::Indexed(index @ 0..8) => COLORS[usize::from(index)].to_owned(),
            StyleColor::Indexed(index @ 8..16) => format!("bright-{}", COLORS[usize::from(index - 8)]),
            StyleColor::Indexed(index) => index.to_string(),
            StyleColor::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        }
    }
}

pub(super) fn style(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let limit = args.limit()?;
    let target = if args.has_pattern() {
        StyleTarget::Pattern(args.pattern()?)
    } else {
        let word = args.need_word("a \"text\", a /regex/ or a region")?;
        StyleTarget::Region(region(&word, args)?)
    };
    let mut command = StyleCommand { limit, target, row: None, all: false, style: Vec::new() };
    while let Some(word) = args.word()? {
        match word.text.split_at_equals() {
            Some(("row", value)) => {
                let row = side(value.as_str());
                command.row = Some(row.ok_or_else(|| word.error("`row=` needs the number of a row"))?);
            }
            Some((name, value)) => command.style.push(style_rule(&word, name, value)?),
            None if word.as_str() == "all" => command.all = true,
            None => command.style.push(attribute(&word)?),
        }
    }
    if command.style.is_empty() {
        return Err(args.missing("a style such as bold, fg=red or !underline"));
    }
    Ok(TapeCommand::Style(command))
}

const STYLE_OPTIONS: [&str; 13] = [
    "fg", "bg", "bold", "dim", "italic", "underline", "blink", "reverse", "hidden", "strike", "link", "row",
    "all",
];

fn attribute(word: &ArgWord) -> ArgResult<StyleRule> {
    let (name, on) = match word.as_str().strip_prefix('!') {
        Some(name) => (name, false),
        None => (word.as_str(), true),
    };
    match ATTRIBUTES.iter().find(|(known, _)| *known == name) {
        Some((_, attribute)) => Ok(StyleRule::Attribute(*attribute, on)),
        None if StyleColor::parse(name).is_some() => {
            let error = unknown_option(word, "Style", &STYLE_OPTIONS);
            Err(error.hint(format!("a colour of the text is `fg={name}`, of the ground `bg={name}`")))
        }
        None => Err(unknown_option(word, "Style", &STYLE_OPTIONS)),
    }
}

fn style_rule(word: &ArgWord, name: &str, value: TapeText) -> ArgResult<StyleRule> {
    let color = || {
        StyleColor::parse(value.as_str()).ok_or_else(|| {
            let error = word.error(format!("there is no colour `{}`", printable(value.as_str())));
            error.hint("default, red, bright-red, 208, or six digits as in #ff8700")
        })
    };
    Ok(match name {
        "fg" => StyleRule::Foreground(color()?),
        "bg" => StyleRule::Background(color()?),
        "underline" => match UNDERLINES.iter().find(|(known, _)| *known == value.as_str()) {
            Some((_, form)) => StyleRule::Underline(*form),
            None => {
                let error = word.error(format!("there is no underline `{}`", printable(value.as_str())));
                return Err(error.hint("single, double, curly, dotted, dashed"));
            }
        },
        "link" => StyleRule::Link(value),
        _ => return Err(unknown_option(word, "Style", &STYLE_OPTIONS)),
    })
}
