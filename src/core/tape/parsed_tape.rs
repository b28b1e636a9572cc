//! A tape that has been read: its steps, its errors and its settings.

use super::command::TapeCommand;
use super::tape_problem::{TapeProblem, TapeSpan};
use super::tape_settings::TapeSettings;
use super::tape_time::TapeTime;
use super::{own_commands, parser, tape_problem, vhs_commands, vhs_settings};

/// The first words of commands: those of VHS, then hopty's own.
pub fn command_words() -> impl Iterator<Item = &'static str> {
    vhs_commands::vhs_command_words().chain(own_commands::OWN_COMMANDS)
}

/// The names of the settings: those of VHS, then hopty's own.
pub fn setting_names() -> impl Iterator<Item = &'static str> {
    vhs_settings::VHS_SETTINGS.into_iter().chain(own_commands::OWN_SETTINGS)
}

/// How a tape is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Refuse everything that only hopty understands, except lines that start with `#>`.
    pub vhs_only: bool,
}

/// The files that a tape names with `Source`.
pub trait TapeFiles {
    /// The bytes of a file.
    ///
    /// The error says for people why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// A command of a tape and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct TapeStep {
    /// What to do.
    pub command: TapeCommand,
    pub span: TapeSpan,
    /// Whether VHS ignores it: a setting or `Require` after the header.
    pub ignored: bool,
}

/// A tape that has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// Its commands in order, including those of `Source` files.
    pub steps: Vec<TapeStep>,
    /// The settings of its header. VHS accepts `Shell` anywhere.
    pub settings: TapeSettings,
    /// Its errors. A tape with errors must not be played.
    pub errors: Vec<TapeProblem>,
    /// Places that probably do not mean what they say.
    pub warnings: Vec<TapeProblem>,
}

impl Tape {
    /// Whether it can be played.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// How long it may take. Without `Set Deadline` one minute, plus the time of its sleeps and pauses after
    /// keys, of which ten minutes count.
    pub fn deadline(&self) -> TapeTime {
        const USUAL_MS: u64 = 60_000;
        const OWN_PAUSES_MAX_MS: u64 = 600_000;
        let usual = || USUAL_MS.saturating_add(self.pauses_ms().min(OWN_PAUSES_MAX_MS));
        self.settings.deadline.unwrap_or_else(|| TapeTime::from_millis(usual()))
    }

    /// How long its sleeps and the pauses after its keys take in real time.
    fn pauses_ms(&self) -> u64 {
        let mut usual = self.settings.typing_speed;
        let mut nanos: u64 = 0;
        for step in self.steps.iter().filter(|step| !step.ignored) {
            let (keys, speed) = match &step.command {
                TapeCommand::TypingSpeed(speed) => {
                    usual = *speed;
                    continue;
                }
                TapeCommand::Sleep(time) => (1, Some(*time)),
                TapeCommand::Type { text, speed } => (text.as_str().chars().count() as u64, *speed),
                TapeCommand::Key(press) => (u64::from(press.count), press.speed),
                TapeCommand::Scroll { rows, speed, .. } => (u64::from(*rows), *speed),
                _ => continue,
            };
            nanos = nanos.saturating_add(keys.saturating_mul(speed.unwrap_or(usual).as_nanos()));
        }
        nanos / 1_000_000
    }

    /// Whether it checks anything; otherwise it is a smoke test.
    pub fn has_checks(&self) -> bool {
        self.steps.iter().any(|step| step.command.is_check())
    }

    /// All errors, then all warnings, for people: location, the line with a caret, what was expected.
    pub fn report(&self) -> String {
        tape_problem::report(&self.errors, &self.warnings)
    }
}

/// Reads a tape. `name` is the file's name in reports; `files` reads `Source` files.
pub fn parse(name: &str, bytes: &[u8], options: ParseOptions, files: &dyn TapeFiles) -> Tape {
    let mut reading = parser::TapeReading::new(options, files);
    reading.read(name, bytes);
    let mut tape = reading.finish();
    if tape.steps.is_empty() && tape.errors.is_empty() {
        tape.errors.push(TapeProblem::of_file(name, "this tape has no commands"));
    }
    tape
}
