//! The commands and settings that only hopty has. Each starts with a text that is an error in VHS.

use super::command::*;
use super::key::{KeyChord, KeyModifiers, KeyName, UnknownKey};
use super::lexer::TokenKind;
use super::own_claude::{claude, expect_hook, model};
use super::own_settings::read_setting;
use super::own_style::style;
use super::parser::{TapeParser, extension};
use super::tape_args::{ArgError, ArgResult, ArgWord, TapeArgs, parse_time};
use super::tape_problem::printable;
use super::tape_settings::{LONGEST_SIDE, TapeSettings};
use super::tape_text::{TapeText, is_variable_name};
use super::tape_time::TapeTime;
use crate::core::text::nearest_word::nearest_word;

/// The first words of hopty's own commands, besides keys (`Home`, `F5`), `Copy+File`, `Paste "…"` and `End`,
/// whose words VHS knows.
pub(super) const OWN_COMMANDS: [&str; 36] = [
    "Start", "Expect", "Gone", "Settle", "Ready", "Status", "Exit", "Snapshot", "Style", "Cursor", "Title",
    "Bell", "Mode", "Region", "Click", "Drag", "Wheel", "Hover", "Key", "Focus", "Resize", "Signal", "Raw",
    "File", "Run", "On", "Attach", "Detach", "Claude", "Model", "Plugin", "Mark", "Caption", "State",
    "Pause", "Super",
];

/// hopty's own settings. New releases of VHS have the first two as well.
pub(super) const OWN_SETTINGS: [&str; 15] = [
    "Rows", "Columns", "Term", "Timezone", "Locale", "Home", "Deadline", "ExpectTimeout", "Settle", "Speed",
    "Redact", "Retry", "Needs", "Leftovers", "Wait",
];

/// The longest name of a snapshot, region or terminal.
const LONGEST_NAME: usize = 100;

/// Whether this word starts a command of hopty's own.
pub(super) fn is_own_command(word: &str) -> bool {
    OWN_COMMANDS.contains(&word) || is_own_key(word)
}

/// Whether a word is a key that VHS does not have.
pub(super) fn is_own_key(word: &str) -> bool {
    word == "Home"
        || (word.starts_with('F') && word.len() <= 3 && matches!(KeyName::parse(word), Some(KeyName::F(_))))
}

