//! Files that a tape makes of its screen: `Output`, `Screenshot`, `State`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::recorded_output::{HiddenTimes, is_recorded_output, recorded_output, theme_of_setting};
use super::step_failure::{StepFailure, StepResult};
use super::test_session::TestSession;
use super::test_terminals::FIRST;
use crate::core::cast::{CastEventKind, CastHeader, CastTheme};
use crate::core::process_change::ProcessEnd;
use crate::core::tape::{TapeCommand, TapeText};
use crate::recording::cast_theme::theme_of_cast;
use crate::screen::{PictureLines, Screen};
use crate::testing::discovery::TapeFile;
use crate::testing::evidence_cast::evidence_cast;
use crate::testing::evidence_files::{make_evidence_dir, write_evidence_file};
use crate::testing::redaction::TapeRedactions;

/// The length of the line between two screens of a text output, as in VHS.
const SCREEN_LINE: usize = 80;
/// The extensions of text outputs.
const TEXT_ENDINGS: [&str; 3] = ["txt", "ascii", "test"];

pub(super) struct TapeOutputs {
    title: String,
    /// The directory for files that are not written where the tape says.
    evidence_dir: PathBuf,
    /// Pictures and text outputs are written where the tape says.
    render: bool,
    /// The text of each `Output` so far.
    texts: BTreeMap<String, String>,
    /// The paths of each `Output` that is made from the recording.
    recorded: Vec<String>,
    hidden: HiddenTimes,
    warned_of_theme: bool,
    warned_of_place: bool,
    /// Files that were written.
    made: Vec<PathBuf>,
}

impl TapeOutputs {
    /// No outputs yet. `evidence`: the directory for evidence.
    pub fn new(file: &TapeFile, evidence: &Path, render: bool) -> Self {
        TapeOutputs {
            title: file.path.display().to_string(),
            evidence_dir: evidence.join(&file.name),
            render,
            texts: BTreeMap::new(),
            recorded: Vec::new(),
            hidden: HiddenTimes::default(),
            warned_of_theme: false,
            warned_of_place: false,
            made: Vec::new(),
        }
    }

    /// The directory for files of this tape.
    pub fn evidence_dir(&self) -> &Path {
        &self.evidence_dir
    }

    /// Whether the tape has written this file.
    pub fn has_made(&self, file: &Path) -> bool {
        self.made.iter().any(|made| made == file)
    }

    /// The path for a file that a tape makes: as in VHS with `--render`, otherwise in the tape's evidence, so
    /// that a test changes nothing in the project.
    fn made_file(&self, path: &str) -> PathBuf {
        if self.render {
            return PathBuf::from(path);
        }
        let name = Path::new(path).file_name().map_or_else(|| OsString::from("output"), OsString::from);
        self.evidence_dir.join(name)
    }

    /// Writes a file that the tape makes, redacted if it goes to the evidence.
    fn write_made(&mut self, redactions: &TapeRedactions, path: &str, content: &[u8]) -> StepResult {
        let file = self.made_file(path);
        let is_redacted = !self.render && redactions.has_rules();
        let redacted = is_redacted.then(|| redactions.text(&String::from_utf8_lossy(content)).into_bytes());
        let content = redacted.as_deref().unwrap_or(content);
        let failed = |error| StepFailure::io(&format!("cannot write {}", file.display()), &error);
        if self.render {
            if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            fs::write(&file, content).map_err(failed)?;
        } else {
            make_evidence_dir(&self.evidence_dir)
                .and_then(|()| write_evidence_file(&file, content))
                .map_err(|error| failed(io::Error::other(error)))?;
        }
        self.made.push(file);
        Ok(())
    }

    pub fn begin(&mut self, session: &mut TestSession, path: &TapeText) -> StepResult {
        let path = session.workspace.text(path)?;
        if TEXT_ENDINGS.contains(&ending(&path)) {
            self.texts.insert(path, String::new());
        } else if !self.render {
            // A test does not render pictures.
        } else if is_recorded_output(&path) {
            self.recorded.push(path);
        } else {
            let stem = Path::new(&path).with_extension("cast").display().to_string();
            let hint = match ending(&path) {
                "gif" => format!(
                    "; `Output {stem}` and `hopty play {stem} -o {path}` make one where agg is installed"
                ),
                _ => "; hopty writes .cast, .svg, .html, .txt, .ascii and .test".to_owned(),
            };
            session.findings.warn(format!("{path} is not made{hint}"));
        }
        Ok(())
    }

    /// Handles `Hide`, at this time after the start of the terminal.
    pub fn hide(&mut self, at: Duration) {
        self.hidden.hide(at);
    }

    pub fn show(&mut self, at: Duration) {
        self.hidden.show(at);
    }

    /// Adds the screen after a command to each text output.
    pub fn add_text(&mut self, command: &TapeCommand, screen: Option<&Screen>) {
        let is_header = command.belongs_to_header() || matches!(command, TapeCommand::Env { .. });
        if self.texts.is_empty() || self.hidden.is_hidden() || is_header {
            return;
        }
        let Some(screen) = screen else { return };
        let mut text = screen.lines().join("\n");
        text.push('\n');
        text.push_str(&"─".repeat(SCREEN_LINE));
        text.push('\n');
        self.texts.values_mut().for_each(|output| output.push_str(&text));
    }

