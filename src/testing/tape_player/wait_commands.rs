//! Commands that wait: `Wait`, `Expect` and its variants, `Settle`, `Ready`, `Exit`.

use super::screen_regions::ScreenRegions;
use super::step_failure::{StepFailure, StepResult};
use super::test_clock::duration;
use super::test_session::TestSession;
use super::test_terminals::signal_number;
use crate::core::process_change::ProcessEnd;
use crate::core::tape::{ExpectCommand, ProgramEnd, ScreenRegion, TapePattern, TapeTime, WaitScope};
use crate::sys::process_activity::{arguments, program_names};
use crate::testing::fresh_text_watch::{FreshTextWatch, TextAge};
use crate::testing::look::{CellRegion, FoundPlace, Look, ScreenArea, TextPattern};
use crate::testing::outcome::FailureKind;
use crate::testing::processes::end_words;
use crate::testing::program_wait::{KEPT_CHANGING, OLD_TEXT, SettleRules, WaitFailure};
use crate::testing::shells;

/// What a tape expects to see and has seen.
pub(super) struct TextChecks {
    /// A `Wait` for old text is a failure, not a warning.
    is_strict: bool,
    /// What `Expect` and `Wait` have found.
    found: Vec<TapePattern>,
}

impl TextChecks {
    pub fn new(is_strict: bool) -> Self {
        TextChecks { is_strict, found: Vec::new() }
    }

    /// `Wait` of VHS: until the text is there, old or new.
    pub fn wait(
        &mut self,
        session: &mut TestSession,
        scope: WaitScope,
        limit: Option<TapeTime>,
        pattern: Option<&TapePattern>,
    ) -> StepResult {
        let usual = TapePattern::Regex(session.settings.wait_pattern.clone());
        let look = Look {
            pattern: session.workspace.pattern(pattern.unwrap_or(&usual), false)?,
            area: match scope {
                WaitScope::Line => ScreenArea::Line,
                WaitScope::Screen => ScreenArea::All,
            },
            times: None,
            joined: true,
        };
        let limit = session.clock.limit(limit, session.settings.wait_timeout);
        let (named, terminal) = session.terminal()?;
        let found = match terminal.wait_for(&look, &named.mark, limit) {
            Ok(found) => found,
            Err(failure) => {
                let mut failure = noted(failure, &look, pattern.unwrap_or(&usual));
                failure.hint = failure.hint.or_else(|| near_miss(&look, terminal.watch()));
                let anywhere = Look { area: ScreenArea::All, ..look };
                if scope == WaitScope::Line && !terminal.watch().find(&anywhere, &named.mark).all.is_empty() {
                    let hint = "it stands on another row than the cursor: `Wait+Screen` looks at all of them";
                    failure.hint.get_or_insert_with(|| hint.to_owned());
                }
                if scope == WaitScope::Screen && self.is_on_one_row(session, pattern.unwrap_or(&usual))? {
                    let hint = "in `Wait+Screen` `^` and `$` are the edges of the whole screen: begin the \
                                regex with `(?m)`, or use `Expect`";
                    failure.hint = Some(hint.to_owned());
                }
                return Err(failure);
            }
        };
        self.found.extend(pattern.cloned());
        let shown = pattern.unwrap_or(&usual);
        warn_of_unseen(session, &found.places, shown)?;
        let Some(age) = found.stale else { return Ok(()) };
        let message = match age {
            TextAge::Echo => format!("{shown} is only the echo of what was typed; `Expect` waits for more"),
            TextAge::Before(line) | TextAge::After(line) => {
                format!("{shown} was there before line {line}; `Expect` waits for what is new")
            }
        };
        if self.is_strict {
            return Err(StepFailure::check(message));
        }
        session.findings.warn(message);
        Ok(())
    }

    /// Whether a single row of the screen matches.
    fn is_on_one_row(&self, session: &mut TestSession, pattern: &TapePattern) -> StepResult<bool> {
        let look = Look::on_screen(session.workspace.pattern(pattern, true)?);
        Ok(!session.terminal()?.1.watch().subject().find(&look).is_empty())
    }

    pub fn expect(
        &mut self,
        session: &mut TestSession,
        regions: &ScreenRegions,
        expect: &ExpectCommand,
    ) -> StepResult {
        let look = regions.look(session, expect)?;
        let limit = session.clock.check_limit(expect.limit);
        let (named, terminal) = session.terminal()?;
        let found = terminal.expect(&look, &named.mark, limit).map_err(|failure| {
            let mut failure = noted(failure, &look, &expect.pattern);
            failure.hint = failure.hint.or_else(|| near_miss(&look, terminal.watch()));
            let history = Look { area: ScreenArea::History, ..look.clone() };
            if look.area == ScreenArea::All
                && terminal.watch().subject().find(&look).is_empty()
                && !terminal.watch().find(&history, &named.mark).new.is_empty()
            {
                failure.hint = Some(format!(
                    "it has scrolled off the screen: `Expect+History {}` finds it there",
                    expect.pattern
                ));
            }
            failure
        })?;
        self.found.push(expect.pattern.clone());
        warn_of_unseen(session, &found.places, &expect.pattern)
    }

