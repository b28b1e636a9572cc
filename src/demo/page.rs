//! The closing page: what happened and why, the handoff, the figures, and what to do next. It is printed at
//! the end on the main screen, so that it stays in the terminal's scrollback.

use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::demo_dirs::DemoDirs;
use super::demo_event::{DemoActor, DemoEvent};
use super::demo_outcome::DemoOutcome;
use super::demo_text::{Palette, bold, dim};
use super::plain_output;
use super::scripted_model::GOAL;
use crate::core::text::safe_text::thousands;
use crate::core::text::visible::visible;
use crate::core::text::word_wrap::wrap_words;
use crate::sys::fd::is_terminal;
use crate::tty::{can_draw, raw};

/// How many lines of the handoff are shown.
const EXCERPT: usize = 25;
/// The greatest width of text, in columns.
const WIDEST: usize = 100;

/// The page's style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageStyle {
    /// The colours; `None` without any escape sequence, if the output is not a terminal that supports them.
    palette: Option<Palette>,
    width: usize,
}

impl PageStyle {
    /// The style for this stream.
    pub(super) fn of(stream: &impl AsFd) -> PageStyle {
        if !is_terminal(stream) || !can_draw() {
            return PageStyle { palette: None, width: 80 };
        }
        PageStyle {
            palette: Some(Palette::from_env()),
            width: usize::from(raw::size().cols).clamp(40, WIDEST),
        }
    }

    fn bold(self, text: &str) -> String {
        if self.palette.is_some() { bold(text) } else { text.to_owned() }
    }

    fn dim(self, text: &str) -> String {
        if self.palette.is_some() { dim(text) } else { text.to_owned() }
    }

    fn paint(self, text: &str, colour: u8) -> String {
        self.palette.map_or_else(|| text.to_owned(), |palette| palette.paint(text, colour))
    }
}

/// The content of the page.
pub(super) struct Page<'a> {
    pub(super) outcome: &'a DemoOutcome,
    pub(super) entries: &'a [DemoEvent],
    pub(super) took: Duration,
    /// The kept files, if any.
    pub(super) kept: Option<KeptFiles>,
    pub(super) form: PageStyle,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptFiles {
    base: PathBuf,
    journal: PathBuf,
    handoffs: PathBuf,
    transcripts: PathBuf,
    work: PathBuf,
}

impl KeptFiles {
    /// The paths, below `base`.
    pub(super) fn of(place: &DemoDirs, journal: &Path, base: PathBuf) -> KeptFiles {
        let claude = &place.paths.claude;
        KeptFiles {
            base,
            journal: journal.to_owned(),
            handoffs: claude.join("handoff"),
            transcripts: claude.join("projects"),
            work: place.file(),
        }
    }
}

