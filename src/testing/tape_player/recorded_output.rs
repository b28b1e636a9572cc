//! `Output` as a recording, an animation or a page: the tape's first terminal, without what it hid.

use std::time::Duration;

use serde_json::Value;

use crate::core::cast::{CastEvent, CastEventKind, CastTheme};
use crate::recording::html::{self, TracePage};
use crate::recording::play_time::PlayTime;
use crate::recording::svg::{AnimationRange, animated_svg};
use crate::recording::timeline::Timeline;
use crate::screen::Screen;
use crate::screen::picture::theme::{PictureTheme, Rgb};

/// The idle limit of animations, in µs, as for `hopty play -o`.
const PAUSE_US: u64 = 2_000_000;
/// The names of colours 0 to 15 in the JSON of `Set Theme`, and their names in older files.
const COLOURS: [(&str, &str); 16] = [
    ("black", ""),
    ("red", ""),
    ("green", ""),
    ("yellow", ""),
    ("blue", ""),
    ("magenta", "purple"),
    ("cyan", ""),
    ("white", ""),
    ("brightBlack", ""),
    ("brightRed", ""),
    ("brightGreen", ""),
    ("brightYellow", ""),
    ("brightBlue", ""),
    ("brightMagenta", "brightPurple"),
    ("brightCyan", ""),
    ("brightWhite", ""),
];

/// The times from `Hide` to `Show`, since the start of the terminal.
#[derive(Debug, Default)]
pub(super) struct HiddenTimes(Vec<(Duration, Option<Duration>)>);

impl HiddenTimes {
    pub fn hide(&mut self, at: Duration) {
        if self.0.last().is_none_or(|(_, end)| end.is_some()) {
            self.0.push((at, None));
        }
    }

    pub fn is_hidden(&self) -> bool {
        matches!(self.0.last(), Some((_, None)))
    }

    pub fn show(&mut self, at: Duration) {
        if let Some((_, end @ None)) = self.0.last_mut() {
            *end = Some(at);
        }
    }

    /// The events without the hidden ones, which are replaced by their effect on the screen.
    pub fn without(&self, size: (u16, u16), events: Vec<CastEvent>) -> Vec<CastEvent> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let ranges: Vec<(u64, u64)> =
            self.0.iter().map(|(from, to)| (micros(*from), to.map_or(u64::MAX, micros))).collect();
        if ranges.is_empty() {
            return events;
        }
        let mut screen = Screen::new(size.0, size.1);
        let mut shown = Vec::new();
        let mut hidden_in = None;
        let before = |at: u64| -> u64 {
            ranges.iter().map(|(from, to)| at.min(*to).saturating_sub(*from)).fold(0, u64::saturating_add)
        };
        for event in events {
            let inside = ranges.iter().position(|(from, to)| (*from..*to).contains(&event.at_us));
            let at_us = event.at_us.saturating_sub(before(event.at_us));
            if hidden_in.is_some() && inside != hidden_in {
                let (cols, rows) = screen.size();
                if (cols, rows) != size {
                    shown.push(CastEvent { at_us, kind: CastEventKind::Resize { cols, rows } });
                }
                shown.push(CastEvent { at_us, kind: CastEventKind::Output(screen.dump().screen) });
            }
            hidden_in = inside;
            match &event.kind {
                CastEventKind::Output(bytes) => screen.feed(bytes),
                CastEventKind::Resize { cols, rows } => screen.resize(*cols, *rows),
                _ => {}
            }
            if inside.is_none() {
                shown.push(CastEvent { at_us, ..event });
            }
        }
        shown
    }
}

/// Some of the several hundred themes that VHS knows by name, with their licence next to them: those of
/// well-known editors and terminals.
const NAMED_THEMES: &str = include_str!("../vhs_themes/themes.json");

fn named_theme(name: &str) -> Option<Value> {
    let themes: Vec<Value> = serde_json::from_str(NAMED_THEMES).ok()?;
    themes.into_iter().find(|theme| theme["name"] == name)
}

/// The colours of `Set Theme`, which is JSON with at least one colour, or a name. Players need all 16 colours
/// of the palette.
pub(super) fn theme_of_setting(setting: &str) -> Option<CastTheme> {
    let theme: Value = serde_json::from_str(setting).ok().or_else(|| named_theme(setting))?;
    let color = |name: &str| Some(Value::get(&theme, name)?.as_str()?.to_owned());
    let names =
        ["foreground", "background"].into_iter().chain(COLOURS.iter().flat_map(|(name, old)| [*name, *old]));
    if !names.into_iter().any(|name| color(name).is_some()) {
        return None;
    }
    let usual = PictureTheme::default();
    let or_usual =
        |found: Option<String>, [r, g, b]: Rgb| found.unwrap_or_else(|| format!("#{r:02x}{g:02x}{b:02x}"));
    let palette = COLOURS.iter().zip(usual.palette);
    Some(CastTheme {
        fg: or_usual(color("foreground"), usual.fg),
        bg: or_usual(color("background"), usual.bg),
        palette: palette
            .map(|((name, old), usual)| or_usual(color(name).or_else(|| color(old)), usual))
            .collect(),
    })
}