    pub fn gone(
        &mut self,
        session: &mut TestSession,
        regions: &ScreenRegions,
        expect: &ExpectCommand,
    ) -> StepResult {
        let look = regions.look(session, expect)?;
        let limit = session.clock.check_limit(expect.limit);
        let quiet = duration(session.settings.settle);
        let (named, terminal) = session.terminal()?;
        let was_there = terminal
            .gone(&look, &named.mark, quiet, limit)
            .map_err(|failure| noted(failure, &look, &expect.pattern))?;
        if !was_there && !self.found.contains(&expect.pattern) {
            let pattern = &expect.pattern;
            session.findings.warn(format!(
                "{pattern} was not there, so it cannot go; `Expect {pattern}` before it makes sure"
            ));
        }
        Ok(())
    }
}

/// Warns of text on the screen that is invisible.
fn warn_of_unseen(session: &mut TestSession, found: &[FoundPlace], pattern: &TapePattern) -> StepResult {
    let watch = session.terminal()?.1.watch();
    if !found.is_empty() && found.iter().all(|place| watch.is_unseen(place)) {
        session.findings.warn(format!(
            "nobody can see {pattern}: it is hidden (SGR 8) or has the colour of its ground; \
             `Style {pattern}` checks how it looks"
        ));
    }
    Ok(())
}

pub(super) fn expect_not(
    session: &mut TestSession,
    regions: &ScreenRegions,
    expect: &ExpectCommand,
) -> StepResult {
    let look = regions.look(session, expect)?;
    let limit = session.clock.check_limit(expect.limit);
    let only = match look.area {
        ScreenArea::Row(row) => Some(CellRegion { row, col: 0, rows: 1, cols: u16::MAX }),
        ScreenArea::Region(region) => Some(region),
        _ => None,
    };
    let quiet = duration(session.settings.settle);
    let rules = SettleRules { quiet, only, ..SettleRules::default() };
    let (named, terminal) = session.terminal()?;
    let done = terminal.expect_not(&look, &named.mark, &rules, limit);
    done.map_err(|failure| {
        let mut failure = noted(failure, &look, &expect.pattern);
        if failure.message.contains(KEPT_CHANGING) {
            let hint = format!("`Gone {}` does not wait for the whole screen to settle", expect.pattern);
            failure.hint = Some(hint);
        }
        failure
    })
}

pub(super) fn settle(
    session: &mut TestSession,
    regions: &ScreenRegions,
    limit: Option<TapeTime>,
    quiet: Option<TapeTime>,
    except: &[ScreenRegion],
) -> StepResult {
    let except = except.iter().map(|region| regions.cells(session, region)).collect::<StepResult<_>>()?;
    let rules = SettleRules { quiet: duration(quiet.unwrap_or(session.settings.settle)), except, only: None };
    let limit = session.clock.check_limit(limit);
    let (_, terminal) = session.terminal()?;
    terminal.settle(&rules, limit).map_err(|failure| {
        let mut failure: Box<StepFailure> = failure.into();
        if failure.message.contains(KEPT_CHANGING) {
            let hint = "`Settle except 3,1 1x80` leaves out the row 3; a `Region` gives such a place a name";
            failure.hint = Some(hint.to_owned());
        }
        failure
    })
}

pub(super) fn ready(session: &mut TestSession, limit: Option<TapeTime>) -> StepResult {
    let limit = session.clock.check_limit(limit);
    let (named, terminal) = session.terminal()?;
    let ready = terminal.ready(&named.mark, limit)?;
    // A program that announces prompts is a shell, whatever its name.
    if !named.is_shell
        && terminal.watch().shell_mark().is_none()
        && let Some(names) = program_names(terminal.pid())
    {
        let why = if !names.iter().any(|name| shells::is_shell(name)) {
            "is no shell, so it has no prompt that is known"
        } else if arguments(terminal.pid()).is_some_and(|argv| shells::runs_script(&argv)) {
            "runs a script, so it has no prompt that is known"
        } else {
            named.status = ready.status;
            return Ok(());
        };
        let message = format!("{} {why}", named.command);
        return Err(StepFailure::command(message).hint("`Expect` waits for the text of its prompt"));
    }
    named.status = ready.status;
    Ok(())
}

pub(super) fn check_status(session: &mut TestSession, status: i32) -> StepResult {
    let status_then = session.terminal()?.0.status;
    match status_then {
        Some(found) if found == status => Ok(()),
        Some(found) => Err(StepFailure::check(format!("the command ended with {found}, not {status}"))),
        None => Err(StepFailure::check("there is no exit status yet").hint(
            "put `Ready` before it; bash, zsh and fish report the status, each started by `Set Shell` \
             and with its prompt as it is",
        )),
    }
}

