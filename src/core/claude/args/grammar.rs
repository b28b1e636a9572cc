//! Claude's own rules for reading its command line. The options and subcommands are in `options.txt`.
//!
//! The rules are measured: an option that needs a value takes the next argument, whatever it is; an optional
//! value is taken unless it begins with `-`; a list continues to the next `-`; `-x` and its value may be one
//! word, and flags of one letter may be joined; a long option may be written `--name=value`; names are never
//! abbreviated.

use std::ops::Range;

const OPTIONS: &str = include_str!("options.txt");

/// How many values an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValues {
    None,
    One,
    Optional,
    Many,
}

/// The meaning of an option for hopty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionMeaning {
    /// Not an interactive session in this terminal: exec'd straight into Claude.
    Through,
    /// Picks or names the conversation.
    Identity,
    /// Only for the first conversation of the session.
    Once,
    /// Passed on to every run.
    Keep,
}

#[derive(Clone, Debug)]
struct Spec {
    names: Vec<&'static str>,
    takes: OptionValues,
    means: OptionMeaning,
}

/// Claude's options and subcommands.
#[derive(Clone, Debug)]
pub struct Grammar {
    options: Vec<Spec>,
    commands: Vec<&'static str>,
    first_commands: Vec<&'static str>,
}

/// One piece of a command line. Pieces are in the order of the arguments and refer to them by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgPiece {
    Option {
        /// The long name, whichever form was used.
        name: String,
        takes: OptionValues,
        means: OptionMeaning,
        values: Vec<String>,
        /// The arguments that it covers. Joined flags (`-cd`) cover the same argument.
        at: Range<usize>,
        /// How it would be written alone, where it was joined to another.
        alone: Option<String>,
    },
    /// An option that the table does not have: a wrong one, or one of a newer Claude.
    Unknown { at: usize },
    /// The word after an unknown option: its value, or the prompt.
    Loose { at: usize },
    /// `--`.
    Separator { at: usize },
    /// A word that belongs to no option: the prompt, or a subcommand.
    Operand { at: usize },
}

impl Default for Grammar {
    fn default() -> Self {
        Self::new()
    }
}

impl Grammar {
    /// Reads `options.txt`.
    #[must_use]
    pub fn new() -> Self {
        let mut grammar = Grammar { options: Vec::new(), commands: Vec::new(), first_commands: Vec::new() };
        for line in OPTIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words: Vec<&'static str> = line.split_whitespace().collect();
            if words.first() == Some(&"command") {
                let list = if words.get(1) == Some(&"first") {
                    &mut grammar.first_commands
                } else {
                    &mut grammar.commands
                };
                list.extend(&words[words.len().min(2)..]);
                continue;
            }
            let means = match words.pop() {
                Some("through") => OptionMeaning::Through,
                Some("identity") => OptionMeaning::Identity,
                Some("once") => OptionMeaning::Once,
                _ => OptionMeaning::Keep,
            };
            let takes = match words.pop() {
                Some("one") => OptionValues::One,
                Some("optional") => OptionValues::Optional,
                Some("many") => OptionValues::Many,
                _ => OptionValues::None,
            };
            grammar.options.push(Spec { names: words, takes, means });
        }
        grammar
    }

    /// Whether `word` is a subcommand when it is the first word that is not an option.
    pub fn is_command(&self, word: &str) -> bool {
        self.commands.contains(&word)
    }

    /// Whether `word` is a subcommand when it is the very first argument.
    pub fn is_first_command(&self, word: &str) -> bool {
        self.first_commands.contains(&word) || self.commands.contains(&word)
    }

    fn find(&self, name: &str) -> Option<&Spec> {
        self.options.iter().find(|spec| spec.names.contains(&name))
    }

    /// Splits `args` into pieces. Every argument is covered once, except that joined flags share theirs.
    pub fn parse(&self, args: &[String]) -> Vec<ArgPiece> {
        let mut pieces: Vec<ArgPiece> = Vec::new();
        let mut open_list = false;
        let mut at = 0;
        while at < args.len() {
            let arg = args[at].as_str();
            if arg == "--" {
                pieces.push(ArgPiece::Separator { at });
                pieces.extend((at + 1..args.len()).map(|at| ArgPiece::Operand { at }));
                break;
            }
            if !like_option(arg) {
                match pieces.last_mut() {
                    Some(ArgPiece::Option { values, at: range, .. }) if open_list => {
                        values.push(arg.to_owned());
                        range.end = at + 1;
                    }
                    Some(ArgPiece::Unknown { .. }) => pieces.push(ArgPiece::Loose { at }),
                    _ => pieces.push(ArgPiece::Operand { at }),
                }
                at += 1;
                continue;
            }
            let before = pieces.len();
            self.option(args, at, &mut pieces);
            let last = pieces[before..].last();
            open_list = match last {
                // `--list=value` ends the list at once, `--list value` leaves it open (measured).
                Some(ArgPiece::Option { takes: OptionValues::Many, at, .. }) => at.len() > 1,
                _ => false,
            };
            at = match last {
                Some(ArgPiece::Option { at: range, .. }) => range.end.max(at + 1),
                _ => at + 1,
            };
        }
        pieces
    }

    /// Reads the option at `at`, or the several that are joined there.
    fn option(&self, args: &[String], at: usize, pieces: &mut Vec<ArgPiece>) {
        let mut text = args[at].clone();
        let mut joined = false;
        loop {
            if let Some(spec) = self.find(&text) {
                let next = args.get(at + 1);
                let value = match spec.takes {
                    OptionValues::None => None,
                    OptionValues::One | OptionValues::Many => next,
                    OptionValues::Optional => next.filter(|next| !like_option(next)),
                };
                let end = at + 1 + usize::from(value.is_some());
                pieces.push(piece(
                    spec,
                    value.into_iter().cloned().collect(),
                    at..end,
                    joined.then_some(text),
                ));
                return;
            }
            let split = text.char_indices().nth(2).map(|(i, _)| i).filter(|_| !text.starts_with("--"));
            let short = split.and_then(|i| self.find(&text[..i]).map(|spec| (spec, i)));
            if let Some((spec, i)) = short {
                let rest = text[i..].to_owned();
                if spec.takes == OptionValues::None {
                    pieces.push(piece(spec, Vec::new(), at..at + 1, Some(text[..i].to_owned())));
                    text = format!("-{rest}");
                    joined = true;
                    continue;
                }
                pieces.push(piece(spec, vec![rest], at..at + 1, joined.then_some(text)));
                return;
            }
            let long = text.split_once('=').filter(|_| text.starts_with("--"));
            let known = long.and_then(|(name, value)| self.find(name).map(|spec| (spec, value)));
            match known {
                Some((spec, value)) if spec.takes != OptionValues::None => {
                    pieces.push(piece(spec, vec![value.to_owned()], at..at + 1, None));
                }
                _ => pieces.push(ArgPiece::Unknown { at }),
            }
            return;
        }
    }
}

