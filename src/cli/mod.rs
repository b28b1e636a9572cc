//! The command line: from the arguments to a verb of hopty, or to Claude. The table says which file has a
//! verb.
//!
//! A first word that is one of hopty's verbs runs that verb. A word that looks like one, or that other tools
//! use as a verb, is refused, because as a prompt it would cost money. All other arguments are Claude's.
//!
//! | file | what |
//! |---|---|
//! | `verb_dispatch`, `args`, `usage_error`, `read_config` | from the arguments to a verb: clap's grammar, errors of usage, the configuration |
//! | `unknown_verb` | words that look like verbs |
//! | `run`, `handoff_options`, `conversation_in_use` | `run` and hopty in place of Claude; options that a handoff carries over; no conversation in two sessions |
//! | `attach_session`, `session_choice`, `session_picker`, `join_session` | `attach`: the session meant without a name, the list to pick one from, attaching this terminal |
//! | `control`, `target_conversation` | which session or conversation a verb is about; requests to its host |
//! | `back`, `backup`, `channel`, `check`, `config`, `context`, `conversations`, `dash`, `demo`, `handoff`, `play`, `replay`, `restart`, `restore`, `send`, `status`, `version` | the verb of the same name |
//! | `ask` | `ask` and `answer` |
//! | `detach_and_stop` | `detach` and `stop` |
//! | `events` | `events`, `log` and `why` |
//! | `list` | `ls` |
//! | `record`, `record_tape` | `record` and `mark`; a person's keys as a tape |
//! | `remove` | `rm` and `prune` |
//! | `rename` | `rename` and `label` |
//! | `screen` | `screen` and `screen-dump` |
//! | `setup` | `setup` and `unsetup`: the systemd unit |
//! | `test`, `test_watch` | `test`; playing tapes again when a file changes |
//! | `token_usage` | `usage` |
//! | `wait`, `wait_conditions` | `wait` and its conditions |
//! | `screen_rows`, `settle_wait`, `poll_until` | new text on a session's screen, whether a session has settled, polling |
//! | `completions`, `man` | verbs of the same names, made from the tree of verbs |
//! | `hook`, `statusline`, `slash` | what Claude calls |
//! | `error`, `exit_codes`, `notice`, `prose`, `table`, `pager` | output for people: errors and exit codes, notices at start and end, sentences, tables, long output |

#![deny(clippy::print_stderr, reason = "it panics where standard error is closed")]

mod args;
mod ask;
mod attach_session;
mod back;
mod backup;
mod channel;
mod check;
mod completions;
mod config;
mod context;
mod control;
mod conversation_in_use;
mod conversations;
mod dash;
mod demo;
mod detach_and_stop;
mod error;
mod events;
mod exit_codes;
mod handoff;
mod handoff_options;
mod hook;
mod join_session;
mod list;
mod man;
mod notice;
mod pager;
mod play;
mod poll_until;
mod prose;
mod read_config;
mod record;
mod record_tape;
mod remove;
mod rename;
mod replay;
mod restart;
mod restore;
mod run;
mod screen;
mod screen_rows;
mod send;
mod session_choice;
mod session_picker;
mod settle_wait;
mod setup;
mod slash;
mod status;
mod statusline;
mod table;
mod target_conversation;
mod test;
mod test_watch;
mod token_usage;
mod unknown_verb;
mod usage_error;
mod verb_dispatch;
mod version;
mod wait;
mod wait_conditions;

pub use verb_dispatch::main;
