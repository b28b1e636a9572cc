//! Checks of a screen: style, cursor, title, bell, modes. Each is repeated at the end of every frame until it
//! passes.

use super::screen_regions::ScreenRegions;
use super::step_failure::{StepFailure, StepResult};
use super::test_session::TestSession;
use crate::core::tape::{
    CursorForm, StyleAttribute, StyleColor, StyleCommand, StyleRule, StyleTarget, TapePattern, TapeTime,
    UnderlineForm,
};
use crate::screen::{Attr, Color, ModeSpace, Screen, ScreenPlace, StyledRun, TerminalMode, Underline};
use crate::testing::look::{FoundPlace, Look, ScreenArea};
use crate::testing::snapshot::style_span::style_words;
use crate::testing::test_terminal::TestTerminal;

/// The 16 colours that have names.
const COLOR_NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// The private modes of the alternate screen; the screen does not know which of them was used.
const ALTERNATE_MODES: [u16; 3] = [47, 1047, 1049];

/// One condition of `Style`, with its variables resolved.
struct StyleCondition {
    rule: StyleRule,
    link: String,
}

pub(super) fn check_style(
    session: &mut TestSession,
    regions: &ScreenRegions,
    style: &StyleCommand,
) -> StepResult {
    let mut conditions = Vec::with_capacity(style.style.len());
    for rule in &style.style {
        let link = match rule {
            StyleRule::Link(address) => session.workspace.text(address)?,
            _ => String::new(),
        };
        conditions.push(StyleCondition { rule: rule.clone(), link });
    }
    let row = style.row.map(|row| row.saturating_sub(1));
    let target = match &style.target {
        StyleTarget::Pattern(pattern) => {
            let area = row.map_or(ScreenArea::All, ScreenArea::Row);
            Ok(Look::on_screen(session.workspace.pattern(pattern, true)?).within(area))
        }
        StyleTarget::Region(region) => Err(regions.cells(session, region)?),
    };
    let all = style.all;
    let sought = match &style.target {
        StyleTarget::Pattern(pattern) => pattern.to_string(),
        StyleTarget::Region(_) => String::new(),
    };
    session.wait_for_state(style.limit, "the style", |terminal| {
        let places: Vec<Vec<ScreenPlace>> = match &target {
            Ok(look) => terminal
                .watch()
                .subject()
                .find(look)
                .into_iter()
                .filter_map(|place| match place {
                    // An empty match has no style.
                    FoundPlace::Cells(places) if !places.is_empty() => Some(places),
                    _ => None,
                })
                .collect(),
            Err(region) => vec![
                region
                    .row_range()
                    .filter(|at| row.is_none_or(|row| row == *at))
                    .map(|row| ScreenPlace { row, cols: region.col_range() })
                    .collect(),
            ],
        };
        let Ok(look) = &target else { return matching(terminal.view(), &places, &conditions, true) };
        if places.is_empty() {
            return Err(format!("{sought} is not {}", look.area));
        }
        matching(terminal.view(), &places, &conditions, all)
    })
}

pub(super) fn check_cursor(
    session: &mut TestSession,
    limit: Option<TapeTime>,
    position: Option<(u16, u16)>,
    shape: Option<CursorForm>,
    visible: Option<bool>,
) -> StepResult {
    session.wait_for_state(limit, "the cursor", |terminal| {
        let cursor = terminal.screen().cursor();
        let mut wrong = Vec::new();
        let found = (cursor.row + 1, cursor.col + 1);
        if let Some((row, col)) = position.filter(|wanted| *wanted != found) {
            wrong.push(format!("it is at {},{}, not at {row},{col}", found.0, found.1));
        }
        if let Some(wanted) = shape.filter(|wanted| cursor.shape.name() != form_name(*wanted)) {
            wrong.push(format!("it is a {}, not a {}", cursor.shape.name(), form_name(wanted)));
        }
        if visible.is_some_and(|wanted| wanted != cursor.visible) {
            wrong.push(if cursor.visible { "it is shown" } else { "it is hidden" }.to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("the cursor: {}", wrong.join(", "))) }
    })
}

pub(super) fn check_title(
    session: &mut TestSession,
    limit: Option<TapeTime>,
    pattern: &TapePattern,
) -> StepResult {
    let look = Look::on_screen(session.workspace.pattern(pattern, true)?).within(ScreenArea::Title);
    session.wait_for_state(limit, &pattern.to_string(), |terminal| {
        if terminal.watch().subject().find(&look).is_empty() {
            return Err(format!("the title is {:?}", terminal.screen().title()));
        }
        Ok(())
    })
}

pub(super) fn check_bell(session: &mut TestSession, limit: Option<TapeTime>, times: u32) -> StepResult {
    let limit = session.clock.check_limit(limit);
    let (named, terminal) = session.terminal()?;
    let mark = named.mark.clone();
    let until = std::time::Instant::now() + limit;
    let rings = |terminal: &TestTerminal| {
        let rang = terminal.watch().bells_since(&mark);
        let times = u64::from(times);
        let noun = |n: u64| if n == 1 { "once".to_owned() } else { format!("{n} times") };
        if rang == times { Ok(()) } else { Err(format!("it rang {}, not {}", noun(rang), noun(times))) }
    };
    terminal.wait_for_state(&named.mark, limit, "the bell", rings)?;
    // Another one may follow.
    let left = || until.saturating_duration_since(std::time::Instant::now());
    terminal.settle_count(left(), |terminal| rings(terminal).is_ok())?;
    Ok(terminal.wait_until(left(), "the bell", rings)?)
}