impl TapeParser<'_, '_, '_> {
    /// Reads a command of hopty's own at the current token; false if there is none.
    pub(super) fn own_command(&mut self) -> bool {
        let command = self.cur;
        let next = self.peek;
        let adjacent = next.kind == TokenKind::Plus && next.start == command.end;
        let own = match (command.kind, command.text) {
            (TokenKind::Keyword, "Copy") => adjacent,
            (TokenKind::Keyword, "Paste") => {
                matches!(next.kind, TokenKind::Quoted | TokenKind::Escaped) && self.is_on_line_of(command)
                    || self.args(command.start, command.end).has_heredoc()
            }
            (TokenKind::Bare, "Super") => adjacent,
            (TokenKind::Bare, word) => OWN_COMMANDS.contains(&word) || is_own_key(word),
            _ => false,
        };
        if !own {
            return false;
        }
        if !self.allow_own(command, &format!("`{}`", command.text)) {
            self.continue_after_line(command.start);
            return true;
        }
        if let Some(key) = KeyName::parse(command.text) {
            if let Some(command_of_key) = self.key(key) {
                self.push(command.start, command_of_key);
            }
            return true;
        }
        // `Super+x` is one word, a chord as for `Key`.
        let from = if command.text == "Super" { command.start } else { command.end };
        let mut args = self.args(command.start, from);
        match read_command(command.text, &mut args) {
            Ok(command_read) => {
                self.continue_after(args.position());
                self.push(command.start, command_read);
            }
            Err(error) => self.argument_error(error),
        }
        true
    }

    /// Reads a setting of hopty's own into `settings`, if one comes next; `None` if not. Returns whether it
    /// is valid.
    pub(super) fn own_setting(&mut self, settings: &mut TapeSettings) -> Option<bool> {
        let (set, name) = (self.cur, self.peek);
        if !OWN_SETTINGS.contains(&name.text) || !self.is_on_line_of(set) {
            return None;
        }
        let in_vhs = matches!(name.text, "Rows" | "Columns");
        if !in_vhs && !self.allow_own(name, &format!("`Set {}`", name.text)) {
            self.continue_after_line(set.start);
            return Some(false);
        }
        if !in_vhs && !self.may_set() {
            self.error_with_hint(
                name,
                format!("`Set {}` comes too late", name.text),
                "settings come before all commands",
            );
            self.continue_after_line(set.start);
            return Some(false);
        }
        let mut args = self.args(set.start, name.end);
        match read_setting(name.text, &mut args, settings) {
            Ok(()) => self.continue_after(args.position()),
            Err(error) => {
                self.argument_error(error);
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether `<<NAME` follows on the line of the current token.
    pub(super) fn own_text_follows(&self) -> bool {
        self.peek.kind == TokenKind::Illegal && self.args(self.cur.start, self.cur.end).has_heredoc()
    }

    /// The lines after `<<NAME`.
    pub(super) fn own_text(&mut self) -> Option<TapeText> {
        if !self.allow_own(self.peek, "`<<`") {
            self.continue_after_line(self.cur.start);
            return None;
        }
        let mut args = self.args(self.cur.start, self.cur.end);
        match args.text("a text", false) {
            Ok(text) => {
                self.continue_after(args.position());
                Some(text)
            }
            Err(error) => {
                self.argument_error(error);
                None
            }
        }
    }
}

// Arguments.

/// The value in `known` that a word names, in any case.
pub(super) fn choice<T: Copy>(word: &ArgWord, what: &str, known: &[(&str, T)]) -> ArgResult<T> {
    if let Some((_, value)) = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.as_str())) {
        return Ok(*value);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let error = word.error(format!("`{}` is not a {what}", printable(word.as_str())));
    Err(error.hint(match nearest_word(word.as_str(), names.iter().copied()) {
        Some(near) if names.len() > 4 => format!("did you mean `{near}`?"),
        _ => names.join(", "),
    }))
}

pub(super) fn need_choice<T: Copy>(args: &mut TapeArgs<'_>, what: &str, known: &[(&str, T)]) -> ArgResult<T> {
    let word = args.need_word(what)?;
    choice(&word, what, known)
}

/// The error of an unknown option.
pub(super) fn unknown_option(word: &ArgWord, command: &str, known: &[&str]) -> ArgError {
    let error = word.error(format!("`{command}` has no option `{}`", printable(word.as_str())));
    let name = word.as_str().split('=').next().unwrap_or_default().trim_start_matches('!');
    error.hint(match nearest_word(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => known.join(", "),
    })
}

pub(super) fn parse_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

/// A number of `word`, at least `least` and at most `most`.
pub(super) fn number(word: &ArgWord, what: &str, least: u32, most: u32) -> ArgResult<u32> {
    match parse_number(word.as_str()) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(word
            .error(format!("{what} is a number from {least} to {most}, not `{}`", printable(word.as_str())))),
    }
}

pub(super) fn need_number(args: &mut TapeArgs<'_>, what: &str, least: u32, most: u32) -> ArgResult<u32> {
    let word = args.need_word(what)?;
    number(&word, what, least, most)
}

/// The number of one of several, from 1, if there is one.
pub(super) fn optional_number(args: &mut TapeArgs<'_>, what: &str) -> ArgResult<Option<u32>> {
    let word = args.word_if(|word| word.bytes().all(|b| b.is_ascii_digit()))?;
    word.map(|word| number(&word, what, 1, 1_000_000)).transpose()
}

pub(super) fn need_time(args: &mut TapeArgs<'_>, what: &str) -> ArgResult<TapeTime> {
    let word = args.need_word(what)?;
    parse_time(word.as_str()).ok_or_else(|| {
        word.error(format!("`{}` is no time", printable(word.as_str()))).hint("for example 500ms, 2s, 1m30s")
    })
}