/// Whether an output with this extension is made from the recording.
pub(super) fn is_recorded_output(path: &str) -> bool {
    ["cast", "svg", "html"].iter().any(|ending| path.ends_with(&format!(".{ending}")))
}

/// The content of an output with this path, made from a recording.
pub(super) fn recorded_output(path: &str, cast: &[u8], title: &str) -> Option<Vec<u8>> {
    match path.rsplit('.').next() {
        Some("svg") => Timeline::load(cast).ok().map(|timeline| {
            let time = &PlayTime::new(&timeline, Some(PAUSE_US));
            let to_us = timeline.duration_us();
            animated_svg(&timeline, AnimationRange { time, from_us: 0, to_us }).svg.into_bytes()
        }),
        Some("html") => {
            let page = TracePage { title: title.to_owned(), cast: cast.to_owned(), ..TracePage::default() };
            html::page(&page).ok().map(String::into_bytes)
        }
        _ => Some(cast.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(at_us: u64, text: &str) -> CastEvent {
        CastEvent { at_us, kind: CastEventKind::Output(text.as_bytes().to_vec()) }
    }

    #[test]
    fn what_is_hidden_takes_no_time_and_leaves_its_screen() {
        let mut hidden = HiddenTimes::default();
        hidden.hide(Duration::ZERO);
        hidden.show(Duration::from_millis(10));
        hidden.hide(Duration::from_millis(30));
        let events = vec![output(5_000, "one"), output(12_000, " two"), output(31_000, " three")];
        let shown = hidden.without((20, 4), events);
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown.iter().all(|event| event.at_us == 2_000), "{shown:?}");
        let mut screen = Screen::new(20, 4);
        for event in &shown {
            if let CastEventKind::Output(bytes) = &event.kind {
                screen.feed(bytes);
            }
        }
        assert_eq!(screen.lines()[0], "one two");
    }

    #[test]
    fn only_what_was_hidden_and_not_yet_shown_is_hidden() {
        let mut hidden = HiddenTimes::default();
        hidden.show(Duration::ZERO);
        assert!(!hidden.is_hidden());
        hidden.hide(Duration::from_millis(1));
        hidden.hide(Duration::from_millis(2));
        assert!(hidden.is_hidden());
        hidden.show(Duration::from_millis(3));
        assert!(!hidden.is_hidden());
        let events = vec![output(0, "shown"), output(1_500, "hidden")];
        assert_eq!(hidden.without((20, 4), events).len(), 1);
    }

    #[test]
    fn a_theme_of_json_names_its_colours() {
        let theme = theme_of_setting(
            r##"{"background": "#101010", "foreground": "#eeeeee", "red": "#ff0000", "purple": "#aa00aa"}"##,
        )
        .unwrap();
        assert_eq!((theme.bg.as_str(), theme.fg.as_str()), ("#101010", "#eeeeee"));
        assert_eq!((theme.palette[1].as_str(), theme.palette[5].as_str()), ("#ff0000", "#aa00aa"));
        let theme = theme_of_setting(r##"{"background": "#141432"}"##).unwrap();
        assert_eq!((theme.fg.as_str(), theme.bg.as_str()), ("#dddddd", "#141432"), "the rest is the usual");
        assert_eq!((theme_of_setting("{}"), theme_of_setting("1")), (None, None));
        assert_eq!(theme_of_setting("dracula"), None, "VHS takes a name as it is written");
        let theme = theme_of_setting("Dracula").unwrap();
        assert_eq!((theme.bg.as_str(), theme.palette[5].as_str()), ("#1e1f29", "#ff79c6"));
        for theme in serde_json::from_str::<Vec<Value>>(NAMED_THEMES).unwrap() {
            let name = theme["name"].as_str().unwrap();
            assert_eq!(theme.as_object().unwrap().len(), 3 + COLOURS.len(), "{name}");
            let theme = theme_of_setting(name).unwrap();
            let is_color = |color: &String| color.len() == 7 && color.starts_with('#');
            assert!([&theme.fg, &theme.bg].into_iter().chain(&theme.palette).all(is_color), "{name}");
        }
    }
}
