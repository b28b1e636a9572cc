//! `Pause`, and the pause at a failure: a person looks, types, and lets the test go on.

use std::time::{Duration, Instant};

use super::step_failure::{StepFailure, StepResult};
use super::{TapePlayer, tell};
use crate::core::tape::{TapeCommand, TypedKeys};
use crate::testing::test_pause::{PauseNews, PauseRule, TestPause};

/// How often the window is looked at: a key that is typed into it takes so long.
const PAUSE_WINDOW_POLL: Duration = Duration::from_millis(5);

impl TapePlayer<'_> {
    pub(super) fn pause_here(&mut self) -> StepResult {
        if self.options.pause == PauseRule::Never {
            self.findings.warn("`Pause` was skipped: nobody is at the terminal; `--pause` stops anyway");
            return Ok(());
        }
        self.terminal()?;
        self.pause("paused")
    }

    /// The pause of `--pause`, once everything about the failure has been written down.
    pub(super) fn pause_at_failure(&mut self, message: &str) {
        if self.options.pause != PauseRule::AtFailure || self.session.current().is_none() {
            return;
        }
        let what = format!("failed: {}", message.lines().next().unwrap_or_default());
        if let Err(failure) = self.pause(&what)
            && !failure.is_stop
        {
            self.findings.warn(failure.message);
        }
    }

    fn pause(&mut self, what: &str) -> StepResult {
        let began = Instant::now();
        let place = self.findings.place().to_string();
        let dir = self.workspace.dirs().base().join("run");
        let stem = self.file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let note = format!(" {place}: {what} \u{b7} ctrl-] continues ");
        let mut pause = TestPause::begin(&self.options.hopty, &dir, &stem, note)
            .map_err(|error| StepFailure::io("cannot pause", &error))?;
        let name = pause.session();
        tell(format_args!(
            "hopty: {place}: {what}\n       `hopty attach {name}` shows it; ctrl-] there, or `hopty stop \
             {name}`, continues the test"
        ));
        let mut typed = Vec::new();
        let line = self.findings.place().line;
        let result = loop {
            let Some((named, terminal)) = self.session.current() else { break Ok(()) };
            match pause.serve(terminal) {
                Ok(PauseNews::None) => {}
                Ok(PauseNews::Over) => break Ok(()),
                Ok(PauseNews::Keys(keys)) => {
                    named.mark = terminal.take_mark(line);
                    typed.extend_from_slice(&keys);
                    // A program that has ended reads nothing, and the person sees that.
                    let _ = terminal.send(&keys);
                }
                Err(error) => break Err(StepFailure::io("the pause broke off", &error)),
            }
            if let Err(stopped) = terminal.pass(PAUSE_WINDOW_POLL) {
                break Err(stopped.into());
            }
        };
        // The time of a person is not the test's.
        self.clock.leave_out(began.elapsed());
        let commands = TypedKeys::new().commands(&typed);
        if !commands.is_empty() {
            let lines: Vec<String> = commands.iter().map(TapeCommand::to_string).collect();
            tell(format_args!("hopty: {place}: typed in the pause: {}", lines.join(" ")));
            self.keys.extend(lines);
        }
        result
    }
}