pub(super) fn side(text: &str) -> Option<u16> {
    parse_number(text).filter(|number| (1..=LONGEST_SIDE).contains(number))
}

/// `4,5`: two numbers, each at least 1.
fn pair(text: &str, between: char) -> Option<(u16, u16)> {
    let (first, second) = text.split_once(between)?;
    Some((side(first)?, side(second)?))
}

/// Reads row and column from a word.
fn cell(word: &ArgWord) -> ArgResult<(u16, u16)> {
    pair(word.as_str(), ',').ok_or_else(|| {
        let hint =
            format!("row and column, from 1: 4,12; a text in quotes: \"{}\"", printable(word.as_str()));
        word.error(format!("`{}` is not a cell", printable(word.as_str()))).hint(hint)
    })
}

/// A name that can be part of a file name.
pub(super) fn name(word: &ArgWord) -> ArgResult<String> {
    let text = word.as_str();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty()
        || text.len() > LONGEST_NAME
        || !text.chars().all(plain)
        || text.starts_with(['.', '-'])
    {
        let message = format!("`{}` is not a name", printable(text));
        return Err(word
            .error(message)
            .hint("letters, digits, `-`, `_` and `.`, beginning with a letter or digit"));
    }
    Ok(text.to_owned())
}

pub(super) fn need_name(args: &mut TapeArgs<'_>, what: &str) -> ArgResult<String> {
    let word = args.need_word(what)?;
    name(&word)
}

/// A region: a name, or position and size.
pub(super) fn region(word: &ArgWord, args: &mut TapeArgs<'_>) -> ArgResult<ScreenRegion> {
    if !word.as_str().starts_with(|c: char| c.is_ascii_digit()) || !word.as_str().contains(',') {
        return name(word).map(ScreenRegion::Named);
    }
    rect(word, args).map(ScreenRegion::Rect)
}

fn rect(word: &ArgWord, args: &mut TapeArgs<'_>) -> ArgResult<ScreenRect> {
    let (row, col) = cell(word)?;
    let size = args.need_word("a size such as 10x80")?;
    let Some((rows, cols)) = pair(size.as_str(), 'x') else {
        let message = format!("`{}` is not a size", printable(size.as_str()));
        return Err(size.error(message).hint("rows and columns: 10x80"));
    };
    Ok(ScreenRect { row, col, rows, cols })
}

/// `x3`.
fn times(args: &mut TapeArgs<'_>) -> ArgResult<Option<u32>> {
    let is_times = |word: &str| word.strip_prefix('x').is_some_and(|n| parse_number::<u32>(n).is_some());
    let word = args.word_if(is_times)?;
    Ok(word.and_then(|word| parse_number(word.as_str().get(1..).unwrap_or_default())))
}

fn need_signal(word: &ArgWord) -> ArgResult<TapeSignal> {
    let upper = word.as_str().to_ascii_uppercase();
    let plain = upper.strip_prefix("SIG").unwrap_or(&upper);
    if let Some(known) = TapeSignal::named(plain) {
        return Ok(known);
    }
    let error = word.error(format!("there is no signal `{}`", printable(word.as_str())));
    Err(match nearest_word(plain, SIGNALS) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(SIGNALS.join(", ")),
    })
}

/// The texts up to the end of the line.
pub(super) fn texts(args: &mut TapeArgs<'_>) -> ArgResult<Vec<TapeText>> {
    Ok(args.words()?.into_iter().map(|word| word.text).collect())
}

/// A place: a pattern, or a cell.
fn place(args: &mut TapeArgs<'_>) -> ArgResult<TapePlace> {
    if args.has_pattern() {
        return args.pattern().map(TapePlace::Pattern);
    }
    let word = args.need_word("a \"text\", a /regex/ or a position such as 4,12")?;
    let (row, col) = cell(&word)?;
    Ok(TapePlace::Cell(row, col))
}