pub(super) fn check_mode(
    session: &mut TestSession,
    limit: Option<TapeTime>,
    private: bool,
    number: u16,
    on: bool,
) -> StepResult {
    let space = if private { ModeSpace::Private } else { ModeSpace::Ansi };
    let name = format!("{}{number}", if private { "?" } else { "" });
    let is_alternate = private && ALTERNATE_MODES.contains(&number);
    let mode = TerminalMode::from_number(space, number);
    if mode.is_none() && !is_alternate {
        return Err(StepFailure::command(format!("hopty knows no mode {name}")));
    }
    session.wait_for_state(limit, &format!("mode {name}"), |terminal| {
        let screen = terminal.screen();
        let is_on = mode.map_or(screen.alternate(), |mode| screen.is_on(mode));
        let word = |on: bool| if on { "on" } else { "off" };
        if is_on == on { Ok(()) } else { Err(format!("mode {name} is {}, not {}", word(is_on), word(on))) }
    })
}

/// Whether one or every place matches; otherwise the look of the first one.
fn matching(
    screen: &Screen,
    places: &[Vec<ScreenPlace>],
    conditions: &[StyleCondition],
    all: bool,
) -> Result<(), String> {
    let wrong: Vec<String> = places.iter().filter_map(|place| mismatch(screen, place, conditions)).collect();
    let is_right = if all { wrong.is_empty() } else { wrong.len() < places.len() };
    if is_right { Ok(()) } else { Err(wrong.into_iter().next().unwrap_or_default()) }
}

/// The first cells of a place that do not match, in words.
fn mismatch(screen: &Screen, places: &[ScreenPlace], conditions: &[StyleCondition]) -> Option<String> {
    for place in places {
        let mut col = place.cols.start;
        for run in screen.row_part(place.row, place.cols.clone()) {
            let unmet: Vec<String> =
                conditions.iter().filter_map(|condition| unmet(&run, condition)).collect();
            if !unmet.is_empty() {
                let (row, text) = (place.row + 1, run.text.trim_end());
                let words = style_words(&run.style);
                let style = if words.is_empty() { "plain".to_owned() } else { words.join(" ") };
                return Some(format!(
                    "row {row}, from column {}: {text:?} is {style}, not {}",
                    col + 1,
                    unmet.join(" ")
                ));
            }
            col += u16::try_from(unicode_width::UnicodeWidthStr::width(run.text.as_str())).unwrap_or(0);
        }
    }
    None
}

/// The unmet condition of a run of cells, in the words of a tape.
fn unmet(run: &StyledRun, condition: &StyleCondition) -> Option<String> {
    let style = &run.style;
    let color = |name: &str, found: Color, wanted: &StyleColor| {
        (!is_color(found, *wanted)).then(|| format!("{name}={}", style_color_name(*wanted)))
    };
    let switch = |name: &str, found: bool, wanted: bool| {
        (found != wanted).then(|| if wanted { name.to_owned() } else { format!("!{name}") })
    };
    match &condition.rule {
        StyleRule::Foreground(wanted) => color("fg", style.fg, wanted),
        StyleRule::Background(wanted) => color("bg", style.bg, wanted),
        StyleRule::Attribute(attribute, wanted) => {
            let (name, found) = match attribute {
                StyleAttribute::Bold => ("bold", style.has(Attr::Bold)),
                StyleAttribute::Dim => ("dim", style.has(Attr::Dim)),
                StyleAttribute::Italic => ("italic", style.has(Attr::Italic)),
                StyleAttribute::Underline => ("underline", style.underline != Underline::None),
                StyleAttribute::Blink => ("blink", style.has(Attr::Blink)),
                StyleAttribute::Reverse => ("reverse", style.has(Attr::Reverse)),
                StyleAttribute::Hidden => ("hidden", style.has(Attr::Hidden)),
                StyleAttribute::Strike => ("strike", style.has(Attr::Strike)),
            };
            switch(name, found, *wanted)
        }
        StyleRule::Underline(wanted) => {
            let form = match style.underline {
                Underline::None => None,
                Underline::Single => Some(UnderlineForm::Single),
                Underline::Double => Some(UnderlineForm::Double),
                Underline::Curly => Some(UnderlineForm::Curly),
                Underline::Dotted => Some(UnderlineForm::Dotted),
                Underline::Dashed => Some(UnderlineForm::Dashed),
            };
            (form != Some(*wanted)).then(|| format!("underline={}", format!("{wanted:?}").to_lowercase()))
        }
        StyleRule::Link(_) => {
            let found = run.link.as_ref().map_or("", |link| link.uri());
            (found != condition.link).then(|| format!("link={:?} (it has {found:?})", condition.link))
        }
    }
}

fn is_color(found: Color, wanted: StyleColor) -> bool {
    match (found, wanted) {
        (Color::Default, StyleColor::Default) => true,
        (Color::Indexed(found), StyleColor::Indexed(wanted)) => found == wanted,
        (Color::Rgb(r, g, b), StyleColor::Rgb(x, y, z)) => (r, g, b) == (x, y, z),
        _ => false,
    }
}

fn style_color_name(color: StyleColor) -> String {
    match color {
        StyleColor::Default => "default".to_owned(),
        StyleColor::Indexed(index) => index_name(index),
        StyleColor::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
    }
}

fn index_name(index: u8) -> String {
    match COLOR_NAMES.get(usize::from(index % 8)) {
        Some(name) if index < 8 => (*name).to_owned(),
        Some(name) if index < 16 => format!("bright-{name}"),
        _ => index.to_string(),
    }
}

fn form_name(form: CursorForm) -> &'static str {
    match form {
        CursorForm::Block => "block",
        CursorForm::Bar => "bar",
        CursorForm::Underline => "underline",
    }
}