    pub fn write_all(&mut self, session: &mut TestSession) {
        let texts = std::mem::take(&mut self.texts).into_iter();
        let mut made: Vec<(String, Vec<u8>)> = texts.map(|(path, text)| (path, text.into_bytes())).collect();
        let recorded = std::mem::take(&mut self.recorded);
        if !recorded.is_empty()
            && let Some(cast) = self.visible_recording(session)
        {
            let output = |path: String| recorded_output(&path, &cast, &self.title).map(|bytes| (path, bytes));
            made.extend(recorded.into_iter().filter_map(output));
        }
        for (path, bytes) in made {
            if let Err(failure) = self.write_made(&session.redactions, &path, &bytes) {
                session.findings.warn(failure.message);
            }
        }
    }

    /// The recording of the tape's first terminal, without what it hid.
    fn visible_recording(&mut self, session: &mut TestSession) -> Option<Vec<u8>> {
        let theme = self.theme(session);
        let terminals = &session.terminals;
        let named = terminals.named().find(|named| named.name == FIRST).or(terminals.named().next())?;
        let header = CastHeader {
            term_type: Some(session.settings.term.clone()),
            command: Some(named.command.clone()),
            theme,
            ..CastHeader::new(named.size.0, named.size.1)
        };
        let mut events = self.hidden.without(named.size, named.recording().events());
        // Typed input may be a password.
        events.retain(|event| !matches!(event.kind, CastEventKind::Input(_)));
        Some(evidence_cast(header, events, None))
    }

    /// The theme of this tape's pictures.
    fn theme(&mut self, session: &mut TestSession) -> Option<CastTheme> {
        let setting = &session.settings.theme;
        let theme = theme_of_setting(setting);
        if theme.is_none() && !setting.is_empty() && !std::mem::replace(&mut self.warned_of_theme, true) {
            session.findings.warn(format!(
                "hopty has no theme {setting:?}: give its colours as JSON, or a name of docs/TAPES.md"
            ));
        }
        theme
    }

    pub fn screenshot(&mut self, session: &mut TestSession, path: &TapeText) -> StepResult {
        let path = session.workspace.text(path)?;
        session.settle_for_picture()?;
        let colours = self.theme(session).as_ref().map(theme_of_cast).unwrap_or_default();
        let (_, terminal) = session.terminal()?;
        let screen = terminal.view();
        let lines = PictureLines::Screen;
        let content = match ending(&path) {
            "svg" => screen.themed_svg(lines, &colours),
            "txt" => screen.text(lines),
            "ansi" => screen.ansi(lines),
            "json" => format!("{:#}\n", screen.json(lines)),
            _ => {
                if self.render {
                    session
                        .findings
                        .warn(format!("{path} is not made: hopty writes .svg, .txt, .ansi and .json"));
                }
                return Ok(());
            }
        };
        self.write_picture(session, &path, content.as_bytes())
    }

    /// Writes what a command makes of the screen, and warns once if that is not where the tape says.
    fn write_picture(&mut self, session: &mut TestSession, path: &str, content: &[u8]) -> StepResult {
        self.write_made(&session.redactions, path, content)?;
        if !self.render && !std::mem::replace(&mut self.warned_of_place, true) {
            let file = self.made_file(path);
            session.findings.warn(format!("{path} is written with `--render`; now it is {}", file.display()));
        }
        Ok(())
    }

    pub fn write_state(&mut self, session: &mut TestSession, path: &TapeText) -> StepResult {
        let path = session.workspace.text(path)?;
        session.settle_for_picture()?;
        let (_, terminal) = session.terminal()?;
        let screen = terminal.view();
        let mut state = screen.json(PictureLines::Screen);
        let end = terminal.end();
        state["modes"] = json!(screen.modes());
        state["exit"] = json!(end.map(ProcessEnd::code));
        self.write_picture(session, &path, format!("{state:#}\n").as_bytes())
    }
}

fn ending(path: &str) -> &str {
    Path::new(path).extension().and_then(|ext| ext.to_str()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_test_makes_stays_with_its_evidence_and_hides_there_what_is_redacted() {
        let dir = tempfile::tempdir().unwrap();
        let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
        let redactions = TapeRedactions::new().rule(regex::Regex::new("[0-9]+").unwrap(), "[ID]");
        let elsewhere = dir.path().join("elsewhere/shot.txt");
        let kept = dir.path().join("t/shot.txt");
        for (render, written, text) in [(false, &kept, "id=[ID]"), (true, &elsewhere, "id=4711")] {
            let mut outputs = TapeOutputs::new(&file, dir.path(), render);
            outputs.write_made(&redactions, &elsewhere.display().to_string(), b"id=4711").unwrap();
            assert_eq!(fs::read_to_string(written).unwrap(), text);
            assert!(outputs.has_made(written));
            assert_eq!(elsewhere.exists(), render);
        }
    }
}