fn read_command(command: &str, args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    use TapeCommand as C;
    Ok(match command {
        "Start" => start(args)?,
        "Run" => C::Run(args.text("a command in quotes", false)?),
        "File" => C::File { path: args.path()?, content: args.text("the text of the file", true)? },
        "Copy" => copy_file(args)?,
        "On" => C::On(need_name(args, "the name of a terminal")?),
        "Attach" => C::Attach(need_name(args, "the name of a session")?),
        "Detach" => C::Detach,
        "Key" => key(args)?,
        "Super" => chord(args, KeyAction::Press, None)?,
        "Click" => click(args)?,
        "Drag" => drag(args)?,
        "Wheel" => wheel(args)?,
        "Hover" => C::Hover(place(args)?),
        "Paste" => C::Paste(args.text("a text", false)?),
        "Focus" => C::Focus(need_choice(args, "focus", &[("In", true), ("Out", false)])?),
        "Resize" => resize(args)?,
        "Signal" => C::Signal(need_signal(&args.need_word("the name of a signal")?)?),
        "Raw" => C::Raw(args.text("a text", false)?),
        "Expect" => expect(args)?,
        "Gone" => gone(args)?,
        "Settle" => settle(args)?,
        "Ready" => C::Ready { limit: args.limit()? },
        "Exit" => exit(args)?,
        "Status" => C::Status(need_number(args, "an exit status", 0, 255)? as i32),
        "Snapshot" => snapshot(args)?,
        "Style" => style(args)?,
        "Cursor" => cursor(args)?,
        "Title" => C::Title { limit: args.limit()?, pattern: args.pattern()? },
        "Bell" => C::Bell { limit: args.limit()?, times: need_number(args, "a count", 0, 1_000_000)? },
        "Mode" => mode(args)?,
        "Region" => named_region(args)?,
        "Claude" => claude(args)?,
        "Model" => C::Model(model(args)?),
        "Plugin" => C::Plugin(args.path()?),
        "Mark" => C::Mark(args.text("a label", false)?),
        "Caption" => C::Caption(args.text("a text", false)?),
        "State" => state(args)?,
        _ => C::Pause,
    })
}

fn start(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    if let Some(suffix) = args.suffix()? {
        if suffix != "Shell" {
            return Err(args.suffix_error(suffix, "`Start+` is followed by Shell"));
        }
        return Ok(TapeCommand::StartShell(args.text("a command line in quotes", false)?));
    }
    let words = args.words()?;
    let Some(program) = words.first() else { return Err(args.missing("a program")) };
    if program.text.is_empty() {
        return Err(program.error("the program has no name"));
    }
    let is_shells = |word: &&ArgWord| {
        !word.quoted && ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>"].contains(&word.as_str())
    };
    if let Some(word) = words.iter().find(is_shells) {
        let message = format!("`Start` runs no shell, to which `{}` belongs", printable(word.as_str()));
        return Err(word.error(message).hint("write Start+Shell \"…\", or quote it"));
    }
    if let Some(word) = words.iter().find(|word| !word.quoted && word.as_str().starts_with(['~', '$'])) {
        let message = format!("`Start` runs no shell, which would replace `{}`", printable(word.as_str()));
        let hint = "write Start+Shell \"…\", or $\"${HOME}/…\" for a variable of the test";
        return Err(word.error(message).hint(hint));
    }
    if let Some((name, value)) = program.as_str().split_once('=').filter(|_| !program.quoted)
        && is_variable_name(name)
    {
        let message = format!("`Start` runs no shell, which would set `{}`", printable(name));
        return Err(program.error(message).hint(format!("write a line before it: Env {name} \"{value}\"")));
    }
    Ok(TapeCommand::Start(words.into_iter().map(|word| word.text).collect()))
}

fn copy_file(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    if let Some(suffix) = args.suffix()?
        && suffix != "File"
    {
        return Err(args.suffix_error(suffix, "`Copy+` is followed by File"));
    }
    let from = args.path()?;
    let to = args.word()?;
    args.finish()?;
    Ok(TapeCommand::CopyFile { from, to: to.map(|word| word.text) })
}

fn key(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let mut action = KeyAction::Press;
    while let Some(suffix) = args.suffix()? {
        action = match suffix {
            "Down" => KeyAction::Down,
            "Up" => KeyAction::Up,
            _ => return Err(args.suffix_error(suffix, "`Key+` is followed by Down or Up")),
        };
    }
    let speed = args.limit()?;
    chord(args, action, speed)
}