fn piece(spec: &Spec, values: Vec<String>, at: Range<usize>, alone: Option<String>) -> ArgPiece {
    let name = (*spec.names.last().unwrap_or(&"")).to_owned();
    ArgPiece::Option { name, takes: spec.takes, means: spec.means, values, at, alone }
}

/// Whether Claude reads `arg` as an option. A lone `-` is a word.
fn like_option(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

/// The index of the prompt. A word after an unknown option is that option's value, unless nothing else can be
/// the prompt and the word contains white space, which values hardly ever do.
pub(super) fn prompt(pieces: &[ArgPiece], args: &[String]) -> Option<usize> {
    let operand = pieces.iter().find_map(|piece| match piece {
        ArgPiece::Operand { at } => Some(*at),
        _ => None,
    });
    operand.or_else(|| {
        pieces.iter().find_map(|piece| match piece {
            ArgPiece::Loose { at } if args[*at].contains(char::is_whitespace) => Some(*at),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let grammar = Grammar::new();
        assert!(grammar.options.len() > 120 && grammar.commands.len() > 25);
        let mut names: Vec<&str> = grammar.options.iter().flat_map(|spec| spec.names.clone()).collect();
        assert!(names.iter().all(|name| name.starts_with('-')));
        assert!(grammar.options.iter().all(|spec| spec.names.last().unwrap().starts_with("--")));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands twice");
        for line in OPTIONS.lines().filter(|line| line.starts_with('-')) {
            let tail: Vec<&str> = line.split_whitespace().rev().take(2).collect();
            assert!(["through", "identity", "once", "-"].contains(&tail[0]), "{line}");
            assert!(["none", "one", "optional", "many"].contains(&tail[1]), "{line}");
        }
    }

    #[test]
    fn joined_flags_are_one_argument_each_way() {
        let grammar = Grammar::new();
        let names = |arg: &str| -> Vec<(String, Vec<String>)> {
            let pieces = grammar.parse(&[arg.to_owned(), "x".to_owned()]);
            let option = |piece| {
                if let ArgPiece::Option { name, values, .. } = piece { Some((name, values)) } else { None }
            };
            pieces.into_iter().filter_map(option).collect()
        };
        let pair = |name: &str, values: &[&str]| {
            (name.to_owned(), values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names("-cd"), [pair("--continue", &[]), pair("--debug", &["x"])]);
        assert_eq!(names("-crabc"), [pair("--continue", &[]), pair("--resume", &["abc"])]);
        assert_eq!(names("-dapi"), [pair("--debug", &["api"])]);
        assert_eq!(names("-d2e"), [pair("--debug-to-stderr", &[])]);
        assert_eq!(names("-cé"), [pair("--continue", &[])]);
    }

    #[test]
    fn a_flag_with_a_value_is_unknown() {
        assert_eq!(Grammar::new().parse(&["--verbose=x".to_owned()]), [ArgPiece::Unknown { at: 0 }]);
    }
}