pub(super) fn exit(session: &mut TestSession, limit: Option<TapeTime>, wanted: &ProgramEnd) -> StepResult {
    let limit = session.clock.check_limit(limit);
    let (named, terminal) = session.terminal()?;
    let end = terminal.exit(limit)?;
    named.is_end_checked = true;
    let (is_right, words) = match (wanted, end) {
        (ProgramEnd::Code(code), ProcessEnd::Exited(found)) => {
            (i32::from(found) == *code, format!("exit {code}"))
        }
        (ProgramEnd::Code(code), _) => (false, format!("exit {code}")),
        (ProgramEnd::Signal(signal), end) => {
            let number = signal_number(signal.name());
            let found = match end {
                ProcessEnd::Signaled(signal) => Some(signal.0),
                _ => None,
            };
            (found.is_some() && found == number, format!("SIG{}", signal.name()))
        }
    };
    if is_right {
        return Ok(());
    }
    let message = format!("{} ended with {}, not {words}", named.command, end_words(end));
    let mut failure = StepFailure::new(FailureKind::ProgramEnd, message);
    failure.hint = match (wanted, end) {
        (ProgramEnd::Code(_), ProcessEnd::Signaled(_)) => {
            let name = end_words(end);
            name.strip_prefix("SIG").map(|name| format!("`Exit {name}` expects this signal"))
        }
        (ProgramEnd::Signal(signal), ProcessEnd::Exited(code))
            if signal_number(signal.name()) == Some(i32::from(code) - 128) =>
        {
            Some(format!("a shell exits by itself if a signal ends its last command: `Exit {code}`"))
        }
        _ => None,
    };
    Err(failure)
}

/// A failed wait, with the pattern as in the tape, also as a note at the most similar row.
fn noted(failure: Box<WaitFailure>, look: &Look, pattern: &TapePattern) -> Box<StepFailure> {
    let mut failure: Box<StepFailure> = failure.into();
    let (inner, shown) = (look.pattern.to_string(), pattern.to_string());
    failure.message = failure.message.replace(&inner, &shown);
    let expected = format!("expected {shown}");
    failure.row_notes.iter_mut().for_each(|(_, note)| note.clone_from(&expected));
    if let TapePattern::Text(text) = pattern {
        let text = text.as_str();
        let hint = if looks_like_a_regex(text) {
            Some("a text in quotes is taken literally; /…/ is a regular expression")
        } else if text.contains("\\n") {
            Some("`\\n` is a line end only in $\"…\"; here it is a backslash and an n")
        } else if text.contains('\t') {
            Some("no tab is on a screen, only the blanks up to its stop")
        } else {
            None
        };
        failure.hint = failure.hint.or_else(|| hint.map(str::to_owned));
    }
    if failure.message.contains(OLD_TEXT) {
        failure.hint = Some(format!(
            "expect what changes beside it, or what the program shows in between; behind a `Gone {pattern}` \
             it is new, and a `Wait` takes old text"
        ));
    }
    if let TapePattern::Regex(regex) = pattern
        && let Some(before) = regex.source().strip_suffix(" $").filter(|before| !before.ends_with('\\'))
    {
        failure.hint = Some(format!("rows have no blanks at their end: `/{before}$/`"));
    }
    failure
}

/// A similar text that is there instead: in other case, or with its accents written differently.
fn near_miss(look: &Look, watch: &FreshTextWatch) -> Option<String> {
    let TextPattern::Text(text) = &look.pattern else { return None };
    let is_there = |source: &str| {
        let regex = regex::Regex::new(source).ok()?;
        let other = Look { pattern: TextPattern::Regex(regex), times: None, ..look.clone() };
        Some(!watch.subject().find(&other).is_empty())
    };
    if is_there(&regex::escape(text))? {
        return None;
    }
    if is_there(&format!("(?i){}", regex::escape(text)))? {
        return Some(format!("it is there in other case: `/(?i){}/` takes both", regex::escape(text)));
    }
    let is_accent = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let any_accents = |base: &str| format!("{base}[\\x{{300}}-\\x{{36f}}]*");
    let mut source = String::new();
    for c in text.chars().filter(|c| !is_accent(*c)) {
        // An accented letter is one character, or its letter and the accents.
        let base = if c.is_ascii() { regex::escape(c.encode_utf8(&mut [0; 4])) } else { r"\w".to_owned() };
        let is_letter = !c.is_ascii() || c.is_ascii_alphabetic();
        let other = if text.contains(is_accent) && c.is_ascii_alphabetic() { r"\w" } else { base.as_str() };
        source.push_str(&if is_letter { any_accents(other) } else { base.clone() });
    }
    let has_accents =
        text.contains(is_accent) || watch.screen().lines().iter().any(|line| line.contains(is_accent));
    (has_accents && is_there(&source)?).then(|| {
        "a letter with an accent is one character or two: write it as the program does, or `.{1,2}` for it in a \
         regex"
            .to_owned()
    })
}

/// Whether a text was probably meant as a regular expression.
fn looks_like_a_regex(text: &str) -> bool {
    let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    if inner.is_some_and(|inner| inner.contains(['[', '(', '*', '+', '|', '\\', '^', '$'])) {
        return true;
    }
    text.starts_with('^')
        || text.ends_with('$') && text.len() > 1
        || [".*", ".+", "\\d", "\\w", "\\s"].iter().any(|part| text.contains(part))
}