fn chord(args: &mut TapeArgs<'_>, action: KeyAction, speed: Option<TapeTime>) -> ArgResult<TapeCommand> {
    let word = args.need_word("a key")?;
    let chord = word.as_str().parse::<KeyChord>().map_err(|UnknownKey { part, nearest }| {
        let error = word.error(format!("there is no key `{}`", printable(&part)));
        error.hint(nearest.map_or_else(
            || "keys are called a, enter, f5, ctrl-c, alt-shift-left".to_owned(),
            |near| format!("did you mean `{near}`?"),
        ))
    })?;
    let count = args.word_if(|word| word.bytes().all(|b| b.is_ascii_digit()))?;
    let count = count.map(|word| number(&word, "a count", 0, 1_000_000)).transpose()?;
    Ok(TapeCommand::Key(KeyPress { chords: vec![chord], speed, count: count.unwrap_or(1), action }))
}

const BUTTONS: [(&str, PointerButton); 3] =
    [("left", PointerButton::Left), ("middle", PointerButton::Middle), ("right", PointerButton::Right)];

fn click(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let mut click = ClickCommand {
        place: place(args)?,
        button: PointerButton::Left,
        times: 1,
        modifiers: KeyModifiers::default(),
    };
    while let Some(word) = args.word()? {
        let text = word.as_str();
        let count = text.strip_prefix('x').and_then(parse_number::<u32>).filter(|n| (1..=3).contains(n));
        let held: Option<Vec<KeyModifiers>> =
            text.strip_suffix('+').and_then(|held| held.split('+').map(KeyModifiers::parse).collect());
        if let Some((_, button)) = BUTTONS.iter().find(|(name, _)| *name == text) {
            click.button = *button;
        } else if let Some(count) = count {
            click.times = count;
        } else if let Some(held) = held {
            click.modifiers = held.into_iter().fold(click.modifiers, KeyModifiers::and);
        } else {
            return Err(unknown_option(
                &word,
                "Click",
                &["left", "middle", "right", "x2", "x3", "Ctrl+", "Alt+", "Shift+"],
            ));
        }
    }
    Ok(TapeCommand::Click(click))
}

fn drag(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let from = place(args)?;
    args.word_if(|word| word == "to")?;
    let to = place(args)?;
    let mut button = PointerButton::Left;
    if let Some(word) = args.word()? {
        button = choice(&word, "button", &BUTTONS)?;
    }
    args.finish()?;
    Ok(TapeCommand::Drag { from, to, button })
}

fn wheel(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let directions = [
        ("Up", WheelDirection::Up),
        ("Down", WheelDirection::Down),
        ("Left", WheelDirection::Left),
        ("Right", WheelDirection::Right),
    ];
    let direction = need_choice(args, "direction", &directions)?;
    let count = args.word_if(|word| word.bytes().all(|b| b.is_ascii_digit()))?;
    let notches = count.map(|word| number(&word, "a count", 1, 10_000)).transpose()?.unwrap_or(1);
    let at = match args.word_if(|word| word == "at")? {
        Some(_) => Some(place(args)?),
        None => None,
    };
    Ok(TapeCommand::Wheel { direction, notches, at })
}

fn resize(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let word = args.need_word("a size such as 120x40")?;
    let Some((cols, rows)) = pair(word.as_str(), 'x') else {
        let message = format!("`{}` is not a size", printable(word.as_str()));
        return Err(word.error(message).hint(format!("columns and rows up to {LONGEST_SIDE}: 120x40")));
    };
    Ok(TapeCommand::Resize { cols, rows })
}