impl Page<'_> {
    /// The page after a run in which everything happened.
    pub(super) fn whole(&self) -> String {
        let mut out = String::new();
        out.push('\n');
        self.heading(&mut out, &format!("hopty demo: it worked, in {:.0} seconds.", self.took.as_secs_f64()));
        out.push('\n');
        self.happened(&mut out);
        self.why(&mut out, "Why, in hopty's own words (from its journal)");
        self.handoff(&mut out);
        self.figures(&mut out);
        self.left(&mut out);
        self.next(&mut out);
        out
    }

    /// The page after a run in which something did not happen.
    pub(super) fn failed(&self, missing: &[String], screen: &[String]) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "\n{}\n", self.form.bold("hopty demo: the hand-over did not happen."));
        self.heading(&mut out, "What is missing");
        for what in missing {
            self.item(&mut out, "-", what);
        }
        out.push('\n');
        self.why(&mut out, "What hopty decided");
        self.heading(&mut out, "The last screen");
        for row in screen.iter().filter(|row| !row.trim().is_empty()) {
            let _ = writeln!(out, "  | {}", visible(row));
        }
        out.push('\n');
        self.left(&mut out);
        if matches!(self.outcome.code, Some(126 | 127)) {
            self.item(
                &mut out,
                "hint:",
                "the temporary directory may not allow programs to run; set TMPDIR to another",
            );
        }
        out
    }

    /// The page after Ctrl+C or a signal.
    pub(super) fn cut_short(&self) -> String {
        let mut out = String::new();
        let _ =
            writeln!(out, "hopty demo: stopped after {:.0} s, before it was done.", self.took.as_secs_f64());
        self.left(&mut out);
        out
    }

    fn happened(&self, out: &mut String) {
        let DemoOutcome { first_steps, second_steps, fill, .. } = self.outcome;
        let (percent, window) = (fill.percent(), thousands(fill.window));
        let steps = [
            format!("You started hopty in place of claude and typed a goal: \"{GOAL}\""),
            format!(
                "The agent worked in {first_steps} tool steps, and its context filled to {percent} % of \
                 {window} tokens."
            ),
            "Above 80 %, hopty waited for the end of the turn to hand over. The turn went on, so at 90 % it \
             took the next tool \
             boundary: the tools had run, the next request had not been sent. No work was lost and no \
             further token was spent."
                .to_owned(),
            "hopty saved a handoff, ended the agent, started a fresh one, gave it the handoff, typed the \
             continuation prompt and \
             pressed Enter, and had proof that it was submitted."
                .to_owned(),
            format!(
                "The new conversation read the state of the file and finished it in {second_steps} more tool \
                 steps. Nobody had to help."
            ),
        ];
        self.heading(out, "What happened");
        for (n, step) in steps.iter().enumerate() {
            self.item(out, &format!("{}.", n + 1), step);
        }
        out.push('\n');
    }

    fn why(&self, out: &mut String, heading: &str) {
        self.heading(out, heading);
        for entry in self.entries.iter().filter(|entry| entry.who == DemoActor::Hopty) {
            self.item(out, &plain_output::time(entry.at), &entry.text);
        }
        out.push('\n');
    }

    fn handoff(&self, out: &mut String) {
        let all = self.outcome.brief.lines().count();
        self.heading(
            out,
            &format!(
                "Handoff {}, as the new conversation saw it (the first {} of {all} lines)",
                self.outcome.handoff,
                EXCERPT.min(all)
            ),
        );
        for line in self.outcome.brief.lines().take(EXCERPT) {
            for row in wrap_words(&visible(line), 0, self.form.width.saturating_sub(5)).split('\n') {
                let _ = writeln!(out, "  {}", self.form.paint(format!("| {row}").trim_end(), 6));
            }
        }
        out.push('\n');
    }

    fn figures(&self, out: &mut String) {
        let DemoOutcome { fill, gap_ms, lines, .. } = self.outcome;
        let gap = gap_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms} ms (with the stand-in)"));
        let context = format!("{} of {} tokens", thousands(fill.tokens), thousands(fill.window));
        let rows = [
            ("context at the hand-over", context),
            ("saved handoff to the new one's first request", gap),
            ("lines in the file", lines.len().to_string()),
        ];
        self.heading(out, "Figures of this run");
        for (what, figure) in rows {
            self.row(out, what, 45, &figure);
        }
        out.push('\n');
    }

    fn left(&self, out: &mut String) {
        let Some(kept) = &self.kept else {
            let what = "Nothing is left: no process, no file. (`hopty demo --keep` keeps the files.)";
            let _ = writeln!(out, "{}", wrap_words(what, 0, self.form.width - 1));
            return;
        };
        self.heading(out, &format!("The files are in {}", kept.base.display()));
        let rows = [
            ("journal", &kept.journal),
            ("handoffs", &kept.handoffs),
            ("transcripts", &kept.transcripts),
            ("the work", &kept.work),
        ];
        for (what, path) in rows {
            let _ = writeln!(out, "  {what:<12} {}", path.strip_prefix(&kept.base).unwrap_or(path).display());
        }
    }

    fn next(&self, out: &mut String) {
        out.push('\n');
        self.heading(out, "Next");
        let rows = [
            ("hopty", "where you would type claude, with the same arguments"),
            ("hopty status", "in another terminal: the session and its context usage"),
            ("hopty log", "hopty's decisions so far, and why"),
            ("hopty restart", "hand over now, at the next safe point"),
            ("hopty ls", "all sessions; `hopty dash` shows them in one picture"),
            ("hopty attach", "back into a session that you left with Ctrl+\\ d"),
        ];
        for (command, what) in rows {
            self.row(out, &self.form.bold(&format!("{command:<13}")), 13, what);
        }
    }

    fn heading(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "{}", self.form.bold(&wrap_words(text, 0, self.form.width - 1)));
    }

    /// A word in `column` columns with its text beside it.
    fn row(&self, out: &mut String, word: &str, column: usize, text: &str) {
        let row = format!("  {word:<column$}  {text}");
        let _ = writeln!(out, "{}", wrap_words(&row, column + 4, self.form.width - 1));
    }

    /// A paragraph with a mark in front.
    fn item(&self, out: &mut String, mark: &str, text: &str) {
        let paragraph = format!("  {} {text}", self.form.dim(mark));
        let _ = writeln!(out, "{}", wrap_words(&paragraph, mark.len() + 3, self.form.width - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::demo_outcome::tests::good;
    use super::*;

    fn entries() -> Vec<DemoEvent> {
        let entry = |who: DemoActor, text: &str| DemoEvent {
            at: Duration::from_millis(4100),
            who,
            text: text.to_owned(),
        };
        vec![
            entry(DemoActor::Hopty, "Context is at 92 % of 200000 tokens (level hard)."),
            entry(DemoActor::Demo, "not on the page"),
        ]
    }

    fn page<'a>(outcome: &'a DemoOutcome, entries: &'a [DemoEvent], palette: Option<Palette>) -> Page<'a> {
        Page {
            outcome,
            entries,
            took: Duration::from_secs(21),
            kept: None,
            form: PageStyle { palette, width: 80 },
        }
    }

    #[test]
    fn the_page_explains_what_happened_and_what_to_do_next() {
        let (outcome, entries) = (good(), entries());
        let text = page(&outcome, &entries, None).whole();
        for part in [
            "in 21 seconds", "filled to 92 % of", "level hard", "HO-20261120-142950-c74cc080", "640 ms",
            "7 tool", "Nothing is left", "where you would type claude", "  hopty attach ",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains("not on the page"));
        assert!(!text.contains('\x1b'), "no escape codes without a terminal");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let painted = page(&outcome, &entries, Some(Palette::Plain)).whole();
        assert!(painted.contains("\x1b[1m") && !painted.contains("\x1b[3"), "NO_COLOR leaves bold");
    }

    #[test]
    fn a_narrow_terminal_breaks_no_word_of_it() {
        let (outcome, entries) = (good(), entries());
        for width in [40, 60, 77] {
            let mut page = page(&outcome, &entries, None);
            page.form.width = width;
            let text = page.whole();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let own = text.lines().filter(|line| !line.starts_with("  | "));
            let words: Vec<&str> = own.flat_map(str::split_whitespace).collect();
            for word in ["arguments", "worked", "conversation", "(with", "status"] {
                assert!(
                    words.iter().any(|found| found.trim_end_matches([':', ',']) == word),
                    "{word} at {width}:\n{text}"
                );
            }
        }
    }

    #[test]
    fn failures_are_named_with_the_last_screen() {
        let (mut outcome, entries) = (good(), entries());
        outcome.code = Some(126);
        let screen = ["".to_owned(), "hopty: \x1b[31mnot executable".to_owned()];
        let text = page(&outcome, &entries, None).failed(&["hopty ended with code 126".to_owned()], &screen);
        for part in
            ["did not happen", "- hopty ended with code 126", "| hopty: \\u{1b}[31mnot executable", "TMPDIR"]
        {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn kept_files_are_named_below_their_directory() {
        let (outcome, entries) = (good(), entries());
        let path = |name: &str| PathBuf::from("/t/hopty-demo-x").join(name);
        let kept = KeptFiles {
            base: path(""),
            journal: path("j"),
            handoffs: path("h"),
            transcripts: path("p"),
            work: path("w/hello.txt"),
        };
        let text = Page { kept: Some(kept), ..page(&outcome, &entries, None) }.cut_short();
        assert!(
            text.contains("The files are in /t/hopty-demo-x") && text.contains("the work     w/hello.txt"),
            "{text}"
        );
        assert!(!text.contains("Nothing is left"));
    }
}
