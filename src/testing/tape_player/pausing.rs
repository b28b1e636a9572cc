//! `Pause`, and the pause at a failure: a person examines the screen, types, and lets the test continue.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::step_failure::{StepFailure, StepResult};
use super::tape_input::TapeInput;
use super::test_session::TestSession;
use crate::core::tape::{TapeCommand, TypedKeys};
use crate::testing::test_pause::{PauseNews, TestPause};

/// How often to check the window: the longest delay of a key.
const PAUSE_WINDOW_POLL: Duration = Duration::from_millis(5);

/// Shows the current terminal to a person until they let the test continue. `title`: the window's title.
pub(super) fn pause(
    session: &mut TestSession,
    input: &mut TapeInput,
    hopty: &Path,
    title: &str,
    what: &str,
) -> StepResult {
    let began = Instant::now();
    let place = session.findings.place().clone();
    let dir = session.workspace.dirs().base().join("run");
    let note = format!(" {place}: {what} \u{b7} ctrl-] continues ");
    let mut pause = TestPause::begin(hopty, &dir, title, note)
        .map_err(|error| StepFailure::io("cannot pause", &error))?;
    let name = pause.session();
    print_line(format_args!(
        "hopty: {place}: {what}\n       `hopty attach {name}` shows it; ctrl-] there, or `hopty stop \
         {name}`, continues the test"
    ));
    let mut typed = Vec::new();
    let result = loop {
        let Some((named, terminal)) = session.terminals.current() else { break Ok(()) };
        match pause.serve(terminal) {
            Ok(PauseNews::None) => {}
            Ok(PauseNews::Over) => break Ok(()),
            Ok(PauseNews::Keys(keys)) => {
                named.mark = terminal.take_mark(place.line);
                typed.extend_from_slice(&keys);
                // A program that has ended reads nothing, which the person can see.
                let _ = terminal.send(&keys);
            }
            Err(error) => break Err(StepFailure::io("the pause broke off", &error)),
        }
        if let Err(stopped) = terminal.pass(PAUSE_WINDOW_POLL) {
            break Err(stopped.into());
        }
    };
    // The person's time does not count.
    session.clock.leave_out(began.elapsed());
    let commands = TypedKeys::new().commands(&typed);
    if !commands.is_empty() {
        let lines: Vec<String> = commands.iter().map(TapeCommand::to_string).collect();
        print_line(format_args!("hopty: {place}: typed in the pause: {}", lines.join(" ")));
        lines.into_iter().for_each(|line| input.note(line));
    }
    result
}

/// Prints a line for the person at the terminal. Failures are ignored.
pub(super) fn print_line(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
