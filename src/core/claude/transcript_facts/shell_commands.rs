//! Commands that the person ran themselves (`!`).

use super::bounded_memory::LastItems;
use super::tool_steps::{last_line, output_ends};
use crate::core::text::safe_text::cut_words;

/// How many are kept.
pub const SHELL_CAP: usize = 6;
/// How much is kept of a command, in bytes.
const COMMAND_CAP: usize = 300;

/// A command that the person ran themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    pub command: String,
    /// The last line that it printed.
    pub line: String,
    /// The beginning and the end of its output; empty if that is one line.
    pub output: String,
    /// How many prompts and answers came before it, in the whole conversation.
    pub after: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ShellCommands(LastItems<ShellCommand, SHELL_CAP>);

impl ShellCommands {
    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ShellCommand> {
        self.0.iter()
    }

    /// Takes a command that came after this many prompts and answers.
    pub(super) fn take_command(&mut self, command: &str, said: u64) {
        let command = cut_words(command.trim(), COMMAND_CAP).to_owned();
        self.0.put(ShellCommand { command, after: said, ..ShellCommand::default() });
    }

    /// Takes the output of the newest command. Returns the command if it had no output yet.
    pub(super) fn take_output(&mut self, output: &str) -> Option<&str> {
        let newest = self.0.newest().filter(|newest| newest.line.is_empty())?;
        newest.line = last_line(output);
        newest.output = output_ends(output);
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