fn expect(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let mut limit = args.limit()?;
    let mut absent = false;
    let mut area = None;
    while let Some(suffix) = args.suffix()? {
        let unlimited = limit.is_none();
        match suffix {
            "Not" if !absent => absent = true,
            "Line" | "Row" | "Region" | "History" | "Title" | "Clipboard" if area.is_none() => {
                area = Some(expect_area(suffix, args, &mut limit)?);
            }
            "File" | "Request" | "Hook" | "State" | "Statusline" if area.is_none() => {
                limit = if unlimited { args.limit()? } else { limit };
                return expect_of(suffix, args, limit, absent);
            }
            _ => {
                let known = [
                    "Not", "Line", "Row", "Region", "History", "Title", "Clipboard", "File", "Request",
                    "Hook", "State", "Statusline",
                ];
                let again = known.contains(&suffix);
                let message = if again {
                    format!("`+{suffix}` cannot stand here as well")
                } else {
                    format!("`Expect` has no `+{}`", printable(suffix))
                };
                let error = args.suffix_error(suffix, message);
                return Err(match nearest_word(suffix, known).filter(|_| !again) {
                    Some(near) => error.hint(format!("did you mean `+{near}`?")),
                    None => error,
                });
            }
        }
        if limit.is_none() {
            limit = args.limit()?;
        }
    }
    let times = times(args)?;
    let pattern = args.pattern()?;
    let command = ExpectCommand { area: area.unwrap_or(ExpectArea::Screen), limit, times, pattern };
    Ok(if absent { TapeCommand::ExpectNot(command) } else { TapeCommand::Expect(command) })
}

/// Where to look. `+Row` and `+Region` have an argument, after which the time may follow.
fn expect_area(suffix: &str, args: &mut TapeArgs<'_>, limit: &mut Option<TapeTime>) -> ArgResult<ExpectArea> {
    Ok(match suffix {
        "Line" => ExpectArea::Line,
        "History" => ExpectArea::History,
        "Title" => ExpectArea::Title,
        "Clipboard" => ExpectArea::Clipboard,
        "Row" => {
            *limit = limit.or(args.limit()?);
            let row = args.before_limit(|args| need_number(args, "a row", 1, LONGEST_SIDE.into()))?;
            ExpectArea::Row(row as u16)
        }
        _ => {
            *limit = limit.or(args.limit()?);
            ExpectArea::Region(args.before_limit(|args| {
                let word = args.need_word("a region")?;
                region(&word, args)
            })?)
        }
    })
}

/// The forms of `Expect` that do not concern the screen.
fn expect_of(
    what: &str,
    args: &mut TapeArgs<'_>,
    limit: Option<TapeTime>,
    absent: bool,
) -> ArgResult<TapeCommand> {
    use TapeCommand as C;
    if absent && what != "File" {
        return Err(args.suffix_error(what, format!("`Expect+Not+{what}` does not exist")));
    }
    Ok(match what {
        "File" => C::ExpectFile { limit, path: args.path()?, absent, pattern: args.pattern()? },
        "Request" => {
            let number = optional_number(args, "a request")?;
            C::ExpectRequest { limit, number, pattern: args.pattern()? }
        }
        "Hook" => expect_hook(args, limit)?,
        "State" => {
            let states = [
                ("busy", AgentActivity::Busy),
                ("idle", AgentActivity::Idle),
                ("blocked", AgentActivity::Blocked),
            ];
            C::ExpectState { limit, state: need_choice(args, "state", &states)? }
        }
        _ => C::ExpectStatusline { limit, pattern: args.pattern()? },
    })
}

fn gone(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let mut limit = args.limit()?;
    let mut area = ExpectArea::Screen;
    if let Some(suffix) = args.suffix()? {
        let areas = ["Line", "Row", "Region", "History", "Title", "Clipboard"];
        if !areas.contains(&suffix) {
            let error = args.suffix_error(suffix, format!("`Gone` has no `+{}`", printable(suffix)));
            return Err(error.hint(match nearest_word(suffix, areas) {
                Some(near) => format!("did you mean `+{near}`?"),
                None => format!("+{}", areas.join(", +")),
            }));
        }
        area = expect_area(suffix, args, &mut limit)?;
        limit = limit.or(args.limit()?);
    }
    Ok(TapeCommand::Gone(ExpectCommand { area, limit, times: None, pattern: args.pattern()? }))
}

