//! Commands that the person ran themselves (`!`).

use super::bounded_memory::LastItems;
use super::tool_steps::{last_line, printed};
use crate::core::text::safe_text::cut_words;

/// How many are kept.
pub const SHELL_CAP: usize = 6;
/// How much is kept of a command, in bytes.
const COMMAND_CAP: usize = 300;

/// A command that the person ran themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The command.
    pub command: String,
    /// The last line that it printed.
    pub line: String,
    /// The beginning and the end of what it printed; empty where that is one line.
    pub output: String,
    /// How many prompts and answers had been said before it, in the whole conversation.
    pub after: u64,
}

/// The last commands of the person's own.
#[derive(Clone, Debug, Default)]
pub struct ShellCommands(LastItems<ShellCommand, SHELL_CAP>);

impl ShellCommands {
    /// Those that are kept, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ShellCommand> {
        self.0.iter()
    }

    /// The person ran a command after so many prompts and answers.
    pub(super) fn take_command(&mut self, command: &str, said: u64) {
        let command = cut_words(command.trim(), COMMAND_CAP).to_owned();
        self.0.put(ShellCommand { command, after: said, ..ShellCommand::default() });
    }

    /// The newest command printed this. Returns the command if that was not known.
    pub(super) fn take_output(&mut self, output: &str) -> Option<&str> {
        let newest = self.0.newest().filter(|newest| newest.line.is_empty())?;
        newest.line = last_line(output);
        newest.output = printed(output);
        Some(&newest.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_first_output_that_follows_it() {
        let mut commands = ShellCommands::default();
        assert_eq!(commands.take_output("x"), None);
        commands.take_command(&format!(" df {}", "/long ".repeat(200)), 7);
        assert!(commands.take_output("used\n91%\n").is_some_and(|command| command.starts_with("df /long")));
        assert_eq!(commands.take_output("of another"), None);
        let one = commands.iter().next().unwrap();
        assert_eq!((one.line.as_str(), one.output.as_str(), one.after), ("91%", "used\n91%", 7));
        assert!(one.command.len() <= COMMAND_CAP);
        (0..9).for_each(|_| commands.take_command("ls", 8));
        assert_eq!(commands.iter().count(), SHELL_CAP);
    }
}
