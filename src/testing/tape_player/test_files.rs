//! Files: those of the test, those that it checks, and those that a tape writes of its screen.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use super::step_failure::{StepFailure, StepResult};
use super::{TapePlayer, duration, redactions_of};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::tape::{TapeCommand, TapePattern, TapeText, TapeTime};
use crate::recording::cast_theme::theme_of_cast;
use crate::screen::PictureLines;
use crate::sys::process;
use crate::sys::safe_file::{self, FileRule};
use crate::testing::look::TextPattern;
use crate::testing::outcome::FailureKind;
use crate::testing::processes::TestProcesses;
use crate::testing::program_wait::SettleRules;
use crate::testing::test_terminal::starting;

/// The longest file that a tape copies or looks into, in bytes.
const FILE_MAX: u64 = 64 << 20;
/// The longest output of a command on the side that a failure shows, in bytes.
const OUTPUT_MAX: usize = 2000;
/// What stands between two screens of a text output: as VHS writes it.
const SCREEN_LINE: usize = 80;
/// The endings of text outputs.
const TEXT_ENDINGS: [&str; 3] = ["txt", "ascii", "test"];

impl TapePlayer<'_> {
    pub(super) fn write_file(&mut self, path: &TapeText, content: &TapeText) -> StepResult {
        let (target, content) = (self.workspace.inside(path)?, self.workspace.text(content)?);
        let failed = |error| StepFailure::io(&format!("cannot write {}", target.display()), &error);
        self.workspace.make_room(&target, failed)?;
        fs::write(&target, content).map_err(failed)
    }

    pub(super) fn copy_file(&mut self, from: &TapeText, to: Option<&TapeText>) -> StepResult {
        let from_text = self.workspace.text(from)?;
        let from = self.workspace.tape_dir().join(&from_text);
        let failed = |error| StepFailure::io(&format!("cannot copy {}", from.display()), &error);
        let meta = fs::metadata(&from).map_err(failed)?;
        let name = from.file_name().map_or_else(|| OsString::from("copy"), OsString::from);
        let target = match to {
            Some(to) => {
                let target = self.workspace.inside(to)?;
                if meta.is_file() && target.is_dir() { target.join(&name) } else { target }
            }
            None => self.workspace.dirs().dir().join(&name),
        };
        self.workspace.make_room(&target, failed)?;
        copy_tree(&from, &target).map_err(failed)
    }

    /// `Run`: a command on the side, which must succeed.
    pub(super) fn run_aside(&mut self, line: &TapeText) -> StepResult {
        let line = self.workspace.text(line)?;
        self.pass_aside();
        let log = self.workspace.dirs().base().join("run.log");
        let failed = |error| StepFailure::io(&format!("cannot run {line:?}"), &error);
        let output = fs::File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env_clear().envs(self.workspace.env().iter().cloned()).current_dir(self.workspace.dirs().dir());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        process::lead_session(&mut command);
        let turn = starting();
        let mut child = command.spawn().map_err(failed)?;
        drop(turn);
        let base = self.workspace.dirs().base().to_owned();
        let until = Instant::now() + self.clock.time_left();
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                if status.success() {
                    return Ok(());
                }
                let said = safe_file::read(&log, FileRule::own(FILE_MAX)).ok().flatten().unwrap_or_default();
                let said = String::from_utf8_lossy(&said).into_owned();
                let end = status.code().map_or("a signal".to_owned(), |code| format!("exit {code}"));
                let from = said.char_indices().rev().nth(OUTPUT_MAX).map_or(0, |(at, _)| at);
                let said = said[from..].trim_end();
                return Err(StepFailure::command(format!("{line:?} ended with {end}\n{said}").trim_end()));
            }
            let served = if Instant::now() < until { self.serve_until(until) } else { self.clock.in_time() };
            if let Err(mut failure) = served {
                let mut processes = TestProcesses::new(i32::try_from(child.id()).unwrap_or(0), Some(base));
                processes.look();
                processes.signal(Signal::KILL);
                let _ = child.wait();
                if !failure.is_stop {
                    failure.message = format!("{line:?} did not end before the deadline of the tape");
                }
                return Err(failure);
            }
        }
    }

    /// What a command on the side changes on the screen is new.
    fn pass_aside(&mut self) {
        let line = self.findings.place().line;
        if let Some((named, terminal)) = self.session.current() {
            named.mark = terminal.take_mark(line);
        }
    }

    pub(super) fn expect_file(
        &mut self,
        limit: Option<TapeTime>,
        path: &TapeText,
        absent: bool,
        pattern: &TapePattern,
    ) -> StepResult {
        let (file, looked_for) = (self.workspace.inside(path)?, self.workspace.pattern(pattern, true)?);
        let until = Instant::now() + self.clock.check_limit(limit);
        if absent && self.session.current().is_some() {
            // What the program has yet to write may be it.
            self.settle_for_picture()?;
        }
        loop {
            let read = safe_file::read(&file, FileRule::of_claude(FILE_MAX));
            let content = read.map_err(|error| StepFailure::command(error.to_string()))?;
            let text = content.as_deref().map(String::from_utf8_lossy);
            let is_in = text.as_ref().is_some_and(|text| match &looked_for {
                TextPattern::Text(wanted) => text.contains(wanted.as_str()),
                TextPattern::Regex(regex) => regex.is_match(text),
            });
            if is_in != absent && (text.is_some() || !absent) {
                return Ok(());
            }
            if Instant::now() >= until {
                let name = self.workspace.text(path)?;
                let message = match text {
                    None if absent => {
                        let failure = StepFailure::new(FailureKind::Check, format!("{name} does not exist"));
                        let hint = format!("`Run \"test ! -e {name}\"` checks that there is no such file");
                        return Err(Box::new(failure.hint(hint)));
                    }
                    None => format!("{name} does not exist"),
                    Some(_) if absent => format!("{name} contains {looked_for}"),
                    Some(text) => {
                        format!("{name} does not contain {looked_for}; it holds\n{}", shortened(&text))
                    }
                };
                return Err(StepFailure::check(message));
            }
            self.serve_until(until)?;
        }
    }

    /// Where a file of this name is written that a tape makes: as VHS does with `--render`, else to the
    /// evidence of the tape, so that a test changes nothing of the project.
    fn made_file(&self, path: &str) -> PathBuf {
        if self.options.render {
            return PathBuf::from(path);
        }
        let name = Path::new(path).file_name().map_or_else(|| OsString::from("output"), OsString::from);
        self.evidence_dir().join(name)
    }

    pub(super) fn write_made(&mut self, path: &str, content: &[u8]) -> StepResult {
        let file = self.made_file(path);
        // Beside the evidence, what the tape redacts is hidden as there.
        let redactions = Some(redactions_of(self.tape, &self.options.env))
            .filter(|all| !self.options.render && all.has_rules());
        let redacted =
            redactions.map(|redactions| redactions.text(&String::from_utf8_lossy(content)).into_bytes());
        let content = redacted.as_deref().unwrap_or(content);
        let failed = |error| StepFailure::io(&format!("cannot write {}", file.display()), &error);
        if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&file, content).map_err(failed)?;
        self.made.push(file);
        Ok(())
    }

    pub(super) fn begin_output(&mut self, path: &TapeText) -> StepResult {
        let path = self.workspace.text(path)?;
        if is_text_output(&path) {
            self.outputs.insert(path, String::new());
        } else if !self.options.render {
            // A test makes no picture of itself.
        } else if Self::is_recorded_output(&path) {
            self.recorded_outputs.push(path);
        } else {
            let stem = Path::new(&path).with_extension("cast").display().to_string();
            let hint = match ending(&path) {
                "gif" => format!(
                    "; `Output {stem}` and `hopty play {stem} -o {path}` make one where agg is installed"
                ),
                _ => "; hopty writes .cast, .svg, .html, .txt, .ascii and .test".to_owned(),
            };
            self.findings.warn(format!("{path} is not made{hint}"));
        }
        Ok(())
    }

    /// A text output has the screen after every command.
    pub(super) fn add_text_output(&mut self, command: &TapeCommand) {
        let is_header = command.belongs_to_header() || matches!(command, TapeCommand::Env { .. });
        if self.outputs.is_empty() || self.is_hidden || is_header {
            return;
        }
        let Some(screen) = self.session.view() else { return };
        let mut text = screen.lines().join("\n");
        text.push('\n');
        text.push_str(&"─".repeat(SCREEN_LINE));
        text.push('\n');
        self.outputs.values_mut().for_each(|output| output.push_str(&text));
    }

    pub(super) fn write_outputs(&mut self) {
        for (path, text) in std::mem::take(&mut self.outputs) {
            if let Err(failure) = self.write_made(&path, text.as_bytes()) {
                self.findings.warn(failure.message);
            }
        }
    }

    pub(super) fn screenshot(&mut self, path: &TapeText) -> StepResult {
        let path = self.workspace.text(path)?;
        self.settle_for_picture()?;
        let colours = self.theme().as_ref().map(theme_of_cast).unwrap_or_default();
        let (_, terminal) = self.terminal()?;
        let screen = terminal.view();
        let lines = PictureLines::Screen;
        let content = match ending(&path) {
            "svg" => screen.themed_svg(lines, &colours),
            "txt" => screen.text(lines),
            "ansi" => screen.ansi(lines),
            "json" => format!("{:#}\n", screen.json(lines)),
            _ => {
                if self.options.render {
                    self.findings.warn(format!("{path} is not made: hopty writes .svg, .txt, .ansi and .json"));
                }
                return Ok(());
            }
        };
        self.write_made(&path, content.as_bytes())
    }

    pub(super) fn write_state(&mut self, path: &TapeText) -> StepResult {
        let path = self.workspace.text(path)?;
        self.settle_for_picture()?;
        let (_, terminal) = self.terminal()?;
        let screen = terminal.view();
        let mut state = screen.json(PictureLines::Screen);
        let end = terminal.end();
        state["modes"] = json!(screen.modes());
        state["exit"] = json!(end.map(ProcessEnd::code));
        self.write_made(&path, format!("{state:#}\n").as_bytes())
    }

    /// Waits until the screen is quiet, but for no failure of its own.
    pub(super) fn settle_for_picture(&mut self) -> StepResult {
        let (rules, limit) = (
            SettleRules { quiet: duration(self.settings.settle), ..SettleRules::default() },
            self.clock.check_limit(None),
        );
        let (_, terminal) = self.terminal()?;
        match terminal.settle(&rules, limit) {
            Err(failure) if failure.end == crate::testing::program_wait::WaitEnd::Stopped => {
                Err(failure.into())
            }
            _ => Ok(()),
        }
    }
}

/// Copies a file, or a directory with all that is in it; links stay links.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    let bytes = safe_file::read(from, FileRule::of_claude(FILE_MAX)).map_err(std::io::Error::other)?;
    fs::write(to, bytes.unwrap_or_default())?;
    fs::set_permissions(to, meta.permissions())
}

fn ending(path: &str) -> &str {
    Path::new(path).extension().and_then(|ext| ext.to_str()).unwrap_or("")
}

fn is_text_output(path: &str) -> bool {
    TEXT_ENDINGS.contains(&ending(path))
}

fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(20).collect();
    let end: String = lines.join("\n").chars().take(OUTPUT_MAX).collect();
    if end.len() < text.trim_end().len() { format!("{end}\n…") } else { end }
}