fn settle(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let limit = args.limit()?;
    let word = args.word_if(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.'))?;
    let quiet = match word {
        None => None,
        Some(word) => Some(parse_time(word.as_str()).ok_or_else(|| {
            word.error(format!("`{}` is not a time", printable(word.as_str()))).hint("for example 100ms")
        })?),
    };
    let mut except = Vec::new();
    while args.word_if(|word| word == "except")?.is_some() {
        let word = args.need_word("a region")?;
        except.push(region(&word, args)?);
    }
    Ok(TapeCommand::Settle { limit, quiet, except })
}

fn exit(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let limit = args.limit()?;
    let word = args
        .need_word("an exit status or the name of a signal")
        .map_err(|error| error.hint("for example Exit 0, Exit TERM"))?;
    let end = if word.as_str().starts_with(|c: char| c.is_ascii_digit()) {
        ProgramEnd::Code(number(&word, "an exit status", 0, 255)? as i32)
    } else {
        let signal = need_signal(&word).map_err(|error| {
            let message = format!("`{}` is neither an exit status nor a signal", printable(word.as_str()));
            ArgError { message, ..error }.hint("a number up to 255, or a name such as TERM")
        });
        ProgramEnd::Signal(signal?)
    };
    Ok(TapeCommand::Exit { limit, end })
}

fn snapshot(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let name = need_name(args, "a name")?;
    let (mut shown_region, mut style, mut cursor, mut history) = (None, false, false, false);
    while let Some(word) = args.word()? {
        match word.as_str() {
            "+Style" => style = true,
            "+Cursor" => cursor = true,
            "+History" => history = true,
            other if other.starts_with('+') || shown_region.is_some() => {
                return Err(unknown_option(&word, "Snapshot", &["+Style", "+Cursor", "+History"]));
            }
            _ => shown_region = Some(region(&word, args)?),
        }
    }
    Ok(TapeCommand::Snapshot { name, region: shown_region, style, cursor, history })
}

fn cursor(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let limit = args.limit()?;
    let (mut position, mut shape, mut visible) = (None, None, None);
    while let Some(word) = args.word()? {
        match word.as_str() {
            "block" => shape = Some(CursorForm::Block),
            "bar" => shape = Some(CursorForm::Bar),
            "underline" => shape = Some(CursorForm::Underline),
            "hidden" => visible = Some(false),
            "visible" => visible = Some(true),
            text if text.starts_with(|c: char| c.is_ascii_digit()) => position = Some(cell(&word)?),
            _ => {
                let known = ["block", "bar", "underline", "hidden", "visible"];
                return Err(unknown_option(&word, "Cursor", &known));
            }
        }
    }
    if position.is_none() && shape.is_none() && visible.is_none() {
        return Err(args.missing("a position such as 4,12, a shape, or hidden"));
    }
    Ok(TapeCommand::Cursor { limit, position, shape, visible })
}

fn mode(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let limit = args.limit()?;
    let word = args.need_word("a mode such as ?1049")?;
    let private = word.as_str().starts_with('?');
    let Some(number) = parse_number(word.as_str().trim_start_matches('?')) else {
        return Err(word
            .error(format!("`{}` is not a mode", printable(word.as_str())))
            .hint("for example ?1049, ?25, 4"));
    };
    let word = args
        .need_word("`on` or `off`")
        .map_err(|error| error.hint("for example Mode ?1049 on, Mode 4 off; a private mode has a `?`"))?;
    let on = choice(&word, "state of a mode", &[("on", true), ("off", false)])?;
    Ok(TapeCommand::Mode { limit, private, number, on })
}

fn named_region(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let name = need_name(args, "a name")?;
    let word = args.need_word("a region such as 3,1 10x80, or box \"Title\"")?;
    let shape = if word.as_str() == "box" {
        RegionShape::Box(args.text("the title of the box", false)?)
    } else {
        RegionShape::Rect(rect(&word, args)?)
    };
    Ok(TapeCommand::Region { name, shape })
}

fn state(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let word = args.need_word("a path")?;
    if extension(word.as_str()) != ".json" {
        return Err(word.error("the state of a screen is a .json file"));
    }
    Ok(TapeCommand::State(word.text))
}
